"""Dialects: one reply side by side, differences marked, fields explained."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="session")

SHEETS = {"response-v2", "standard-v2", "knowledge-1.0", "problem", "MCP 2025-11-25", "MCP 2026-07-28"}


async def opened(open_page, served, query=""):
    page = await open_page(f"{served.address}/#/dialects{query}")
    await page.locator(".sheet").nth(5).wait_for()
    return page


async def test_one_reply_stands_in_every_dialect_and_on_the_wire_of_both_eras(open_page, served):
    page = await opened(open_page, served)
    assert set(await page.locator(".sheet h2").all_inner_texts()) >= SHEETS
    wire = page.locator(".sheet", has_text="MCP 2026-07-28")
    assert await wire.locator("[data-pointer='/content']").count() == 1
    assert await wire.locator("[data-pointer='/structuredContent']").count() == 1


async def test_differences_are_marked_and_fields_explained_on_hover_and_on_focus(open_page, served):
    page = await opened(open_page, served)
    assert await page.locator(".differs-moved").count() > 0
    field = (
        page.locator(".sheet", has_text="knowledge-1.0").locator("[data-pointer='/_metadata'] > .key.explained").first
    )
    await field.hover()
    hint = page.locator("#hint")
    await hint.wait_for(state="visible")
    said = await hint.inner_text()
    assert len(said) > 10
    await page.mouse.move(2, 2)
    await hint.wait_for(state="hidden")
    await field.focus()
    await hint.wait_for(state="visible")
    assert await hint.inner_text() == said
    assert await field.get_attribute("aria-describedby") == "hint"
    await page.keyboard.press("Escape")
    await hint.wait_for(state="hidden")


async def test_what_says_the_same_elsewhere_lights_up(open_page, served):
    page = await opened(open_page, served)
    said = page.locator(".sheet", has_text="standard-v2").locator("[data-says='request_id'] > .key").first
    await said.hover()
    await page.locator(".sheet", has_text="knowledge-1.0").locator("[data-says='request_id'].same").first.wait_for()


async def test_a_failure_is_shown_in_every_dialect(open_page, served):
    page = await opened(open_page, served)
    async with page.expect_response("**/page/api/dialects"):
        await page.locator("#dialects-failure").select_option("NOT_FOUND")
    await page.locator(".sheet", has_text="problem").locator("[data-pointer='/status']", has_text="404").wait_for()
    assert "failure=NOT_FOUND" in page.url


async def test_members_open_and_close(open_page, served):
    page = await opened(open_page, served)
    twist = page.locator(".sheet").first.locator(".twist").nth(1)
    label = await twist.get_attribute("aria-label")
    await twist.focus()
    await page.keyboard.press("Enter")
    assert await twist.get_attribute("aria-expanded") == "false"
    assert await twist.get_attribute("aria-label") != label


async def test_the_search_leads_to_its_own_reply(open_page, served):
    page = await open_page(f"{served.address}/#/search?q=webhook+signature")
    await page.locator(".record").first.wait_for()
    async with page.expect_request("**/page/api/dialects") as waiting:
        await page.get_by_role("link", name="In every dialect").click()
    asked = (await waiting.value).post_data_json
    assert asked["source"]["call"]["arguments"]["query"] == "webhook signature"
