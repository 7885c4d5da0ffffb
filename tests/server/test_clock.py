"""A clock that goes back by a day while the server runs, and one that is behind when it starts again."""

import datetime as dt
import signal
import time
from pathlib import Path

import httpx
import pytest

from aerogram.client.reading import read
from aerogram.digest import payload_of, verify
from aerogram_knowledge.access.keys import Keys
from serving import serving

PROGRAM = Path(__file__).with_name("clockwork.py")
DAY = 86_400


@pytest.fixture
def documents(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(12):
        (folder / f"rye-{number}.md").write_text(f"# Rye {number}\n\nRye of field {number}.\n", encoding="utf-8")
    return folder


def program(ahead):
    """The program with a clock that is so many seconds ahead."""
    return [str(PROGRAM), str(ahead)]


class Asker:
    """Somebody with a key who remembers what the server said about the time."""

    def __init__(self, server, secret):
        headers = {"X-API-Key": secret, "Accept": "application/vnd.aerogram.v2+json"}
        self.http = httpx.Client(base_url=server.address, headers=headers, timeout=30)
        self.ids = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.http.close()

    def ask(self, path, body=None, **params):
        answer = self.http.get(path, params=params) if body is None else self.http.post(path, json=body)
        assert answer.json()["meta"]["latency_ms"] >= 0
        for wait in (answer.headers.get("Retry-After"), answer.headers.get("RateLimit", "t=0").rpartition("t=")[2]):
            assert 0 <= int(wait or 0) <= 3600
        self.ids.append(answer.headers["X-Request-Id"])
        return read(answer)

    def today(self):
        told = dt.datetime.fromisoformat(self.http.get("/v1/health", params={"envelope": "v1"}).json()["timestamp_utc"])
        return (told - dt.datetime.now(dt.UTC)).total_seconds() / DAY


def go_back(server, asker):
    server.process.send_signal(signal.SIGUSR1)
    while asker.today() > 0.5:
        time.sleep(0.05)


def test_cursors_archives_limits_and_ids_outlive_a_clock_that_goes_back(documents, tmp_path):
    keys = Keys(tmp_path / "keys.json", clock=lambda: time.time() + DAY)
    secret = keys.create("ada", plan="semantic_search=4/hour", expires=keys.now + dt.timedelta(hours=1)).secret
    settings = ("--keys", str(keys.path), "--auth", "keys")
    digest_of = {"source_file": "rye-3.md", "query": "Which field?"}
    index = tmp_path / "index"
    with (
        serving(index, *settings, documents=documents, program=program(DAY)) as server,
        Asker(server, secret) as ada,
    ):
        assert ada.today() == pytest.approx(1, abs=0.1)
        first = ada.ask("/v1/search", q="rye", page_size=5)
        digest = payload_of(ada.ask("/v1/digests", digest_of).data["sources"][0])

        go_back(server, ada)
        second = ada.ask("/v1/search", q="rye", page_size=5, cursor=first.page.cursor)
        assert [row["rank"] for row in second.data] == [6, 7, 8, 9, 10]
        third = ada.ask("/v1/search", q="rye", page_size=5, cursor=second.page.cursor)
        assert third.page.has_more is False
        assert verify(digest, ada.ask(f"/v1/content/{digest.source_text_hash}").data)
        again = payload_of(ada.ask("/v1/digests", digest_of).data["sources"][0])
        assert again.source_text_hash == digest.source_text_hash
        tight = ada.ask("/v1/search", q="rye", response_mode="full", max_tokens=400)
        kept = ada.ask(f"/v1/content/{tight.fidelity.archive_hashes['envelope']}")
        assert kept.problem is None and kept.data
        assert ada.ask("/v1/search", q="rye").problem.code == "RATE_LIMIT_EXCEEDED"
        assert len(set(ada.ids)) == len(ada.ids)
        assert (
            httpx.get(f"{server.address}/v1/health/deep", headers={"X-API-Key": secret}, timeout=60).json()["status"]
            == "ok"
        )

    (documents / "new.md").write_text("# New\n\nA lighthouse keeper's diary.\n", encoding="utf-8")
    with (
        serving(index, *settings, documents=documents, program=program(-DAY)) as server,
        Asker(server, secret) as ada,
    ):
        assert any("1 new, 0 changed, 12 unchanged" in line for line in server.said)
        assert ada.ask("/v1/search", q="lighthouse keeper").data[0]["source_file"] == "new.md"
        assert ada.ask("/v1/search", q="rye", page_size=5, cursor=first.page.cursor).data == second.data
        assert verify(digest, ada.ask(f"/v1/content/{digest.source_text_hash}").data)
