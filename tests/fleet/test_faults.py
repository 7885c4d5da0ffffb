"""Faults of what servers stand on: every request is answered in shape, service resumes by itself, nothing is lost.

In shape means: a good answer, or UNAVAILABLE with the words that it may be tried again, and when.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import signal
import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from aerogram import read
from aerogram.answer.retrieval import Retrieval
from aerogram.cursor import Cursors
from aerogram_knowledge.store.address import open_store
from aerogram_knowledge.store.cursor_keys import StoreCursorKeys
from backends import S3_KEYS, is_root
from balancer import balancing, wait_for
from fleets import ingest_samples, leave_out_rows
from postgres import running_postgres
from programs import start_program
from servers import find_free_port
from serving import clean_environment

SEARCH = {"q": "token", "envelope": "v2"}
CUT = {"source_file": "security/jwt-guide.md", "query": "token", "max_tokens": 400, "envelope": "v2"}
"""What asks for a digest that leaves something out, which goes into the archive."""
VENDOR = {"response_mode": "full", "max_tokens": 600, "envelope": "v2"}
OTHERS = ("Brackwater", "Fjordbyte", "Larkmoor", "Norrvik")
WORDS = ["token", "key", "session", "vendor", "price", "export", "webhook", "contract", "limit", "audit", "backup"]
SEED = 20_261_115
CLOCKWORK = Path(__file__).parents[1] / "server" / "clockwork.py"
DAY = 86_400
KILLS = int(os.environ.get("KILLS", "6"))
"""How often servers are killed; a campaign kills them more often."""


class Callers:
    """Some callers that go on asking, and what they were told."""

    def __init__(self, address, params=SEARCH, count=3, pause=0.02):
        self.address = address
        self.path = "/v1/digests" if params is CUT else "/v1/search"
        self.params = params
        self.told = []
        self._pause = pause
        self._numbers = itertools.count()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(count)]

    def __enter__(self):
        for one in self._threads:
            one.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for one in self._threads:
            one.join()

    def _ask(self):
        with httpx.Client(base_url=self.address, timeout=60) as client:
            while not self._stop.is_set():
                self.told.append(client.get(self.path, params=self._next()))
                self._stop.wait(self._pause)

    def _next(self):
        """The question; one that leaves something out is another each time, so that each piece is a new one."""
        number = next(self._numbers)
        if self.params is not CUT:
            return self.params
        return {**CUT, "query": f"{WORDS[number % 7]} {WORDS[number % 11]} {number}"}

    def wait_for(self, status, count=5):
        """Wait until so many more were told this."""
        already = len(self.told)
        wait_for(lambda: sum(one.status_code == status for one in self.told[already:]) >= count)

    @property
    def statuses(self):
        return {one.status_code for one in self.told}


def in_shape(replies):
    """Whether each is a good answer, or says UNAVAILABLE, to be tried again, and when."""
    for reply in replies:
        if reply.status_code != 200:
            problem = read(reply.json()).problem
            assert (reply.status_code, problem.code, problem.retryable) == (503, "UNAVAILABLE", True), reply.text
            assert problem.retry_after and reply.headers["retry-after"]
    return True


def pieces(replies):
    """The hashes of everything that was left out and acknowledged."""
    fidelities = [reply.json()["aerogram"].get("fidelity", {}) for reply in replies if reply.status_code == 200]
    return {found for one in fidelities for found in (one.get("archive_hashes") or {}).values()}


def recover(address, hashes):
    for one in hashes:
        reply = httpx.get(f"{address}/v1/content/{one}", params={"envelope": "v2"}, timeout=30)
        assert reply.status_code == 200, reply.text


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP], ids=lambda how: how.name)
def test_redis_goes_away_in_the_middle_of_requests_and_comes_back(fleet, index, redis, how):
    (server,) = fleet.add("--index", str(index), "--redis", redis.url, "--limits", "100000/day")
    with Callers(server.address, CUT) as callers:
        callers.wait_for(200)
        if how is signal.SIGSTOP:  # longer than anybody waits for an answer
            redis.pause()
            callers.wait_for(503)
            redis.resume()
        else:
            redis.stop(how)
            callers.wait_for(503)
            redis.start()
        callers.wait_for(200)
    assert in_shape(callers.told)
    assert callers.statuses == {200, 503}
    recover(server.address, pieces(callers.told))
    assert "Traceback" not in fleet.logs


def test_redis_that_was_restarted_while_nobody_asked_is_used_at_once(fleet, index, redis):
    (server,) = fleet.add("--index", str(index), "--redis", redis.url, "--limits", "100000/day")
    for _ in range(3):
        answered = httpx.get(f"{server.address}/v1/digests", params=CUT, timeout=30)
        assert answered.status_code == 200, answered.text
        assert pieces([answered])
        redis.stop()
        redis.start()


@pytest.fixture(scope="session")
def unsteady_postgres(tmp_path_factory):
    """A PostgreSQL that tests stop and pause, and a database with the samples in it, to be copied."""
    with running_postgres() as server:
        url = server.new_database()
        ingest_samples(url, tmp_path_factory.mktemp("unsteady"))
        yield server, url.rpartition("/")[2]


@pytest.fixture
def own_postgres(unsteady_postgres):
    """A PostgreSQL that this test may stop, with the samples in a database of its own."""
    server, samples = unsteady_postgres
    server.samples = server.new_database(template=samples)
    yield server
    if server.process is None:
        server.start()
    server.resume()


def test_postgresql_goes_away_in_the_middle_of_requests_and_comes_back(fleet, own_postgres, redis):
    """It is stopped, killed, and paused for longer than the server lets a caller wait."""
    (server,) = fleet.add("--store", own_postgres.samples, "--redis", redis.url, "--timeout", "2")
    changing = 0

    def new_question():
        nonlocal changing
        changing += 1
        return {**SEARCH, "q": f"token {changing}"}

    with Callers(server.address) as callers:
        callers.wait_for(200)
        for how in (signal.SIGINT, signal.SIGKILL):
            own_postgres.stop(how)
            callers.params = new_question()
            callers.wait_for(503)
            own_postgres.start()
            callers.wait_for(200)
        own_postgres.pause()
        callers.params = new_question()
        callers.wait_for(503)
        own_postgres.resume()
        callers.wait_for(200)
    assert in_shape(callers.told)
    deep = httpx.get(f"{server.address}/v1/health/deep", timeout=30).json()
    assert deep["checks"]["store"]["status"] == "ok"


def test_a_digest_that_waits_for_postgresql_lets_nobody_else_wait(fleet, own_postgres):
    """Whatever does not need the database is answered while that is silent."""
    (server,) = fleet.add("--store", own_postgres.samples, "--timeout", "3")
    digest = {"source_file": "security/jwt-guide.md", "query": "How long is a token valid?"}
    with httpx.Client(base_url=server.address, timeout=30) as client, ThreadPoolExecutor() as aside:
        assert client.post("/v1/digests", json=digest).status_code == 200
        own_postgres.pause()
        waiting = aside.submit(httpx.post, f"{server.address}/v1/digests?envelope=v2", json=digest, timeout=30)
        time.sleep(0.5)  # it has arrived, and goes on waiting
        for _ in range(3):
            assert client.get("/v1/nothing").status_code == 404
        assert not waiting.done()
        assert in_shape([waiting.result()])
        own_postgres.resume()
        wait_for(lambda: client.post("/v1/digests", json=digest).status_code == 200)


def test_a_cursor_whose_key_must_be_looked_up_lets_nobody_else_wait(fleet, own_postgres):
    """A key that was made elsewhere a moment ago is good at once; while the store is silent, nobody can tell."""
    (server,) = fleet.add("--store", own_postgres.samples, "--timeout", "3")
    with httpx.Client(base_url=server.address, timeout=30) as client, ThreadPoolExecutor() as aside:
        piece = leave_out_rows(server.address, range(1, 20))

        def go_on(cursors):
            """Ask for the rest of a piece with a cursor that another server may have signed."""
            onward = Retrieval(piece).pager(cursors, "/v1/content/{hash}", None).seal(1)
            params = {"envelope": "v2", "cursor": onward}
            return httpx.get(f"{server.address}/v1/content/{piece}", params=params, timeout=30)

        def is_refused(reply):
            return reply.status_code == 400 and read(reply.json()).problem.code == "INVALID_CURSOR"

        with contextlib.closing(open_store(own_postgres.samples, 256)) as store:
            keys = StoreCursorKeys(store)
            keys.rotate()
            assert go_on(Cursors(keys)).status_code == 200
        strange = Cursors()
        assert is_refused(go_on(strange))
        own_postgres.pause()
        waiting = [aside.submit(go_on, strange) for _ in range(4)]
        time.sleep(0.5)  # they have arrived, and go on waiting
        for _ in range(3):
            assert client.get("/v1/nothing").status_code == 404
            recover(server.address, [piece])
        assert not any(one.done() for one in waiting)
        assert in_shape([one.result() for one in waiting])
        own_postgres.resume()
        wait_for(lambda: is_refused(go_on(strange)))


def test_while_postgresql_is_away_known_keys_stay_known_and_no_other_is_called_wrong(fleet, own_postgres):
    """A key that was made elsewhere a moment ago may be good; nobody can tell before the store is back."""
    where = ("--store", own_postgres.samples)
    known = fleet.run("keys", "create", "ada", *where).split()[-1]
    (server,) = fleet.add(*where, "--auth", "keys")
    made = fleet.run("keys", "create", "bob", *where).split()[-1]
    own_postgres.stop()

    def ask(secret, path="/v1/search"):
        headers = {"X-API-Key": secret}
        return httpx.get(f"{server.address}{path}", params=SEARCH, headers=headers, timeout=30)

    assert in_shape([ask(made), ask(known)])
    assert ask(known, "/v1/nothing").status_code == 404
    assert ask("nonsense").status_code == 401
    own_postgres.start()
    wait_for(lambda: ask(made).status_code == 200)
    assert ask("aero_00000000_" + "x" * 43).status_code == 401


@pytest.mark.parametrize(
    ("breaks", "mends"),
    [
        ("ALTER ROLE app NOLOGIN", "ALTER ROLE app LOGIN"),
        ("ALTER ROLE app NOSUPERUSER", "ALTER ROLE app SUPERUSER"),
        ("ALTER DATABASE {0} RENAME TO moved", "ALTER DATABASE moved RENAME TO {0}"),
    ],
    ids=["user", "rights", "database"],
)
def test_what_is_wrong_with_the_database_is_no_fault_of_callers_and_the_log_says_it(
    fleet, postgres, copied_database, breaks, mends
):
    name = copied_database.rpartition("/")[2]
    postgres.execute("DROP ROLE IF EXISTS app", "CREATE ROLE app SUPERUSER LOGIN")
    (server,) = fleet.add("--store", postgres.url(name, "app"))
    cut = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
    ask = [("/v1/search", SEARCH), ("/v1/digests", CUT)]
    postgres.execute(cut, breaks.format(name))
    try:
        refused = [httpx.get(f"{server.address}{path}", params=params, timeout=60) for path, params in ask]
    finally:
        postgres.execute(mends.format(name))
    assert [one.status_code for one in refused] == [503, 503]
    assert in_shape(refused)
    assert not any("PostgreSQL" in one.text for one in refused)
    assert "the store cannot be used: PostgreSQL" in server.log.read_text()
    answered = [httpx.get(f"{server.address}{path}", params=params, timeout=60) for path, params in ask]
    assert [one.status_code for one in answered] == [200, 200]


def test_damaged_keys_in_the_store_let_nobody_in_until_they_are_mended(fleet, postgres, copied_database):
    """As a damaged file of keys does: whoever asks is told to come back, and is let in as soon as they are whole."""
    database = copied_database.rpartition("/")[2]
    secret = fleet.run("keys", "create", "ada", "--store", copied_database).split()[-1]
    (server,) = fleet.add("--store", copied_database, "--auth", "keys")

    def status():
        return httpx.get(f"{server.address}/v1/search?q=token", headers={"X-API-Key": secret}).status_code

    def set_keys(change):
        postgres.execute(f"UPDATE aerogram_shared SET value = {change} WHERE name = 'keys/api'", database=database)

    assert status() == 200
    set_keys(r"'\x7b' || value")
    wait_for(lambda: status() != 200)
    assert {status() for _ in range(3)} == {503}
    assert "put back a copy" in fleet.logs and "Traceback" not in fleet.logs
    set_keys("substr(value, 2)")
    wait_for(lambda: status() == 200)


def test_a_server_that_starts_before_its_database_waits_for_it(fleet, own_postgres):
    own_postgres.stop()
    log = fleet.folder / "early.log"
    port = find_free_port()
    pid = fleet.fork(["serve", "--store", own_postgres.samples, "--port", str(port)], log)
    try:
        wait_for(lambda: log.exists() and "tried again" in log.read_text())
        own_postgres.start()
        wait_for(lambda: "Ready at" in log.read_text())
        assert httpx.get(f"http://127.0.0.1:{port}/v1/search", params=SEARCH, timeout=30).status_code == 200
    finally:
        os.kill(pid, signal.SIGKILL)


def test_servers_are_killed_many_times_and_nothing_acknowledged_is_lost(fleet, index, redis):
    """Each answer is whole, whenever a server dies; what was said to be archived can be had at the end."""
    chance = random.Random(SEED)
    fleet.add("--index", str(index), "--redis", redis.url, count=3)
    with balancing(fleet.addresses, every=0.05) as balancer:
        with Callers(balancer.address, CUT, count=2, pause=0.01) as callers:
            for _ in range(KILLS):
                victim = chance.choice(fleet.members)
                others = set(fleet.addresses) - {victim.address}
                wait_for(lambda others=others: balancer.well & others)
                callers.wait_for(200, count=1)
                time.sleep(chance.uniform(0, 0.05))
                victim.kill()
                victim.start(wait=False)
            callers.wait_for(200)
        answered = [reply for reply in callers.told if reply.status_code != 502]  # nobody was there
        assert in_shape(answered)
        assert balancer.repeated > 0
        # what the last one to die was killed in the middle of, another answers
        fleet.members[0].wait_until_well()
        assert len(pieces(answered)) > KILLS / 3
        recover(fleet.members[0].address, pieces(answered))


def test_a_server_that_is_paused_for_longer_than_anybody_waits_is_passed_over(fleet, index, redis):
    first, _ = fleet.add("--index", str(index), "--redis", redis.url, count=2)
    with balancing(fleet.addresses, patience=3.0) as balancer:
        with Callers(balancer.address) as callers:
            callers.wait_for(200)
            first.send(signal.SIGSTOP)
            wait_for(lambda: first.address not in balancer.well)
            callers.wait_for(200)
            first.send(signal.SIGCONT)
            wait_for(lambda: first.address in balancer.well)
            wait_for(lambda: {reply.headers.get("x-served-by") for reply in callers.told[-10:]} == set(fleet.addresses))
        assert callers.statuses == {200}


def test_servers_whose_clocks_differ_by_days_agree(tmp_path, index, redis):
    """Cursors, archived pieces and a limit of the day hold on both, whichever made them."""
    ports = [find_free_port(), find_free_port()]
    flags = ("--index", str(index), "--redis", redis.url, "--limits", "30/day")
    with contextlib.ExitStack() as running:
        for port, ahead in zip(ports, (-2 * DAY, 2 * DAY), strict=True):
            words, program = ["serve", *flags, "--port", str(port)], [str(CLOCKWORK), str(ahead)]
            process = start_program(words, program=program, cwd=tmp_path, env=clean_environment(index))
            running.callback(process.wait, 60)
            running.callback(process.kill)
        servers = [f"http://127.0.0.1:{port}" for port in ports]
        client = running.enter_context(httpx.Client(timeout=60))
        for one in servers:
            wait_for(lambda one=one: _is_well(client, one))
        days = {client.get(f"{one}/v1/health").json()["timestamp_utc"][:10] for one in servers}
        assert len(days) == 2
        rows, cursor, calls = [], None, 0
        for number in range(100):
            onward = {"cursor": cursor} if cursor else {}
            body = client.get(f"{servers[number % 2]}/v1/search", params={**SEARCH, "page_size": 4, **onward}).json()
            calls += 1
            rows += [row["chunk_id"] for row in body["results"]]
            cursor = body["aerogram"]["page"].get("cursor")
            if not cursor:
                break
        assert len(set(rows)) == len(rows) == body["aerogram"]["page"]["total"]
        for made, asked in (servers, servers[::-1]):
            reply = client.get(f"{made}/v1/digests", params=CUT)
            (piece, *_) = pieces([reply])
            assert client.get(f"{asked}/v1/content/{piece}", params={"envelope": "v2"}).status_code == 200
            calls += 2
        statuses = [
            client.get(f"{servers[number % 2]}/v1/search", params=SEARCH).status_code for number in range(calls, 34)
        ]
        assert statuses == [200] * (30 - calls) + [429] * 4


def _is_well(client, address):
    try:
        return client.get(f"{address}/v1/health").status_code == 200
    except httpx.HTTPError:
        return False


@pytest.fixture
def small_disk(tmp_path):
    """A disk of one megabyte."""
    if not is_root():
        pytest.skip("only root can make a small disk")
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], check=False, capture_output=True)
    if made.returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def test_an_archive_whose_disk_is_full_costs_nobody_their_answer(fleet, index, small_disk):
    """Answers then say that nothing was kept; what needs the archive is UNAVAILABLE; with room again, all is well."""
    (server,) = fleet.add("--index", str(index), "--archive", str(small_disk / "archive"))
    digest = {"source_file": "security/jwt-guide.md", "query": "How long is a token valid?"}
    with httpx.Client(base_url=server.address, timeout=30) as client:
        kept = pieces([client.get("/v1/vendors/Kestrelgate", params=VENDOR)])
        assert kept
        filler = small_disk / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)
        full = [client.get(f"/v1/vendors/{name}", params=VENDOR) for name in OTHERS]
        assert {reply.status_code for reply in full} == {200}
        assert not pieces(full)
        assert in_shape([client.post("/v1/digests", params={"envelope": "v2"}, json=digest)])
        assert client.get("/v1/health/deep").json()["checks"]["archive"]["status"] == "failing"
        recover(server.address, kept)
        filler.unlink()
        again = [client.get(f"/v1/vendors/{name}", params=VENDOR) for name in OTHERS]
        assert len(pieces(again)) == len(OTHERS)
        recover(server.address, pieces(again) | kept)
        assert client.post("/v1/digests", params={"envelope": "v2"}, json=digest).status_code == 200


def test_an_archive_that_falls_silent_costs_nobody_their_answer(fleet, index):
    """However many ask at once: each has its answer in time, which says that nothing was kept."""
    fleet.environment |= S3_KEYS
    with socket.create_server(("127.0.0.1", 0), backlog=256) as silent:
        address = f"s3://kept?endpoint=http://127.0.0.1:{silent.getsockname()[1]}"
        (server,) = fleet.add("--index", str(index), "--archive", address)
        asked = [(f"{server.address}/v1/vendors/{name}", VENDOR) for name in OTHERS]
        asked += [(f"{server.address}/v1/digests", {**CUT, "query": f"token {number}"}) for number in range(16)]
        with ThreadPoolExecutor(len(asked)) as aside:
            told = list(aside.map(lambda one: httpx.get(one[0], params=one[1], timeout=60), asked))
    assert {reply.status_code for reply in told} == {200}
    assert not pieces(told)
    assert "the archive cannot be reached" in server.log.read_text()
