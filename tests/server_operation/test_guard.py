"""The guard over real sockets: who gets in, how much they may send, how long they wait, and how it is said."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
import time

import httpx
import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StreamableHttpTransport
from mcp.shared.exceptions import MCPError
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Mount, Route

from aerogram.fastmcp import install as install_mcp
from aerogram.serving.gate import ExposedServer, is_loopback, refuse_exposure
from aerogram.serving.guard import GuardMiddleware, mcp_principal, principal_of, protect
from aerogram.serving.listener import listening, make_server
from aerogram.starlette import install
from aerogram_knowledge.access.keys import Keys
from aerogram_knowledge.hosting.settings import Settings
from balancer import wait_for


async def who(request):
    return {"principal": principal_of(request.scope), "user": getattr(request.scope.get("user"), "display_name", None)}


async def size(request):
    return {"bytes": len(await request.body())}


async def careless(request):
    """A handler that catches whatever goes wrong with the body."""
    try:
        return {"bytes": len(await request.body())}
    except Exception:  # noqa: BLE001 - that is what makes it careless
        return PlainTextResponse("caught")


async def slow(request):
    await asyncio.sleep(60)


RELEASED = threading.Event()


def blocking(request):
    """A handler in a thread, which nothing can cancel."""
    RELEASED.wait(60)
    return {"late": True}


async def stream(request):
    async def parts():
        yield b"first "
        await asyncio.sleep(1.5)
        yield b"last"

    return StreamingResponse(parts(), media_type="text/plain")


async def crash(request):
    raise RuntimeError("a secret detail")


ROUTES = {
    "/v1/who": who,
    "/v1/size": size,
    "/v1/careless": careless,
    "/v1/slow": slow,
    "/v1/blocking": blocking,
    "/v1/stream": stream,
    "/v1/crash": crash,
    "/v1/health": who,
    "/v1/health/deep": who,
}


def guarded(keys, *, with_contract=True, **flags):
    routes = [Route(path, handler, methods=["GET", "POST", "OPTIONS"]) for path, handler in ROUTES.items()]
    app = Starlette(routes=routes)
    protect(app, Settings.load(flags, environ={}), keys)
    if with_contract:
        install(app, principal=principal_of)
    return app


@pytest.fixture
def keys(tmp_path):
    return Keys(tmp_path / "keys.json")


# Host and Origin


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:1234", "LOCALHOST", "[::1]:80", "192.0.2.7", "app.localhost"])
def test_localhost_and_addresses_are_names_of_the_server(serve, keys, host):
    assert serve(guarded(keys)).get("/v1/who", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "2130706433", "a@b"]
)
def test_a_name_that_is_not_listed_is_refused_whatever_it_resolves_to(serve, keys, host):
    refused = serve(guarded(keys)).get("/v1/who?envelope=v2", headers={"host": host})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "FORBIDDEN")


def test_names_are_listed_one_by_one_or_by_their_domain(serve, keys):
    client = serve(guarded(keys, allowed_hosts=["one.example", "*.many.example"]))
    status = {
        name: client.get("/v1/who", headers={"host": name}).status_code
        for name in ("one.example", "One.Example.:8000", "a.many.example", "many.example", "two.example")
    }
    assert list(status.values()) == [200, 200, 200, 403, 403]
    assert serve(guarded(keys, allowed_hosts="*")).get("/v1/who", headers={"host": "x.example"}).status_code == 200


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:3000", 200),
        ("http://127.0.0.1:9999", 200),
        ("https://app.example", 200),
        ("https://app.example:444", 403),
        ("http://evil.example", 403),
        ("http://localhost.evil.example", 403),
        ("null", 403),
        ("file://", 403),
        ("http://[", 403),
        ("chrome-extension://abcdef", 403),
    ],
)
def test_a_page_calls_from_this_machine_or_from_a_listed_origin(serve, keys, origin, status):
    client = serve(guarded(keys, allowed_origins=["https://app.example"]))
    assert client.get("/v1/who", headers={"origin": origin}).status_code == status


def test_a_page_that_rebinds_its_name_to_this_machine_gets_nothing(serve, keys):
    """Its requests are of its own origin as far as the browser can tell; the name gives them away."""
    headers = {"host": "evil.example:8000", "origin": "http://evil.example:8000"}
    assert serve(guarded(keys)).post("/v1/size", headers=headers, content=b"x").status_code == 403


def test_a_page_of_the_servers_own_may_call_it(serve, keys):
    client = serve(guarded(keys, allowed_hosts=["search.example"]))
    for origin, host, status in (
        ("https://search.example", "search.example", 200),
        ("http://search.example:81", "search.example:81", 200),
        ("http://search.example:82", "search.example:81", 403),
    ):
        assert client.get("/v1/who", headers={"origin": origin, "host": host}).status_code == status


def test_a_listed_page_may_ask_for_leave_without_a_key_and_then_needs_one(serve, keys):
    client = serve(guarded(keys, auth="keys", allowed_origins=["https://app.example"]))
    page = {"origin": "https://app.example"}
    asked = client.options(
        "/v1/who",
        headers={**page, "access-control-request-method": "GET", "access-control-request-headers": "x-api-key"},
    )
    assert asked.status_code == 200
    assert asked.headers["access-control-allow-origin"] == "https://app.example"
    assert client.get("/v1/who", headers=page).status_code == 401
    found = client.get("/v1/who", headers={**page, "x-api-key": keys.create("page").secret})
    assert (found.status_code, found.headers["access-control-allow-origin"]) == (200, "https://app.example")
    assert "X-Fidelity" in found.headers["access-control-expose-headers"]


def test_two_hosts_in_one_request_are_none(serve, keys):
    client = serve(guarded(keys))
    with socket.create_connection((client.base_url.host, client.base_url.port), timeout=20) as line:
        line.sendall(b"GET /v1/who HTTP/1.0\r\n\r\n")
        assert line.recv(4096).split(b" ", 2)[1] == b"403"


# Keys


def test_on_this_machine_nobody_needs_a_key_but_a_key_that_is_sent_must_be_good(serve, keys):
    key, secret = keys.create("ada")
    client = serve(guarded(keys))
    assert client.get("/v1/who").json() == {"principal": None, "user": None}
    known = {"principal": f"key:{key.id}", "user": "ada"}
    assert client.get("/v1/who", headers={"x-api-key": secret}).json() == known
    assert client.get("/v1/who", headers={"authorization": f"bearer {secret}"}).json() == known
    assert client.get("/v1/who", headers={"authorization": "Basic YTpi"}).json()["principal"] is None
    assert client.get("/v1/who", headers={"x-api-key": secret[:-1]}).status_code == 401


@pytest.mark.parametrize("flags", [{"host": "0.0.0.0"}, {"auth": "keys"}, {"host": "search.example"}])
def test_where_keys_are_needed_there_is_nothing_without_one_but_a_sign_of_life(serve, keys, flags):
    client = serve(guarded(keys, **flags))
    refused = client.get("/v1/who?envelope=v2")
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "UNAUTHORIZED")
    assert refused.headers["www-authenticate"] == 'Bearer realm="aerogram"'
    assert client.get("/v1/health").status_code == 200
    assert client.post("/v1/health").status_code == 401
    assert client.get("/v1/health/deep").status_code == 401
    assert client.get("/v1/nowhere").status_code == 401
    assert client.get("/v1/who", headers={"x-api-key": keys.create("ada").secret}).status_code == 200


def test_a_key_that_is_revoked_stops_working_at_once(serve, keys):
    secret = keys.create("ada").secret
    client = serve(guarded(keys, auth="keys"))
    assert client.get("/v1/who", headers={"x-api-key": secret}).status_code == 200
    Keys(keys.path).revoke("ada")
    refused = client.get("/v1/who?envelope=v2", headers={"x-api-key": secret})
    assert refused.status_code == 401
    assert "revoked" in refused.text


def test_two_keys_in_one_request_are_none(serve, keys):
    headers = {"x-api-key": keys.create("ada").secret, "authorization": f"Bearer {keys.create('bob').secret}"}
    assert serve(guarded(keys)).get("/v1/who", headers=headers).status_code == 401


def test_a_broken_file_of_keys_lets_nobody_in_and_says_to_come_back(serve, keys, caplog):
    secret = keys.create("ada").secret
    client = serve(guarded(keys, auth="keys"))
    good = keys.path.read_bytes()
    keys.path.write_text("{")
    with caplog.at_level(logging.ERROR):
        refused = client.get("/v1/who?envelope=v2", headers={"x-api-key": secret})
    assert refused.status_code == 503
    assert str(keys.path) in caplog.text and "put back a copy of it" in caplog.text
    assert str(keys.path) not in refused.text
    keys.path.write_bytes(good)
    assert client.get("/v1/who", headers={"x-api-key": secret}).status_code == 200


@pytest.mark.parametrize(
    ("host", "is_local"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("example.com", False),
        ("localhost.example.com", False),
    ],
)
def test_what_can_be_reached_from_this_machine_alone(host, is_local):
    assert is_loopback(host) is is_local


def test_nobody_listens_in_public_without_a_key_unless_told(keys):
    public = Settings.load({"host": "0.0.0.0"}, environ={})
    with pytest.raises(
        ExposedServer, match=r"0\.0\.0\.0 can be reached from elsewhere .*aerogram keys create.* --auth none"
    ):
        refuse_exposure(public, keys)
    for flags in ({}, {"host": "0.0.0.0", "auth": "none"}, {"host": "0.0.0.0", "transport": "stdio"}):
        refuse_exposure(Settings.load(flags, environ={}), keys)
    keys.create("ada")
    refuse_exposure(public, keys)
    keys.revoke("ada")
    with pytest.raises(ExposedServer):
        refuse_exposure(public, keys)


def test_the_program_does_not_listen_in_public_without_a_key(aerogram, tmp_path):
    (tmp_path / "docs").mkdir()
    done = aerogram("serve", "docs", "--host", "0.0.0.0", "--port", "0")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("aerogram: 0.0.0.0 can be reached from elsewhere and there is no API key")


# Shapes of refusals


def test_a_refusal_has_the_shape_that_was_negotiated(serve, keys):
    client = serve(guarded(keys, auth="keys"))
    current = client.get("/v1/who", headers={"accept": "application/vnd.aerogram.v2+json"})
    assert current.headers["x-envelope-version"] == "v2"
    assert current.json()["status"] == "error"
    problem = client.get("/v1/who", headers={"accept": "application/problem+json"})
    assert problem.headers["content-type"] == "application/problem+json"
    assert (problem.json()["status"], problem.json()["code"]) == (401, "UNAUTHORIZED")
    mine = client.get("/v1/who?envelope=v2", headers={"x-request-id": "req_mine_12345678"})
    assert mine.json()["meta"]["request_id"] == mine.headers["x-request-id"]


def test_without_a_contract_around_it_a_refusal_is_problem_details(serve, keys):
    client = serve(guarded(keys, with_contract=False, auth="keys", max_body=10))
    refused = client.get("/v1/who")
    assert refused.headers["content-type"] == "application/problem+json"
    assert (refused.status_code, refused.json()["code"]) == (401, "UNAUTHORIZED")
    headers = {"x-api-key": keys.create("ada").secret}
    large = client.post("/v1/size", headers=headers, content=b"x" * 11)
    assert (large.status_code, large.json()["status"]) == (413, 413)


# Size


@pytest.mark.parametrize("path", ["/v1/size", "/v1/careless"])
def test_a_body_up_to_the_limit_passes_and_one_byte_more_does_not(serve, keys, path):
    client = serve(guarded(keys, max_body=1000))

    def parts(count):
        for _ in range(count):
            yield b"x" * 100

    assert client.post(path, content=b"x" * 1000).json() == {"bytes": 1000}
    assert client.post(path, content=parts(10)).json() == {"bytes": 1000}
    for body in (b"x" * 1001, b"x" * 5_000_000, parts(11), parts(10_000)):
        refused = client.post(f"{path}?envelope=v2", content=body)
        assert (refused.status_code, refused.json()["error"]["code"]) == (413, "VALIDATION_ERROR")
        assert "1,000 bytes" in refused.text
    assert client.post(path, content=b"still there").json() == {"bytes": 11}


# Time


@pytest.mark.parametrize("path", ["/v1/slow", "/v1/blocking"])
def test_who_waits_too_long_is_told_to_come_back(serve, keys, path):
    RELEASED.clear()
    client = serve(guarded(keys, timeout=0.1))
    refused = client.get(f"{path}?envelope=v2")
    RELEASED.set()
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert "no answer within 0.1 seconds" in refused.text
    assert any(client.get("/v1/who").status_code == 200 for _ in range(50))  # not each answer is so quick everywhere


def test_a_body_that_never_ends_does_not_hold_the_server(serve, keys):
    """And it is its sender who is told so, for the server has done nothing wrong."""
    client = serve(guarded(keys, timeout=0.1))
    with socket.create_connection((client.base_url.host, client.base_url.port), timeout=20) as line:
        line.sendall(b"POST /v1/size HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nfirst")
        answer = line.recv(4096)
    assert answer.split(b" ", 2)[1] == b"408"


def test_an_answer_that_has_begun_may_take_its_time(serve, keys):
    client = serve(guarded(keys, timeout=1))
    assert any(client.get("/v1/stream").text == "first last" for _ in range(10))  # not each begins so soon everywhere


def test_no_limit_is_no_limit(serve, keys):
    assert serve(guarded(keys, timeout=0)).get("/v1/stream").text == "first last"


def test_a_crash_is_still_the_contracts_to_answer(serve, keys, caplog):
    with caplog.at_level(logging.CRITICAL):
        failed = serve(guarded(keys)).get("/v1/crash?envelope=v2")
    assert (failed.status_code, failed.json()["error"]["code"]) == (500, "INTERNAL_ERROR")
    assert "secret" not in failed.text


# MCP and sockets


async def test_the_tools_of_an_mcp_server_know_who_calls(serve, keys):
    server = FastMCP("guarded")

    @server.tool
    def whoami() -> dict:
        return {"principal": mcp_principal()}

    install_mcp(server, principal=mcp_principal, dialect="bare", archive=None, retrieve=None)
    inner = server.http_app(path="/")
    app = Starlette(routes=[Mount("/mcp", inner)], lifespan=inner.lifespan)
    protect(app, Settings.load({"auth": "keys"}, environ={}), keys)
    address = f"{serve(app).base_url}/mcp/".replace("//mcp", "/mcp")
    for name in ("ada", "bob"):
        key, secret = keys.create(name)
        async with Client(StreamableHttpTransport(address, headers={"X-API-Key": secret})) as client:
            assert (await client.call_tool("whoami")).data == {"principal": key.principal}
    with pytest.raises(MCPError):
        async with Client(StreamableHttpTransport(address)) as client:
            await client.ping()
    assert mcp_principal() is None


async def test_a_websocket_is_refused_by_the_same_rules(keys):
    seen, sent = [], []

    async def app(scope, receive, send):
        seen.append(principal_of(scope))

    async def send(message):
        sent.append(message)

    guard = GuardMiddleware(app, settings=Settings.load({"auth": "keys"}, environ={}), keys=keys)
    key, secret = keys.create("ada")
    scope = {"type": "websocket", "path": "/", "headers": [(b"host", b"localhost")]}
    await guard(dict(scope), None, send)
    assert (seen, sent) == ([], [{"type": "websocket.close", "code": 1008}])
    await guard({**scope, "headers": [*scope["headers"], (b"X-API-Key", secret.encode())]}, None, send)
    assert seen == [key.principal]


# The log


def test_every_request_is_one_record_with_its_facts(serve, keys, caplog):
    key, secret = keys.create("ada")
    client = serve(guarded(keys, timeout=3))
    with caplog.at_level(logging.INFO, logger="aerogram.access"):
        first = client.get("/v1/who?q=private&envelope=v2", headers={"x-api-key": secret})
        client.get("/v1/who", headers={"host": "evil.example"})
        client.get("/v1/slow")
        client.get("/v1/two%0Alines")
        while len(caplog.records) < 4:  # a line is written when its answer is out
            time.sleep(0.01)
    records = caplog.records
    assert [one.getMessage() for one in records] == [
        "GET /v1/who 200",
        "GET /v1/who 403",
        "GET /v1/slow 503",
        "GET /v1/two\\nlines 404",
    ]
    assert records[0].request["principal"] == key.principal
    assert records[0].request_id == first.headers["x-request-id"]
    assert "private" not in json.dumps(records[0].request)
    assert first.headers["x-envelope-version"] == "v2"
    assert [one.request["envelope"] for one in records] == ["v2", "v1", "v1", "v1"]


def lines_of(caplog, count):
    """What the log says of so many requests; a line is written when its answer is out."""

    def found():
        return [one.getMessage() for one in caplog.records if one.name == "aerogram.access"]

    wait_for(lambda: len(found()) >= count)
    return found()


@pytest.mark.parametrize("with_contract", [True, False])
def test_the_log_tells_what_was_answered_and_by_whomever(serve, keys, caplog, with_contract):
    """A page that asks for leave is answered before the guard, and a crash outside of it."""
    client = serve(guarded(keys, with_contract=with_contract, allowed_origins=["https://app.example"]))
    asks = {"origin": "https://app.example", "access-control-request-method": "GET"}
    with caplog.at_level(logging.INFO, logger="aerogram.access"):
        assert client.options("/v1/who", headers=asks).status_code == 200
        assert client.options("/v1/who", headers={**asks, "origin": "https://evil.example"}).status_code == 400
        assert client.get("/v1/crash").status_code == 500
        lines = lines_of(caplog, 3)
    assert lines == ["OPTIONS /v1/who 200", "OPTIONS /v1/who 400", "GET /v1/crash 500"]


def test_a_grace_of_less_than_a_second_is_kept(keys):
    def seconds_to_the_end():
        with listening("127.0.0.1", 0) as listener:
            server = make_server(guarded(keys), Settings.load({"grace": 0.05}, environ={}))
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
            thread.start()
            place = f"http://127.0.0.1:{listener.getsockname()[1]}"
            asking = threading.Thread(target=lambda: httpx.get(f"{place}/v1/slow", timeout=30))
            asking.start()
            while asking.is_alive() and not server.server_state.tasks:
                time.sleep(0.01)
            started, server.should_exit = time.monotonic(), True
            asking.join(30)
            ended = time.monotonic() - started
            thread.join(30)
        return ended

    assert any(seconds_to_the_end() < 0.9 for _ in range(5))  # not each ends so soon everywhere


def test_nobody_writes_long_lines_into_the_log(serve, keys, caplog):
    """Whoever has no key is logged as well."""
    client = serve(guarded(keys, auth="keys"))
    with caplog.at_level(logging.INFO, logger="aerogram.access"):
        assert client.get("/v1/" + "p" * 50_000).status_code == 401
        while not caplog.records:
            time.sleep(0.01)
    (record,) = caplog.records
    assert record.request["path"].startswith("/v1/ppp") and record.request["path"].endswith("p…")
    assert len(record.getMessage()) < 1_000 and len(json.dumps(record.request)) < 1_000


@pytest.mark.parametrize("path", ["/v1/slow", "/v1/blocking"])
@pytest.mark.parametrize("with_contract", [True, False])
def test_what_is_running_when_the_grace_ends_is_told_to_come_back(keys, path, with_contract):
    RELEASED.clear()
    settings = Settings.load({"grace": 1}, environ={})
    app = guarded(keys, with_contract=with_contract)
    with listening("127.0.0.1", 0) as listener:
        server = make_server(app, settings)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        place = f"http://127.0.0.1:{listener.getsockname()[1]}"
        answers = []
        asking = threading.Thread(target=lambda: answers.append(httpx.get(f"{place}{path}", timeout=30)))
        asking.start()
        while asking.is_alive() and not server.server_state.tasks:
            time.sleep(0.01)
        server.should_exit = True
        asking.join(30)
        RELEASED.set()
        thread.join(30)
    (answer,) = answers
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.headers["content-type"].partition(";")[0].endswith("json")
    assert "about to end" in answer.text
