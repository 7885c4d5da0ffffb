"""An index whose rows were cut to nothing is damaged, and not empty."""

from programs import run_program
from serving import clean_environment


def test_an_index_whose_rows_are_an_empty_file_says_so_and_is_read_again(tmp_path):
    def run(*arguments):
        return run_program(arguments, cwd=tmp_path, env=clean_environment(tmp_path / "index"))

    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A\n\nalpha beta gamma.\n")
    assert run("ingest", "docs", "--index", "ix").returncode == 0
    (tmp_path / "ix" / "rows.sqlite").write_bytes(b"")
    for verb in (("index", "check"), ("search", "alpha"), ("index", "status")):
        done = run(*verb, "--index", "ix")
        assert done.returncode == 1, (verb, done.stdout, done.stderr)
        assert b"damaged" in done.stdout + done.stderr
    done = run("index", "rebuild", "--index", "ix")
    assert (done.returncode, b"read again from the documents: 1 chunks" in done.stdout) == (0, True), done.stderr
    assert b"alpha" in run("search", "alpha", "--index", "ix").stdout
