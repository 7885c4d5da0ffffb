"""What a server offers, what a client asks for, and the flag that takes everybody back to the legacy format."""

import json

import jsonschema_rs
import pytest
from mcp.client import advertise

from aerogram import validate
from aerogram._mcp.negotiation import EXTENSION
from aerogram.content.jsontext import dumps
from aerogram.contract.flags import RESPONSE_CONTRACT_V2, Flags
from aerogram.telemetry import Observer
from aerogram.tokens import best_counter
from tool_servers import ROWS


def settings(door, **asked):
    """The client's settings where its era has a place for them: its capabilities, or the `_meta` of each request."""
    if door.is_modern:
        return {"extensions": [advertise(EXTENSION, asked)]}, None
    return {}, {EXTENSION: asked}


async def test_the_extension_advertises_what_is_on_offer(door):
    async with door.open(budget=4_000, offers=["standard-v2"]) as server:
        capabilities = server.client.server_capabilities
        told = (await server.call("server")).structured_content["data"]["offered"]
    assert told["dialects"] == ["response-v2", "standard-v2"]
    assert told["budget"] == {"limit": 4_000, "unit": "tokens"} and told["retrieve"] == "retrieve"
    if door.is_modern:  # earlier versions have no place for extensions
        assert capabilities.extensions[EXTENSION] == told


async def test_a_client_chooses_a_dialect_that_is_offered_and_the_listed_schema_holds(door):
    options, meta = settings(door, dialect=["knowledge-9", "standard-v2"])
    async with door.open(offers=["standard-v2"], **options) as server:
        listed = (await server.tools())["rows"].output_schema
        chosen = await server.call("task", {"task_id": "t1"}, meta)
        failed = await server.call("task", {"task_id": "missing"}, meta)
    assert validate(chosen.structured_content).name == "standard-v2"
    for result in (chosen, failed):
        jsonschema_rs.validate(listed, result.structured_content)


async def test_what_is_not_offered_is_a_warning_and_the_default(door):
    options, meta = settings(door, dialect="standard-v2", colour="blue")
    async with door.open(**options) as server:
        body = (await server.call("task", {"task_id": "t1"}, meta)).structured_content
    assert validate(body).name == "response-v2"
    assert {detail["code"] for detail in body["meta"]["warning_details"]} == {
        "UNKNOWN_CAPABILITY",
        "UNSUPPORTED_CAPABILITY",
    }


async def test_a_client_may_ask_for_a_smaller_budget_and_another_channel(door):
    options, meta = settings(door, max_tokens=1_000, channels="summary")
    async with door.open(budget=4_000, **options) as server:
        result = await server.call("rows", {}, meta)
    assert result.content[0].text.startswith("partial") or result.content[0].text.startswith("ok")
    sizes = [best_counter().count(one) for one in (result.content[0].text, dumps(result.structured_content).decode())]
    assert 500 < max(sizes) <= 1_000


@pytest.mark.parametrize("version", ["v2", "response-v2"])
async def test_the_server_tool_says_which_version_is_used(door, version):
    async with door.open() as server:
        asked = {"action": "capability-negotiate", "client_capabilities": {"response_contract": version}}
        body = (await server.call("server", asked)).structured_content
    assert body["data"]["response_contract"] == "v2" and body["data"]["supported_versions"] == ["v2"]
    assert body["data"]["feature_flags"]["response_contract_v2"]["enabled"] is True
    assert "warnings" not in body["meta"]


async def test_the_server_tool_warns_of_what_it_does_not_know(door):
    async with door.open() as server:
        asked = {"client_capabilities": {"response_contract": "v7", "telepathy": True}}
        body = (await server.call("server", asked)).structured_content
        wrong = await server.call("server", {"action": "dance"})
    assert body["data"]["response_contract"] == "v2" and len(body["meta"]["warnings"]) == 2
    assert wrong.is_error and wrong.structured_content["data"]["details"]["allowed"] == ["capability-negotiate"]


async def test_with_the_flag_off_the_legacy_format_is_served_with_a_deprecation_notice(door):
    flags = Flags(RESPONSE_CONTRACT_V2)
    async with door.open(flags=flags) as server:
        before = (await server.tools())["rows"].output_schema
        flags.switch("response_contract_v2", on=False)
        listed = (await server.tools())["rows"].output_schema
        result = await server.call("rows")
        told = await server.call("server")
    assert result.structured_content == {"result": ROWS} and listed != before
    (notice,) = result.meta["dev.aerogram/notices"]
    assert "deprecated" in notice["message"] and notice["context"] == {"feature": "response_contract_v2"}
    answer = json.loads(told.content[0].text)
    assert answer["response_contract"] == "v1" and answer["supported_versions"] == ["v1"]
    assert told.meta["dev.aerogram/notices"] == [notice]  # the same notice, once


async def test_the_flag_can_be_off_for_one_client(door):
    flags = Flags(RESPONSE_CONTRACT_V2)
    flags.switch("response_contract_v2", on=False, client="old")
    async with door.open(flags=flags, principal=lambda: "new") as server:
        new = await server.call("task", {"task_id": "t"})
    async with door.open(flags=flags, principal=lambda: "old") as server:
        old = await server.call("task", {"task_id": "t"})
    assert new.structured_content["success"] is True and old.structured_content == {"task_id": "t", "done": False}


async def test_the_negotiation_tool_can_have_another_name_or_none(door):
    async with door.open(negotiate="about") as server:
        assert "about" in await server.tools()
    async with door.open(negotiate=None) as server:
        assert "server" not in await server.tools()


@pytest.mark.parametrize("asked", [{"max_tokens": -1}, {"max_tokens": "many"}, {"dialect": 7}, {"channels": []}])
async def test_nonsense_in_the_settings_does_not_stop_a_reply(door, asked):
    options, meta = settings(door, **asked)
    async with door.open(**options) as server:
        result = await server.call("task", {"task_id": "t1"}, meta)
    assert not result.is_error and result.structured_content["meta"]["warnings"]


@pytest.mark.parametrize("offered", ["response-v2", "standard-v2", "knowledge-1.0"])
async def test_what_a_bare_server_offers_besides_breaks_no_listed_schema(door, offered):
    options, meta = settings(door, dialect=offered)
    async with door.open(dialect="bare", offers=[offered], **options) as server:
        listed = (await server.tools())["task"].output_schema
        chosen = await server.call("task", {"task_id": "t1"}, meta)
    assert listed is None and validate(chosen.structured_content).name == offered


@pytest.mark.parametrize("asked", [{"fields": ["task_id"]}, {"response_mode": "ids_only"}])
async def test_the_legacy_format_keeps_its_schema_whatever_is_asked(door, asked):
    flags = Flags(RESPONSE_CONTRACT_V2)
    flags.switch("response_contract_v2", on=False)
    async with door.open(flags=flags, controls=True) as server:
        tool = (await server.tools())["task"]
        result = await server.call("task", {"task_id": "t1", **asked})
    assert not {"fields", "response_mode"} & tool.input_schema["properties"].keys()
    assert "max_tokens" in tool.input_schema["properties"]
    assert result.structured_content == {"task_id": "t1", "done": False}
    assert "CONTROL_IGNORED" in {one["code"] for one in result.meta["dev.aerogram/notices"]}


async def test_with_the_flag_off_the_extension_says_what_is_served(door):
    flags = Flags(RESPONSE_CONTRACT_V2)
    flags.switch("response_contract_v2", on=False)
    async with door.open(flags=flags) as server:
        capabilities = server.client.server_capabilities
    if door.is_modern:
        assert capabilities.extensions[EXTENSION]["dialects"] == ["bare"]


@pytest.mark.parametrize("wrong", [{"page_size": -1}, {"max_tokens": "x"}, {"response_mode": "nope"}])
async def test_a_call_whose_controls_are_refused_is_observed_and_keeps_its_tag(door, wrong):
    heard = []
    observer = Observer().with_listener(lambda _, reply, facts, __: heard.append((reply, facts)))
    async with door.open(controls=True, observer=observer) as server:
        result = await server.call("rows", wrong, {"dev.aerogram/client_tag": "mine"})
    ((reply, facts),) = heard
    assert result.is_error and facts["error.type"] == reply.problem.code and facts["operation"] == "rows"
    assert reply.client_tag == "mine"


@pytest.mark.parametrize("unfit", ["half of a letter: \ud83d", "\x1b[31m", "x" * 129, "", 7, ["mine"]])
async def test_a_client_tag_that_cannot_be_sent_back_is_not_taken_over(door, unfit):
    """JSON over HTTP may hold what no answer can."""
    async with door.open() as server:
        result = await server.call("rows", {}, {"dev.aerogram/client_tag": unfit})
    assert not result.is_error and "client_tag" not in str(result.structured_content)


@pytest.mark.parametrize("controls", [None, True])
async def test_a_budget_of_the_clients_own_that_is_too_small_is_said_to_be_the_clients(door, controls):
    options, meta = settings(door, max_tokens=1)
    async with door.open(controls=controls, **options) as server:
        said = (await server.call("rows", {}, meta)).structured_content["data"]["remediation"]
    enough = int(said.removeprefix("Use max_tokens of at least ").split()[0])
    assert said.endswith(f"{enough} in the client's settings of the extension")
    options, meta = settings(door, max_tokens=enough)
    async with door.open(controls=controls, **options) as server:
        assert not (await server.call("rows", {}, meta)).is_error
