"""Accessibility: axe-core finds nothing serious in any view, light or dark."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="session")

READY = {
    "search?budget=800": ".piece .bring",
    "dialects": ".sheet:nth-child(6)",
    "digest": ".document mark",
    "vendors": ".graph .node.at",
    "errors?code=NOT_FOUND": ".error[open] .tree",
    "live": "#live-try",
    "inspect": "#paste",
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", READY)
async def test_axe_finds_nothing_serious(open_page, served, axe, view, scheme):
    page = await open_page(f"{served.address}/#/{view}", color_scheme=scheme, reduced_motion="reduce")
    await page.locator(READY[view]).first.wait_for()
    if view.startswith("search"):
        await page.locator(".piece .bring").first.click()
        await page.locator(".piece .proof").first.wait_for()
    await page.evaluate(axe)
    found = await page.evaluate("axe.run(document, {resultTypes: ['violations']}).then((one) => one.violations)")
    serious = [
        (one["id"], one["nodes"][0]["html"][:200], one["nodes"][0].get("failureSummary"))
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []


async def test_the_copy_dialog_has_nothing_serious_either(page, axe):
    await page.get_by_role("button", name="Copy as").click()
    await page.locator("dialog pre").first.wait_for()
    await page.evaluate(axe)
    found = await page.evaluate("axe.run(document.querySelector('dialog')).then((one) => one.violations)")
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []


async def test_landmarks_headings_and_labels_are_there(page):
    for landmark in ("banner", "navigation", "main", "contentinfo", "search"):
        assert await page.get_by_role(landmark).count() == 1
    assert await page.locator("h1").count() == 1
    assert await page.locator("[aria-live]").count() >= 1
