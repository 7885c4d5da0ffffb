"""What a client gets from a server with one more line in it, on both frameworks and in both eras."""

import json

import jsonschema_rs
import mcp_types
import pytest
from mcp.shared.exceptions import MCPError

from aerogram import read, validate
from aerogram.dialects import dialect
from tool_servers import ROWS

SLIM = dialect("response-v2").schema(slim=True)


async def test_a_value_becomes_an_envelope_in_both_channels(door):
    async with door.open() as server:
        result = await server.call("divide", {"dividend": 9, "divisor": 2})
    assert result.structured_content["data"] == {"result": 4.5}
    assert json.loads(result.content[0].text) == result.structured_content
    assert validate(result.structured_content).name == "response-v2" and not result.is_error


async def test_the_handlers_own_value_is_normalised(door):
    """The frameworks would have sent the repr of the attrs object, and NaN as nothing."""
    async with door.open() as server:
        result = await server.call("odd_values")
    assert result.structured_content["data"] == {"point": {"x": 1, "y": 2}, "set": [3], "missing": None}


async def test_tools_registered_before_and_after_install_answer_alike(door):
    async with door.open() as server:
        early, late = await server.call("rows"), await server.call("partial")
    assert read(early.structured_content).data == ROWS
    assert read(late.structured_content).status == "partial"
    assert late.structured_content["meta"]["warnings"] == ["the third is missing"]


async def test_wrong_arguments_are_a_result_that_says_what_to_mend(door):
    async with door.open() as server:
        missing = await server.call("divide", {"dividend": 1})
        wrong = await server.call("divide", {"dividend": 1, "divisor": "two"})
    assert missing.is_error and missing.structured_content["data"]["error_code"] == "MISSING_REQUIRED"
    data = wrong.structured_content["data"]
    assert wrong.is_error and data["error_code"] == "INVALID_FORMAT" and data["error_type"] == "validation"
    assert data["details"]["pointer"] == "/divisor" and data["remediation"]
    assert json.loads(wrong.content[0].text) == wrong.structured_content


async def test_a_failure_carries_its_retry_data_in_every_channel(door):
    async with door.open(channels="summary") as server:
        result = await server.call("task", {"task_id": "busy"})
    assert result.is_error
    assert result.structured_content["data"]["retry_after_seconds"] == 45
    assert result.structured_content["data"]["error_type"] == "rate_limit"
    problem = result.meta["dev.aerogram/problem"]
    assert problem["code"] == "RATE_LIMIT_EXCEEDED" and problem["retryable"] and problem["retry_after"] == 45
    text = result.content[0].text
    assert (
        "too many calls" in text and "RATE_LIMIT_EXCEEDED" in text and "45 s" in text and problem["remediation"] in text
    )
    assert "rate_limit" in text and "retryable" in text


async def test_an_unknown_exception_is_masked(door):
    async with door.open() as server:
        result = await server.call("divide", {"dividend": 1, "divisor": 0})
    assert result.is_error and result.structured_content["data"]["error_code"] == "INTERNAL_ERROR"
    assert "division" not in str(result)
    assert result.structured_content["meta"]["request_id"] in result.structured_content["error"]


async def test_an_unknown_tool_is_a_protocol_error(door):
    async with door.open() as server:
        with pytest.raises(MCPError) as caught:
            await server.call("nowhere")
    assert caught.value.error.code == mcp_types.INVALID_PARAMS


async def test_the_listed_schema_is_slim_and_holds_for_successes_and_failures(door):
    async with door.open() as server:
        tools = await server.tools()
        results = [
            await server.call("task", {"task_id": "t1"}),
            await server.call("task", {"task_id": "missing"}),
            await server.call("task", {}),
            await server.call("unannounced"),
        ]
    assert tools["odd_values"].output_schema == SLIM
    assert tools["task"].output_schema["properties"]["data"]["properties"].keys() == {"task_id", "done"}
    for result in results:
        jsonschema_rs.validate(tools["task"].output_schema, result.structured_content)


async def test_the_full_schema_is_listed_on_request(door):
    async with door.open(schema="full") as server:
        listed = (await server.tools())["task"].output_schema
        results = [await server.call("task", {"task_id": name}) for name in ("t1", "missing", "busy")]
    assert listed["type"] == "object" and len(json.dumps(listed)) > 10 * len(json.dumps(SLIM))
    for result in results:
        jsonschema_rs.validate(listed, result.structured_content)


async def test_listings_do_not_change(door):
    async with door.open(controls=True) as server:
        first, second = await server.tools(), await server.tools()
    assert [tool.model_dump() for tool in first.values()] == [tool.model_dump() for tool in second.values()]


async def test_content_and_finished_results_pass_as_they_are(door):
    async with door.open() as server:
        tools = await server.tools()
        picture, finished = await server.call("picture"), await server.call("finished")
    assert tools["picture"].output_schema is None and tools["finished"].output_schema is None
    assert [block.type for block in picture.content] == ["image"] and picture.content[0].data == "iVBORw0KGgo="
    assert finished.content[0].text == "as it is"
    assert picture.structured_content is None and finished.structured_content is None


async def test_a_finished_result_that_no_annotation_announced_still_satisfies_the_listed_schema(door):
    async with door.open() as server:
        result = await server.call("unannounced")
    assert result.content[0].text == "by surprise"
    assert result.structured_content["data"] == {"result": "by surprise"}


@pytest.mark.parametrize("name", ["standard-v2", "knowledge-1.0"])
async def test_every_contract_can_be_served(door, name):
    async with door.open(dialect=name) as server:
        listed = (await server.tools())["task"].output_schema
        good, bad = await server.call("task", {"task_id": "t1"}), await server.call("task", {"task_id": "missing"})
    for result in (good, bad):
        assert validate(result.structured_content).name == name
        jsonschema_rs.validate(listed, result.structured_content)
    assert read(bad.structured_content).problem.code == "NOT_FOUND" and bad.is_error


async def test_the_request_id_is_the_callers_or_its_traces_or_a_new_one(door):
    trace = "0af7651916cd43dd8448eb211c80319c"
    asked = [
        {"dev.aerogram/request_id": "my-id-1"},
        {"traceparent": f"00-{trace}-b7ad6b7169203331-01"},
        {"dev.aerogram/request_id": "bad id\n", "traceparent": "00-" + "0" * 32 + "-b7ad6b7169203331-01"},
    ]
    async with door.open() as server:
        found = [(await server.call("task", {"task_id": "t"}, meta)).structured_content["meta"] for meta in asked]
        failed = (await server.call("task", {"task_id": "missing"}, asked[2])).structured_content["meta"]
    async with door.open(dialect="standard-v2") as server:
        standard = (await server.call("task", {"task_id": "t"}, asked[2])).structured_content["meta"]
    assert [one["request_id"] for one in found[:2]] == ["my-id-1", trace]
    assert "request_id" not in found[2]  # of a success nobody looks up what was made here
    assert failed["request_id"].startswith("req_") and standard["request_id"].startswith("req_")


async def test_resources_are_normalised_and_their_faults_explained(door):
    async with door.open() as server:
        frame, _ = await server.read("data://frame")
        picture, _ = await server.read("data://documents/a")
        with pytest.raises(MCPError) as caught:
            await server.read("data://documents/none")
    assert (frame.mime_type, json.loads(frame.text)) == ("text/plain", {"rows": [1, 2]})  # as it is listed
    assert picture.mime_type == "application/octet-stream"
    assert caught.value.error.code == mcp_types.INVALID_PARAMS
    assert caught.value.error.data["code"] == "NOT_FOUND" and caught.value.error.data["remediation"]
