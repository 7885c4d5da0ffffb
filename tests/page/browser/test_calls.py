"""Calls: the page of a gateway shows what the server sent, what the model read, and brings back what was left out."""

import sys

import pytest

from gateway.test_wire import Wire

pytestmark = pytest.mark.asyncio(loop_scope="session")

LONG_NAME = "n" * 300
TABLE_SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "initialize":
        info = {"name": "table", "version": "1"}
        said = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    elif asked["method"] == "tools/list":
        said = {"tools": [{"name": "n" * 300, "inputSchema": {"type": "object"}}]}
    else:
        said = {"content": [], "structuredContent": {"rows": [{"id": n, "word": "w" * 1000} for n in range(2500)]}}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": said}), flush=True)
"""


@pytest.fixture(scope="module")
def wrapped(chromium):
    """A gateway with its page, and the client that it serves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BROWSER", "true")  # the one of the tests is enough
        wire = Wire("legacy", "--budget", "2000", "--page")
    told = wire.process.stderr.readline().decode()
    assert told.startswith("aerogram: the page is at http://127.0.0.1:"), told
    wire.greet()
    yield wire, told.split()[-1]
    assert wire.end() == 0


async def look(page, name):
    """All of the newest call of a tool."""
    await page.get_by_role("button", name=f"Look at {name}").first.click()
    return page.locator(f".call[aria-label='{name}']")


async def test_a_call_is_shown_from_what_was_sent_to_what_is_kept(open_page, wrapped):
    wire, address = wrapped
    page = await open_page(address)
    wire.ask(1, "tools/call", name="rows")
    call = await look(page, "rows")
    sent, read, kept = (call.locator(f"[data-part={part}]") for part in ("sent", "read", "kept"))
    assert "18,603 tokens" in await sent.inner_text()
    assert "row-299" in await sent.locator("pre").inner_text()
    assert "row-299" not in await read.locator("pre").inner_text()
    await kept.get_by_role("button", name="Bring back").click()
    await kept.locator(".proof.good").wait_for()
    assert "row-299" in await kept.locator("pre").inner_text()


async def test_a_failure_and_an_answer_of_our_own_are_told_from_others(open_page, wrapped):
    wire, address = wrapped
    wire.ask(2, "tools/call", name="fail")
    wire.ask(3, "tools/call", name="retrieve", arguments={"hash": "0" * 64})
    page = await open_page(address)
    failed = page.locator(".live tbody tr", has_text="fail").first
    await failed.locator(".chip.bad").wait_for()
    call = await look(page, "retrieve")
    assert "The server was not asked" in await call.locator("[data-part=sent]").inner_text()
    assert "Nothing" in await call.locator("[data-part=kept]").inner_text()


async def test_of_two_calls_the_one_that_was_looked_at_last_is_shown(open_page, wrapped):
    wire, address = wrapped
    page = await open_page(address)
    for number, name in ((4, "fail"), (5, "rows")):
        wire.ask(number, "tools/call", name=name)
    late = []

    async def hold(route):
        late.append(route)
        if len(late) == 2:
            for one in reversed(late):
                await one.continue_()

    await page.route("**/page/api/calls/*", hold)
    await page.get_by_role("button", name="Look at rows").first.click()
    await look(page, "fail")
    await page.locator(".call[aria-label='fail']").wait_for()
    await page.wait_for_timeout(1000)  # in which the other answer comes
    assert await page.locator(".call").get_attribute("aria-label") == "fail"


async def test_without_the_token_nothing_is_shown(open_page, wrapped):
    """Whoever else is on this machine may open the page, and reads nothing there."""
    address = wrapped[1].partition("#")[0]
    page = await open_page(address)
    await page.get_by_text("for the owner of the server").wait_for()
    for path in ("live", "calls/1"):
        assert (await page.request.get(f"{address}page/api/{path}")).status == 403


async def test_a_large_table_under_a_long_name_is_said_to_be_too_large_and_nothing_is_out_of_sight(open_page, chromium):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BROWSER", "true")
        wire = Wire(None, "--budget", "2000", "--page", server=[sys.executable, "-c", TABLE_SERVER])
    try:
        page = await open_page(wire.process.stderr.readline().decode().split()[-1])
        wire.greet()
        wire.ask(1, "tools/call", name=LONG_NAME)
        took = await page.locator(".live tbody td").last.bounding_box()
        assert took["x"] + took["width"] <= 1280
        call = await look(page, LONG_NAME)
        await call.locator("[data-part=sent]", has_text="too large to be shown").wait_for()
    finally:
        assert wire.end() == 0
