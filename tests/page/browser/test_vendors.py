"""Vendors: a graph that is followed by mouse and keyboard, in four modes."""

import json
from itertools import combinations
from urllib.parse import quote

import pytest

from serving import serving

LABELS = """() => [...document.querySelectorAll(".graph text")]
    .filter((text) => getComputedStyle(text).opacity !== "0")
    .map((text) => ({ text: text.textContent, ...text.getBoundingClientRect().toJSON() }))"""

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def opened(open_page, served, query="?name=Kestrelgate+Inc."):
    page = await open_page(f"{served.address}/#/vendors{query}")
    await page.locator(".graph .node.at").wait_for()
    return page


async def heading(page):
    return await page.locator(".about h2").inner_text()


async def test_the_graph_has_every_entity_and_relationship(open_page, served):
    page = await opened(open_page, served)
    assert await page.locator(".graph .node").count() == 12
    assert await page.locator(".graph .edge").count() == 14
    assert await heading(page) == "Kestrelgate Inc."


async def test_nodes_and_edges_are_followed_with_the_mouse(open_page, served):
    page = await opened(open_page, served)
    await page.locator(".graph .node", has_text="Norrvik Identity").click()
    assert await heading(page) == "Norrvik Identity AB"
    await page.locator(".ties button", has_text="Kestrelgate").first.click()
    assert await heading(page) == "Kestrelgate Inc."
    await page.locator(".graph .edge[aria-label*='LOCATED_IN']").first.dispatch_event("click")
    assert await heading(page) == "Halifax"


async def test_nodes_and_edges_are_followed_with_the_keyboard(open_page, served):
    page = await opened(open_page, served)
    await page.locator(".graph .node.at").focus()
    await page.keyboard.press("ArrowDown")
    first = await page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert "Kestrelgate" in first
    await page.keyboard.press("ArrowRight")
    second = await page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert second != first
    await page.keyboard.press("Enter")
    gone_to = await heading(page)
    assert gone_to != "Kestrelgate Inc." and gone_to in second
    assert await page.evaluate("document.activeElement.classList.contains('node')")
    await page.keyboard.press("ArrowRight")
    assert await heading(page) != gone_to


async def test_a_relationship_is_not_taken_for_the_entity_with_its_id(open_page, tmp_path):
    """Two tables that number their rows from one are the usual thing."""
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "who.csv").write_text("id,name,type\n1,Acme Ltd,COMPANY\n2,Beta Ltd,COMPANY\n3,Gamma Ltd,COMPANY\n")
    (documents / "ties.csv").write_text("id,source,target,type\n1,1,2,OWNS\n2,2,3,OWNS\n3,1,3,PARTNER\n")
    with serving(tmp_path / "index", documents=documents) as server:
        page = await opened(open_page, server, "?name=Acme+Ltd&mode=full")
        assert await page.locator(".graph .edge.near").count() == 2
        await page.locator(".graph .node.at").focus()
        await page.keyboard.press("ArrowDown")
        assert await page.evaluate("document.activeElement.classList.contains('edge')")
        assert await page.evaluate("document.activeElement.getAttribute('aria-label')") == "Acme Ltd OWNS Beta Ltd"


@pytest.mark.parametrize(
    ("mode", "member"),
    [("ids_only", "entity_ids"), ("metadata", "top_entities"), ("preview", "entities"), ("full", "relationships")],
)
async def test_each_mode_shows_its_own_record(open_page, served, mode, member):
    page = await opened(open_page, served, f"?name=Kestrelgate+Inc.&mode={mode}")
    await page.locator(f".tree [data-pointer='/{member}']").wait_for()
    faint = await page.locator(".graph .node.unnamed").count()
    assert (faint == 0) == (mode in ("ids_only", "full"))


async def test_the_graph_is_there_as_a_table(open_page, served):
    page = await opened(open_page, served)
    await page.get_by_text("The graph as a table").click()
    rows = page.locator(".graph-list tbody tr")
    assert await rows.count() == 14
    await rows.first.locator("button").last.click()
    assert await page.evaluate("document.activeElement.classList.contains('node')")


async def test_a_name_that_nobody_has_leads_to_the_nearest(open_page, served):
    page = await open_page(f"{served.address}/#/vendors?name=Kestrelgat+Imc")
    await page.locator(".notice code", has_text="NOT_FOUND").wait_for()
    await page.locator(".notice button", has_text="Kestrelgate").first.click()
    await page.locator(".graph .node.at").wait_for()


async def test_on_a_phone_names_can_be_read_and_who_it_is_comes_before_the_reply(open_page, served):
    page = await open_page(f"{served.address}/#/vendors", viewport={"width": 390, "height": 844})
    name = await page.locator(".graph .node.at text").bounding_box()
    assert name["height"] >= 12 and 0 <= name["x"] + name["width"] / 2 <= 390
    about, record = page.locator(".about"), page.locator("#record-title")
    assert (await about.bounding_box())["y"] < (await record.bounding_box())["y"]
    assert await page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("name", ["Kestrelgate Inc.", "Aske Transport", "Brackwater Logistics B.V."])
async def test_no_name_in_the_graph_covers_another(open_page, served, name):
    """What has no room is shown when one goes to it."""
    page = await open_page(f"{served.address}/#/vendors?name={quote(name)}")
    await page.locator(".graph .node.at").wait_for()
    await page.mouse.move(1, 1)
    shown = await page.evaluate(LABELS)
    assert len(shown) > 3
    for one, other in combinations(shown, 2):
        apart = one["right"] <= other["left"] + 1 or other["right"] <= one["left"] + 1
        assert apart or one["bottom"] <= other["top"] + 3 or other["bottom"] <= one["top"] + 3, (one, other)
    for crowded in await page.locator(".graph .crowded").all():
        await crowded.focus()
        assert await crowded.locator("text").evaluate("text => getComputedStyle(text).opacity") == "1"


async def test_a_vendor_with_more_around_it_than_is_shown_says_how_many_and_leads_nowhere_else(open_page, tmp_path):
    around = [{"id": f"e{n}", "type": "CONTRACT", "name": f"Contract {n}", "vendor": "Giant AB"} for n in range(120)]
    ties = [{"id": f"r{n}", "type": "SIGNED", "source": "v", "target": f"e{n}"} for n in range(120)]
    (tmp_path / "documents").mkdir()
    graph = {"entities": [{"id": "v", "type": "COMPANY", "name": "Giant AB"}, *around], "relationships": ties}
    (tmp_path / "documents" / "vendors.json").write_text(json.dumps(graph), encoding="utf-8")
    (tmp_path / "documents" / "giant.md").write_text("# Giant AB\n\nIt has contracts.\n", encoding="utf-8")
    with serving(tmp_path / "index", documents=tmp_path / "documents") as served:
        page = await opened(open_page, served, "?name=Giant+AB")
        await page.locator(".notice", has_text="In all: entities 121").wait_for()
        assert await page.locator(".ties li").count() == 120
        assert await page.locator(".ties button").count() == await page.locator(".graph .node").count() - 1
        assert "?" not in await page.locator(".ties").inner_text()
