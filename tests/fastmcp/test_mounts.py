"""Servers inside of servers: what a mounted tool or resource returns and raises is answered as if it stood outside."""

import json
from dataclasses import dataclass

import pytest
from fastmcp import Client, Context, FastMCP
from fastmcp.exceptions import AuthorizationError, ToolError
from fastmcp.server.middleware import Middleware
from fastmcp.tools import ToolResult
from mcp.shared.exceptions import MCPError

from aerogram import Archive, Page, Reply
from aerogram.errors import NotFound, RateLimited
from aerogram.fastmcp import install
from aerogram.sanitize import Redaction
from aerogram.tokens import find_counter

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
ROWS = [{"id": number, "text": "word " * 30} for number in range(60)]


@dataclass
class Point:
    x: int
    tags: set


def fail(how: str = "crash") -> dict:
    """Fail in one of many ways."""
    raise {
        "crash": RuntimeError("secret"),
        "declared": NotFound("no such row", remediation="list them first"),
        "limited": RateLimited("slow down", retry_after=3),
        "told": ToolError("in my own words"),
        "forbidden": AuthorizationError("not you"),
        "timeout": TimeoutError("secret"),
        "upstream": MCPError(-32000, "elsewhere"),
    }[how]


def double(number: int) -> int:
    return number * 2


def rows() -> list[dict]:
    return ROWS


def child() -> FastMCP:
    server = FastMCP("child")
    server.tool(rows)
    server.tool(lambda: {"point": Point(1, {2}), "nan": float("nan")}, name="odd")
    server.tool(lambda: Reply.ok([1, 2], page=Page(total=9, has_more=True, cursor="next")), name="reply")
    server.tool(lambda: {"api_key": "sk-not-for-you", "id": 1}, name="secret")
    server.tool(fail)
    server.tool(double)
    return server


def direct(**settings) -> tuple[FastMCP, str]:
    server = child()
    install(server, **{"dialect": "response-v2", **settings})
    return server, ""


def mounted(**settings) -> tuple[FastMCP, str]:
    parent = FastMCP("parent")
    parent.mount(child(), namespace="kid")
    install(parent, **{"dialect": "response-v2", **settings})
    return parent, "kid_"


def mounted_without_a_name(**settings) -> tuple[FastMCP, str]:
    parent = FastMCP("parent")
    install(parent, **{"dialect": "response-v2", **settings})
    parent.mount(child())
    return parent, ""


def mounted_twice(**settings) -> tuple[FastMCP, str]:
    parent, between = FastMCP("parent"), FastMCP("between")
    between.mount(child(), namespace="kid")
    parent.mount(between, namespace="house")
    install(parent, **{"dialect": "response-v2", **settings})
    return parent, "house_kid_"


def watched(**settings) -> tuple[FastMCP, str]:
    """Mounted, with middleware that looks on."""
    parent, server = FastMCP("parent"), child()
    server.add_middleware(Middleware())
    parent.mount(server, namespace="kid")
    install(parent, **{"dialect": "response-v2", **settings})
    return parent, "kid_"


MOUNTS = pytest.mark.parametrize("mount", [mounted, mounted_without_a_name, mounted_twice, watched])


async def asked(server, name, arguments=None, era="auto"):
    async with Client(server, mode=era) as client:
        meta = {"dev.aerogram/request_id": "req-of-the-test"}
        return await client.call_tool(name, arguments or {}, raise_on_error=False, meta=meta)


@ERAS
@MOUNTS
@pytest.mark.parametrize(
    "call",
    [
        ("rows", {}),
        ("rows", {"page_size": 3}),
        ("rows", {"fields": ["id"]}),
        ("odd", {}),
        ("reply", {}),
        ("double", {"number": 2}),
        ("double", {"number": "many"}),
        ("double", {}),
        *(("fail", {"how": how}) for how in ("declared", "limited", "told", "forbidden", "timeout", "upstream")),
    ],
    ids=str,
)
async def test_a_mounted_tool_answers_as_one_of_the_server_does(mount, call, era):
    name, arguments = call
    settings = {"budget": "6000 bytes", "controls": True}
    own, _ = direct(archive=Archive.in_memory(), **settings)
    outer, prefix = mount(archive=Archive.in_memory(), **settings)
    wanted = await asked(own, name, arguments, era)
    found = await asked(outer, prefix + name, arguments, era)
    assert found.is_error == wanted.is_error
    expected, got = wanted.structured_content, found.structured_content
    assert json.loads(found.content[0].text) == got
    for body in (expected, got):  # a cursor belongs to its tool
        body["meta"].get("pagination", {}).pop("cursor", None)
    if "remediation" in expected["data"]:  # which may show a call, under the name that its caller knows
        shown = expected["data"]["remediation"].replace(f"{name}(", f"{prefix}{name}(")
        expected["data"]["remediation"] = shown
    assert got == expected


@ERAS
@MOUNTS
async def test_what_a_mounted_tool_did_not_mean_to_say_stays_inside(mount, era):
    outer, prefix = mount()
    result = await asked(outer, prefix + "fail", {"how": "crash"}, era)
    assert result.is_error and result.structured_content["data"]["error_code"] == "INTERNAL_ERROR"
    assert "secret" not in result.content[0].text


@MOUNTS
async def test_both_channels_of_a_mounted_tool_keep_the_budget(mount):
    outer, prefix = mount(budget=700, archive=Archive.in_memory())
    result = await asked(outer, prefix + "rows")
    counter = find_counter("o200k_base")
    assert counter.count(result.content[0].text) <= 700
    assert counter.count(json.dumps(result.structured_content, separators=(",", ":"), ensure_ascii=False)) <= 700


@MOUNTS
async def test_a_secret_of_a_mounted_tool_is_in_neither_channel(mount):
    outer, prefix = mount(sanitizers=(Redaction(),))
    result = await asked(outer, prefix + "secret")
    assert "sk-not-for-you" not in result.content[0].text + json.dumps(result.structured_content)


@MOUNTS
async def test_bare_payloads_of_mounted_tools_are_fastmcps_own(mount):
    outer, prefix = mount(dialect="bare")
    plain = await asked(child(), "rows")
    found = await asked(outer, prefix + "rows")
    assert found.structured_content == plain.structured_content and found.content == plain.content


async def test_a_server_that_is_mounted_answers_its_own_clients_as_ever():
    parent, server = FastMCP("parent"), child()
    parent.mount(server, namespace="kid")
    install(parent, dialect="response-v2")
    assert (await asked(parent, "kid_fail", {"how": "crash"})).is_error
    plain = await asked(server, "fail", {"how": "crash"})
    assert plain.structured_content is None and plain.content[0].text == "Error calling tool 'fail': secret"
    assert (await asked(server, "rows")).structured_content == {"result": ROWS}


async def test_a_mounted_tool_that_calls_another_gets_what_fastmcp_gives():
    parent, server = FastMCP("parent"), child()

    @server.tool
    async def counts(ctx: Context) -> dict:
        """Count the rows of another tool."""
        result = await ctx.fastmcp.call_tool("rows")
        try:
            await ctx.fastmcp.call_tool("fail", {"how": "crash"})
        except ToolError as error:
            return {"rows": len(result.structured_content["result"]), "told": str(error)}

    parent.mount(server)
    install(parent, dialect="response-v2")
    body = (await asked(parent, "counts")).structured_content
    assert body["data"] == {"rows": 60, "told": "Error calling tool 'fail': secret"}


class Replacing(Middleware):
    """Middleware with results of its own."""

    def __init__(self, change):
        self._change = change

    async def on_call_tool(self, context, call_next):
        return self._change(await call_next(context))


@pytest.mark.parametrize(
    "change",
    [
        lambda _: ToolResult(structured_content={"result": [{"id": 1}]}, meta={"fastmcp": {"wrap_result": True}}),
        lambda result: result.model_copy(update={"structured_content": {"result": [{"id": 1}]}}),
    ],
    ids=["another", "changed"],
)
async def test_what_the_middleware_of_a_mounted_server_makes_of_a_result_is_what_counts(change):
    parent, server = FastMCP("parent"), child()
    server.add_middleware(Replacing(change))
    parent.mount(server)
    install(parent, dialect="response-v2", budget=700, archive=Archive.in_memory(), controls=True)
    result = await asked(parent, "rows")
    assert result.structured_content["data"] == {"results": [{"id": 1}]}
    assert "word" not in result.content[0].text


async def test_the_middleware_of_a_mounted_server_sees_results_and_errors_as_ever():
    parent, server, seen = FastMCP("parent"), child(), []

    class Watching(Middleware):
        async def on_call_tool(self, context, call_next):
            try:
                result = await call_next(context)
            except ToolError as error:
                seen.append(str(error))
                raise
            seen.append(result.structured_content)
            return result

    server.add_middleware(Watching())
    parent.mount(server)
    install(parent, dialect="response-v2")
    await asked(parent, "double", {"number": 4})
    await asked(parent, "fail", {"how": "crash"})
    assert seen == [{"result": 8}, "Error calling tool 'fail': secret"]


# Resources of mounted servers


def library() -> FastMCP:
    server = FastMCP("library")

    @server.resource("data://{name}/x")
    def entry(name: str) -> dict:
        """Read an entry."""
        if name == "crash":
            raise RuntimeError("secret")
        if name == "none":
            raise NotFound("no such entry", remediation="list them first")
        if name == "own":
            raise MCPError(-32000, "in my own words")
        return {"name": name, "odd": {1}}

    @server.resource("data://all")
    def everything() -> list:
        """Read all entries."""
        return [1, float("nan")]

    return server


async def entry(server, uri, era="auto"):
    async with Client(server, mode=era) as client:
        try:
            return [(str(one.uri), one.mime_type, one.text) for one in await client.read_resource(uri)]
        except MCPError as error:
            return error.error.code, error.error.message, error.error.data


def in_its_place(found):
    return json.loads(json.dumps(found).replace("data://kid/", "data://"))


@ERAS
@pytest.mark.parametrize("contract", ["outside", "inside", "both"])
@pytest.mark.parametrize("path", ["a/x", "none/x", "own/x", "all"])
async def test_a_mounted_resource_is_read_as_one_of_the_server_is(path, contract, era):
    own, parent, inner = library(), FastMCP("parent"), library()
    install(own, dialect="response-v2")
    parent.mount(inner, namespace="kid")
    for server in {"outside": [parent], "inside": [inner], "both": [parent, inner]}[contract]:
        install(server, dialect="response-v2")
    found = await entry(parent, f"data://kid/{path}", era)
    assert "data://kid/" in json.dumps(found) or path == "own/x"
    assert in_its_place(found) == json.loads(json.dumps(await entry(own, f"data://{path}", era)))


@ERAS
@pytest.mark.parametrize("contract", ["outside", "inside", "both"])
async def test_what_a_mounted_resource_did_not_mean_to_say_stays_inside(contract, era):
    parent, inner = FastMCP("parent"), library()
    parent.mount(inner, namespace="kid")
    for server in {"outside": [parent], "inside": [inner], "both": [parent, inner]}[contract]:
        install(server, dialect="response-v2")
    code, message, data = await entry(parent, "data://kid/crash/x", era)
    assert code == -32603 and data["code"] == "INTERNAL_ERROR" and data["uri"] == "data://kid/crash/x"
    assert "secret" not in message + json.dumps(data)
