"""Failures that are long, or that came finished: nothing of them is lost, and whoever wants them untouched has them."""

from __future__ import annotations

from typing import Annotated, Any

from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from mcp_types import CallToolResult, TextContent
from pydantic import Field

from aerogram.fastmcp import install
from aerogram.sanitize import Redaction

LONG = "line one. " + "word " * 2000 + "the cause"


def server_of(*tools: Any, **settings: Any) -> FastMCP:
    server: FastMCP = FastMCP("failing")
    install(server, **settings)
    for tool in tools:
        server.tool(tool)
    return server


def finished() -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=LONG)], is_error=True)


def raised() -> str:
    raise ToolError(LONG)


async def test_a_long_message_is_cut_to_the_budget_and_can_be_had_whole() -> None:
    """As much of it as fits is shown, and the call that is named gives all of it."""
    async with Client(server_of(finished, raised, budget=500)) as client:
        for name in ("finished", "raised"):
            text = (await client.call_tool(name, raise_on_error=False)).content[0].text
            assert text.startswith("line one. word") and len(text) > 1_500
            assert " chars]\n" not in text and "the cause\nerror: " in text and len(text) < len(LONG)
            back, offset = "", 0
            for _ in range(20):
                hash_ = text.partition("retrieve(hash='")[2][:12]
                page = await client.call_tool(
                    "retrieve", {"hash": hash_, "path": "/message", "offset": offset, "max_tokens": 400}
                )
                shown = page.content[0].text.partition("\naerogram: ")[0]
                back, offset = back + shown, offset + len(shown)
                if "the cause" in shown:
                    break
            assert back.rstrip().endswith("the cause")


async def test_a_finished_failure_is_left_as_it_is_where_nothing_is_to_be_judged() -> None:
    """Without `soft_errors` its words, its blocks and what goes along are its author's."""
    async with Client(server_of(finished, soft_errors=None)) as client:
        result = await client.call_tool("finished", raise_on_error=False)
        assert result.is_error and [block.text for block in result.content] == [LONG]
        assert result.content[0].annotations is None


async def test_each_item_of_the_first_half_of_a_pair_is_a_block() -> None:
    """As the function gives it that normalises results."""

    def pair() -> tuple[list[str], dict[str, int]]:
        return ["a", "b"], {"k": 1}

    async with Client(server_of(pair, dialect="response-v2")) as client:
        result = await client.call_tool("pair")
        assert [block.text for block in result.content] == ["a", "b"]
        assert result.structured_content["data"] == {"k": 1}


def misnamed() -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text="Entity with name nobody not found")], is_error=True)


async def test_words_alone_are_advised_about_with_care() -> None:
    """Nobody knows that the same call will fail again, nor whether what is missing should be made."""
    async with Client(server_of(misnamed)) as client:
        text = (await client.call_tool("misnamed", raise_on_error=False)).content[0].text
        assert text.endswith("\nerror: NOT_FOUND (not_found, not retryable)")


def clock(timezone: Annotated[str, Field(description="A zone of IANA (e.g., 'Asia/Tokyo')")]) -> CallToolResult:
    words = f"Invalid timezone: no time zone found with key {timezone}"
    return CallToolResult(content=[TextContent(type="text", text=words)], is_error=True)


def opened(path: str, mode: str = "read") -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=f"Workbook {path} does not exist")], is_error=True)


def reckoned(expression: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text="invalid syntax in line 1")], is_error=True)


def noted(observations: list[dict[str, Any]]) -> CallToolResult:
    words = f"Entity with name {observations[0]['entityName']} not found"
    return CallToolResult(content=[TextContent(type="text", text=words)], is_error=True)


async def test_the_member_of_an_argument_that_words_are_about_is_named() -> None:
    async with Client(server_of(noted)) as client:
        given = {"observations": [{"entityName": "nobody", "contents": ["likes tea"]}]}
        told = (await client.call_tool("noted", given, raise_on_error=False)).content[0].text
    assert told.endswith("; Check entityName.")


async def test_the_argument_that_words_are_about_is_named() -> None:
    """With a value that its description gives as an example; where no name is repeated, nothing is advised."""
    asked = (
        ("clock", {"timezone": "Mars/Olympus"}),
        ("opened", {"path": "a/b.xlsx"}),
        ("reckoned", {"expression": "1 +"}),
        ("opened", {"path": "select * from absent"}),
    )
    async with Client(server_of(clock, opened, reckoned)) as client:
        told = [(await client.call_tool(*one, raise_on_error=False)).content[0].text.splitlines()[-1] for one in asked]
    assert told[0].endswith("; Change timezone. For example: clock(timezone='Asia/Tokyo')")
    assert told[1].endswith("; Check path.")
    assert told[2].endswith("error: VALIDATION_ERROR (validation, not retryable)")
    assert told[3].endswith("error: NOT_FOUND (not_found, not retryable)")


async def test_many_blocks_are_shown_whole_from_the_first_on() -> None:
    """Words about each of them would leave no room for what they say."""

    def blocks() -> list[TextContent]:
        return [TextContent(type="text", text=f"block {number} " * 30) for number in range(40)]

    async with Client(server_of(blocks, budget=2_000)) as client:
        shown = [block.text for block in (await client.call_tool("blocks")).content]
        assert shown[0] == "block 0 " * 30 and len(shown) > 10
        assert "of 40 blocks shown; more: retrieve(" in shown[-1]


async def test_bytes_are_clean_in_the_spelling_of_the_framework() -> None:
    """What is looked at as base64 may be sent as the text that it is."""
    token = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"

    def secret() -> dict[str, bytes]:
        return {"a": token.encode()}

    async with Client(server_of(secret, sanitizers=[Redaction()])) as client:
        result = await client.call_tool("secret")
        assert token not in result.content[0].text + str(result.structured_content)


async def test_json_that_says_a_thing_twice_stays_the_text_that_it_is() -> None:
    """As do texts that are too deep or too odd to be written again."""

    def texts(kind: str) -> str:
        twice = '{"id":%d,"a":1,"a":2,"t":"some words here"}'
        made = {
            "array": "[" + ",".join(twice % number for number in range(120)) + "]",
            "lines": "\n".join(twice % number for number in range(120)),
            "deep": "[" * 300 + '"' + "word " * 1000 + '"' + "]" * 300,
            "numbers": "[" + '{"id":12345678901234567890,"v":NaN},' * 300 + "0]",
        }
        return made[kind]

    async with Client(server_of(texts, budget=400)) as client:
        for kind in ("array", "lines", "deep", "numbers"):
            result = await client.call_tool("texts", {"kind": kind}, raise_on_error=False)
            shown = result.content[0].text.partition("\naerogram: ")[0].strip()
            assert not result.is_error and texts(kind).startswith(shown), kind
