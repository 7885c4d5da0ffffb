"""The PostgreSQL store: many who start at once, rights that are missing, replicas, and servers that come and go."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
import threading
import time
import unicodedata

import pytest

from aerogram.errors import Conflict, Forbidden, NotFound, Unavailable, ValidationFailed
from aerogram_knowledge import Knowledge, NoEmbedder
from aerogram_knowledge.store.cursor_keys import StoreCursorKeys
from aerogram_knowledge.store.postgres.replicas import LAG
from aerogram_knowledge.store.postgres.schema import VERSION
from aerogram_knowledge.store.postgres.store import PostgresStore
from knowledge.documents import GUIDE, HARVEST
from postgres import Postgres, own_folder, run, running_postgres
from programs import run_program, start_program

OPEN = "import sys; from aerogram_knowledge.store.address import open_store; open_store(sys.argv[1], 256).close()"
INGEST = "import sys; from aerogram_knowledge import Knowledge; Knowledge(sys.argv[1]).ingest(sys.argv[2])"


def start_python(text, *arguments):
    """A process that runs a program, and says on its errors what went wrong."""
    return start_program(arguments, program=("-c", text), stderr=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def server():
    """A server that these tests may stop and pause."""
    with running_postgres("wal_level=replica", "max_wal_senders=4") as own:
        yield own


@contextlib.contextmanager
def opened(url, **settings):
    """An index over a store that gives up soon."""
    store = PostgresStore(url, 256, **{"patience": 1.0, "seconds": 1.0, **settings})
    with Knowledge(url, store=store) as index:
        yield index


def notes(count):
    return {
        f"note{n:03}.md": f"# Note {n}\n\nMarker{n} stands here. The wind turns to the {n}th.\n" for n in range(count)
    }


# -- opening


def test_ten_processes_that_start_at_once_find_one_schema(postgres):
    url = postgres.new_database()
    with contextlib.ExitStack() as running:
        ten = [running.enter_context(start_python(OPEN, url)) for _ in range(10)]
        told = [one.stderr.read() for one in ten]
    assert [one.returncode for one in ten] == [0] * 10, told
    assert [
        row[0] for row in postgres.execute("SELECT version FROM aerogram_state", database=url.rpartition("/")[2])
    ] == [VERSION]


def test_a_socket_is_an_address_too(postgres, database):
    place = database.partition("?")[2]
    with Knowledge(f"postgresql://postgres@/postgres?host={postgres.folder}&port={postgres.port}&{place}") as index:
        assert index.store.ping()["engine"].startswith("PostgreSQL 18")


def test_a_user_who_may_not_bring_in_pgvector_is_told_what_to_do(postgres):
    url = postgres.new_database()
    name = url.rpartition("/")[2]
    postgres.execute(f"CREATE ROLE plain_{name} LOGIN", f"CREATE SCHEMA own AUTHORIZATION plain_{name}", database=name)
    plain = f"{postgres.url(name, f'plain_{name}')}?search_path=own,public"
    with pytest.raises(Forbidden) as refused:
        Knowledge(plain)
    assert "CREATE EXTENSION vector" in refused.value.remediation
    with Knowledge(plain, embedder=NoEmbedder()) as words:
        assert words.check().is_sound
    postgres.execute(
        "CREATE EXTENSION vector",
        "DROP SCHEMA own CASCADE",
        f"CREATE SCHEMA own AUTHORIZATION plain_{name}",
        database=name,
    )
    with Knowledge(plain) as index:
        assert index.check().is_sound


def test_an_index_in_a_schema_of_its_own_is_no_part_of_one_in_public(postgres, write):
    public = postgres.new_database()
    name = public.rpartition("/")[2]
    with Knowledge(public, embedder=NoEmbedder()) as everybody:
        with pytest.raises(NotFound, match="no schema 'team'"):
            Knowledge(f"{public}?search_path=team,public", embedder=NoEmbedder())
        postgres.execute("CREATE SCHEMA team", database=name)
        with Knowledge(f"{public}?search_path=team,public", embedder=NoEmbedder()) as team:
            team.ingest(write({"a.md": GUIDE}))
            assert (team.documents(), everybody.documents()) == (["a.md"], [])


@pytest.mark.parametrize(
    ("address", "error"),
    [
        ("postgresql://postgres@127.0.0.1:{port}/nowhere", NotFound),
        ("postgresql://nobody@127.0.0.1:{port}/postgres", Forbidden),
        ("postgresql://postgres@127.0.0.1:9/postgres", Unavailable),
        ("postgresql://postgres@127.0.0.1:x/postgres", ValidationFailed),
        ("mysql://root@127.0.0.1/test", ValidationFailed),
    ],
)
def test_an_address_that_leads_nowhere_is_told_without_its_secrets(postgres, address, error):
    with pytest.raises(error) as told:
        Knowledge(address.format(port=postgres.port))
    assert told.value.remediation or told.value.retry_after
    assert "postgres@" not in str(told.value)


def test_an_index_of_a_later_version_is_refused_with_instructions(postgres):
    url = postgres.new_database()
    Knowledge(url).close()
    postgres.execute("UPDATE aerogram_state SET version = 99", database=url.rpartition("/")[2])
    with pytest.raises(Conflict, match="later version"):
        Knowledge(url)


def test_an_index_that_a_later_version_has_taken_over_is_read_and_no_longer_written(postgres, write):
    url = postgres.new_database()
    with Knowledge(url) as index:
        index.ingest(write({"a.md": HARVEST}))
        postgres.execute("UPDATE aerogram_state SET version = 99", database=url.rpartition("/")[2])
        with pytest.raises(Conflict, match="later version"):
            index.ingest(write({"b.md": GUIDE}))
        assert index.documents() == ["a.md"]
        assert index.search("apples harvest", response_mode="metadata").data[0]["source_file"] == "a.md"


def test_copies_in_an_index_that_did_not_number_words_are_known_after_its_upgrade(postgres, write):
    url = postgres.new_database()
    with Knowledge(url) as index:
        index.ingest(write({"a.md": HARVEST, "b.md": HARVEST, "c.md": GUIDE}))
    older = "DROP TABLE aerogram_wordings", "UPDATE aerogram_state SET version = 4"
    postgres.execute(*older, database=url.rpartition("/")[2])
    with Knowledge(url) as index:
        found = index.search("apples harvest", response_mode="metadata").data
        assert [(row["source_file"], row["also_in"]) for row in found] == [("a.md", ["b.md"])] * 2


def test_names_in_an_index_that_kept_them_as_they_were_written_are_found_after_its_upgrade(postgres, write):
    url, apart = postgres.new_database(), unicodedata.normalize("NFD", "Äpfel/a.md")
    with Knowledge(url) as index:
        index.ingest(write({apart: HARVEST, "b.md": GUIDE}))
    keys = "category_key = normalize(category_key, NFD), steps = ARRAY(SELECT normalize(x, NFD) FROM unnest(steps) x)"
    older = f"UPDATE aerogram_documents SET {keys}", "UPDATE aerogram_state SET version = 5"
    postgres.execute(*older, database=url.rpartition("/")[2])
    with Knowledge(url) as index:
        for filters in ({"path": "Äpfel"}, {"category": "äpfel"}):
            assert {row["source_file"] for row in index.search("apples", filters=filters).data} == {apart}


def test_the_verbs_take_an_address(database, write):
    folder = write({"a.md": GUIDE, "b.md": HARVEST})
    environment = {**os.environ, "AEROGRAM_STORE": database}

    def verb(*arguments):
        return run_program(arguments, env=environment, text=True, check=True).stdout

    assert verb("ingest", str(folder)).startswith("2 new, 0 changed, 0 unchanged, 0 gone: 5 chunks in ")
    assert "fifteen minutes" in verb("search", "How long is an access token valid?", "-n", "1")
    assert json.loads(verb("index", "status", "--json"))["documents"] == 2
    assert verb("index", "rebuild") == "rebuilt from its rows\n"
    assert verb("index", "check") == "sound\n"


# -- the large index


def test_the_near_index_finds_what_comparing_with_all_finds(write, database):
    with opened(database) as index:
        index.ingest(write({**notes(80), "guide.md": GUIDE, "farm/harvest.md": HARVEST}))
        asked = [
            ("How long is an access token valid?", None),
            ("wind", {"path": "farm"}),
            ("storing apples", {"path": "farm"}),
        ]
        exact = [index.search(query, filters=filters, page_size=5).data for query, filters in asked]
    with opened(database, exact=0) as index:
        index.store.settle()
        index.store.settle()
        assert [index.search(query, filters=filters, page_size=5).data for query, filters in asked] == exact
        assert index.search("Marker7", filters={"path": "farm"}, method="bm25").empty_reason == "filters_too_narrow"


def test_the_near_index_is_made_where_shared_memory_is_short(write):
    """As in a container that gives 64 MB: here a limit on the size of the server's files stands for it."""
    with contextlib.ExitStack() as stack:
        with files_up_to(40_000_000):
            own = stack.enter_context(running_postgres("min_parallel_table_scan_size=0"))
        url = own.new_database()
        with opened(url, exact=0) as index:
            index.ingest(write({**notes(80), "guide.md": GUIDE}))
            index.store.rebuild()
            assert index.search("How long is an access token valid?").data[0]["source_file"] == "guide.md"
        near = (
            "SELECT indexrelid::regclass::text, indisvalid FROM pg_index WHERE indrelid::regclass::text LIKE '%vectors'"
        )
        rows = own.execute(near, database=url.rpartition("/")[2])
        assert ["aerogram_vectors_near", True] in list(map(list, rows))
        assert all(row[1] for row in rows)
        assert (own.folder / "log").read_text().count("could not resize shared memory segment") == 2


@contextlib.contextmanager
def files_up_to(size):
    """Whoever is started in this block can write no larger files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


# -- shared documents


def test_a_shared_document_is_written_by_one_of_those_who_saw_it(where):
    with Knowledge(where) as one, Knowledge(where) as other:
        assert one.store.get_shared("keys/a") is None
        assert one.store.set_shared("keys/a", b"first", 0)
        assert not other.store.set_shared("keys/a", b"second", 0)
        value, version = other.store.get_shared("keys/a")
        assert value == b"first"
        assert other.store.set_shared("keys/a", b"second", version)
        assert not one.store.set_shared("keys/a", b"third", version)
        assert one.store.get_shared("keys/a")[0] == b"second"


@pytest.mark.parametrize("where", ["postgresql"], indirect=True)
def test_keys_are_rotated_without_a_cut(small, where):
    """Each of two servers opens what the other one has signed, before and after."""
    with Knowledge(where) as other:
        old = small.search("token apples", page_size=1).page.cursor
        StoreCursorKeys(other.store).rotate()
        new = other.search("token apples", page_size=1).page.cursor
        for index in (small, other):
            for cursor in (old, new):
                assert index.search("token apples", page_size=1, cursor=cursor).data[0]["rank"] == 2


def test_a_key_that_is_too_old_is_followed_by_another_and_signs_until_then(server):
    with contextlib.closing(PostgresStore(server.new_database(), 256, patience=1.0, seconds=1.0)) as store:
        keys = StoreCursorKeys(store, rotate_every=0)
        server.pause()
        try:
            old = keys.signing_key()
            with pytest.raises(Unavailable):
                keys.refresh().result()
            assert keys.signing_key() == old
        finally:
            server.resume()
        _until(lambda: keys.signing_key() != old)
        assert keys.named(old.kid) == (old,)


def test_whoever_waits_behind_a_look_for_keys_that_fails_does_not_wait_for_another(server):
    """A silent store is waited for once: the second look is told what the first one was."""
    with contextlib.closing(PostgresStore(server.new_database(), 256, patience=1.0, seconds=1.0)) as store:
        keys = StoreCursorKeys(store)
        server.pause()
        try:
            first = keys.refresh()
            _until(lambda: keys.refresh() is not first)  # it is under way, so the next one waits behind it
            second = keys.refresh()
            assert isinstance(first.exception(), Unavailable)
            assert second.exception() is first.exception()
        finally:
            server.resume()
        assert keys.refresh().exception() is None


# -- servers that come and go


def test_a_server_that_stops_is_unavailable_and_one_that_is_back_answers(server, write):
    with opened(server.new_database()) as index:
        index.ingest(write({"a.md": GUIDE}))
        server.stop()
        try:
            for ask in (lambda: index.search("token"), lambda: index.chunks([1]), index.check, index.store.ping):
                with pytest.raises(Unavailable) as told:
                    ask()
                assert told.value.retry_after
        finally:
            server.start()
        assert index.search("access token valid").data[0]["source_file"] == "a.md"


def test_a_server_that_falls_silent_is_unavailable_in_time_and_answers_when_it_goes_on(server, write):
    with opened(server.new_database()) as index:
        index.ingest(write({"a.md": GUIDE}))
        outcomes = []

        def ask():
            try:
                outcomes.append(index.search("access token").status)
            except Unavailable as error:
                outcomes.append(error.retry_after)

        server.pause()
        try:
            threads = [threading.Thread(target=ask) for _ in range(15)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(20)
            assert len(outcomes) == 15
            assert all(isinstance(one, float) for one in outcomes)
        finally:
            server.resume()
        assert index.search("access token valid").data[0]["source_file"] == "a.md"


def test_what_was_stored_before_a_crash_is_there_after_it_and_nothing_twice(server, write):
    """The server is killed several times while documents come in; whoever stores them waits and goes on."""
    url, folder = server.new_database(), write(notes(60))
    with opened(url) as index:
        for round_ in range(3):
            with start_python(INGEST, url, str(folder)) as process:
                time.sleep(0.1 + 0.2 * round_)
                acknowledged = {path: state.checksum for path, state in index.store.files().items()}
                server.stop(how=3)  # SIGQUIT: at once, without a goodbye
                server.start()
                process.stderr.read()
            after = {path: state.checksum for path, state in index.store.files().items()}
            assert acknowledged.items() <= after.items()
        index.ingest(folder)
        assert index.check().problems == ()
        assert index.check().facts["documents"] == 60
        assert [index.search(f"Marker{n}", method="bm25").page.total for n in range(0, 60, 7)] == [1] * 9


def test_an_ingest_outlives_a_restart_of_the_server(server, write):
    url, folder = server.new_database(), write(notes(80))
    Knowledge(url).close()
    command = [sys.executable, "-m", "aerogram", "ingest", str(folder), "--store", url, "--workers", "2"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(1.2)
    server.stop()
    time.sleep(0.5)
    server.start()
    out, err = process.communicate(timeout=180)
    with opened(url) as index:
        if process.returncode:  # it may have met the stop before it knew its files; then it says so and is run again
            assert "PostgreSQL" in err
            index.ingest(folder)
        assert index.check().problems == ()
        assert index.check().facts["documents"] == 80, out


def test_a_statement_that_waits_too_long_is_ended(postgres, database, write):
    with opened(database) as index:
        index.ingest(write({"a.md": GUIDE}))
        place = database.partition("search_path=")[2].partition(",")[0]
        ready, done = threading.Event(), threading.Event()

        def hold():
            import asyncio

            import asyncpg

            async def lock():
                connection = await asyncpg.connect(postgres.url())
                async with connection.transaction():
                    await connection.execute(f"LOCK TABLE {place}.aerogram_chunks IN ACCESS EXCLUSIVE MODE")
                    ready.set()
                    await asyncio.to_thread(done.wait)
                await connection.close()

            asyncio.run(lock())

        holder = threading.Thread(target=hold)
        holder.start()
        assert ready.wait(60)
        try:
            with pytest.raises(Unavailable):
                index.chunks([1])
        finally:
            done.set()
            holder.join()
        assert index.chunks([1]).status == "ok"


# -- replicas


@pytest.fixture(scope="module")
def replica(server):
    """A copy of the server that follows it."""
    with contextlib.ExitStack() as stack:
        copy = Postgres(stack.enter_context(own_folder()))
        run(
            "pg_basebackup", "-h", "127.0.0.1", "-p", server.port, "-U", "postgres", "-D", copy.data, "-R", "-c", "fast"
        )
        copy.start()
        stack.callback(copy.stop, 3)
        yield copy


def test_reads_go_to_a_replica_that_has_seen_enough(server, replica, write):
    url = server.new_database()
    name = url.rpartition("/")[2]
    with opened(url, replicas=[replica.url(name)]) as index:
        index.ingest(write({"a.md": GUIDE}))
        _until(lambda: index.store.ping()["replicas"][0]["state"] == "current")
        asked = _asked(replica, name)
        assert index.search("access token valid").data[0]["source_file"] == "a.md"
        assert _asked(replica, name) > asked
        replica.execute("SELECT pg_wal_replay_pause()")
        try:
            write({"b.md": HARVEST})
            index.ingest()
            assert index.store.ping()["replicas"][0]["state"] == "behind"
            assert index.search("apples in october").data[0]["source_file"] == "b.md"
        finally:
            replica.execute("SELECT pg_wal_replay_resume()")
        _until(lambda: index.store.ping()["replicas"][0]["state"] == "current")
        replica.stop()
        try:
            assert index.search("access token lifetime").data[0]["source_file"] == "a.md"
            assert index.store.ping()["replicas"][0]["state"] == "down"
        finally:
            replica.start()


def test_a_reader_learns_from_the_primary_what_its_replica_has_not_seen(server, replica, write):
    """Another process writes while the replica is behind; a silent primary keeps nobody from what the replica has."""
    url = server.new_database()
    with opened(url) as writer, opened(url, replicas=[replica.url(url.rpartition("/")[2])]) as reader:
        writer.ingest(write({"a.md": GUIDE}))
        _until(lambda: reader.store.ping()["replicas"][0]["state"] == "current")
        replica.execute("SELECT pg_wal_replay_pause()")
        try:
            write({"b.md": HARVEST})
            writer.ingest()
            _until(lambda: reader.search("apples in october").data[0]["source_file"] == "b.md")
            assert reader.store.ping()["replicas"][0]["state"] == "behind"
        finally:
            replica.execute("SELECT pg_wal_replay_resume()")
        _until(lambda: reader.store.ping()["replicas"][0]["state"] == "current")
        server.pause()
        try:
            time.sleep(LAG)  # so that the primary is asked again
            for question in ("apples picked in october", "october apples"):
                assert reader.search(question).data[0]["source_file"] == "b.md"
        finally:
            server.resume()


def _until(true, seconds=60):
    for _ in range(seconds * 20):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come true")


def _asked(server, name):
    """How many transactions a database of a server has seen."""
    server.execute("SELECT pg_stat_force_next_flush()", database=name)
    rows = server.execute(f"SELECT xact_commit FROM pg_stat_database WHERE datname = '{name}'")
    return rows[0][0]
