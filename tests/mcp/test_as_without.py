"""A bare server answers as without Aerogram, also where content stands among other values."""

import fastmcp
import mcp
import pytest
from mcp.server.mcpserver import MCPServer
from mcp_types import ImageContent, TextContent

import aerogram.fastmcp
import aerogram.mcp
from aerogram.archive import Archive

TEXT, IMAGE = TextContent(type="text", text="1"), ImageContent(type="image", data="aGk=", mime_type="image/png")
MIXED = {
    "a record": ["a", TEXT, {"x": 1}],
    "a record first": [{"x": 1, "y": [1.0, None]}, IMAGE, "t", 3],
    "a list": [["a", {"b": 1}], TEXT],
    "a pair": ("a", TEXT, {"x": 1}),
    "nothing": [TEXT, None, [], ""],
}
FRAMEWORKS = {
    "fastmcp": (fastmcp.FastMCP, aerogram.fastmcp.install, fastmcp.Client),
    "sdk": (MCPServer, aerogram.mcp.install, mcp.Client),
}


@pytest.mark.parametrize("mixed", MIXED)
@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_what_stands_among_content_is_written_as_the_framework_writes_it(framework, mixed):
    make, install, client_of = FRAMEWORKS[framework]
    said = []
    for has_contract in (False, True):
        server = make("mixed")
        if has_contract:
            install(server, budget=5_000, archive=Archive.in_memory())
        (server.tool if framework == "fastmcp" else server.add_tool)(lambda: MIXED[mixed], name="get")
        async with client_of(server) as client:
            result = await getattr(client, "call_tool_mcp", client.call_tool)("get", {})
        said.append((result.is_error, result.content, result.structured_content))
    assert said[0] == said[1]
