"""Live: the owner sees replies as they are sent; nobody else does."""

import json

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="session")


OPERATIONS = {"semantic_search", "digest_document", "find_vendor_info", "get_chunks", "retrieve", "health"}


async def sent(page):
    """Have a reply sent; gives its row, which comes by the stream in its own time, among those of others."""
    async with page.expect_response("**/v1/search**") as waiting:
        await page.locator("#live-try").click()
    return f".live tbody tr[data-id='{(await waiting.value).headers['x-request-id']}']"


async def test_a_reply_appears_as_it_is_sent(open_page, served):
    page = await open_page(f"{served.address}/#/live")
    row = await page.locator(await sent(page)).inner_text()
    assert "semantic_search" in row and "→" in row


async def test_a_failure_is_a_problem_and_nothing_complete(open_page, served):
    page = await open_page(f"{served.address}/#/live")
    await page.locator("#live-try").wait_for()
    await page.request.get(f"{served.address}/v1/search?q=token&envelope=v2&cursor=nowhere")
    row = page.locator(".live tbody tr", has_text="INVALID_CURSOR").first
    await row.wait_for()
    assert await row.locator(".chip.good").count() == 0


@pytest.mark.parametrize("what", ["tokens", "fidelity"])
async def test_on_a_phone_nothing_of_a_row_is_out_of_sight(open_page, served, what):
    page = await open_page(f"{served.address}/#/live", viewport={"width": 390, "height": 844})
    cell = page.locator(await sent(page)).locator("td").nth({"tokens": 2, "fidelity": 3}[what])
    box = await cell.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390


async def test_the_table_can_be_paused(open_page, served):
    page, other = [await open_page(f"{served.address}/#/live") for _ in range(2)]
    await page.locator(await sent(page)).wait_for()
    await page.get_by_role("button", name="Pause").click()
    row = await sent(page)
    await other.locator(row).wait_for()
    assert await page.locator(row).count() == 0
    await page.get_by_role("button", name="Go on").click()
    await page.locator(row).wait_for()


async def test_whoever_is_not_the_owner_is_told_so(open_page, served):
    page = await open_page("about:blank")

    async def nobody(route):
        answer = await route.fetch()
        await route.fulfill(response=answer, json={**await answer.json(), "owner": False})

    await page.route("**/page/api/context", nobody)
    await page.goto(f"{served.address}/#/live")
    await page.get_by_text("for the owner of the server").wait_for()
    assert await page.locator(".live").count() == 0


async def test_a_reply_that_nobody_counted_says_so_in_words(open_page, served):
    page = await open_page("about:blank")
    facts = {"time": "2026-11-15T10:00:00.000Z", "via": "http", "operation": "health", "tokens": None, "ms": 1.5}
    said = f"id: 1\nevent: reply\ndata: {json.dumps({**facts, 'request_id': 'req_1'})}\n\n"
    await page.route(
        "**/page/api/live", lambda route: route.fulfill(status=200, content_type="text/event-stream", body=said)
    )
    await page.goto(f"{served.address}/#/live")
    await page.locator(".live tbody tr").first.wait_for()
    assert await page.locator(".live tbody td").nth(2).inner_text() == "no budget, not counted"
    assert await page.locator(".live .gauge").count() == 0


async def see(page, is_seen):
    """As when its tab is left or gone to, which a browser without windows cannot do."""
    await page.evaluate(
        """isSeen => {
            Object.defineProperty(document, "hidden", { value: !isSeen, configurable: true });
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        is_seen,
    )


async def test_tabs_that_nobody_sees_leave_the_browser_its_connections(open_page, served):
    """It has six to a server; what a tab has missed meanwhile is told when it is seen again."""
    first = tab = await open_page(f"{served.address}/#/live")
    for _ in range(6):
        await tab.locator("#live-try").wait_for()
        await see(tab, False)
        tab = await first.context.new_page()
        await tab.goto(f"{served.address}/#/live")
    row = await sent(tab)
    await tab.locator(row).wait_for()
    assert await first.locator(row).count() == 0
    await see(first, True)
    await first.locator(row).wait_for()


async def test_replies_that_went_by_are_counted_by_their_numbers(open_page, served):
    page = await open_page("about:blank")
    told = [f"id: {n}\nevent: reply\ndata: {json.dumps({'request_id': f'req_{n}'})}\n\n" for n in (7, 10, 10, 13)]
    await page.route(
        "**/page/api/live", lambda route: route.fulfill(content_type="text/event-stream", body="".join(told))
    )
    await page.goto(f"{served.address}/#/live")
    await page.get_by_text("4 replies went by unseen.").wait_for()
    assert await page.locator(".live tbody tr").count() == 3


async def test_a_live_view_that_finds_no_room_is_taken_up_by_hand(open_page, served):
    page = await open_page("about:blank")
    problem = {"code": "UNAVAILABLE", "title": "Too many pages watch already", "status": 503}
    refuse = {"status": 503, "content_type": "application/problem+json", "body": json.dumps(problem)}
    await page.route("**/page/api/live", lambda route: route.fulfill(**refuse))
    await page.goto(f"{served.address}/#/live")
    await page.get_by_text("Too many pages watch already").wait_for()
    await page.unroute("**/page/api/live")
    await page.get_by_role("button", name="Try again").click()
    await page.locator(await sent(page)).wait_for()
    assert await page.get_by_role("alert").count() == 0


async def test_what_the_page_asks_for_itself_is_no_reply_of_the_server(open_page, served):
    page = await open_page(f"{served.address}/#/digest?file=apis/faq.jsonl%23auth-header&q=Which+header")
    await page.locator(".document").wait_for()
    await page.goto(f"{served.address}/#/live")
    await page.locator(await sent(page)).wait_for()
    assert set(await page.locator(".live tbody td:nth-child(2) code").all_inner_texts()) <= OPERATIONS
