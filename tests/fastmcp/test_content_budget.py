"""Content blocks under a budget: texts are cut and say where the rest is, media become links, nothing is lost."""

import base64
import hashlib

import fastmcp
import pytest
from mcp.types import CallToolResult, EmbeddedResource, ImageContent, ResourceLink, TextContent, TextResourceContents

from aerogram.fastmcp import install
from aerogram.tokens import best_counter

LONG = "word " * 20_000
PICTURE = bytes(range(256)) * 160


@pytest.fixture
def server():
    server = fastmcp.FastMCP("content")

    @server.tool
    def texts() -> list[TextContent]:
        return [TextContent(type="text", text="first"), TextContent(type="text", text=LONG)]

    @server.tool
    def picture() -> list[ImageContent]:
        return [ImageContent(type="image", data=base64.b64encode(PICTURE).decode(), mimeType="image/png")]

    return server


async def test_a_long_text_is_cut_to_the_budget_and_can_be_had_whole(server):
    install(server, dialect="response-v2", budget=1500)
    async with fastmcp.Client(server) as client:
        blocks = (await client.call_tool("texts", {})).content
        assert blocks[0].text == "first" and sum(best_counter().count(block.text) for block in blocks) <= 1500
        digest = "sha256:" + hashlib.sha256(LONG.encode()).hexdigest()
        assert f"of {len(LONG)} characters shown; more: retrieve(hash='{digest[7:19]}', " in blocks[1].text
        back, cursor = "", None
        while True:
            asked = {"hash": digest, "as_text": True, **({"cursor": cursor} if cursor else {})}
            body = (await client.call_tool("retrieve", asked)).structured_content
            back += body["data"]["result"]
            cursor = body["meta"].get("pagination", {}).get("cursor")
            if not cursor:
                break
        assert back == LONG


async def test_a_picture_that_the_wire_cannot_take_becomes_a_link_to_its_bytes(server):
    install(server, dialect="response-v2", budget="8000 bytes")
    async with fastmcp.Client(server) as client:
        (link,) = (await client.call_tool("picture", {})).content
        assert link.type == "resource_link" and link.mime_type == "image/png"
        (contents,) = await client.read_resource(link.uri)
        assert base64.b64decode(contents.blob) == PICTURE


async def test_a_picture_is_not_counted_as_text(server):
    install(server, dialect="response-v2", budget=300)
    async with fastmcp.Client(server) as client:
        (block,) = (await client.call_tool("picture", {})).content
    assert block.type == "image"


SAID = {
    "link": lambda: ResourceLink(type="resource_link", uri="a://b", name="n", description=LONG),
    "links": lambda: [
        ResourceLink(type="resource_link", uri=f"a://{at}", name=f"n{at}", description="a ferry " * 9)
        for at in range(300)
    ],
    "resource": lambda: EmbeddedResource(
        type="resource", resource=TextResourceContents(uri="a://" + "b" * 50_000, text="x")
    ),
    "failure": lambda: CallToolResult(
        content=[TextContent(type="text", text="It failed")], structured_content={"why": LONG}, is_error=True
    ),
}


@pytest.mark.parametrize("soft_errors", ["notice", None])
@pytest.mark.parametrize("name", SAID)
async def test_the_words_of_links_and_the_data_of_failures_keep_the_budget_and_can_be_had(name, soft_errors):
    server = fastmcp.FastMCP("words")
    install(server, dialect="bare", budget=500, soft_errors=soft_errors)
    server.tool(SAID[name], name=name)
    async with fastmcp.Client(server) as client:
        told = await client.call_tool(name, raise_on_error=False)
        read = "".join(block.model_dump_json(exclude_none=True) for block in told.content)
        assert best_counter().count(read) < 900 and told.structured_content is None
        assert "retrieve(hash=" in read
        (digest,) = told.meta["dev.aerogram/fidelity"]["archive_hashes"].values()
        back = await client.call_tool("retrieve", {"hash": digest, "as_text": True})
        assert not back.is_error
