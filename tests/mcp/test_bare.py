"""`bare`: payloads, their types and their schemas stay what they were; what else there is to say goes into `_meta`."""

import json
import re
from dataclasses import dataclass

import jsonschema_rs
import pytest

from aerogram.client import read
from tool_servers import ROWS, Task, build, talk

KEY = re.compile(r"([a-z][a-z0-9-]*\.)+[a-z0-9-]+/[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


async def without(door, name, arguments=None):
    server, _ = build(door.framework, installed=False)
    async with talk(door.framework, server, door.mode) as talking:
        return (await talking.tools())[name], await talking.call(name, arguments)


async def test_typed_results_and_schemas_are_those_of_a_server_without_us(door):
    async with door.open(dialect="bare") as server:
        tools = await server.tools()
        for name, arguments in (("task", {"task_id": "t1"}), ("rows", {}), ("divide", {"dividend": 1, "divisor": 2})):
            tool, before = await without(door, name, arguments)
            result = await server.call(name, arguments)
            assert tools[name].output_schema == tool.output_schema
            assert result.structured_content == before.structured_content
            assert [block.model_dump() for block in result.content] == [block.model_dump() for block in before.content]


async def test_a_typed_client_still_reads_the_type(door):
    async with door.open(dialect="bare") as server:
        result = await server.call("task", {"task_id": "t1"})
    assert Task(**result.structured_content) == Task("t1", done=False)


async def test_values_that_the_framework_would_spoil_are_sent_as_what_they_are(door):
    async with door.open(dialect="bare") as server:
        result = await server.call("odd_values")
    assert result.structured_content == {"point": {"x": 1, "y": 2}, "set": [3], "missing": None}
    assert result.meta["dev.aerogram/notices"]


async def test_page_and_fidelity_are_in_meta(door):
    async with door.open(dialect="bare", budget=3_000, controls=["rows"]) as server:
        page = await server.call("rows", {"page_size": 3})
        fitted = await server.call("rows")
    assert page.structured_content["result"] == ROWS[:3]
    assert page.meta["dev.aerogram/page"]["has_more"] is True and page.meta["dev.aerogram/page"]["cursor"]
    assert fitted.meta["dev.aerogram/fidelity"]["level"] != "full"
    assert fitted.meta["dev.aerogram/fidelity"]["archive_hashes"]["data"].startswith("sha256:")


async def test_what_a_payload_lacks_is_said_where_a_model_reads_it(door):
    """In both channels, in the same words; a reader takes them out again."""
    async with door.open(dialect="bare", budget=3_000, controls=["rows"]) as server:
        listed = (await server.tools())["rows"].output_schema
        page = await server.call("rows", {"page_size": 3})
        fitted = await server.call("rows")
    for result in (page, fitted):
        jsonschema_rs.validate(listed, result.structured_content)
        payload, _, account = result.content[0].text.partition("\naerogram: ")
        assert json.loads(payload) == result.structured_content["result"]
        assert account.splitlines()[0] == result.structured_content["aerogram"]["note"]
        assert read(result).data == result.structured_content["result"]
    cursor = page.meta["dev.aerogram/page"]["cursor"]
    assert page.structured_content["aerogram"] == {"note": f"3 of 120 shown; next: cursor='{cursor}'"}
    note = fitted.structured_content["aerogram"]["note"]
    assert re.fullmatch(
        r"120 of 120 shown, the last \d+ without text; whole: retrieve\(hash='\w{12}', offset=\d+\)", note
    )


@dataclass
class Row:
    id: str
    title: str
    text: str


def typed_rows() -> list[Row]:
    return [Row(**row) for row in ROWS]


@pytest.mark.parametrize("schema", ["own", "slim"])
async def test_rows_keep_the_members_that_a_listed_schema_requires(door, schema):
    """A schema that is listed untouched is kept to the letter: rows are whole, and nothing stands beside them."""
    listed, results = [], []
    for settings in ({"installed": False}, {"dialect": "bare", "budget": 3_000, "schema": schema}):
        server, _ = build(door.framework, **settings)
        (server.tool if door.framework == "fastmcp" else server.add_tool)(typed_rows)
        async with talk(door.framework, server, door.mode) as talking:
            listed.append((await talking.tools())["typed_rows"].output_schema)
            results.append(await talking.call("typed_rows"))
    fitted = results[1].structured_content
    shown = fitted["result"]
    jsonschema_rs.validate(listed[1], fitted)
    assert (listed[0] == listed[1]) == (list(fitted) == ["result"]) == (schema == "own")
    assert (shown == ROWS[: len(shown)] != []) == (schema == "own")
    assert "\naerogram: " in results[1].content[0].text


async def test_a_problem_is_in_meta_and_in_words_and_breaks_no_schema(door):
    async with door.open(dialect="bare") as server:
        result = await server.call("task", {"task_id": "busy"})
    assert result.is_error and result.structured_content is None
    assert result.meta["dev.aerogram/problem"]["code"] == "RATE_LIMIT_EXCEEDED"
    assert "RATE_LIMIT_EXCEEDED" in result.content[0].text and "45" in result.content[0].text


async def test_meta_keys_are_valid(door):
    async with door.open(dialect="bare", budget=3_000) as server:
        results = [await server.call("rows"), await server.call("task", {"task_id": "busy"})]
    ours = [key for result in results for key in result.meta if "aerogram" in key]
    assert len(ours) > 4 and all(KEY.fullmatch(key) for key in ours)


async def test_controls_that_would_break_a_typed_result_are_not_offered(door):
    async with door.open(dialect="bare", controls=True, schema="own") as server:
        tools = await server.tools()
    assert {"max_tokens", "cursor", "page_size"} <= tools["task"].input_schema["properties"].keys()
    assert "fields" not in tools["task"].input_schema["properties"]
    assert "fields" in tools["rows"].input_schema["properties"]  # its rows promise no members


async def test_a_typed_result_has_the_fields_that_were_asked_for_and_the_schema_allows_it(door):
    async with door.open(dialect="bare", controls=True) as server:
        tools = await server.tools()
        some = await server.call("rows", {"fields": ["title"], "page_size": 2})
        one = await server.call("task", {"task_id": "t1", "fields": ["task_id"]})
        least = await server.call("rows", {"response_mode": "ids_only", "page_size": 2})
    assert [row.keys() for row in some.structured_content["result"]] == [{"title"}, {"title"}]
    assert one.structured_content == {"task_id": "t1"}
    assert all(len(row) == 1 for row in least.structured_content["result"])
    for name, result in (("rows", some), ("rows", least), ("task", one)):
        jsonschema_rs.validate(tools[name].output_schema, result.structured_content)


async def test_a_handler_that_says_it_returns_a_reply_is_sent_without_complaint(door):
    """The framework's conversion of the class, which would warn about it, is left out."""
    async with door.open(dialect="bare") as server:
        result = await server.call("own_page")
    payload, _, account = result.content[0].text.partition("\n")
    assert json.loads(payload) == ROWS[:10]
    assert account == "aerogram: 10 of 120 shown; next: cursor='10'"
    assert result.meta["dev.aerogram/page"]["cursor"] == "10"
