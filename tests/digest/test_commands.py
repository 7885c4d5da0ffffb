"""The verbs `digest` and `verify`, as programs."""

import json
import os

import pytest

from programs import run_program


@pytest.fixture
def aerogram(tmp_path):
    """Run the program in a folder of its own, with a state directory of its own."""

    def run(*arguments, stdin=None):
        environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), "COLUMNS": "200"}
        return run_program(arguments, cwd=tmp_path, env=environment, input=stdin, text=True)

    return run


def test_a_digest_is_made_kept_and_verified_until_the_source_changes(aerogram, tmp_path, ferry, print_pdf):
    (tmp_path / "a.pdf").write_bytes(print_pdf([ferry]))
    made = aerogram("digest", "a.pdf", "--query", "What does a ticket cost?", "--json", "--keep")
    assert (made.returncode, made.stderr) == (0, "")
    (source,) = json.loads(made.stdout)["sources"]
    assert (source["id"], source["content_type"]) == ("a.pdf", "digest/v1")
    (tmp_path / "d.json").write_text(made.stdout, encoding="utf-8")

    held = aerogram("verify", "d.json", "--source", "a.pdf")
    assert (held.returncode, held.stdout.startswith("verified: the hash and")) == (0, True)
    assert aerogram("verify", "d.json").returncode == 0
    bare = aerogram("verify", "-", "--source", "a.pdf", "--json", stdin=source["content"])
    assert json.loads(bare.stdout)["verified"] is True

    (tmp_path / "a.pdf").write_bytes(print_pdf([ferry.replace("four crowns", "five crowns")]))
    broken = aerogram("verify", "d.json", "--source", "a.pdf")
    assert broken.returncode == 1
    assert "source_text_hash: the digest is of another text" in broken.stderr


def test_a_table_shows_the_evidence_and_a_failure_is_one_line(aerogram, tmp_path, ferry):
    (tmp_path / "a.txt").write_text(ferry, encoding="utf-8")
    shown = aerogram("digest", "a.txt", "missing.txt", "-q", "What does a ticket cost?")
    assert shown.returncode == 1
    assert "char:" in shown.stdout
    assert "A ticket costs four crowns" in shown.stdout
    assert shown.stderr == "aerogram: missing.txt: the file cannot be read: No such file or directory\n"


def test_what_is_no_digest_is_told_in_one_line(aerogram, tmp_path, ferry):
    (tmp_path / "a.txt").write_text(ferry, encoding="utf-8")
    for body in ('{"query_hash": "x"}', "[]", "3", '{"sources": []}', "{"):
        run = aerogram("verify", "-", "--source", "a.txt", stdin=body)
        assert (run.returncode, run.stderr.count("\n")) == (1, 1), body
        assert "Traceback" not in run.stderr


COFFEE = (
    "# Office coffee\n\nThe machine stands on the second floor. It is cleaned on Fridays by the team on duty.\n\n"
    "## Beans\n\nBeans are ordered by Kim on the first of the month. One kilo is 14 euros.\n\n## Milk\n\n"
    "Milk is in the fridge beside the machine.\n"
)


def test_what_is_shorter_than_its_digest_is_quoted_whole(aerogram, tmp_path):
    (tmp_path / "coffee.md").write_text(COFFEE, encoding="utf-8")
    made = aerogram("digest", "coffee.md", "-q", "What does the machine cost?", "--json")
    payload = json.loads(json.loads(made.stdout)["sources"][0]["content"])
    assert [one["text"] for one in payload["evidence_snippets"]] == [COFFEE.strip()]
    assert payload["key_points"] == []
    (tmp_path / "d.json").write_text(made.stdout, encoding="utf-8")
    held = aerogram("verify", "d.json", "--source", "coffee.md")
    assert held.stdout == "verified: the hash and 1 quotation hold; summary and key points are from the text\n"
    table = aerogram("digest", "coffee.md", "-q", "What does the machine cost?").stdout
    assert f"{len(COFFEE.strip())} characters, shorter than a digest" in table


def test_where_nothing_bears_on_the_question_the_program_says_so(aerogram, tmp_path):
    (tmp_path / "coffee.md").write_text(COFFEE, encoding="utf-8")
    made = aerogram("digest", "coffee.md", "-q", "Who paints ships?", "--json")
    assert made.returncode == 0
    assert made.stderr.startswith("aerogram: Nothing in coffee.md bears on the question")
    payload = json.loads(json.loads(made.stdout)["sources"][0]["content"])
    assert payload["evidence_snippets"] == []
    assert "One kilo is 14 euros." in payload["summary"]
    (tmp_path / "d.json").write_text(made.stdout, encoding="utf-8")
    held = aerogram("verify", "d.json", "--source", "coffee.md")
    assert held.stdout == "verified: the hash holds; nothing is quoted; summary and key points are from the text\n"


def test_a_file_without_words_is_told_in_words(aerogram, tmp_path):
    (tmp_path / "empty.txt").write_text("", encoding="utf-8")
    shown = aerogram("digest", "empty.txt", "-q", "What does a ticket cost?")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "no words" in shown.stdout and "275" not in shown.stdout
