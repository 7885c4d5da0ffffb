"""Accessibility: axe-core finds nothing serious in any view, light or dark."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="session")

PAINTED = """scheme => {
    const [ink] = getComputedStyle(document.querySelector("h1")).color.match(/\\d+/g).map(Number);
    return scheme === "dark" ? ink > 128 : ink < 128;
}"""
"""Whether the words have the colours of the scheme already."""

READY = {
    "search?budget=1600": ".piece .bring",
    "dialects": ".sheet:nth-child(6)",
    "digest": ".document mark",
    "vendors": ".graph .node.at",
    "errors?code=NOT_FOUND": ".error[open] .tree",
    "live": "#live-try",
    "inspect": "#paste",
}


async def serious(page, where="document"):
    """What axe has to say that matters."""
    found = await page.evaluate(f"axe.run({where}, {{resultTypes: ['violations']}}).then((one) => one.violations)")
    matters = [one for one in found if one["impact"] in ("serious", "critical")]
    return [(one["id"], node["html"][:200], node.get("failureSummary")) for one in matters for node in one["nodes"][:1]]


@pytest.mark.parametrize("view", READY)
async def test_axe_finds_nothing_serious(open_page, served, axe, view):
    page = await open_page(f"{served.address}/#/{view}", reduced_motion="reduce")
    await page.locator(READY[view]).first.wait_for()
    if view.startswith("search"):
        await page.locator(".piece .bring").first.click()
        await page.locator(".piece .proof").first.wait_for()
    await page.evaluate(axe)
    for scheme in ("light", "dark"):
        await page.emulate_media(color_scheme=scheme)
        await page.wait_for_function(PAINTED, arg=scheme)
        assert await serious(page) == [], scheme


async def test_the_copy_dialog_has_nothing_serious_either(page, axe):
    await page.get_by_role("button", name="Copy as").click()
    await page.locator("dialog pre").first.wait_for()
    await page.evaluate(axe)
    assert await serious(page, "document.querySelector('dialog')") == []


async def test_landmarks_headings_and_labels_are_there(page):
    for landmark in ("banner", "navigation", "main", "contentinfo", "search"):
        assert await page.get_by_role(landmark).count() == 1
    assert await page.locator("h1").count() == 1
    assert await page.locator("[aria-live]").count() >= 1
