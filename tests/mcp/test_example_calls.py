"""Wrong arguments are answered with a call that would be right."""

import datetime as dt
import re
from typing import Annotated, Literal

import fastmcp
import pytest
from mcp import Client as SdkClient
from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel, Field

import aerogram.mcp
from aerogram.fastmcp import install


class Window(BaseModel):
    start: dt.date
    days: Annotated[int, Field(ge=7)]


def book(
    room: str,
    size: Literal["small", "large"],
    seats: Annotated[int, Field(ge=2, le=40)],
    window: Window,
    mails: list[str],
    share: Annotated[float, Field(gt=0, lt=1)],
    note: str = "",
) -> str:
    """Book a room."""
    return f"{room} {size} {seats} {window.start} {window.days} {mails} {share}{note}"


def coded(key: Annotated[str, Field(pattern="^[A-Z]{3}-[0-9]+$")]) -> str:
    return key


RIGHT = {"room": "Blue", "seats": 2, "window": {"start": "2026-11-18", "days": 7}, "mails": [], "share": 0.5}


def on_fastmcp(dialect="bare"):
    server = fastmcp.FastMCP("rooms")
    server.tool(book)
    server.tool(coded)
    install(server, dialect=dialect)
    return fastmcp.Client(server)


def on_sdk():
    server = MCPServer("rooms")
    server.tool()(book)
    server.tool()(coded)
    aerogram.mcp.install(server, dialect="bare")
    return SdkClient(server)


async def called(client, name, given):
    options = {"raise_on_error": False} if isinstance(client, fastmcp.Client) else {}
    return await client.call_tool(name, given, **options)


@pytest.mark.parametrize("client_of", [on_fastmcp, on_sdk])
@pytest.mark.parametrize(
    "given",
    [{}, {"room": "Blue", "size": "huge"}, {"room": "Blue", "seats": 1, "share": 3}, {"room": "Blue", "note": 5}],
    ids=["nothing", "a wrong word", "out of bounds", "a wrong type"],
)
async def test_the_call_that_is_shown_works(client_of, given):
    async with client_of() as client:
        refused = await called(client, "book", given)
        shown = re.search(r"For example: book\((.*?)\)(?:; field|$)", refused.content[0].text, re.MULTILINE)
        arguments = eval(f"dict({shown[1]})")
        answered = await called(client, "book", arguments)
    assert refused.is_error and not answered.is_error, answered.content[0].text
    assert arguments["room"] == given.get("room", "room") and "seats" in arguments


async def test_a_call_that_cannot_be_made_up_is_not_shown():
    async with on_fastmcp() as client:
        refused = await called(client, "coded", {"key": "abc"})
    assert refused.is_error and "For example" not in refused.content[0].text


@pytest.mark.parametrize("dialect", ["bare", "response-v2", "standard-v2", "knowledge-1.0"])
async def test_every_dialect_shows_the_call_and_says_once_what_is_wrong(dialect):
    async with on_fastmcp(dialect) as client:
        refused = await called(client, "coded", {"key": 5})
        asked = await called(client, "book", RIGHT | {"size": "huge"})
    assert aerogram.read(refused).problem.remediation == "Correct key"
    problem = aerogram.read(asked).problem
    assert problem.message.endswith(problem.details["detail"])
    assert problem.remediation.startswith("Correct size. For example: book(room='Blue', size='small', seats=2")


@pytest.mark.parametrize("frame", [fastmcp.FastMCP, MCPServer])
async def test_a_wrong_control_leaves_in_the_call_what_was_right(frame):
    server = frame("recipes")

    @server.tool()
    def list_recipes(minutes: int) -> list[int]:
        return [minutes] * 100

    adapter = install if frame is fastmcp.FastMCP else aerogram.mcp.install
    adapter(server, budget=1_000, controls=["list_recipes"])
    async with (fastmcp.Client if frame is fastmcp.FastMCP else SdkClient)(server) as client:
        [listed] = [tool for tool in await _tools(client) if tool.name == "list_recipes"]
        refused = await called(client, "list_recipes", {"minutes": 7, "page_size": 500})
    assert listed.input_schema["properties"]["page_size"]["maximum"] == 50
    told = refused.content[0].text.splitlines()[-1]
    assert told.endswith("Correct page_size. For example: list_recipes(minutes=7); field: page_size; received: 500")


async def _tools(client):
    found = await client.list_tools()
    return found if isinstance(found, list) else found.tools


async def test_an_argument_that_there_is_not_is_to_be_left_out():
    server = fastmcp.FastMCP("recipes")

    @server.tool
    def cook(dish: str = "soup") -> str:
        return dish

    install(server)
    async with fastmcp.Client(server) as client:
        refused = await called(client, "cook", {"when": "now"})
    assert "Leave out when; there is only dish." in refused.content[0].text


async def test_several_faults_are_told_once_each_and_read_back():
    async with on_fastmcp() as client:
        refused = await called(client, "book", RIGHT | {"size": "large", "window": {"start": "soon"}})
    text = refused.content[0].text
    assert text.endswith('; fields: window.start, window.days; received: {"window.start":"soon"}')
    found = aerogram.read({"content": [{"type": "text", "text": text}], "isError": True}).problem
    assert found.details["errors"] == [{"field": "window.start", "received": "soon"}, {"field": "window.days"}]
