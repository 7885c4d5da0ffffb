"""Resources of a FastMCP server: replies as their values, and whose fault a failure is."""

import json

import pydantic
import pytest
from fastmcp import Client, FastMCP
from mcp.shared.exceptions import MCPError

from aerogram import Notice, Page, Reply
from aerogram.fastmcp import install

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
INVALID_PARAMS, INTERNAL_ERROR = -32602, -32603


class Shelf(pydantic.BaseModel):
    books: int


def library() -> FastMCP:
    server = FastMCP("library")

    @server.resource("shelf://reply")
    def reply() -> Reply:
        return Reply.ok(
            [1, {2}],
            page=Page(total=9, has_more=True, cursor="next"),
            notices=(Notice("half of it", "PARTIAL_RESULTS"),),
        )

    @server.resource("shelf://words", mime_type="text/markdown")
    def words() -> Reply:
        return Reply.ok("# Title", message="said")

    @server.resource("shelf://failed")
    def failed() -> Reply:
        return Reply.failed("NOT_FOUND", "no such shelf", remediation="count them first")

    @server.resource("shelf://{number}/books{?sorted,weight}")
    def books(number: int, sorted: bool = False, weight: float = 0.5) -> dict:
        if number == 13:
            int("thirteen")
        if number == 14:
            Shelf(books="many")
        return {"number": number, "sorted": sorted, "weight": weight}

    return server


def alone() -> tuple[FastMCP, str]:
    server = library()
    install(server)
    return server, "shelf://"


def inside() -> tuple[FastMCP, str]:
    parent = FastMCP("parent")
    parent.mount(library(), namespace="kid")
    install(parent)
    return parent, "shelf://kid/"


PLACES = pytest.mark.parametrize("place", [alone, inside])


async def read(place, path, era):
    server, start = place()
    async with Client(server, mode=era) as client:
        return await client.read_resource_mcp(start + path)


async def refused(place, path, era):
    with pytest.raises(MCPError) as caught:
        await read(place, path, era)
    return caught.value.error


@ERAS
@PLACES
async def test_the_data_of_a_reply_is_the_content_and_the_rest_is_said_aside(place, era):
    result = await read(place, "reply", era)
    assert json.loads(result.contents[0].text) == [1, [2]]
    assert result.meta["dev.aerogram/page"]["total"] == 9
    assert result.meta["dev.aerogram/notices"][0]["code"] == "PARTIAL_RESULTS"
    words = await read(place, "words", era)
    assert (words.contents[0].text, words.contents[0].mime_type) == ("# Title", "text/markdown")
    assert words.meta["dev.aerogram/message"] == "said"


@ERAS
@PLACES
async def test_a_failed_reply_is_a_protocol_error(place, era):
    error = await refused(place, "failed", era)
    assert error.code == INVALID_PARAMS and error.message == "no such shelf"
    assert error.data["code"] == "NOT_FOUND" and error.data["remediation"] == "count them first"
    assert error.data["uri"].endswith("failed")


@ERAS
@PLACES
@pytest.mark.parametrize(
    ("path", "field"),
    [("many/books", "number"), ("1/books?sorted=perhaps", "sorted"), ("1/books?weight=heavy", "weight")],
)
async def test_a_wrong_argument_is_the_callers_to_mend(place, path, field, era):
    error = await refused(place, path, era)
    assert (error.code, error.data["retry"]) == (INVALID_PARAMS, "no")
    assert error.data["code"] == ("VALIDATION_ERROR" if field == "sorted" else "INVALID_FORMAT")
    assert error.data["details"]["field"] == field and field in error.data["remediation"]


@ERAS
@PLACES
@pytest.mark.parametrize("number", [13, 14])
async def test_what_a_handler_itself_gets_wrong_is_not_blamed_on_its_caller(place, number, era):
    error = await refused(place, f"{number}/books", era)
    assert error.code == INTERNAL_ERROR and error.data["code"] == "INTERNAL_ERROR"
    assert "thirteen" not in error.message and "many" not in error.message


@PLACES
async def test_right_arguments_arrive_with_their_types(place):
    result = await read(place, "7/books?sorted=Yes&weight=2", "auto")
    assert json.loads(result.contents[0].text) == {"number": 7, "sorted": True, "weight": 2.0}
