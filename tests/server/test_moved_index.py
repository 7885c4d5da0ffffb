"""An index that was copied or moved: it is served from where it stands, and what replies leave out is kept there."""

from __future__ import annotations

import shutil
import time
from functools import partial
from pathlib import Path

import httpx
import pytest

from balancer import wait_for
from serving import SAMPLES, serving

TIGHT = {"source_file": "jwt-guide.md", "query": "token", "max_tokens": 400}


def left_out(address, **asked):
    """A shortened answer: where the whole is."""
    answer = httpx.get(f"{address}/v1/digests", params={**TIGHT, **asked}, timeout=30)
    return answer.links["alternate"]["url"]


def fetched(address, link):
    return httpx.get(f"{address}{link}", timeout=30)


@pytest.fixture
def used(tmp_path):
    """An index that has been served and has archived, and the link to what was archived."""
    with serving(tmp_path / "index", documents=SAMPLES / "security") as first:
        return first.index, left_out(first.address)


def test_a_copy_and_its_original_are_served_at_the_same_time(used, tmp_path):
    index, before = used
    copy = shutil.copytree(index, tmp_path / "copy")
    with serving(index, documents=None) as one, serving(copy, documents=None) as two:
        assert fetched(one.address, before).json() == fetched(two.address, before).json()
        after = left_out(two.address, query="key")
        assert after != before
        assert fetched(two.address, after).status_code == 200
        assert fetched(one.address, after).status_code == 404
        assert [httpx.get(f"{each.address}/v1/health/deep").json()["status"] for each in (one, two)] == ["ok", "ok"]


def test_an_index_that_was_moved_leaves_nothing_behind(used, tmp_path):
    index, before = used
    moved = index.rename(tmp_path / "elsewhere")
    with serving(moved, documents=None) as served:
        assert fetched(served.address, before).status_code == 200
        assert fetched(served.address, left_out(served.address, query="key")).status_code == 200
    assert not index.exists()


def test_an_index_that_is_moved_away_while_it_is_served_is_not_made_again_by_half(tmp_path):
    with serving(tmp_path / "index", documents=SAMPLES / "security") as served:
        moved = served.index.rename(tmp_path / "elsewhere")
        asked = httpx.get(f"{served.address}/v1/digests", params=TIGHT, timeout=30)
        assert asked.status_code == 503
        assert fetched(served.address, f"/v1/content/sha256:{'0' * 64}").status_code in (404, 503)
        httpx.get(f"{served.address}/v1/health/deep", timeout=30)
        assert not served.index.exists()
        moved.rename(served.index)
        assert fetched(served.address, left_out(served.address)).status_code == 200


def test_an_index_that_another_took_the_place_of_is_let_go(used, tmp_path):
    """What keeps a fresh copy served every night must not keep all of those before it open."""
    index, _ = used
    fresh = shutil.copytree(index, tmp_path / "fresh")

    def count_handles(pid):
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))

    with serving(index, documents=None) as served:
        handles = []
        for number in range(12):
            shutil.copytree(fresh, tmp_path / "next")
            index.rename(tmp_path / f"old-{number}")
            (tmp_path / "next").rename(index)
            assert httpx.get(f"{served.address}/v1/search?q=token", timeout=30).json()["total"]
            handles.append(count_handles(served.process.pid))
    assert handles[-1] <= handles[3] + 2


def test_what_changes_while_the_index_is_away_is_read_when_it_is_back(tmp_path):
    """Though nothing changes then, and so nobody says that there is something to read."""
    documents = shutil.copytree(SAMPLES / "security", tmp_path / "docs")
    with serving(tmp_path / "index", "--watch", documents=documents) as served:
        ask = partial(httpx.get, f"{served.address}/v1/search", timeout=30)
        note = documents / "note.md"
        for attempt in range(100):  # watching begins a moment after the server is ready
            note.write_text(f"# Note\n\nThe ocelot {attempt} sleeps.\n", encoding="utf-8")
            time.sleep(0.6)
            if "ocelot" in ask(params={"q": "ocelot", "envelope": "v2"}).text:
                break
        away = served.index.rename(tmp_path / "elsewhere")
        (documents / "later.md").write_text("# Later\n\nA marmot digs.\n", encoding="utf-8")
        time.sleep(3)
        away.rename(served.index)
        wait_for(lambda: "later.md" in ask(params={"q": "marmot", "envelope": "v2"}).text)
