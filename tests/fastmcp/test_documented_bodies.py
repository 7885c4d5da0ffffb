"""Tools whose handlers follow the documents: they return bodies, and clients get those bodies."""

from dataclasses import asdict

import fastmcp
import pytest

from aerogram import Reply
from aerogram.dialects.response_v2 import error_response, success_response
from aerogram.dialects.standard_v2 import StandardResponse
from aerogram.fastmcp import install


async def called(handler, **settings):
    server = fastmcp.FastMCP("documented")
    server.tool(handler, name="handler")
    install(server, **settings)
    async with fastmcp.Client(server) as client:
        return await client.call_tool("handler", {}, raise_on_error=False)


async def test_a_tool_that_returns_the_asdict_form_is_sent_once_and_not_boxed_again():
    def fine() -> dict:
        return asdict(success_response(data={"result": 42}, warnings=["cached"], request_id="req_abc123"))

    def failing() -> dict:
        return asdict(error_response("no spec", error_code="SPEC_NOT_FOUND", remediation="list them"))

    sent = await called(fine)
    assert sent.structured_content["data"] == {"result": 42}
    assert sent.structured_content["meta"]["request_id"] == "req_abc123"
    failed = await called(failing)
    assert failed.is_error and failed.structured_content["data"]["error_code"] == "SPEC_NOT_FOUND"


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (StandardResponse.rich([{"n": n} for n in range(23)]), "rich · 23 results"),
        (Reply.failed("NOT_FOUND", "no row 5", user_message="We could not find it."), "We could not find it."),
        (Reply.failed("UNAUTHORIZED", "X-API-Key is missing"), "Please sign in or check your API key."),
    ],
)
async def test_a_server_that_speaks_standard_v2_sends_the_body_and_the_documented_line(outcome, text):
    def handler() -> dict:
        return outcome

    sent = await called(handler, dialect="standard-v2", channels="summary")
    assert sent.content[0].text.splitlines()[0] == text
    assert sent.structured_content["meta"]["api_version"] == "v2"
    assert sent.is_error == isinstance(outcome, Reply)
    if sent.is_error:
        assert sent.structured_content["error"]["user_message"] == text
