"""What only FastMCP has: its errors, transforms, mounted servers and access tokens."""

import asyncio
import json
import socket
import threading

import attrs
import httpx2
import mcp_types
import pytest
import uvicorn
from fastmcp import Client, Context, FastMCP
from fastmcp.client.auth import BearerAuth
from fastmcp.exceptions import AuthorizationError, ToolError
from fastmcp.server.auth.providers.jwt import StaticTokenVerifier
from fastmcp.server.middleware.caching import ResponseCachingMiddleware
from fastmcp.server.transforms import ToolTransform
from fastmcp.tools import ToolResult
from fastmcp.tools.tool_transform import ToolTransformConfig
from fastmcp.utilities.types import Image
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from aerogram import Reply, read
from aerogram.archive import Archive
from aerogram.errors import NotFound
from aerogram.fastmcp import install
from aerogram.normalize import Block
from aerogram.normalize import ToolResult as OwnResult


async def asked(server, name, arguments=None, **options):
    async with Client(server, **options) as client:
        return await client.call_tool(name, arguments or {}, raise_on_error=False)


def serving(handler, **settings):
    server = FastMCP("one")
    server.tool(handler, name="tool", **settings.pop("tool", {}))
    install(server, **{"dialect": "response-v2", **settings})
    return server


ROWS = [{"id": 1}, {"id": 2}]


async def later():
    return ROWS


async def one_by_one():
    for row in ROWS:
        yield row


class Record(BaseModel):
    number: int


@attrs.define
class Point:
    x: int


def upstream(status):
    request = httpx2.Request("GET", "http://upstream.example")
    return httpx2.HTTPStatusError("upstream", request=request, response=httpx2.Response(status, request=request))


@pytest.mark.parametrize(
    ("fault", "code", "told"),
    [
        (ToolError("try with a smaller file"), "TOOL_ERROR", "try with a smaller file"),
        (AuthorizationError("not yours"), "FORBIDDEN", "not yours"),
        (MCPError(mcp_types.INVALID_PARAMS, "no such colour"), "VALIDATION_ERROR", "no such colour"),
        (upstream(429), "RATE_LIMIT_EXCEEDED", "retry later"),
        (httpx2.ReadTimeout("slow"), "UNAVAILABLE", "timed out"),
        (KeyError("secret"), "INTERNAL_ERROR", "the log has it"),
    ],
)
async def test_every_way_to_fail_has_its_code_and_says_what_the_caller_may_know(fault, code, told):
    async def handler():
        raise fault

    result = await asked(serving(handler), "tool")
    assert result.is_error and result.structured_content["data"]["error_code"] == code
    assert told in result.structured_content["error"] and "secret" not in str(result.structured_content)


async def test_a_model_that_the_handler_builds_wrongly_is_not_the_callers_fault():
    def handler() -> dict:
        return Record(number="many").model_dump()

    result = await asked(serving(handler), "tool")
    assert result.structured_content["data"]["error_code"] == "INTERNAL_ERROR"


async def test_a_tool_that_takes_too_long_is_unavailable():
    async def handler():
        await asyncio.sleep(5)

    result = await asked(serving(handler, tool={"timeout": 0.05}), "tool")
    assert result.is_error and result.structured_content["data"]["error_code"] == "UNAVAILABLE"


async def test_media_inside_data_travel_beside_it():
    def handler():
        return {"chart": Image(data=b"\x89PNG\r\n\x1a\n", format="png"), "points": 3}

    result = await asked(serving(handler), "tool")
    assert [block.type for block in result.content] == ["text", "image"]
    assert result.structured_content["data"]["points"] == 3


async def test_mixed_content_without_an_annotation_keeps_its_blocks_and_satisfies_the_schema():
    def handler():
        return [Block.text("a chart"), Image(data=b"\x89PNG\r\n\x1a\n", format="png")]

    result = await asked(serving(handler), "tool")
    assert [block.type for block in result.content] == ["text", "image"]
    assert result.structured_content["data"] == {"result": "a chart"}


async def test_results_made_by_hand_are_sent_as_made():
    def theirs() -> ToolResult:
        return ToolResult(content="by hand", meta={"com.example/mark": 1})

    def ours() -> OwnResult:
        return OwnResult(["by hand"], meta={"com.example/mark": 1})

    for handler in (theirs, ours):
        result = await asked(serving(handler), "tool")
        assert result.content[0].text == "by hand" and result.meta["com.example/mark"] == 1
        assert result.structured_content is None


async def test_generators_and_async_generators_are_lists():
    async def handler():
        for number in range(3):
            yield {"id": number}

    result = await asked(serving(handler), "tool")
    assert result.structured_content["data"] == {"results": [{"id": 0}, {"id": 1}, {"id": 2}]}


async def test_context_and_progress_reach_the_handler_and_the_client():
    seen = []

    async def handler(count: int, context: Context) -> int:
        for step in range(count):
            await context.report_progress(step + 1, count)
        return count

    async def watch(progress, total, message):
        seen.append((progress, total))

    result = await asked(serving(handler), "tool", {"count": 2}, progress_handler=watch)
    assert result.structured_content["data"] == {"result": 2} and seen == [(1.0, 2.0), (2.0, 2.0)]


@pytest.mark.parametrize("transformed_first", [True, False])
async def test_a_transformed_tool_answers_whichever_came_first(transformed_first):
    def handler(number: int):
        if number < 0:
            raise NotFound("no such number")
        return {"point": Point(number)}

    server = FastMCP("renamed")
    server.tool(handler, name="tool")
    renamed = ToolTransform({"tool": ToolTransformConfig(name="renamed")})
    if transformed_first:
        server.add_transform(renamed)
    install(server, dialect="response-v2")
    if not transformed_first:
        server.add_transform(renamed)
    assert (await asked(server, "renamed", {"number": 1})).structured_content["data"] == {"point": {"x": 1}}
    codes = []
    for arguments in ({"number": -1}, {}, {"number": 1, "odd": 2}):
        result = await asked(server, "renamed", arguments)
        assert result.is_error
        codes.append(result.structured_content and result.structured_content["data"]["error_code"])
    assert codes[0] == "NOT_FOUND"
    if transformed_first:  # otherwise FastMCP itself refuses them, before the tool is reached
        assert codes[1:] == ["VALIDATION_ERROR", "VALIDATION_ERROR"]


async def test_a_mounted_server_answers_once_whether_it_has_a_contract_or_not():
    for own in (True, False):
        child, parent = FastMCP("child"), FastMCP("parent")
        child.tool(lambda: {"id": 1}, name="tool")
        if own:
            install(child, dialect="response-v2")
        parent.mount(child, namespace="kid")
        install(parent, dialect="response-v2")
        body = (await asked(parent, "kid_tool")).structured_content
        assert body["data"] == {"id": 1} and body["success"] is True


async def test_cached_results_come_back_whole():
    calls = []

    def handler() -> dict:
        calls.append(1)
        return {"id": 1}

    server = serving(handler)
    server.add_middleware(ResponseCachingMiddleware())
    async with Client(server) as client:
        first = await client.call_tool("tool", {})
        second = await client.call_tool("tool", {})
    assert first.structured_content == second.structured_content and len(calls) == 1


async def test_a_disabled_tool_is_as_unknown_as_one_that_never_was():
    server = serving(lambda: 1)
    server.disable(names={"tool"})
    async with Client(server) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("tool", {})
    assert caught.value.error.code == mcp_types.INVALID_PARAMS


async def test_many_short_lived_tools_do_not_pile_up():
    server = FastMCP("many")
    install(server, dialect="response-v2")
    for number in range(50):
        server.tool(lambda: 1, name=f"tool{number}")
    async with Client(server) as client:
        assert len(await client.list_tools()) == 51
        await client.call_tool("tool49", {})


@pytest.fixture
def guarded():
    """A server over HTTP that knows two people by their tokens; its URL."""
    tokens = {name: {"client_id": name, "scopes": []} for name in ("ann", "bob")}
    server = FastMCP("guarded", auth=StaticTokenVerifier(tokens))
    server.tool(lambda: [{"id": f"row-{number}", "text": "words " * 50} for number in range(100)], name="rows")
    install(server, dialect="response-v2", budget=2_000)
    listener = socket.create_server(("127.0.0.1", 0))
    web = uvicorn.Server(uvicorn.Config(server.http_app(path="/mcp"), log_level="critical"))
    thread = threading.Thread(target=web.run, kwargs={"sockets": [listener]})
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    web.should_exit = True
    thread.join(10)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_principal_is_who_the_access_token_was_issued_to(guarded, mode):
    async with Client(guarded, auth=BearerAuth("ann"), mode=mode) as ann:
        body = (await ann.call_tool("rows", {})).structured_content
        digest = body["meta"]["content_archive_hashes"]["data"]
        assert not (await ann.call_tool("retrieve", {"hash": digest})).is_error
        assert await ann.read_resource(f"aerogram://archive/{digest}")
    async with Client(guarded, auth=BearerAuth("bob"), mode=mode) as bob:
        stolen = await bob.call_tool("retrieve", {"hash": digest}, raise_on_error=False)
        assert stolen.structured_content["data"]["error_code"] == "NOT_FOUND"
        with pytest.raises(MCPError):
            await bob.read_resource(f"aerogram://archive/{digest}")


@pytest.mark.parametrize("name", ["bare", "response-v2"])
@pytest.mark.parametrize("make", [lambda: (n for n in ROWS), lambda: iter(ROWS), later, one_by_one])
async def test_data_of_a_reply_that_can_be_read_only_once_is_sent(name, make):
    """A generator, an iterator, a coroutine or an asynchronous generator: its rows arrive, and none is lost."""
    answered = await asked(serving(lambda: Reply.ok(make()), dialect=name), "tool")
    sent = json.loads(answered.content[0].text)
    assert not answered.is_error and (sent if name == "bare" else read(sent).data) == ROWS


async def test_values_whose_keys_are_spelled_alike_are_both_sent_where_word_of_it_is():
    answered = await asked(serving(lambda: {1: "a", "1": "b"}, dialect="bare"), "tool")
    assert json.loads(answered.content[0].text) == answered.structured_content == {"1": "a", "1 (str)": "b"}
    assert "the second is '1 (str)' here" in answered.meta["dev.aerogram/notices"][0]["message"]


@pytest.mark.parametrize("given", [{}, {"page_size": 2}, {"offset": 5}, {"as_text": True}, {"path": "/0/text"}])
async def test_a_retrieval_in_too_few_tokens_says_how_many_it_takes(given):
    """However few they are: the refusal names a number, and that number is enough."""
    rows = [{"id": n, "text": f"text {n} " * 40} for n in range(20)]
    server = serving(lambda: rows, dialect="bare", budget=600, archive=Archive.in_memory())
    async with Client(server) as client:
        digits = read(await client.call_tool("tool", {})).fidelity.archive_hashes["data"]
        for few in (1, 10, 30, 60, 80):
            call = {"hash": digits, **given, "max_tokens": few}
            refused = await client.call_tool("retrieve", call, raise_on_error=False)
            if refused.is_error:
                problem = read(refused).problem
                assert problem.code == "TOKEN_LIMIT_EXCEEDED"
                enough = int(problem.remediation.rpartition(" ")[2])
                served = await client.call_tool("retrieve", call | {"max_tokens": enough})
                assert not served.is_error
