"""Everything passes: whichever eras the client and the server speak, each hears what the other says."""

from __future__ import annotations

import json

import anyio
import mcp_types
import pytest
from mcp.shared.exceptions import MCPError

pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")


def test_the_server_introduces_itself(talk):
    assert (talk.client.server_info.name, talk.client.server_info.version) == ("behind", "7")
    assert talk.client.instructions == "Be kind."
    assert talk.client.protocol_version == ("2026-07-28" if talk.eras[0] == "auto" else "2025-11-25")


def test_lists_come_in_the_pages_of_the_server_and_end_with_our_tool(talk):
    first = talk(talk.client.list_tools)
    second = talk(talk.client.list_tools, cursor=first.next_cursor)
    assert [tool.name for tool in first.tools] == ["echo", "rows", "json_text", "prose", "blocks"]
    assert second.tools[0].name == "progress"
    assert second.tools[-1].name == "retrieve" and second.next_cursor is None
    assert first.tools[0].meta == {"com.example/n": "echo"}


def test_arguments_and_meta_pass_both_ways(talk):
    result = talk.tool("echo", {"a": [1, {"b": None}]}, meta={"com.example/k": "v"})
    assert json.loads(result.content[0].text) == {"a": [1, {"b": None}]}
    assert result.meta["com.example/echo"] == {"com.example/k": "v"}


def test_blocks_of_every_kind_pass(talk):
    blocks = talk.tool("blocks").content
    assert [block.type for block in blocks] == ["text", "image", "audio", "resource_link", "resource"]
    assert blocks[0].annotations.audience == ["user"] and blocks[4].resource.text == "inside"


def test_progress_comes_before_the_answer(talk):
    heard = []

    async def hear(*report):
        heard.append(report)

    assert talk.text("progress", progress_callback=hear) == "done"
    assert heard == [(number, 3, f"step {number}") for number in (1, 2, 3)]


@pytest.mark.parametrize(
    ("tool", "answer"),
    [("ask", "accept {'name': 'Ada'}"), ("sample", "Say something!"), ("roots", "file:///somewhere")],
)
def test_the_server_can_ask_the_client(talk, tool, answer):
    assert talk.text(tool) == answer


def test_a_cancelled_call_is_cancelled_at_the_server(talk):
    async def give_up():
        with anyio.move_on_after(0.5):
            await talk.client.call_tool("slow", {})
        while True:
            found = await talk.client.call_tool("cancelled", {})
            if found.content[0].text == '["slow"]':
                return True
            await anyio.sleep(0.05)

    async def bounded():
        with anyio.fail_after(10):
            return await give_up()

    assert talk(bounded)


def test_log_messages_pass_at_the_level_that_was_asked_for(talk):
    if talk.eras[0] == "legacy":
        talk(talk.client.set_logging_level, "info")
    talk.person.logs.clear()
    assert talk.text("log") == "logged"
    assert [(one.level, one.logger, one.data) for one in talk.person.logs] == [
        ("warning", "behind", {"words": "careful"})
    ]
    if talk.eras[1] == "legacy":
        assert talk.text("level") == '"info"'


def test_changes_reach_those_who_listen(talk):
    async def listen():
        async with talk.client.listen(tools_list_changed=True, resource_subscriptions=["test://text"]) as stream:
            await talk.client.call_tool("change", {})
            with anyio.fail_after(10):
                return [type(await anext(stream)).__name__ for _ in range(2)]

    async def subscribe():
        talk.person.news.clear()
        await talk.client.subscribe_resource("test://text")
        await talk.client.call_tool("change", {})
        wanted = ["notifications/tools/list_changed", "notifications/resources/updated"]
        with anyio.fail_after(10):
            while [one for one in talk.person.methods() if one in wanted] != wanted:
                talk.person.heard.clear()
                await talk.person.heard.wait()
        await talk.client.unsubscribe_resource("test://text")
        return ["ToolsListChanged", "ResourceUpdated"]

    heard = talk(listen if talk.eras[0] == "auto" else subscribe)
    assert sorted(heard) == ["ResourceUpdated", "ToolsListChanged"]


def test_resources_templates_prompts_and_completions_pass(talk):
    client = talk.client
    assert [one.name for one in talk(client.list_resources).resources] == ["text"]
    assert [one.name for one in talk(client.list_resource_templates).resource_templates] == ["any", "archive"]
    assert [one.name for one in talk(client.list_prompts).prompts] == ["greet"]
    assert talk(client.get_prompt, "greet", {"name": "Bob"}).messages[0].content.text == "Hello Bob"
    reference = mcp_types.PromptReference(type="ref/prompt", name="greet")
    found = talk(client.complete, ref=reference, argument={"name": "name", "value": "Pa"})
    assert found.completion.values == ["Paris"]


def test_what_a_resource_says_is_made_clean(talk):
    (contents,) = talk(talk.client.read_resource, "test://text").contents
    assert contents.text.startswith("password=") and "hunter2" not in contents.text


def test_errors_of_the_server_stay_its_own(talk):
    with pytest.raises(MCPError) as caught:
        talk.tool("protocol_error")
    assert (caught.value.code, caught.value.error.data) == (4711, {"why": "because"})
    with pytest.raises(MCPError) as caught:
        talk(talk.client.read_resource, "test://nowhere")
    assert caught.value.error.data == {"uri": "test://nowhere"}
    failed = talk.tool("fail")
    assert failed.is_error and failed.content[0].text.startswith("there is no such branch")


@pytest.mark.parametrize("tool", ["rows", "json_text", "prose"])
def test_a_large_answer_fits_and_all_of_it_comes_back(talk, tool):
    result = talk.tool(tool)
    assert len(result.content[0].text) < 12_000
    digest = result.meta["dev.aerogram/fidelity"]["archive_hashes"]["data"]
    body = talk(talk.client.read_resource, f"aerogram://archive/{digest}").contents[0].text
    if tool == "prose":
        assert (json.loads(body) if body.startswith('"') else body) == "A paragraph of prose.\n\n" * 3000
    else:
        whole = json.loads(body)
        rows = whole["rows"] if isinstance(whole, dict) else whole
        assert [row["id"] for row in rows] == [f"row-{number}" for number in range(300)]
    if tool != "prose":
        asked = {"hash": digest, "query": f"{'rows' if tool == 'rows' else '@'}[?id=='row-299'].title"}
        assert json.loads(talk.text("retrieve", asked)) == ["Row 299"]
    piece = talk.tool("retrieve", {"hash": digest})
    assert not piece.is_error
    assert ("A paragraph" if tool == "prose" else "row-0") in piece.content[0].text
