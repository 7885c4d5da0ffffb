"""Servers that read from replicas: a real one that follows its primary, behind, stopped and back again."""

from __future__ import annotations

import contextlib

import httpx
import pytest

from aerogram import read
from balancer import wait_for
from postgres import Postgres, own_folder, run, running_postgres

SEARCH = {"q": "When are apples picked?", "envelope": "v2"}


@pytest.fixture
def primary():
    with running_postgres("wal_level=replica", "max_wal_senders=4") as server:
        yield server


@pytest.fixture
def replica(primary):
    """A copy of the primary that follows it."""
    with own_folder() as folder, contextlib.ExitStack() as started:
        copy = Postgres(folder)
        place = ("-h", "127.0.0.1", "-p", primary.port, "-U", "postgres")
        run("pg_basebackup", *place, "-D", copy.data, "-R", "-c", "fast")
        copy.start()
        started.callback(copy.stop, 3)
        yield copy


def test_searches_go_on_whatever_becomes_of_the_replica_and_find_what_was_just_read(fleet, primary, replica, tmp_path):
    documents = tmp_path / "documents"
    documents.mkdir()
    url = primary.new_database()
    where = ("--store", url, "--replicas", replica.url(url.rpartition("/")[2]))

    def tell(name, text):
        """Read a new document, by another process than the servers."""
        (documents / f"{name}.md").write_text(f"# {name}\n\n{text}\n", encoding="utf-8")
        assert "1 new" in fleet.run("ingest", str(documents), "--store", url)

    def state(server):
        found = httpx.get(f"{server.address}/v1/health/deep", timeout=30).json()
        assert found["status"] == "ok"
        (one,) = found["checks"]["store"]["replicas"]
        return one["state"]

    def first(server, question):
        answer = httpx.get(f"{server.address}/v1/search", params={**SEARCH, "q": question}, timeout=30)
        assert answer.status_code == 200
        return next((row["source_file"] for row in read(answer.json()).data or ()), None)

    tell("apples", "Apples are picked in October.")
    one, two = fleet.add(*where, count=2)
    wait_for(lambda: {state(one), state(two)} == {"current"})
    asked = statements(replica, url)
    assert first(one, "When are apples picked?") == "apples.md"
    wait_for(lambda: statements(replica, url) > asked)

    replica.execute("SELECT pg_wal_replay_pause()")
    tell("pears", "Pears are picked in September.")
    wait_for(lambda: first(one, "When are pears picked?") == "pears.md")  # nobody has asked for its health
    assert state(two) == "behind"  # whoever asks for health need not wait
    assert first(two, "When are pears picked?") == "pears.md"
    assert state(one) == "behind"
    replica.execute("SELECT pg_wal_replay_resume()")
    wait_for(lambda: {state(one), state(two)} == {"current"})
    asked = statements(replica, url)
    for server in (one, two):
        assert first(server, "When are pears picked in autumn?") == "pears.md"
    wait_for(lambda: statements(replica, url) > asked)

    replica.stop()
    for server in (one, two):
        assert first(server, "In which month are apples picked?") == "apples.md"
    tell("plums", "Plums are picked in August.")
    for server in (one, two):
        assert first(server, "When are plums picked?") == "plums.md"
        assert state(server) == "down"
    replica.start()
    wait_for(lambda: {state(one), state(two)} == {"current"}, 60)
    assert first(one, "When are plums picked in summer?") == "plums.md"


def statements(server, url):
    """How many transactions a database has ended."""
    name = url.rpartition("/")[2]
    (row,) = server.execute(f"SELECT xact_commit FROM pg_stat_database WHERE datname = '{name}'")
    return row[0]
