"""What only the SDK has: its errors, resolvers aside, its content classes and the MCPError that stays one."""

import mcp
import mcp_types
import pytest
from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from aerogram.mcp import install
from aerogram.normalize.resource import ResourceResult


class Record(BaseModel):
    number: int


def serving(handler, **settings):
    server = MCPServer("one", log_level="CRITICAL")
    server.add_tool(handler, "tool")
    install(server, **{"dialect": "response-v2", **settings})
    return server


async def asked(server, arguments=None):
    async with mcp.Client(server) as client:
        return await client.call_tool("tool", arguments or {})


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (ToolError("try with a smaller file"), "try with a smaller file"),
        (ResourceError("the file is gone"), "the file is gone"),
        (KeyError("secret"), "the log has it"),
    ],
)
async def test_what_a_handler_says_on_purpose_is_told_and_a_crash_is_masked(fault, told):
    async def handler():
        raise fault

    result = await asked(serving(handler))
    assert result.is_error and told in result.structured_content["error"]
    assert "secret" not in str(result.structured_content)


async def test_a_model_that_the_handler_builds_wrongly_is_not_the_callers_fault():
    def handler() -> dict:
        return Record(number="many").model_dump()

    result = await asked(serving(handler))
    assert result.structured_content["data"]["error_code"] == "INTERNAL_ERROR"


async def test_a_protocol_error_that_a_handler_raises_stays_one():
    def handler():
        raise MCPError(-30001, "not over this protocol")

    async with mcp.Client(serving(handler)) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("tool", {})
    assert caught.value.error.code == -30001


async def test_input_required_results_pass_untouched():
    request = mcp_types.ElicitRequest(
        params=mcp_types.ElicitRequestFormParams(message="Name?", requested_schema={"type": "object", "properties": {}})
    )

    async def handler(context: Context) -> str | mcp_types.InputRequiredResult:
        if context.input_responses:
            return f"hello {context.request_state}"
        return mcp_types.InputRequiredResult(input_requests={"name": request}, request_state="you")

    async def answer(context, params):
        return mcp_types.ElicitResult(action="accept", content={})

    async with mcp.Client(serving(handler), elicitation_callback=answer) as client:
        result = await client.call_tool("tool", {})
    assert result.structured_content["data"] == {"result": "hello you"}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_resource_may_have_several_contents_each_with_its_own_address(mode):
    server = MCPServer("one", log_level="CRITICAL")

    @server.resource("docs://both")
    def both():
        return ResourceResult(
            [
                {"uri": "docs://both/text", "mimeType": "text/plain", "text": "words"},
                {"uri": "docs://both/bytes", "mimeType": "application/octet-stream", "blob": "AAE="},
            ]
        )

    @server.resource("docs://plain")
    def plain():
        return {"a": {1}}

    install(server, dialect="response-v2")
    async with mcp.Client(server, mode=mode) as client:
        contents = (await client.read_resource("docs://both")).contents
        single = (await client.read_resource("docs://plain")).contents
    assert [str(one.uri) for one in contents] == ["docs://both/text", "docs://both/bytes"]
    assert (contents[0].text, contents[1].blob, contents[1].mime_type) == ("words", "AAE=", "application/octet-stream")
    assert [one.text for one in single] == ['{"a": [1]}']


async def test_pictures_are_content():
    result = await asked(serving(lambda: Image(data=b"\x89PNG\r\n\x1a\n", format="png")))
    assert [block.type for block in result.content] == ["image"]


async def test_a_tool_can_be_removed_and_another_take_its_name():
    server = serving(lambda: 1)
    assert (await asked(server)).structured_content["data"] == {"result": 1}
    server.remove_tool("tool")
    server.add_tool(lambda: 2, "tool")
    assert (await asked(server)).structured_content["data"] == {"result": 2}
