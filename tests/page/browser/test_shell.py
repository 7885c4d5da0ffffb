"""The frame: languages, colours, keyboard, a server that goes away, documents that mean harm, small screens."""

import re
import signal
from pathlib import Path

import pytest

from servers import find_free_port
from serving import serving

pytestmark = pytest.mark.asyncio(loop_scope="session")

VIEWS = {
    "search": ".record",
    "dialects": ".sheet",
    "digest": ".document mark",
    "vendors": ".graph .node.at",
    "errors": ".error",
    "live": "#live-try",
    "inspect": "#paste",
}
"""Each view, and what is there when it is ready."""
ASSETS = Path(__file__).parents[3] / "packages/aerogram-page/src/aerogram_page/assets"
PLACE = re.compile(r"\{\w+\}")
PHONE = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}


async def shown(page, view):
    """The view is there, with what it is about."""
    await page.locator(f"main.view-{view} {VIEWS[view]}").first.wait_for()


async def test_each_view_has_its_own_address(open_page, served):
    page = await open_page(f"{served.address}/#/errors")
    for view in ("errors", *VIEWS):  # one is opened at its address, the others are gone to
        await page.goto(f"{served.address}/#/{view}")
        await shown(page, view)
        assert await page.locator("nav [aria-current=page]").get_attribute("href") == f"#/{view}"
        assert (await page.title()).endswith("Aerogram")


async def test_an_address_that_leads_nowhere_leads_to_the_first_view(open_page, served):
    page = await open_page(f"{served.address}/#/nowhere")
    await shown(page, "search")


async def test_the_browser_goes_back_to_the_view_before(page):
    await page.get_by_role("link", name="Errors").click()
    await shown(page, "errors")
    await page.go_back()
    await shown(page, "search")


async def test_it_speaks_the_language_of_the_browser_and_the_one_that_is_chosen(open_page, served):
    page = await open_page(f"{served.address}/", locale="ja-JP")
    await page.get_by_role("heading", name="同じ答えを、必要な大きさで").wait_for()
    assert await page.evaluate("document.documentElement.lang") == "ja"
    await page.get_by_role("button", name="English").click()
    await page.get_by_role("heading", name="The same answer").wait_for()
    assert await page.evaluate("document.documentElement.lang") == "en"
    await page.reload()
    await page.get_by_role("heading", name="The same answer").wait_for()


async def test_a_language_and_colours_that_there_are_no_more_are_those_of_the_browser(open_page, served):
    page = await open_page(f"{served.address}/")
    for name in ("language", "theme"):
        await page.evaluate("name => localStorage.setItem(`aerogram.${name}`, 'constructor')", name)
    await page.reload()
    await page.locator(".record").first.wait_for()
    assert await page.evaluate("document.documentElement.lang") == "en"
    assert await page.evaluate("document.documentElement.dataset.theme") == "auto"


async def test_a_browser_that_keeps_nothing_shows_the_page_and_its_colours(open_page, served):
    page = await open_page("about:blank")
    await page.add_init_script(
        """for (const name of ["localStorage", "sessionStorage"])
            Object.defineProperty(window, name, { get() { throw new DOMException("denied", "SecurityError"); } });"""
    )
    await page.goto(f"{served.address}/")
    await page.locator(".record").first.wait_for()
    await page.get_by_role("button", name="Colours: Auto").click()
    await page.get_by_role("button", name="Colours: Light").wait_for()


async def test_numbers_are_written_as_the_language_writes_them(page):
    await page.locator("#budget-exact").wait_for()
    whole = await page.locator(".figure-whole .big").inner_text()
    assert "," in whole


async def test_colours_follow_the_system_and_can_be_chosen(open_page, served):
    page = await open_page(f"{served.address}/", color_scheme="dark")
    await page.locator(".record").first.wait_for()
    background = "getComputedStyle(document.body).backgroundColor"
    dark = await page.evaluate(background)
    await page.get_by_role("button", name="Colours: Auto").click()
    light = await page.evaluate(background)
    assert light != dark
    await page.get_by_role("button", name="Colours: Light").click()
    assert await page.evaluate(background) == dark


async def test_everything_is_reached_with_the_keyboard_and_shows_its_focus(page):
    await page.evaluate("document.activeElement.blur()")
    reached = []
    for _ in range(34):
        await page.keyboard.press("Tab")
        reached.append(
            await page.evaluate(
                "(() => { const at = document.activeElement; const style = getComputedStyle(at);"
                " return [at.id || at.dataset.name || at.className || at.tagName, style.outlineStyle]; })()"
            )
        )
    names = [name for name, _ in reached]
    assert {"skip", "question", "budget", "budget-exact", "ids_only", "knowledge-1.0"} <= set(names)
    assert all(style != "none" for name, style in reached if name != "BODY")


async def test_the_first_link_skips_to_the_content(page):
    await page.evaluate("document.activeElement.blur()")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    assert await page.evaluate("document.activeElement.id") == "main"


async def test_a_server_that_stops_is_missed_and_found_again(open_page, documents, tmp_path, chromium):
    """The question that was asked meanwhile is answered by itself."""
    port = str(find_free_port())  # one that nobody else takes while the server is away
    with serving(tmp_path / "index", "--port", port, documents=documents / "apis") as first:
        page = await open_page(f"{first.address}/#/search?q=pagination")
        await page.locator(".record").first.wait_for()
        first.process.kill()
    await page.locator("#question").fill("webhook")
    await page.locator("#banner .away").wait_for()
    assert "does not answer" in await page.locator("#banner").inner_text()
    with serving(tmp_path / "index", "--port", port, documents=None):
        await page.locator("#banner .away").wait_for(state="detached")
        await page.locator(".record h3", has_text="webhooks").first.wait_for()


async def test_a_server_that_is_stuck_is_said_to_take_long_until_it_answers(page, served):
    served.process.send_signal(signal.SIGSTOP)
    try:
        await page.locator("#question").fill("pagination")
        await page.locator("#banner .late", has_text="taking long").wait_for(timeout=60_000)
    finally:
        served.process.send_signal(signal.SIGCONT)
    await page.locator("#banner .late").wait_for(state="detached")
    await page.locator(".record h3", has_text="agination").first.wait_for()


async def test_documents_full_of_script_are_shown_as_text(open_page, served):
    page = await open_page(f"{served.address}/#/search?q=parlour+trick&mode=full&budget=100000")
    passage = page.locator(".passage", has_text="window.harmed").first
    await passage.wait_for()
    assert '<img src=x onerror="window.harmed' in await passage.inner_text()
    for view in ("dialects?q=parlour+trick&mode=full", "digest?file=hostile/tricks.md&q=parlour"):
        await page.goto(f"{served.address}/#/{view}")
        shows = {"dialects": ".sheet", "digest": ".document"}[view.partition("?")[0]]
        await page.locator(shows, has_text="window.harmed").first.wait_for()
    assert await page.evaluate("window.harmed") is None
    assert await page.locator("main img, main iframe, main script, main style, main a[href^=javascript]").count() == 0
    assert await page.locator("body").is_visible()


async def test_signs_that_pile_up_do_not_make_the_page_wider(open_page, served):
    page = await open_page(f"{served.address}/#/search?q=towering+parlour&budget=100000", **PHONE)
    await page.locator(".passage", has_text="towering").first.wait_for()
    widths = await page.evaluate("[document.documentElement.scrollWidth, screen.width]")
    assert widths[0] <= widths[1]


async def test_the_policy_stops_script_that_would_get_in(open_page, served):
    """Were there ever a hole in the page, the browser would not run what comes through it."""
    page = await open_page(f"{served.address}/", is_innocent=False)
    await page.locator(".record").first.wait_for()
    outcome = await page.evaluate(
        """async () => {
            const violations = [];
            document.addEventListener("securitypolicyviolation", (event) => violations.push(event.effectiveDirective));
            const tries = [];
            const attempt = (deed) => { try { deed(); } catch (error) { tries.push(error.name); } };
            const [image, button] = ["img", "button"].map((name) => document.createElement(name));
            document.body.append(image, button);
            image.src = "http://elsewhere.invalid/x.png";
            attempt(() => { document.body.innerHTML += "<img src=x onerror='window.harmed = 1'>"; });
            attempt(() => { button.setAttribute("onclick", "window.harmed = 2"); });
            button.click();
            await fetch("http://elsewhere.invalid/").catch((error) => tries.push("fetch"));
            const isSeen = () => ["img-src", "connect-src"].every((directive) => violations.includes(directive));
            for (let wait = 0; wait < 1000 && !isSeen(); wait += 1) await new Promise((done) => setTimeout(done, 20));
            return { violations, tries, harmed: window.harmed ?? null };
        }"""
    )
    assert outcome["harmed"] is None
    assert {"img-src", "connect-src"} <= set(outcome["violations"])
    assert sorted(outcome["tries"]) == ["TypeError", "TypeError", "fetch"]


async def test_writing_from_right_to_left_and_combining_signs_stay_whole(open_page, served):
    page = await open_page(f"{served.address}/#/search?q=hebrew+parlour&budget=100000")
    passage = page.locator(".passage", has_text="שלום").first
    await passage.wait_for()
    text = await passage.inner_text()
    assert "שלום עולם (123) שלום" in text and "مرحبا بالعالم" in text and "👩‍👩‍👧‍👦" in text and "नमस्ते" in text
    assert await passage.get_attribute("dir") == "auto"


@pytest.mark.parametrize("locale", ["en-GB", "ja-JP"])
async def test_a_phone_shows_every_view_without_scrolling_sideways(open_page, served, locale):
    page = await open_page(f"{served.address}/", locale=locale, **PHONE)
    for view in VIEWS:
        await page.evaluate("view => (location.hash = `#/${view}`)", view)
        await shown(page, view)
        widths = await page.evaluate("[document.documentElement.scrollWidth, screen.width]")
        assert widths[0] <= widths[1], view


@pytest.mark.parametrize("locale", ["en-GB", "ja-JP"])
async def test_on_a_phone_every_view_can_be_reached_and_every_word_can_be_read(open_page, served, locale):
    """Tabs are in sight, tables are lists, a code goes on in the next line only after an underscore."""
    page = await open_page(f"{served.address}/#/errors", locale=locale, viewport={"width": 390, "height": 844})
    await page.locator(".warnings .name").first.wait_for()
    for box in [await link.bounding_box() for link in await page.locator("nav a").all()]:
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    assert not await page.locator(".warnings thead").is_visible()
    broken = await page.evaluate(
        """() => [...document.querySelectorAll(".name")].flatMap((name) =>
            [...name.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE).filter((part) => {
                const range = document.createRange();
                range.selectNodeContents(part);
                return range.getClientRects().length > 1;
            })).map((part) => part.textContent)"""
    )
    assert broken == []
    await page.evaluate("location.hash = '#/vendors'")
    await page.locator(".graph .node.at").wait_for()
    assert await page.locator(".sideways").is_visible()


async def test_every_text_is_there_in_both_languages(page):
    """The same keys, the same placeholders, and no text that the page asks for in vain."""
    texts = await page.evaluate(
        """async () => {
            const [en, ja] = await Promise.all(["en", "ja"].map((name) => import(`/page/assets/texts/${name}.js`)));
            return { en: en.default, ja: ja.default };
        }"""
    )
    assert list(texts["en"]) == list(texts["ja"])
    for key, text in texts["en"].items():
        assert sorted(PLACE.findall(text)) == sorted(PLACE.findall(texts["ja"][key])), key
    sources = "".join(path.read_text(encoding="utf-8") for path in ASSETS.rglob("*.js"))
    assert set(re.findall(r'\bt\("([^"]+)"', sources)) <= set(texts["en"])
