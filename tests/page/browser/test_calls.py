"""Calls: the page of a gateway shows what the server sent, what the model read, and brings back what was left out."""

import pytest

from gateway.test_wire import Wire

pytestmark = pytest.mark.asyncio(loop_scope="session")


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


async def test_without_the_token_nothing_is_shown(open_page, wrapped):
    """Whoever else is on this machine may open the page, and reads nothing there."""
    address = wrapped[1].partition("#")[0]
    page = await open_page(address)
    await page.get_by_text("for the owner of the server").wait_for()
    for path in ("live", "calls/1"):
        assert (await page.request.get(f"{address}page/api/{path}")).status == 403
