"""Budgets per server, tool and call; controls; the way back to what was left out."""

import json

import mcp_types
import pytest
from mcp.shared.exceptions import MCPError

from aerogram.archive import Archive
from aerogram.content.jsontext import dumps
from aerogram.shape.controls import CONTROLS
from aerogram.tokens import best_counter
from tool_servers import ROWS


def size(result):
    """The size of the larger channel: a model reads one of them."""
    return max(map(best_counter().count, channels(result)))


def channels(result):
    return result.content[0].text, dumps(result.structured_content).decode()


async def test_a_servers_budget_holds_and_a_tools_own_goes_before_it(door):
    async with door.open(budget=4_000, budgets={"rows": 1_500}) as server:
        small = await server.call("rows")
    async with door.open(budget=4_000) as server:
        large = await server.call("rows")
    assert size(small) <= 1_500 < size(large) <= 4_000
    assert small.structured_content["meta"]["content_fidelity"] != "full"


async def test_a_call_may_ask_for_less(door):
    async with door.open(budget=4_000, controls=["rows"]) as server:
        result = await server.call("rows", {"max_tokens": 1_000})
    assert size(result) <= 1_000


async def test_where_both_channels_count_they_keep_the_budget_together(door):
    async with door.open(budget=3_000, count="both") as server:
        result = await server.call("rows")
    assert 1_500 < sum(map(best_counter().count, channels(result))) <= 3_000


async def test_controls_are_added_to_the_chosen_tools_alone(door):
    async with door.open(controls={"rows": ["fields", "page_size"]}) as server:
        tools = await server.tools()
    assert tools["rows"].input_schema["properties"].keys() == {"fields", "page_size", "cursor"}
    assert tools["divide"].input_schema["properties"].keys() == {"dividend", "divisor"}


async def test_a_tools_own_parameter_stays_its_own(door):
    async with door.open(controls=True) as server:
        schema = (await server.tools())["paged_by_itself"].input_schema
        result = await server.call("paged_by_itself", {"cursor": "mine"})
    assert schema["properties"].keys() == CONTROLS.keys() - {"page_size"} and schema["required"] == ["cursor"]
    assert result.structured_content["data"] == {"cursor": "mine"}


async def test_fields_and_modes_make_sparse_rows_without_the_handlers_help(door):
    async with door.open(controls=True) as server:
        fields = await server.call("rows", {"fields": ["title"], "page_size": 2})
        ids = await server.call("rows", {"response_mode": "ids_only", "page_size": 2})
    assert fields.structured_content["data"]["results"] == [{"title": "Row 0"}, {"title": "Row 1"}]
    assert ids.structured_content["data"]["results"] == [{"id": "row-0"}, {"id": "row-1"}]


@pytest.mark.parametrize(
    ("control", "code"),
    [
        ({"max_tokens": 0}, "VALIDATION_ERROR"),
        ({"page_size": "many"}, "INVALID_FORMAT"),
        ({"response_mode": "all"}, "VALIDATION_ERROR"),
        ({"fields": ["nope"]}, "INVALID_FIELDS"),
        ({"cursor": "forged"}, "INVALID_CURSOR"),
    ],
)
async def test_a_wrong_control_is_a_result_that_says_so(door, control, code):
    async with door.open(controls=True) as server:
        result = await server.call("rows", control)
    assert result.is_error and result.structured_content["data"]["error_code"] == code
    assert result.structured_content["data"]["remediation"]


async def test_pages_lead_to_the_end(door):
    seen, cursor = [], None
    async with door.open(controls=True) as server:
        while True:
            asked = {"page_size": 50} | ({"cursor": cursor} if cursor else {})
            body = (await server.call("rows", asked)).structured_content
            seen += body["data"]["results"]
            if not body["meta"]["pagination"]["has_more"]:
                break
            cursor = body["meta"]["pagination"]["cursor"]
    assert seen == ROWS


async def test_what_was_left_out_comes_back_page_by_page_within_the_same_budget(door):
    async with door.open(budget=2_000) as server:
        fitted = await server.call("rows")
        meta = fitted.structured_content["meta"]
        digest = meta["content_archive_hashes"]["data"]
        seen, cursor = [], None
        while True:
            asked = {"hash": digest} | ({"cursor": cursor} if cursor else {})
            result = await server.call("retrieve", asked)
            assert size(result) <= 2_000
            seen += result.structured_content["data"]["results"]
            page = result.structured_content["meta"]["pagination"]
            if not page["has_more"]:
                break
            cursor = page["cursor"]
    assert digest[:19] in fitted.content[0].text
    assert seen == ROWS


async def test_the_archive_is_a_resource_that_may_be_cached_privately_for_its_lifetime(door):
    async with door.open(budget=2_000, archive=Archive.in_memory(lifetime=60)) as server:
        hashes = (await server.call("rows")).structured_content["meta"]["content_archive_hashes"]
        contents, result = await server.read(f"aerogram://archive/{hashes['data']}")
        with pytest.raises(MCPError) as caught:
            await server.read("aerogram://archive/sha256:" + "0" * 64)
    assert json.loads(contents.text) == ROWS and contents.mime_type == "application/json"
    assert caught.value.error.code == mcp_types.INVALID_PARAMS and caught.value.error.data["code"] == "NOT_FOUND"
    if door.is_modern:
        assert 0 < result.ttl_ms <= 60_000 and result.cache_scope == "private"


async def test_an_expired_entry_says_that_it_has_expired(door):
    now = [0.0]
    archive = Archive.in_memory(lifetime=60, clock=lambda: now[0])
    async with door.open(budget=2_000, archive=archive) as server:
        hashes = (await server.call("rows")).structured_content["meta"]["content_archive_hashes"]
        now[0] = 61.0
        result = await server.call("retrieve", {"hash": hashes["data"]})
    assert result.is_error and "expired" in result.structured_content["error"]


async def test_one_principal_gets_nothing_of_anothers(door):
    who = ["ann"]
    async with door.open(budget=2_000, principal=lambda: who[0], controls=True) as server:
        digest = (await server.call("rows")).structured_content["meta"]["content_archive_hashes"]["data"]
        cursor = (await server.call("rows", {"page_size": 2})).structured_content["meta"]["pagination"]["cursor"]
        who[0] = "bob"
        stolen = [
            await server.call("retrieve", {"hash": digest}),
            await server.call("retrieve", {"ids": ["row-100"]}),
            await server.call("rows", {"cursor": cursor}),
        ]
        with pytest.raises(MCPError):
            await server.read(f"aerogram://archive/{digest}")
    codes = [one.structured_content["data"]["error_code"] for one in stolen]
    assert codes == ["NOT_FOUND", "NOT_FOUND", "INVALID_CURSOR"]


async def test_without_an_archive_there_is_no_retrieval_tool_and_the_reply_admits_the_loss(door):
    async with door.open(budget=2_000, archive=None) as server:
        tools = await server.tools()
        meta = (await server.call("rows")).structured_content["meta"]
    assert "retrieve" not in tools and "content_archive_hashes" not in meta
    assert [words.endswith("; the rest was not kept") for words in meta["warnings"]] == [True]


async def test_a_page_of_the_handlers_own_says_that_its_size_is_not_the_callers(door):
    async with door.open(controls=["own_page"]) as server:
        small = (await server.call("own_page", {"page_size": 5})).structured_content
        large = (await server.call("own_page", {"page_size": 50})).structured_content
    assert len(small["data"]["results"]) == 10
    assert [one["code"] for one in small["meta"]["warning_details"]] == ["CONTROL_IGNORED"]
    assert "warning_details" not in large["meta"]


async def test_the_retrieval_tool_lists_its_modes(door):
    async with door.open(budget=2_000) as server:
        inputs = (await server.tools())["retrieve"].input_schema["properties"]
    assert inputs["response_mode"]["enum"] == ["ids_only", "metadata", "preview", "full"]


@pytest.mark.parametrize("dialect", ["bare", "response-v2"])
async def test_a_caller_who_asks_for_more_than_there_is_hears_so_where_something_is_missing(door, dialect):
    """And only there: a reply that fits is what it was."""
    words = "max_tokens=9000 was not used: 800 are the most here"
    async with door.open(dialect=dialect, budget=800, controls=True) as server:
        cut = await server.call("rows", {"max_tokens": 9_000})
        whole = await server.call("task", {"task_id": "t1", "max_tokens": 9_000})
        within = await server.call("rows", {"max_tokens": 700})
    assert words in cut.content[0].text and words in json.dumps(cut.structured_content)
    assert all("not used" not in result.content[0].text for result in (whole, within))
