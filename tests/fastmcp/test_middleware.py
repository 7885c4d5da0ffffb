"""Middleware of a FastMCP server: what it refuses and what it answers itself is under the contract too."""

import json

import pytest
from fastmcp import Client, FastMCP
from fastmcp.exceptions import AuthorizationError, NotFoundError, ToolError
from fastmcp.server.middleware import Middleware
from fastmcp.server.middleware.response_limiting import ResponseLimitingMiddleware
from fastmcp.tools import ToolResult
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent

from aerogram import Archive
from aerogram.errors import NotFound
from aerogram.fastmcp import install
from aerogram.tokens import find_counter

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
ORDERS = pytest.mark.parametrize("is_first", [True, False], ids=["before install", "after install"])


class Guard(Middleware):
    """Middleware that does the same to every call and reading."""

    def __init__(self, act):
        self._act = act

    async def on_call_tool(self, context, call_next):
        return self._act(await call_next(context) if context.message.arguments else None)

    async def on_read_resource(self, context, call_next):
        return self._act(await call_next(context))


def raising(error):
    def act(_):
        raise error

    return act


def guarded(middleware, is_first=False, **settings) -> FastMCP:
    server = FastMCP("guarded")
    if is_first:
        server.add_middleware(middleware)
    install(server, **{"dialect": "response-v2", **settings})
    if not is_first:
        server.add_middleware(middleware)

    @server.tool
    def rows(number: int = 0) -> list[dict]:
        """List rows."""
        return [{"id": row, "text": "word " * 30} for row in range(number)]

    @server.tool
    def finished(number: int = 0) -> CallToolResult:
        """Give a finished result."""
        return CallToolResult(content=[TextContent(type="text", text="as it is")])

    server.resource("data://all", name="all")(lambda: "all")
    return server


async def asked(server, arguments=None, era="auto", name="rows"):
    async with Client(server, mode=era) as client:
        return await client.call_tool(name, arguments or {}, raise_on_error=False)


@ERAS
@ORDERS
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NotFound("denied", remediation="ask another one"), "NOT_FOUND"),
        (RuntimeError("secret"), "INTERNAL_ERROR"),
        (AuthorizationError("not you"), "FORBIDDEN"),
        (ToolError("in my own words"), "TOOL_ERROR"),
    ],
    ids=str,
)
async def test_what_middleware_raises_is_a_result_with_a_code(error, code, is_first, era):
    result = await asked(guarded(Guard(raising(error)), is_first), era=era)
    data = result.structured_content["data"]
    assert result.is_error and data["error_code"] == code and data["remediation"]
    assert "secret" not in result.content[0].text


@ERAS
async def test_protocol_errors_of_middleware_stay_what_they_are(era):
    for error, code in ((MCPError(-32000, "own"), -32000), (NotFoundError("hidden"), -32602)):
        with pytest.raises(MCPError) as caught:
            await asked(guarded(Guard(raising(error))), era=era)
        assert caught.value.error.code == code


@ERAS
@ORDERS
async def test_what_middleware_answers_itself_is_under_the_contract(is_first, era):
    own = ToolResult(content="said", structured_content={"x": ["word " * 30] * 60})
    server = guarded(Guard(lambda _: own), is_first, budget=700, archive=Archive.in_memory())
    result = await asked(server, era=era)
    assert result.structured_content["success"] is True
    assert find_counter("o200k_base").count(result.content[0].text) <= 700
    assert json.loads(result.content[0].text) == result.structured_content


@ERAS
async def test_results_that_only_pass_through_middleware_stay_what_they_are(era):
    plain, server = guarded(Middleware()), guarded(Guard(lambda result: result))
    for name in ("rows", "finished"):
        wanted, found = [await asked(one, {"number": 2}, era, name) for one in (plain, server)]
        assert found.content[0].text[:40] == wanted.content[0].text[:40]
        assert (found.structured_content or {}).get("data") == (wanted.structured_content or {}).get("data")
    assert found.content[0].text == "as it is" and found.structured_content is None


async def test_what_other_middleware_cuts_still_satisfies_the_listed_schema():
    result = await asked(guarded(ResponseLimitingMiddleware(max_size=2_000)), {"number": 200})
    assert result.structured_content["success"] is True


@ERAS
async def test_what_middleware_raises_about_a_resource_has_its_code(era):
    for error, code in ((NotFound("no", remediation="ask"), "NOT_FOUND"), (RuntimeError("secret"), "INTERNAL_ERROR")):
        async with Client(guarded(Guard(raising(error))), mode=era) as client:
            with pytest.raises(MCPError) as caught:
                await client.read_resource("data://all")
        assert caught.value.error.data["code"] == code and "secret" not in caught.value.error.message


@ERAS
async def test_an_unknown_resource_is_as_unknown_as_without_a_contract(era):
    plain, errors = FastMCP("plain"), []
    for server in (plain, guarded(Middleware())):
        async with Client(server, mode=era) as client:
            with pytest.raises(MCPError) as caught:
                await client.read_resource("data://nothing")
        errors.append(caught.value.error)
    assert errors[0] == errors[1]


@ERAS
async def test_a_tool_that_only_middleware_knows_is_left_to_it(era):
    class Virtual(Middleware):
        async def on_call_tool(self, context, call_next):
            if context.message.name == "virtual":
                return ToolResult(content="from nowhere")
            return await call_next(context)

    result = await asked(guarded(Virtual()), era=era, name="virtual")
    assert not result.is_error and result.content[0].text == "from nowhere"
