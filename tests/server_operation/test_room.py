"""More connections than there are places for, and clients that do not speak HTTP: each gets an answer in shape."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import resource
import select
import socket
import threading
import time
from types import SimpleNamespace
from urllib.parse import urlsplit

import httpx
import pytest

from aerogram import read
from aerogram.serving.connection import ConnectionSlots
from aerogram.serving.listener import answer_on, make_server
from balancer import wait_for
from serving import serving

PLACES = 3
SEARCH = "/v1/search?q=token"
NEWER = "application/vnd.aerogram.v2+json"
NO_HTTP = (b"NONSENSE", b"GET / HTTP/1.1\r\nHost: a\r\nBad Header", b"\x16\x03\x01\x02\x00")


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    """A server with three places."""
    with serving(tmp_path_factory.mktemp("room") / "index", "--max-connections", str(PLACES)) as server:
        yield server


def connect(server):
    place = urlsplit(server.address)
    return contextlib.closing(http.client.HTTPConnection(place.hostname, place.port, timeout=30))


def ask(connection, path, headers=()):
    """An answer over a connection, whole."""
    connection.request("GET", path, headers=dict(headers))
    answer = connection.getresponse()
    return httpx.Response(answer.status, headers=answer.getheaders(), content=answer.read())


@pytest.fixture
def full(crowded):
    """As many connections as there are places, each of which has been answered."""
    with contextlib.ExitStack() as opened:
        lines = [opened.enter_context(connect(crowded)) for _ in range(PLACES)]
        for line in lines:
            wait_for(lambda line=line: ask(line, "/v1/health").status_code == 200)
        yield lines


@pytest.mark.parametrize("accept", ["*/*", NEWER])
@pytest.mark.parametrize("path", [SEARCH, "/v1/health/deep", "/v1/nothing", "/v1/content/sha256:0000000000"])
def test_a_connection_too_many_is_told_to_come_back_in_the_shape_that_it_asked_for(crowded, full, path, accept):
    with connect(crowded) as line:
        answer = ask(line, path, {"Accept": accept})
    assert answer.status_code == 503
    assert answer.headers["connection"] == "close"
    assert int(answer.headers["retry-after"]) > 0
    assert answer.headers["content-type"].partition(";")[0].endswith("json")
    if accept == NEWER:
        told = read(answer.json()).problem
        assert (told.code, told.retryable) == ("UNAVAILABLE", True)
        assert told.retry_after > 0


def test_whoever_asks_for_health_learns_it_however_full_it_is(crowded, full):
    for _ in range(3):
        with connect(crowded) as line:
            answer = ask(line, "/v1/health")
        assert (answer.status_code, answer.headers["connection"]) == (200, "close")


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize("path", [SEARCH, f"{SEARCH}&format=csv", "/v1/health", "/nothing"])
def test_a_client_that_says_no_more_gets_its_answer(crowded, path, version):
    """It closes its half of the line after the request, and the server closes the other after the answer."""

    def answer():
        place = urlsplit(crowded.address)
        with socket.create_connection((place.hostname, place.port), timeout=30) as line:
            line.sendall(f"GET {path} HTTP/{version}\r\nHost: 127.0.0.1\r\n\r\n".encode())
            line.shutdown(socket.SHUT_WR)
            with http.client.HTTPResponse(line) as told:
                told.begin()
                assert told.read()
                return told.status, line.recv(1)

    wait_for(lambda: answer()[0] != 503)
    assert answer() == (404 if path == "/nothing" else 200, b"")


@pytest.fixture(scope="module")
def waiting():
    """An application that answers when its client has left, its port, and who has."""
    left = []

    async def app(scope, receive, send):
        if scope["type"] == "lifespan":
            for _ in range(2):
                await send({"type": f"{(await receive())['type']}.complete"})
            return
        while (await receive())["type"] != "http.disconnect":
            pass
        left.append(scope["path"])

    bounds = SimpleNamespace(timeout=0.0, max_connections=10, grace=1.0)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = make_server(app, bounds)
        thread = threading.Thread(target=lambda: asyncio.run(answer_on(server, listener)))
        thread.start()
        yield listener.getsockname(), left
        server.should_exit = True
        thread.join()


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_work_for_a_client_that_has_left_can_end(waiting, version):
    """Leaving and saying no more look alike until something is sent."""
    address, left = waiting
    with socket.create_connection(address) as line:
        line.sendall(f"GET /{version} HTTP/{version}\r\nHost: 127.0.0.1\r\n\r\n".encode())
    wait_for(lambda: f"/{version}" in left)


def tell(server, said):
    """All that a server answers to what is said, when no more is said."""
    place = urlsplit(server.address)
    with socket.create_connection((place.hostname, place.port), timeout=30) as line:
        line.sendall(said)
        line.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: line.recv(65536), b""))


def test_a_client_that_says_no_more_gets_nothing_but_its_answers(crowded):
    """No interim answer that it has not asked for, and of two requests on one line two answers."""
    one = b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for asked in (one, one * 2, one * 3):
        wait_for(lambda: tell(crowded, one).startswith(b"HTTP/1.1 200 "))
        told = tell(crowded, asked)
        count = asked.count(b"GET ")
        assert told.count(b"HTTP/1.1 ") == told.count(b"HTTP/1.1 200 OK\r\n") == count
        assert told.startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "LOCALHOST:80"])
@pytest.mark.parametrize("rest", ["/v1/health", "/v1/health?envelope=v2", "", "?envelope=v2", "/v1/nothing"])
def test_a_target_that_is_named_in_full_is_understood(crowded, host, rest):
    path = rest if rest.startswith("/") else f"/{rest}"
    plain, full = (
        f"GET {target} HTTP/1.1\r\nHost: {field}\r\nAccept: application/json\r\nX-Request-Id: same-id-12345\r\n\r\n"
        for target, field in ((path, host), (f"HTTP://{host}{rest}", "evil.example"))
    )
    wait_for(lambda: not tell(crowded, plain.encode()).startswith(b"HTTP/1.1 503 "))
    first, second = (tell(crowded, one.encode()).partition(b"\r\n")[0] for one in (plain, full))
    assert first == second


def test_the_host_of_a_target_that_is_named_in_full_is_the_one_that_counts(crowded):
    """A page may rebind the name in either place (RFC 9112, section 3.2.2: the field is then ignored)."""
    for target in ("http://evil.example/v1/search?q=a", "http://a@localhost/v1/search?q=a", "http:///v1/search?q=a"):
        asked = f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        wait_for(lambda asked=asked: not tell(crowded, asked).startswith(b"HTTP/1.1 503 "))
        assert tell(crowded, asked).startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize("path", [SEARCH, f"{SEARCH}&format=csv", "/v1/health", "/nothing", "/", "/docs", "/mcp"])
def test_no_answer_lets_a_browser_guess_at_its_type(crowded, path):
    def answer():
        with connect(crowded) as line:
            return ask(line, path)

    wait_for(lambda: answer().status_code != 503)
    assert answer().headers.get_list("x-content-type-options") == ["nosniff"]


def test_an_mcp_client_too_many_gets_problem_details(crowded, full):
    with connect(crowded) as line:
        answer = ask(line, "/mcp")
    assert answer.status_code == 503
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["retryable"] is True


def test_whoever_has_a_place_keeps_it_and_a_place_that_is_left_can_be_taken(crowded, full):
    with connect(crowded) as line:
        assert ask(line, SEARCH).status_code == 503
    for line in full:
        assert ask(line, SEARCH).status_code == 200
    full[0].close()

    def is_answered():
        with connect(crowded) as line:
            return ask(line, SEARCH).status_code == 200

    wait_for(is_answered)


def test_a_crowd_that_comes_at_once_is_answered_to_the_last(crowded):
    """Nobody is left without an answer, and as many are let in as there are places."""
    with contextlib.ExitStack() as opened:
        lines = [opened.enter_context(connect(crowded)) for _ in range(60)]
        wait_for(lambda: ask(lines[0], "/v1/health").status_code == 200)  # those who were here before have left
        for line in lines:
            line.request("GET", f"{SEARCH}&envelope=v2")
        answers = [line.getresponse() for line in lines]
        bodies = [json.loads(answer.read()) for answer in answers]
    assert {answer.status for answer in answers} <= {200, 503}
    assert 0 < sum(answer.status == 200 for answer in answers) <= PLACES
    for answer, body in zip(answers, bodies, strict=True):
        found = read(body)
        assert (found.problem is None) == (answer.status == 200)


@pytest.mark.parametrize("said", NO_HTTP, ids=repr)
def test_what_is_no_http_is_refused_with_problem_details(crowded, said):
    place = urlsplit(crowded.address)
    with socket.create_connection((place.hostname, place.port), timeout=30) as line:
        line.sendall(said + b"\r\n\r\n")
        head, _, body = b"".join(iter(lambda: line.recv(65536), b"")).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"application/problem+json" in head
    assert json.loads(body)["code"] == "VALIDATION_ERROR"


MANY = 40
SHARE = 32


POST = b"POST /v1/digests HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\n \r\n" * 4_097, "pieces of less than 64 bytes"),
        (b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n", "send one of them"),
    ],
    ids=["crumbs", "two lengths"],
)
def test_a_body_that_cannot_be_meant_well_is_not_read_to_its_end(crowded, said, told):
    place = urlsplit(crowded.address)
    with socket.create_connection((place.hostname, place.port), timeout=30) as line:
        with contextlib.suppress(ConnectionError):  # it is closed before all has been sent
            line.sendall(POST + said)
        answer = http.client.HTTPResponse(line)
        answer.begin()
        assert (answer.status, answer.headers["content-type"]) == (400, "application/problem+json")
        assert told in json.loads(answer.read())["detail"]


def test_a_body_in_pieces_is_read(crowded):
    asked = json.dumps({"source_file": "security/passkeys.md", "query": "What is a passkey?"}).encode()
    pieces = b"".join(b"%x\r\n%s\r\n" % (1, asked[at : at + 1]) for at in range(len(asked)))
    place = urlsplit(crowded.address)
    with socket.create_connection((place.hostname, place.port), timeout=30) as line:
        line.sendall(POST + b"Transfer-Encoding: chunked\r\n\r\n" + pieces + b"0\r\n\r\n")
        answer = http.client.HTTPResponse(line)
        answer.begin()
        assert answer.status == 200


@pytest.fixture(scope="module")
def roomy(tmp_path_factory):
    """A server with places for several addresses."""
    with serving(tmp_path_factory.mktemp("roomy") / "index", "--max-connections", str(MANY)) as server:
        yield server


def from_address(server, source):
    place = urlsplit(server.address)
    return contextlib.closing(
        http.client.HTTPConnection(place.hostname, place.port, timeout=30, source_address=(source, 0))
    )


def test_an_address_that_only_holds_connections_does_not_lock_out_the_others(roomy):
    """As many as there are places and more, all silent, from one address; another one is answered all the same."""
    with contextlib.ExitStack() as opened:
        silent = [opened.enter_context(from_address(roomy, "127.0.0.1")) for _ in range(3 * MANY)]
        for line in silent:
            line.connect()
        with from_address(roomy, "127.0.0.2") as line:
            assert ask(line, SEARCH).status_code == 200
        with from_address(roomy, "127.0.0.1") as line:
            assert ask(line, SEARCH).status_code == 503
        with from_address(roomy, "127.0.0.1") as line:
            assert ask(line, "/v1/health").status_code == 200


ANSWERS = 100
NARROW = 4_096


@pytest.fixture(scope="module")
def impatient(tmp_path_factory):
    """A server of which a client has to take something every two seconds."""
    with serving(tmp_path_factory.mktemp("impatient") / "index", "--timeout", "2") as server:
        yield server


@contextlib.contextmanager
def asking_for_much(server):
    """A line of a client that takes little at once, and has asked for more than is kept for it by the system."""
    place = urlsplit(server.address)
    with socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, NARROW)
        line.settimeout(30)
        line.connect((place.hostname, place.port))
        line.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * ANSWERS)
        yield line


def take_all(line, size):
    """How much a client reads until it has so much, or there is no more."""
    taken = 0
    with contextlib.suppress(ConnectionResetError):
        while taken < size and (piece := line.recv(65_536)):
            taken += len(piece)
    return taken


def size_of_all(server):
    one = tell(server, b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return len(one) * ANSWERS


def test_a_client_that_takes_nothing_of_its_answer_loses_its_line(impatient):
    """Otherwise what it has asked for stays in memory for as long as it likes."""
    size = size_of_all(impatient)
    with asking_for_much(impatient) as line:
        ended = select.poll()
        ended.register(line, select.POLLHUP | select.POLLERR)
        assert ended.poll(30_000)
        assert take_all(line, size) < size


def test_a_client_that_reads_slowly_gets_all_of_its_answer(impatient):
    size = size_of_all(impatient)
    with asking_for_much(impatient) as line:
        taken = 0
        for _ in range(28):  # three times as long as it may take nothing
            taken += len(line.recv(NARROW))
            time.sleep(0.25)
        assert taken + take_all(line, size - taken) == size


FEW_FILES = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 700))
from aerogram.__main__ import main
main()
"""


def test_no_more_connections_have_a_place_than_there_may_be_files(tmp_path):
    """What the system allows is asked for, and what is needed besides connections is left."""
    with (
        serving(tmp_path / "index", program=("-c", FEW_FILES)) as server,
        contextlib.ExitStack() as opened,
    ):
        for number in range(600):
            line = opened.enter_context(from_address(server, f"127.0.1.{number // 25 + 1}"))
            line.connect()
        with from_address(server, "127.0.0.1") as line:
            assert ask(line, "/v1/health").status_code == 200
        assert resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE) == (700, 700)


def test_connections_that_come_all_at_once_take_no_more_files_than_there_are(tmp_path):
    """Each that the system had to refuse would be a trace in the log, and a thousand of them come in a second."""
    with (
        (tmp_path / "log").open("w+") as log,
        serving(tmp_path / "index", program=("-c", FEW_FILES), stderr=log.fileno()) as server,
        contextlib.ExitStack() as opened,
    ):
        place = urlsplit(server.address)
        for number in range(900):
            line = opened.enter_context(socket.socket())
            line.setblocking(False)
            line.bind((f"127.0.1.{number // 25 + 1}", 0))
            line.connect_ex((place.hostname, place.port))
        with from_address(server, "127.0.0.1") as line:
            assert ask(line, "/v1/health").status_code == 200
        log.seek(0)
        assert "Traceback" not in log.read()


def test_connections_that_have_shown_a_key_are_not_counted_among_strangers():
    room = ConnectionSlots(MANY)
    lines = [object() for _ in range(MANY)]
    for line in lines[:SHARE]:
        assert room.enter(line, "a")
    assert not room.enter(lines[SHARE], "a")
    for line in lines[:SHARE]:
        room.trust(line)
        room.trust(line)
    for line in lines[SHARE:]:
        assert room.enter(line, "a")
    assert not room.enter(object(), "b")
    for line in lines:
        room.leave(line)
    assert all(room.enter(object(), "a") for _ in range(SHARE))
    assert not room.enter(object(), "a")
