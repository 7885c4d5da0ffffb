"""Tools whose handlers follow the documents: they return bodies, and clients get those bodies."""

import json
from dataclasses import asdict

import fastmcp
import pytest

from aerogram import Contract, Reply
from aerogram.codes import TABLE
from aerogram.contract.flags import RESPONSE_CONTRACT_V2, Flags
from aerogram.dialects.response_v2 import error_response, success_response
from aerogram.dialects.standard_v2 import StandardError, StandardResponse, StandardV2Dialect
from aerogram.errors import InvalidReply, NotFound
from aerogram.fastmcp import install


async def called(handler, meta=None, **settings):
    server = fastmcp.FastMCP("documented")
    server.tool(handler, name="handler")
    install(server, **{"dialect": "response-v2", **settings})
    async with fastmcp.Client(server) as client:
        return await client.call_tool("handler", {}, raise_on_error=False, meta=meta)


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


async def test_with_the_flag_off_a_documented_success_is_its_payload_alone():
    def fine() -> dict:
        return asdict(success_response(data={"result": 42}, warnings=["cached"]))

    def rich() -> dict:
        return StandardResponse.rich([{"n": 1}]).to_wire()

    def failing() -> dict:
        return asdict(error_response("no spec", error_code="SPEC_NOT_FOUND"))

    flags = Flags(RESPONSE_CONTRACT_V2)
    flags.switch("response_contract_v2", on=False)
    sent = await called(fine, flags=flags)
    assert sent.structured_content == {"result": 42} and json.loads(sent.content[0].text) == {"result": 42}
    told = [one["message"] for one in sent.meta["dev.aerogram/notices"]]
    assert told[0] == "cached" and "the legacy format is used" in told[1]
    assert (await called(rich, flags=flags)).structured_content == {"n": 1}
    failed = await called(failing, flags=flags)
    assert failed.is_error and "no spec" in failed.content[0].text and "success" not in failed.content[0].text


@pytest.mark.parametrize("own", [{"content": [{"type": "text", "text": "hello"}], "isError": False}, {"content": []}])
async def test_a_bare_tool_that_promises_an_object_sends_its_dictionary_as_ever(own):
    def handler() -> dict:
        return own

    server = fastmcp.FastMCP("as ever")
    server.tool(handler)
    async with fastmcp.Client(server) as client:
        as_ever = await client.call_tool("handler", {})
    sent = await called(handler, dialect="bare")
    assert not sent.is_error and sent.structured_content == own == as_ever.structured_content
    assert [one.text for one in sent.content] == [one.text for one in as_ever.content]


async def test_a_bare_tool_that_writes_its_own_structured_content_or_fails_is_sent_as_written():
    def written() -> dict:
        return {"content": [{"type": "text", "text": "42 metres"}], "structuredContent": {"value": 42}}

    def failing() -> dict:
        return {"content": [{"type": "text", "text": "no such place"}], "isError": True}

    sent = await called(written, dialect="bare")
    assert (sent.structured_content, sent.content[0].text) == ({"value": 42}, "42 metres")
    failed = await called(failing, dialect="bare")
    assert failed.is_error and failed.content[0].text.startswith("no such place\nerror: NOT_FOUND ")


@pytest.mark.parametrize(
    "body",
    [
        {**StandardResponse.error(StandardError.internal("pay first")).to_wire()},
        asdict(error_response("pay first", error_type="payment")),
    ],
    ids=["standard-v2", "response-v2"],
)
async def test_a_failure_whose_word_was_added_later_reaches_the_client_with_its_message(body):
    if "results" in body:
        body = {**body, "error": {**body["error"], "code": "PAYMENT_REQUIRED"}}

    def handler() -> dict:
        return body

    sent = await called(handler)
    assert sent.is_error and sent.structured_content["error"] == "pay first"
    assert "payment" in json.dumps(sent.structured_content["data"]).lower()


async def test_a_code_of_the_handler_s_own_comes_with_a_category_and_a_remediation():
    class SeatTaken(NotFound):
        code = "SEAT_TAKEN"

    def handler() -> dict:
        raise SeatTaken("seat 4 is taken")

    sent = (await called(handler)).structured_content
    row = TABLE["NOT_FOUND"]
    assert sent["data"] == {"error_code": "SEAT_TAKEN", "error_type": "not_found", "remediation": row.remediation}


@pytest.mark.parametrize("meta", [None, {"dev.aerogram/replies": {"dialect": "standard-v2"}}])
async def test_the_language_and_the_documentation_of_a_contract_s_dialect_reach_the_client(meta):
    def handler() -> dict:
        raise NotFound("no row 5")

    spoken = StandardV2Dialect(language="ja", documentation="https://example.org/errors#")
    sent = await called(handler, meta, dialect=spoken)
    error = sent.structured_content["error"]
    assert error["user_message"] == sent.content[0].text.splitlines()[0] == TABLE["NOT_FOUND"].user_text["ja"]
    assert error["documentation"] == "https://example.org/errors#not_found"


async def test_the_echo_of_a_search_tells_the_query_from_its_filters():
    server = fastmcp.FastMCP("search")

    @server.tool
    def search(q: str, tier: list[str], prefecture: str = "") -> list[dict]:
        return [{"q": q, "tier": tier, "prefecture": prefecture}]

    install(server, dialect="standard-v2")
    async with fastmcp.Client(server) as client:
        sent = await client.call_tool("search", {"q": "IT導入", "tier": ["S", "A"], "prefecture": "東京都"})
    assert sent.structured_content["query_echo"] == {
        "normalized_input": {"q": "IT導入"},
        "applied_filters": {"tier": ["S", "A"], "prefecture": "東京都"},
        "unparsed_terms": [],
    }


async def test_a_tool_has_the_page_size_of_its_contract_unless_its_caller_names_one():
    server = fastmcp.FastMCP("pages")

    def rows() -> list[dict]:
        return [{"id": number} for number in range(25)]

    server.tool(rows, name="search")
    server.tool(rows, name="export")
    install(server, dialect="response-v2", controls=True, page_sizes={"search": 10})
    async with fastmcp.Client(server) as client:
        first = (await client.call_tool("search", {})).structured_content
        page = first["meta"]["pagination"]
        assert (len(first["data"]["results"]), page["page_size"], page["has_more"]) == (10, 10, True)
        second = (await client.call_tool("search", {"cursor": page["cursor"]})).structured_content
        assert second["data"]["results"][0] == {"id": 10} and len(second["data"]["results"]) == 10
        named = (await client.call_tool("search", {"page_size": 3})).structured_content
        assert len(named["data"]["results"]) == 3
        assert len((await client.call_tool("export", {})).structured_content["data"]["results"]) == 25
        tools = {one.name: one.input_schema["properties"] for one in await client.list_tools()}
        listed = {name: tools[name]["page_size"] for name in ("search", "export")}
    assert listed["search"]["default"] == 10 and "default" not in listed["export"]


@pytest.mark.parametrize("size", [0, 51, "10", True])
def test_a_page_size_that_cannot_be_is_refused(size):
    with pytest.raises(InvalidReply, match="page_sizes"):
        Contract(page_sizes={"search": size})
