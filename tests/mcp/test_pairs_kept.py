"""Content beside data and content alone: clean, within the budget, honest where nothing is kept, kept in a cache."""

import base64
import re

import fastmcp
import mcp
import pytest
from mcp.server.mcpserver import MCPServer
from mcp_types import EmbeddedResource, ImageContent, TextContent, TextResourceContents

import aerogram.fastmcp
import aerogram.mcp
from aerogram import Archive
from aerogram.content.jsontext import dumps
from aerogram.contract.cache import Cache
from aerogram.dialects import read
from aerogram.errors import Unavailable
from aerogram.sanitize import Fence, Redaction
from aerogram.tokens import best_counter

KEY = "AKIAIOSFODNN7EXAMPLE"
WORDS = "word " * 3_000
PICTURE = bytes(range(256)) * 100
NOT_KEPT = "was not kept"


class LostArchive(Archive):
    """An archive whose store is down."""

    async def put(self, *_contents, **_options):
        raise Unavailable("store lost at 10.0.0.7")


class Watched(Archive):
    """An archive that remembers what was given to it."""

    seen = b""

    async def put(self, *contents, principal=None):
        self.seen += b"".join(content.body for content in contents)
        return await super().put(*contents, principal=principal)


def secret_pair():
    return (f"the key {KEY}", {"password": "hunter2"})


def secret_json_pair():
    return ({"password": "hunter2"}, {"x": 1})


def long_secret_pair():
    return (f"the key {KEY} " + WORDS, {"x": 1})


def long_pair():
    return (WORDS, {"x": 1})


def long_pair_of_rows():
    return (WORDS, {"rows": [{"id": number, "text": "words " * 40} for number in range(50)]})


def long_content():
    return [TextContent(type="text", text=WORDS)]


def announced_content() -> list[TextContent]:
    return [TextContent(type="text", text=WORDS)]


def long_resource() -> list[EmbeddedResource]:
    held = TextResourceContents(uri="file:///notes.txt", text=WORDS)
    return [EmbeddedResource(type="resource", resource=held)]


def many_blocks() -> list[TextContent]:
    return [TextContent(type="text", text=f"block {number} says a few words") for number in range(500)]


def picture() -> list[ImageContent]:
    return [ImageContent(type="image", data=base64.b64encode(PICTURE).decode(), mime_type="image/png")]


HANDLERS = (
    secret_pair,
    secret_json_pair,
    long_secret_pair,
    long_pair,
    long_pair_of_rows,
    long_content,
    announced_content,
    long_resource,
    many_blocks,
    picture,
)


def archive_of(kind):
    return kind(Archive.in_memory()._store)


def sizes_of(result):
    """The size of each channel."""
    count = best_counter().count
    texts = [
        block.resource.text if block.type == "resource" else getattr(block, "text", "") for block in result.content
    ]
    structured = result.structured_content
    return sum(map(count, texts)), 0 if structured is None else count(dumps(structured).decode())


@pytest.fixture(params=["fastmcp", "sdk"])
def framework(request):
    return request.param


async def called(framework, name, arguments=None, times=1, **settings):
    """The results of calling one tool of a server."""
    server = fastmcp.FastMCP("kept") if framework == "fastmcp" else MCPServer("kept")
    add = server.tool if framework == "fastmcp" else server.add_tool
    for handler in HANDLERS:
        add(handler)
    (aerogram.fastmcp if framework == "fastmcp" else aerogram.mcp).install(
        server, **{"dialect": "response-v2", **settings}
    )
    async with mcp.Client(server if framework == "sdk" else server._mcp_server) as client:
        return [await client.call_tool(name, arguments or {}) for _ in range(times)]


@pytest.mark.parametrize("name", ["secret_pair", "secret_json_pair"])
@pytest.mark.parametrize("channels", ["mirror", "text"])
async def test_both_halves_of_a_pair_are_without_secrets(framework, name, channels):
    (result,) = await called(framework, name, sanitizers=(Redaction(),), channels=channels)
    said = repr([result.content, result.structured_content])
    assert KEY not in said and "hunter2" not in said
    assert "[redacted:" in result.content[0].text


async def test_what_was_taken_out_of_the_content_is_told_with_the_data(framework):
    (result,) = await called(framework, "secret_pair", sanitizers=(Redaction(),))
    told = [one.context for one in read(result.structured_content).notices if one.code == "CONTENT_REDACTED"]
    assert sum(one["count"] for one in told) == 2
    assert sorted(place for one in told for place in one["places"]) == ["/content/0/text", "/data/password"]


async def test_strangers_in_the_content_of_a_pair_are_fenced_once(framework):
    (result,) = await called(framework, "long_pair", sanitizers=(Fence(),))
    notices = read(result.structured_content).notices
    mark = next(one.context["mark"] for one in notices if one.code == "UNTRUSTED_CONTENT")
    assert result.content[0].text.count(f"<{mark}>") == 1


async def test_the_archive_gets_nothing_that_the_content_may_not_say(framework):
    archive = archive_of(Watched)
    (result,) = await called(framework, "long_secret_pair", sanitizers=(Redaction(),), budget=600, archive=archive)
    assert "; more: retrieve(hash='" in result.content[0].text
    assert archive.seen and KEY.encode() not in archive.seen


@pytest.mark.parametrize("settings", [{"archive": None}, {"archive": LostArchive}], ids=["no archive", "archive lost"])
@pytest.mark.parametrize(
    "name", ["long_pair", "long_pair_of_rows", "long_content", "announced_content", "long_resource", "many_blocks"]
)
async def test_where_nothing_is_kept_content_is_cut_and_says_so(framework, name, settings):
    kind = settings["archive"]
    (result,) = await called(framework, name, budget=600, archive=kind and archive_of(kind))
    said = repr(result.content)
    assert not result.is_error and max(sizes_of(result)) <= 600
    assert NOT_KEPT in said and "sha256" not in said and "10.0.0.7" not in said


@pytest.mark.parametrize(
    "name", ["long_pair", "long_pair_of_rows", "long_content", "announced_content", "long_resource", "many_blocks"]
)
@pytest.mark.parametrize("budget", [400, 600])
async def test_with_an_archive_content_keeps_within_the_budget_and_names_the_rest(framework, name, budget):
    (result,) = await called(framework, name, budget=budget, archive=Archive.in_memory())
    assert not result.is_error and max(sizes_of(result)) <= budget
    assert re.search(r"retrieve\(hash=.{1,2}[0-9a-f]{12}|sha256:[0-9a-f]{12}", repr(result.content))


@pytest.mark.parametrize("name", ["long_pair", "long_pair_of_rows", "many_blocks"])
async def test_where_both_channels_count_the_content_gets_what_the_data_leaves(framework, name):
    (result,) = await called(framework, name, budget=600, count="both", archive=Archive.in_memory())
    assert not result.is_error and sum(sizes_of(result)) <= 600


async def test_a_caller_may_ask_for_less_content_than_the_server_would_send(framework):
    asked = {"max_tokens": 300}
    (result,) = await called(framework, "long_pair", asked, controls=True, budget=600, archive=None)
    assert max(sizes_of(result)) <= 300 and NOT_KEPT in result.content[0].text


@pytest.mark.parametrize("archive", [None, LostArchive], ids=["no archive", "archive lost"])
async def test_a_picture_that_the_wire_cannot_take_and_nobody_keeps_is_named(framework, archive):
    (result,) = await called(framework, "picture", budget="8000 bytes", archive=archive and archive_of(archive))
    assert [block.type for block in result.content] == ["text"]
    assert result.content[0].text == f"[image of {len(PICTURE)} bytes left out; it was not kept]"


async def test_content_beside_a_listed_schema_is_archived_as_the_handler_made_it(framework):
    archive = archive_of(Watched)
    await called(framework, "long_content", budget=900, archive=archive)
    assert WORDS.encode() in archive.seen and "…".encode() not in archive.seen


async def test_a_pair_from_the_cache_has_its_content(framework):
    settings = {"cache": Cache.in_memory(), "cached": ["long_pair", "secret_pair"], "sanitizers": (Redaction(),)}
    for name in ("long_pair", "secret_pair"):
        first, second = await called(framework, name, times=2, **settings)
        assert [block.text for block in first.content] == [block.text for block in second.content]
        replies = [read(result.structured_content) for result in (first, second)]
        assert [reply.telemetry.cache_hit for reply in replies] == [False, True]
        assert replies[0].data == replies[1].data
        assert "dev.aerogram/content" not in repr([first, second])
