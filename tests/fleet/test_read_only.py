"""An index in a place where nothing can be written: it is served as it is, and what is missing is said."""

from __future__ import annotations

import contextlib
import subprocess

import httpx
import pytest

from backends import is_root

SEARCH = {"q": "token", "envelope": "v2", "page_size": 5}
DIGEST = {"source_file": "security/jwt-guide.md", "query": "How long is a token valid?"}


@contextlib.contextmanager
def read_only(folder, place):
    """A folder as it is found where nothing can be written: root can write anywhere but there."""
    place.mkdir()
    if is_root():
        for command in (["--bind", folder, place], ["-o", "remount,ro,bind", place]):
            if subprocess.run(["mount", *command], check=False, capture_output=True).returncode:
                pytest.skip("nothing can be mounted here")
        try:
            yield place
        finally:
            subprocess.run(["umount", "--lazy", place], check=True)
        return
    inside = [folder, *(one for one in folder.rglob("*") if one.is_dir())]
    for one in inside:
        one.chmod(0o500)
    try:
        yield folder
    finally:
        for one in inside:
            one.chmod(0o700)


def test_it_is_searched_paged_digested_and_its_archive_is_in_the_state_directory(fleet, index, tmp_path):
    before = {one.relative_to(index) for one in index.rglob("*")}
    with read_only(index, tmp_path / "read-only") as place:
        (server,) = fleet.add("--index", str(place), "--watch")
        with httpx.Client(base_url=server.address, timeout=30) as client:
            first = client.get("/v1/search", params=SEARCH).json()
            rest = client.get("/v1/search", params={**SEARCH, "cursor": first["aerogram"]["page"]["cursor"]}).json()
            assert {row["chunk_id"] for row in first["results"]}.isdisjoint(row["chunk_id"] for row in rest["results"])
            cut = client.get("/v1/digests", params={**DIGEST, "max_tokens": 400})
            assert client.get(cut.links["alternate"]["url"]).status_code == 200
            assert client.post("/v1/digests", json=DIGEST).status_code == 200
            assert client.get("/v1/health/deep").json()["status"] == "ok"
        server.end()
        assert (fleet.folder / "state" / "archive").is_dir()
        assert "cannot be written, so it is served as it is" in server.log.read_text()
        assert "Traceback" not in server.log.read_text()
        (again,) = fleet.add("--index", str(place))
        onward = {**SEARCH, "cursor": rest["aerogram"]["page"]["cursor"]}
        assert httpx.get(f"{again.address}/v1/search", params=onward, timeout=60).status_code == 200
        again.end()
    assert {one.relative_to(index) for one in index.rglob("*")} == before


def test_without_a_key_for_cursors_it_makes_one_that_ends_with_it(fleet, index, tmp_path):
    (index / "cursor-keys.json").unlink()
    with read_only(index, tmp_path / "read-only") as place:
        (server,) = fleet.add("--index", str(place))
        with httpx.Client(base_url=server.address, timeout=30) as client:
            cursor = client.get("/v1/search", params=SEARCH).json()["aerogram"]["page"]["cursor"]
            assert client.get("/v1/search", params={**SEARCH, "cursor": cursor}).status_code == 200
        server.end()
    assert not (index / "cursor-keys.json").exists()


def test_what_would_change_it_is_refused_in_one_line(fleet, index, tmp_path):
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "new.md").write_text("# New\n\nNobody has read this yet.\n")
    with read_only(index, tmp_path / "read-only") as place:
        said = fleet.run("ingest", str(documents), "--index", str(place))
        assert "can be read and not written" in said
        assert "Traceback" not in said
