"""The account of a payload alone: what it lacks is read where a model reads, and taken out again by our client."""

from __future__ import annotations

from typing import Any

import pytest
from fastmcp import Client, FastMCP

from aerogram import Archive, Fidelity, Notice, Page, Reply
from aerogram._mcp.listing import lift_schema
from aerogram._mcp.results import tool_result
from aerogram.channels import Payload, split_account
from aerogram.client import read
from aerogram.dialects import dialect
from aerogram.fastmcp import install

ROWS = [{"id": 1, "title": "One"}, {"id": 2, "title": "Two"}]
WORDS = "2 of 300 shown; more: retrieve(hash='0123456789ab', offset=2)"
FITTED = Reply(
    ROWS,
    status="partial",
    fidelity=Fidelity("partial", archive_hashes={"data": "sha256:0123456789ab"}),
    notices=(Notice(WORDS),),
    extra={"left_out": {"state": {"open": 298}}},
)
PAGED = Reply(ROWS, status="partial", page=Page(cursor="E1abc", has_more=True, total=300))
BARE = dialect("bare")


def result_of(reply: Reply[Any], payload: Payload) -> dict[str, Any]:
    return tool_result(reply, payload.channels(reply), dialect=BARE, wants_box=False)


def test_the_account_is_the_last_lines_of_the_text_and_a_member_beside_the_box() -> None:
    channels = Payload(has_schema=True, is_boxed=True).channels(FITTED)
    data, *lines = channels.text.splitlines()
    assert data == '[{"id":1,"title":"One"},{"id":2,"title":"Two"}]'
    assert lines == [f"aerogram: {WORDS}", 'aerogram left out: {"state":{"open":298}}']
    told = {"note": WORDS, "left_out": {"state": {"open": 298}}}
    assert channels.structured == {"result": ROWS, "aerogram": told}


def test_a_whole_payload_is_sent_as_it_is() -> None:
    assert Payload(has_schema=True, is_boxed=True).channels(Reply.ok(ROWS)).structured == {"result": ROWS}
    assert Payload().channels(Reply.ok("some words")).text == "some words"


@pytest.mark.parametrize(
    "payload", [Payload(), Payload(True, True), Payload(True, True, True)], ids=["text", "box", "own"]
)
@pytest.mark.parametrize("said", [FITTED, PAGED], ids=["fitted", "paged"])
def test_what_was_said_is_read_back_with_and_without_meta(payload: Payload, said: Reply[Any]) -> None:
    result = result_of(said, payload)
    assert read(result, dialect="bare") == said
    without = read({name: part for name, part in result.items() if name != "_meta"}, dialect="bare")
    assert (without.data, without.status) == (ROWS, "partial")
    if said is FITTED:
        assert without.fidelity == said.fidelity
        assert without.extra == said.extra
    else:
        assert without.page == Page(cursor="E1abc", has_more=True)


def test_a_text_that_only_looks_like_an_account_stays_a_text() -> None:
    assert split_account("aerogram: a letter by air") == ("aerogram: a letter by air", None)
    assert split_account("first\n\naerogram: x\nand more") == ("first\n\naerogram: x\nand more", None)
    assert split_account("") == ("", None)


def test_a_payload_with_a_member_of_that_name_keeps_it() -> None:
    own = FITTED.replace(data={"aerogram": "mine", "rows": ROWS})
    assert Payload().channels(own).structured == own.data


def test_a_listed_schema_is_lifted_below_its_first_level() -> None:
    row = {"type": "object", "properties": {"required": {"type": "string", "pattern": "^a"}}, "required": ["required"]}
    schema = {
        "type": "object",
        "properties": {"result": {"type": "array", "items": {"$ref": "#/$defs/Row"}, "minItems": 1}},
        "required": ["result"],
        "$defs": {"Row": row},
        "x-fastmcp-wrap-result": True,
    }
    assert lift_schema(schema) == {
        "type": "object",
        "properties": {
            "result": {"type": "array", "items": {"$ref": "#/$defs/Row"}},
            "aerogram": {"type": "object"},
        },
        "required": ["result"],
        "$defs": {"Row": {"type": "object", "properties": {"required": {"type": "string"}}}},
        "x-fastmcp-wrap-result": True,
    }


OURS = {"note": WORDS}
LIKE_OURS = f"It said:\n[1,2]\naerogram: {WORDS}"


@pytest.mark.parametrize(
    "data", [LIKE_OURS, {"aerogram": OURS}, {"aerogram": OURS, "id": 1}, {"text": LIKE_OURS}], ids=str
)
def test_data_that_looks_like_an_account_is_data(data: Any) -> None:
    """What a tool quotes is no word of its server, which says besides that nothing is missing."""
    reply = Reply(data, request_id="req_abcdefgh")
    for payload in (Payload(), Payload(True, True)):
        assert read(result_of(reply, payload), dialect="bare") == reply


@pytest.mark.parametrize("said", [FITTED, PAGED], ids=["fitted", "paged"])
def test_an_account_beside_data_that_looks_like_one_is_told_from_it(said: Reply[Any]) -> None:
    quoted = {"note": WORDS.replace("300", "70")}
    for data in ({"aerogram": quoted, "id": 1}, LIKE_OURS.replace("300", "70"), {"text": LIKE_OURS}):
        reply = said.replace(data=data)
        for payload in (Payload(), Payload(True), Payload(True, True), Payload(True, is_closed=True)):
            assert read(result_of(reply, payload), dialect="bare") == reply


def test_what_is_odd_in_meta_is_no_reason_to_fail() -> None:
    sent = {**result_of(FITTED, Payload()), "_meta": {"dev.aerogram/page": {"extra": {"way_on": 1}}}}
    assert read(sent).data is not None


async def test_a_map_may_have_a_member_of_that_name() -> None:
    """Its names are data, such as those of packages: a client that checks what is listed takes it for what it is."""
    server = FastMCP("packages")

    @server.tool
    def versions(count: int) -> dict[str, str]:
        return {"aerogram": "1.0", **{f"package-{number}": "2.0" for number in range(count)}}

    install(server, budget=300, archive=Archive.in_memory())
    async with Client(server) as client:
        for count in (1, 400):
            result = await client.call_tool("versions", {"count": count})
            assert (result.structured_content or {})["aerogram"] == "1.0"
            assert read(result).data["aerogram"] == "1.0"
