"""Resources of an `MCPServer`: replies as their values, and whose fault a failure is."""

import json

import mcp
import pytest
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError

from aerogram import Notice, Page, Reply
from aerogram.mcp import install

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
INVALID_PARAMS, INTERNAL_ERROR = -32602, -32603


@pytest.fixture
def server() -> MCPServer:
    server = MCPServer("library")
    install(server)

    @server.resource("shelf://reply")
    def reply() -> Reply:
        half = Notice("half of it", "PARTIAL_RESULTS")
        return Reply.ok([1, {2}], page=Page(total=9, has_more=True, cursor="next"), notices=(half,))

    @server.resource("shelf://words", mime_type="text/markdown")
    async def words() -> Reply:
        return Reply.ok("# Title", message="said")

    @server.resource("shelf://failed")
    def failed() -> Reply:
        return Reply.failed("NOT_FOUND", "no such shelf", remediation="count them first")

    @server.resource("shelf://{number}/books")
    def books(number: int) -> Reply:
        if number == 13:
            int("thirteen")
        return Reply.ok({"number": number}, message="counted")

    return server


async def refused(server, uri, era):
    async with mcp.Client(server, mode=era) as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
    return caught.value.error


@ERAS
async def test_the_data_of_a_reply_is_the_content_and_the_rest_is_said_aside(server, era):
    async with mcp.Client(server, mode=era) as client:
        listed = await client.read_resource("shelf://reply")
        words = await client.read_resource("shelf://words")
        counted = await client.read_resource("shelf://7/books")
    assert json.loads(listed.contents[0].text) == [1, [2]]
    assert listed.meta["dev.aerogram/page"]["total"] == 9
    assert listed.meta["dev.aerogram/notices"][0]["code"] == "PARTIAL_RESULTS"
    assert (words.contents[0].text, words.contents[0].mime_type) == ("# Title", "text/markdown")
    assert words.meta["dev.aerogram/message"] == "said" and counted.meta["dev.aerogram/message"] == "counted"
    assert json.loads(counted.contents[0].text) == {"number": 7}


@ERAS
async def test_a_failed_reply_is_a_protocol_error(server, era):
    error = await refused(server, "shelf://failed", era)
    assert error.code == INVALID_PARAMS and error.message == "no such shelf"
    assert error.data["code"] == "NOT_FOUND" and error.data["remediation"] == "count them first"
    assert error.data["uri"] == "shelf://failed"


@ERAS
async def test_a_wrong_argument_is_the_callers_to_mend_and_a_crash_is_not(server, era):
    wrong = await refused(server, "shelf://many/books", era)
    assert wrong.code == INVALID_PARAMS and wrong.data["code"] == "INVALID_FORMAT" and wrong.data["retry"] == "no"
    assert wrong.data["details"]["field"] == "number" and "number" in wrong.data["remediation"]
    crash = await refused(server, "shelf://13/books", era)
    assert crash.code == INTERNAL_ERROR and "thirteen" not in crash.message
