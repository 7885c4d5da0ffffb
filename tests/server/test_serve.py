"""Serving: the first run, the next one, the end, and what goes wrong in between; all with real processes."""

import fcntl
import json
import shlex
import signal
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from urllib.parse import urlsplit

import fastmcp
import httpx
import pytest

from aerogram.client.reading import read
from aerogram.digest import payload_of, verify
from aerogram_knowledge.access.keys import Keys
from programs import run_program, start_program
from serving import SAMPLES, clean_environment, command, serving

V2 = {"envelope": "v2"}


@pytest.fixture
def documents(tmp_path):
    """A small folder of one's own."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "harbour.md").write_text("# Harbour\n\nThe harbour master closes the gate at nine.\n", encoding="utf-8")
    (folder / "mill.md").write_text("# Mill\n\nThe mill grinds rye on Tuesdays.\n", encoding="utf-8")
    return folder


def get(server, path, key=None, **params):
    headers = {} if key is None else {"X-API-Key": key}
    return read(httpx.get(server.address + path, params={**params, **V2}, headers=headers, timeout=30))


def search(server, query, key=None):
    return get(server, "/v1/search", key, q=query)


def run(index, *arguments, documents=SAMPLES):
    """A server that is expected to end by itself."""
    line = command(index, *arguments, documents=documents, program=())
    return run_program(line, text=True, cwd=index.parent, env=clean_environment(index))


@contextmanager
def half_a_request(server):
    """A connection on which half of a request has arrived; gives it and the other half."""
    place = urlsplit(server.address)
    body = b'{"source_file": "harbour.md", "query": "When does the gate close?"}'
    head = (
        f"POST /v1/digests HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
    ).encode()
    with socket.create_connection((place.hostname, place.port), timeout=30) as connection:
        connection.sendall(head)
        begun = b""
        while not begun.endswith(b"\r\n\r\n"):
            begun += connection.recv(1)
        assert begun.startswith(b"HTTP/1.1 100 ")
        connection.sendall(body[:10])
        yield connection, body[10:]


def dawdling(server):
    """A connection on which somebody takes their time."""
    place = urlsplit(server.address)
    return socket.create_connection((place.hostname, place.port))


def refuses_connections(server):
    place = urlsplit(server.address)
    for _ in range(1_200):
        with socket.socket() as probe:
            if probe.connect_ex((place.hostname, place.port)):
                return True
        time.sleep(0.05)
    return False


def end_in_the_middle(server, signal_number):
    """Tell a server to end while it has half a request; what it answers to the whole, and its exit code."""
    with half_a_request(server) as (connection, rest):
        server.process.send_signal(signal_number)
        assert refuses_connections(server)
        connection.sendall(rest)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    return answer, server.process.wait(60)


def test_from_the_first_run_to_the_end_of_the_second(documents, tmp_path):
    """It says what it does and what to do next, finishes replies when it is told to end, and reads only changes."""
    for number in range(12):
        (documents / f"rye-{number}.md").write_text(f"# Rye {number}\n\nRye of field {number}.\n", encoding="utf-8")
    with serving(tmp_path / "index", documents=documents) as server:
        said = "\n".join(server.said)
        assert f"Serving {documents} to agents" in said
        assert "14 new" in said
        assert f'"url": "{server.mcp}"' in said
        command_to_try = next(line for line in server.said if line.startswith("  try"))
        tried = httpx.get(command_to_try.partition("'")[2].rstrip("'"), timeout=30)
        best = tried.json()["results"][0]
        assert best["source_file"].endswith(".md")
        assert best["context_header"] and best["chunk_snippet"]  # more than numbers
        first = search(server, "rye")
        answer, code = end_in_the_middle(server, signal.SIGTERM)
        assert answer.startswith(b"HTTP/1.1 200")
        assert b"the gate at nine" in answer
        assert code == 0

    (documents / "new.md").write_text("# New\n\nA lighthouse keeper's diary.\n", encoding="utf-8")
    with serving(tmp_path / "index", documents=None) as server:  # an index knows its folders
        assert any("1 new, 0 changed, 14 unchanged" in line for line in server.said)
        assert search(server, "lighthouse keeper").data[0]["source_file"] == "new.md"
        assert search(server, "rye").data[0]["chunk_id"] == first.data[0]["chunk_id"]
        params = {"q": "rye", "cursor": first.page.cursor, **V2}
        more = read(httpx.get(f"{server.address}/v1/search", params=params, timeout=30))
        assert {row["chunk_id"] for row in more.data}.isdisjoint({row["chunk_id"] for row in first.data})
        answer, code = end_in_the_middle(server, signal.SIGINT)
        assert (answer.partition(b"\r\n")[0], code) == (b"HTTP/1.1 200 OK", 0)


def test_a_port_that_is_taken_is_one_line_with_what_to_do(documents, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = run(tmp_path / "index", "--port", str(port), documents=documents)
    assert done.returncode == 1
    assert done.stderr == (
        f"aerogram: port {port} is taken: end the other server, or choose another with --port {port + 1} "
        f"or AEROGRAM_PORT={port + 1}\n"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "there is nothing to serve"),
        (("--port", "99999"), "port"),
        (("--dialect", "klingon"), "dialect"),
        (("--host", "0.0.0.0"), "there is no API key"),
    ],
)
def test_what_cannot_be_served_is_one_line(documents, tmp_path, arguments, words):
    done = run(tmp_path / "index", *arguments, documents=documents if arguments else None)
    assert done.returncode == 1
    assert words in done.stderr
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)


def test_an_index_that_goes_away_is_unavailable_until_one_is_back(documents, tmp_path):
    """The same one, or another in its place; two servers may then use it at once."""
    index = tmp_path / "index"
    with serving(index, documents=documents) as server:
        assert search(server, "harbour").data
        index.rename(tmp_path / "elsewhere")
        for query in ("harbour", "mill"):
            gone = search(server, query).problem
            assert (gone.code, gone.retryable, gone.retry_after) == ("UNAVAILABLE", True, 5)
        for envelope in ("", "?envelope=v2"):  # a balancer looks at the status alone
            assert httpx.get(f"{server.address}/v1/health{envelope}", timeout=60).status_code == 503
        assert httpx.get(f"{server.address}/v1/health", timeout=60).json()["status"] == "unhealthy"
        ill = get(server, "/v1/health/deep").data
        assert (ill["status"], ill["checks"]["store"]["status"]) == ("unhealthy", "failing")
        assert ill["checks"]["embedder"]["status"] == "ok"  # it is judged by itself
        (tmp_path / "elsewhere").rename(index)
        assert search(server, "mill").data[0]["source_file"] == "mill.md"
        assert httpx.get(f"{server.address}/v1/health/deep", timeout=30).json()["status"] == "ok"
        assert httpx.get(f"{server.address}/v1/health", timeout=30).status_code == 200

        (index / "archive").rename(tmp_path / "archive")
        (index / "archive").write_text("in the way", encoding="utf-8")
        ill = get(server, "/v1/health/deep")
        assert (ill.status, ill.data["status"], ill.data["checks"]["archive"]["status"]) == (
            "partial",
            "degraded",
            "failing",
        )

        index.rename(tmp_path / "elsewhere")
        (documents / "quay.md").write_text("# Quay\n\nThe quay is repaired in May.\n", encoding="utf-8")
        with serving(index, documents=documents) as other:
            assert search(server, "quay repaired").data[0]["source_file"] == "quay.md"
            assert search(server, "harbour").data == search(other, "harbour").data


async def test_one_server_follows_changes_speaks_another_dialect_and_survives_bad_clients(documents, tmp_path):
    settings = ("--watch", "--dialect", "response-v2", "--budget", "3000")
    with serving(tmp_path / "index", *settings, documents=documents) as server, dawdling(server) as slow:
        slow.sendall(b"GET /v1/search?q=harbour HTTP/1.1\r\nHost: ")
        for _ in range(5):  # clients that leave in the middle, without a word
            with half_a_request(server) as (connection, _):
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        async with fastmcp.Client(server.mcp) as client:
            found = await client.call_tool("semantic_search", {"query": "harbour"})
            assert found.structured_content["success"] is True
            assert found.structured_content["data"]["results"]
        for attempt in range(100):
            # written again and again, because watching begins a moment after the server is ready
            (documents / "anchor.md").write_text(f"# Anchor\n\nThe anchor weighs {attempt} tons.\n", encoding="utf-8")
            time.sleep(0.6)  # noqa: ASYNC251 - nothing else is to happen meanwhile
            if search(server, "anchor").data:
                break
        assert search(server, "anchor").data[0]["source_file"] == "anchor.md"


def test_who_does_not_say_what_they_want_loses_their_place(documents, tmp_path):
    """Before the first request and before the next one; the answer to a whole one comes first."""
    with serving(tmp_path / "index", "--timeout", "2", documents=documents) as hasty, ExitStack() as lines:
        whole = f"GET /v1/health HTTP/1.1\r\nHost: {urlsplit(hasty.address).netloc}\r\n\r\n".encode()
        told = {b"": [], whole[:20]: [b"408"], whole + whole[:20]: [b"200", b"408"]}
        slow = {sent: lines.enter_context(dawdling(hasty)) for sent in told}  # all at once
        for sent, line in slow.items():
            line.settimeout(30)
            line.sendall(sent)
        for sent, line in slow.items():
            answer = b"".join(iter(partial(line.recv, 65536), b""))
            assert [part.split(b" ")[0] for part in answer.split(b"HTTP/1.1 ")[1:]] == told[sent]
        assert b'"retryable":true' in answer
        assert search(hasty, "harbour").data


def test_an_idle_connection_is_kept_longer_than_clients_keep_theirs(served):
    """Else both would let go of it at the same moment, and a request be lost in between; httpx keeps them for 5 s."""
    with httpx.Client(base_url=served.address, limits=httpx.Limits(keepalive_expiry=60), timeout=30) as patient:
        lines = []
        for pause in (0, 5.5):
            time.sleep(pause)
            answer = patient.get("/v1/health")
            lines.append(answer.extensions["network_stream"].get_extra_info("client_addr"))
    assert lines[0] == lines[1]


def test_a_key_has_its_limits_where_none_is_needed(documents, tmp_path):
    keys = Keys(tmp_path / "keys.json")
    key = keys.create("ada", plan="2/hour").secret
    with serving(tmp_path / "index", "--keys", str(keys.path), documents=documents) as server:
        problems = [search(server, "harbour", key).problem for _ in range(3)]
        assert [problem and problem.code for problem in problems] == [None, None, "RATE_LIMIT_EXCEEDED"]
        assert search(server, "harbour").problem is None


def over_stdio(index, documents, said=b""):
    """What a server on standard streams makes of some input, until that ends."""
    line = command(index, "--stdio", documents=documents, program=())
    return run_program(line, input=said, env=clean_environment(index))


def test_over_stdio_the_end_of_the_input_ends_the_server(documents, tmp_path):
    done = over_stdio(tmp_path / "index", documents, b"this is no JSON-RPC\n")
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_over_stdio_a_signal_ends_the_server_while_its_client_says_nothing(documents, tmp_path, how):
    line = command(tmp_path / "index", "--stdio", documents=documents, program=())
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = start_program(line, env=clean_environment(tmp_path / "index"), **streams)
    try:
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 1
        process.send_signal(how)
        assert process.wait(30) == 0
        assert b"Traceback" not in process.stderr.read()
    finally:
        if process.poll() is None:
            process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()


def test_it_says_when_there_is_nothing_in_what_was_named(documents, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    first, second = (over_stdio(tmp_path / "index", folder).stderr for folder in (empty, documents))
    assert b"no document was found" in first
    assert b"no document was found" not in second


def what_is_tried(server, **environment):
    """What the command that the server prints gives where its key is set; a client is given the same header."""
    typed, client = (
        next(line for line in server.said if line.startswith(f"  {name} ")).split(maxsplit=1)[1]
        for name in ("try", "clients")
    )
    assert json.loads(client)["mcpServers"]["aerogram"]["headers"] == {"X-API-Key": "${AEROGRAM_API_KEY}"}
    _, option, header, address = shlex.split(typed)
    name, _, value = header.partition(": ")
    assert (option, value) == ("-H", "$AEROGRAM_API_KEY")
    return httpx.get(address, headers={name: environment[value[1:]]}, timeout=30).json()


async def test_callers_with_keys_have_limits_and_archives_of_their_own(documents, tmp_path):
    keys = Keys(tmp_path / "keys.json")
    ada, bob = keys.create("ada", plan="semantic_search=2/hour").secret, keys.create("bob").secret
    settings = ("--auth", "keys", "--keys", str(keys.path))
    with serving(tmp_path / "index", *settings, documents=documents) as server:
        assert what_is_tried(server, AEROGRAM_API_KEY=bob)["status"] in ("rich", "sparse")
        assert search(server, "harbour").problem.code == "UNAUTHORIZED"
        codes = [search(server, "harbour", ada).problem for _ in range(3)]
        assert [problem and problem.code for problem in codes] == [None, None, "RATE_LIMIT_EXCEEDED"]
        question = {"source_file": "harbour.md", "query": "gate"}
        async with fastmcp.Client(server.mcp, auth=bob) as client:
            made = await client.call_tool("digest_document", question)
        digest = payload_of(read(made).data["sources"][0])
        mine, theirs = (get(server, f"/v1/content/{digest.source_text_hash}", one) for one in (bob, ada))
        assert verify(digest, mine.data)
        assert theirs.problem.code == "NOT_FOUND"
        async with httpx.AsyncClient(base_url=server.address, timeout=60) as stranger:
            refused = await stranger.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert (refused.status_code, refused.headers["Content-Type"]) == (401, "application/problem+json")


def test_a_thread_that_is_stuck_does_not_keep_the_server_from_ending(tmp_path):
    """Its request is told to come back, and nothing of it is kept."""
    digest = {"source_file": "security/passkeys.md", "query": "When is a passkey asked for?"}
    with serving(tmp_path / "index", "--grace", "1", stderr=subprocess.PIPE) as server:
        (tmp_path / "index" / "archive").mkdir(exist_ok=True)
        with (tmp_path / "index" / "archive" / ".lock").open("w") as lock, ThreadPoolExecutor(1) as asking:
            fcntl.flock(lock, fcntl.LOCK_EX)  # whoever writes to the archive waits for it in a thread
            asked = asking.submit(httpx.get, f"{server.address}/v1/digests", params=digest, timeout=60)
            with pytest.raises(TimeoutError):
                asked.result(1)
            server.process.terminate()
            assert asked.result(30).status_code == 503
            assert server.process.wait(30) == 0
        with server.process.stderr as said:
            assert "a thread is still at work" in said.read()
    assert not any((tmp_path / "index" / "archive" / "aerogram_archive").iterdir())
