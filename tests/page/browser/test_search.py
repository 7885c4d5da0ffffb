"""Search: as one types, page by page, within a budget, and everything that was left out brought back."""

import re
import time

import pytest

from aerogram_knowledge.server.library import Library
from page.browser.conftest import held_back

pytestmark = pytest.mark.asyncio(loop_scope="session")

SLIDER = "#budget"


async def settled(page):
    """The view has shown the answer to what was asked last."""
    await page.locator(".results:not([aria-busy])").wait_for()


async def choose_budget(page, tokens):
    """Type an exact budget, and wait for the reply that is fitted to it."""
    async with page.expect_response("**/page/api/shrink") as waiting:
        await page.locator("#budget-exact").fill(str(tokens))
        await page.locator("#budget-exact").press("Enter")
    fitted = await (await waiting.value).json()
    await settled(page)
    return fitted


async def number_in(locator):
    return int(re.sub(r"\D", "", await locator.inner_text()))


async def number_of(slider):
    return int(re.sub(r"\D", "", await slider.get_attribute("aria-valuetext")))


async def test_results_come_while_one_types(open_page, served):
    """Scores, context headers and marked words, without pressing anything."""
    page = await open_page(f"{served.address}/#/search?q=token&budget=100000")
    await page.locator("#question").fill("webhook signature")
    first = page.locator(".record").first
    await first.locator("h3", has_text="Webhooks > Checking the signature").wait_for()
    assert await first.locator("mark", has_text=re.compile("webhook", re.IGNORECASE)).count() >= 1
    assert re.search(r"\d\.\d", await first.locator(".score").inner_text())
    assert "webhook" in page.url and "q=" in page.url


async def test_an_older_question_never_overtakes_a_newer_one(page):
    """The answer to the first question is held back until the second one is there."""
    held = await held_back(page, "**/page/api/shrink", "pagination")
    await page.locator("#question").fill("pagination")
    older = (await held.get()).request
    async with page.expect_event("requestfailed") as waiting:
        await page.locator("#question").fill("brackwater depot")
    assert ((await waiting.value).url, older.failure) == (older.url, "net::ERR_ABORTED")
    await page.locator(".record mark", has_text=re.compile("brackwater", re.IGNORECASE)).first.wait_for()


async def test_an_answer_changes_nothing_of_what_is_being_typed(page):
    """Neither a budget that is not chosen yet, nor are words marked that nobody has asked for."""
    held = await held_back(page, "**/page/api/shrink", "webhook signature")
    await page.locator("#question").fill("webhook signature")
    answer = await held.get()
    await page.locator("#budget-exact").fill("12")
    await page.evaluate("document.getElementById('question').value = 'payload'")  # as if the pause went on
    await answer.continue_()
    await page.locator(".record h3", has_text="Webhooks > Checking the signature").first.wait_for()
    assert await page.locator("#budget-exact").input_value() == "12"
    marks = " ".join(await page.locator(".record mark").all_inner_texts()).lower()
    assert "webhook" in marks and "payload" not in marks


async def test_the_pages_go_on_to_the_end(page):
    first = await page.locator(".place").inner_text()
    await page.locator("#question").fill("webhooks")
    await page.wait_for_function("before => document.querySelector('.place')?.textContent !== before", arg=first)
    seen = []
    for _ in range(40):
        await settled(page)
        place = await page.locator(".place").inner_text()
        seen.append(place)
        further = page.locator(".pager .primary")
        if not await further.count():
            break
        await further.click()
        await page.wait_for_function("before => document.querySelector('.place')?.textContent !== before", arg=place)
    last = re.match(r"\d+–(\d+) of (\d+)", place)
    assert len(seen) > 1 and last[1] == last[2]
    assert "the end" in place
    await page.get_by_role("button", name="Previous page").click()
    await page.wait_for_function("before => document.querySelector('.place')?.textContent !== before", arg=place)


async def test_a_page_says_its_place_however_one_came_to_it(open_page, served):
    """Turned to, by a reload, by a link, and by the way back."""

    async def at(page, words):
        """The page says its place; the announcer, which says the same a little later, is not meant."""
        place = page.locator(".place", has_text=re.compile(words))
        await place.wait_for()
        return await place.inner_text()

    page = await open_page(f"{served.address}/#/search?q=webhooks")
    await at(page, "^1–10 of ")
    await page.get_by_role("button", name="Next page").click()
    second = await at(page, "^11–")
    await page.reload()
    await at(page, f"^{second}$")
    link = re.sub(r"&from=\d+", "", page.url)
    assert link != page.url
    other = await open_page(link)
    await at(other, f"^{second}$")
    await page.go_back()
    await at(page, "^1–10 of ")


async def test_filters_leave_what_they_should(page):
    await choose_budget(page, 100_000)
    await page.get_by_text("Filters").click()
    await page.locator("#filter-category").select_option("contracts")
    await page.wait_for_function(
        """() => {
            const categories = [...document.querySelectorAll(".record .facts span:first-child")];
            return categories.length && categories.every((one) => one.textContent === "contracts");
        }"""
    )
    assert "category=contracts" in page.url


@pytest.mark.parametrize("mode", ["ids_only", "metadata", "preview", "full"])
async def test_each_mode_shows_its_own_detail_and_its_price(page, mode):
    await choose_mode(page, mode)
    assert await page.evaluate("document.activeElement.dataset.name") == mode
    sizes = [
        await number_in(page.locator(f".price[data-name='{one}'] .number")) for one in ("ids_only", "metadata", "full")
    ]
    assert sizes == sorted(sizes) and sizes[0] < sizes[-1]


async def choose_mode(page, mode):
    """Choose a mode, and wait for its reply."""
    await page.locator(f".price[data-name='{mode}']").click()
    await page.locator(f".price[data-name='{mode}'][aria-pressed='true']").wait_for()
    await settled(page)


async def test_a_budget_stays_when_another_mode_is_smaller_than_it(page):
    await choose_budget(page, 900)
    for mode in ("ids_only", "full"):
        await choose_mode(page, mode)
    assert "budget=900" in page.url
    assert await number_in(page.locator(".figure-sent .big")) <= 900


async def test_another_mode_begins_at_the_first_page(page):
    """A cursor belongs to the mode that it was given in."""
    first = await page.locator(".place").inner_text()
    await page.locator(".pager .primary").click()
    await page.wait_for_function("before => document.querySelector('.place')?.textContent !== before", arg=first)
    await choose_mode(page, "metadata")
    assert await page.locator(".place").inner_text() == first
    assert "cursor" not in page.url


async def test_the_reply_is_never_larger_than_the_slider_says(page):
    """Tokens beside each mode and each dialect; the chart follows."""
    for tokens in (1900, 900):
        fitted = await choose_budget(page, tokens)
        assert fitted["after"]["size"] <= tokens
        assert await number_in(page.locator(".figure-sent .big")) == fitted["after"]["size"]
        assert await number_in(page.locator(".figure-whole .big")) == fitted["before"]["size"]
        for one in fitted["dialects"]:
            if one["size"] is not None:
                assert await number_in(page.locator(f".price[data-name='{one['dialect']}'] .number")) == one["size"]
    await page.locator(".chart .now").wait_for()
    assert await page.locator(".chart .line").count() == 4


async def test_the_figures_are_those_of_the_way_that_is_chosen(page):
    """Both channels of a tool result, or one body; the copied calls have the slider's budget."""
    over_mcp = await choose_budget(page, 2000)
    assert (over_mcp["way"], over_mcp["channels"], over_mcp["dialect"]) == ("mcp", "mirror", "knowledge-1.0")
    async with page.expect_response("**/page/api/shrink") as waiting:
        await page.get_by_role("button", name="as sent over HTTP: one channel").click()
    over_http = await (await waiting.value).json()
    await settled(page)
    assert (over_http["way"], over_http["channels"], over_http["dialect"]) == ("http", "text", "standard-v2")
    assert "way=http" in page.url
    assert await number_in(page.locator(".figure-whole .big")) == over_http["before"]["size"]
    assert over_http["before"]["size"] < over_mcp["before"]["size"]
    await page.get_by_role("button", name="Copy as").click()
    for tab, words in (
        ("curl", "max_tokens=2000"),
        ("Python", "'max_tokens': 2000"),
        ("TypeScript", '"max_tokens": 2000'),
    ):
        await page.get_by_role("tab", name=tab).click()
        assert words in await page.locator("dialog.copy pre").inner_text()
    assert "Over MCP" in await page.locator("dialog.copy .snippet").inner_text()


async def test_more_than_the_server_ever_sends_is_called_that(open_page, served):
    """A server with a smaller budget than this one's is played by its context."""
    page = await open_page(f"{served.address}/#/search?q=token&budget=none")
    await page.locator(".record").first.wait_for()
    assert await page.locator(".ceiling").count() == 0

    async def stingy(route):
        answer = await route.fetch()
        body = await answer.json()
        await route.fulfill(response=answer, json={**body, "budget": {**body["budget"], "server": 1000}})

    await page.route("**/page/api/context", stingy)
    await page.reload()
    await page.get_by_text("The server's own budget is 1,000 tokens").wait_for()
    await choose_budget(page, 900)
    assert await page.locator(".ceiling").count() == 0


@pytest.mark.parametrize("tokens", [5, 900, 2500])
async def test_the_line_of_the_chart_is_the_budget_in_use(page, tokens):
    """Also where nothing fits, and while another curve is on its way."""
    await page.locator(".chart .now").wait_for()
    await page.route("**/page/api/curve", lambda _: None)
    await page.get_by_role("button", name="as sent over HTTP").click()
    await settled(page)
    await choose_budget(page, tokens)
    assert await page.locator(".chart .now text").text_content() == f"{tokens:,}"


async def test_without_a_question_there_are_no_figures(page):
    await page.locator("#question").fill("")
    await page.get_by_text("Nothing is asked, so there is nothing to count").wait_for()
    assert await page.locator(".figures, .tick").count() == 0
    assert set(await page.locator(".price .number").all_inner_texts()) == {"–"}
    assert not await page.locator(".left-out").is_visible()
    await page.locator("#question").fill("token")
    await page.locator(".figure-sent .big").wait_for()


async def test_the_slider_goes_by_arrow_keys_and_says_where_it_is(page):
    slider = page.locator(SLIDER)
    await slider.focus()
    before = await slider.get_attribute("aria-valuetext")
    for _ in range(40):
        await slider.press("ArrowLeft")
    assert await slider.get_attribute("aria-valuetext") != before
    await page.wait_for_function(
        """budget => {
            const sent = document.querySelector(".figure-sent .big").textContent;
            const said = document.getElementById("announcer").textContent;
            return Number(sent.replace(",", "")) <= budget && said.startsWith(`${sent} of `);
        }""",
        arg=await number_of(slider),
    )
    assert await page.evaluate("document.activeElement.id") == "budget"


async def test_a_dropped_piece_comes_back_and_is_hashed_in_the_browser(page):
    fitted = await choose_budget(page, 1400)
    piece = fitted["pieces"]["listed"][0]
    node = page.locator(".piece").first
    async with page.expect_response("**/page/api/piece") as waiting:
        await node.locator(".bring").click()
    back = await (await waiting.value).json()
    await node.locator(".proof.good").wait_for()
    assert back["expected"] == piece["hash"]
    assert piece["hash"].removeprefix("sha256:")[:12] in await node.locator(".proof").inner_text()
    assert "in this browser" in await node.locator(".proof").inner_text()
    words = back["value"]["chunk_text"].split()
    assert words[0] in await node.locator(".restored").inner_text()


@pytest.mark.parametrize("tokens", [1400, 2500])
async def test_what_is_missing_is_counted_and_called_as_the_cards_are(page, tokens):
    """The heading has the figures of the account; a row has the rank and title of its card, and leads there."""
    fitted = await choose_budget(page, tokens)
    after = fitted["after"]
    for what in ("shortened", "dropped"):
        chips = page.locator(f"#left-out-title .chip[data-what={what}]")
        assert await chips.count() == (after[what] > 0)
        if after[what]:
            assert await number_in(chips) == after[what]
    account = await page.locator(".account").inner_text()
    assert f"{after['shortened']} shortened, {after['dropped']} left out" in account
    for piece in (await page.locator(".piece-shortened").all())[:3]:
        name = await piece.locator(".piece-name").inner_text()
        await piece.locator(".to-card").click()
        card = page.locator(".results .record:focus")
        assert (
            name.split()
            == (await card.locator(".rank, h3").all_inner_texts())[0].split()
            + (await card.locator("h3").inner_text()).split()
        )
        assert await card.locator(".missing").count() == 1


async def test_a_piece_that_was_tampered_with_does_not_pass(page):
    """The browser computes the hash itself: an answer that only claims to match is found out."""
    await choose_budget(page, 1400)

    async def tamper(route):
        answer = await route.fetch()
        body = await answer.json()
        await route.fulfill(response=answer, json={**body, "text": body["text"].replace("e", "3", 1)})

    await page.route("**/page/api/piece", tamper)
    node = page.locator(".piece").first
    await node.locator(".bring").click()
    await node.locator(".proof.bad").wait_for()


async def test_everything_comes_back_at_once(page):
    fitted = await choose_budget(page, 1800)
    await page.get_by_role("button", name="Bring all back").click()
    listed = min(6, len(fitted["pieces"]["listed"]))
    await page.wait_for_function("n => document.querySelectorAll('.piece .proof.good').length === n", arg=listed)


@pytest.mark.parametrize("more", [0, 60])
async def test_what_a_terse_reply_does_not_name_comes_back_too(page, more):
    await choose_mode(page, "full")
    least = (await choose_budget(page, 5))["refused"]["needed"]
    fitted = await choose_budget(page, least + more)
    assert fitted["pieces"]["total"] > 0
    assert await page.locator(".figures .chip.good").count() == 0
    await page.get_by_role("button", name="Bring all back").click()
    listed = min(6, len(fitted["pieces"]["listed"]))
    await page.wait_for_function("n => document.querySelectorAll('.piece .proof.good').length === n", arg=listed)


async def test_an_address_that_names_no_mode_or_dialect_shows_the_usual_ones(open_page, served):
    page = await open_page(f"{served.address}/#/search?q=token&mode=huge&dialect=nope")
    await page.locator(".record").first.wait_for()
    assert await page.locator(".price[aria-pressed='true']").count() == 2


async def test_a_hint_goes_with_what_it_explains(page):
    await page.locator(".price[data-name='full']").hover()
    await page.locator("#hint:visible").wait_for()
    await page.evaluate("location.hash = '#/live'")
    await page.locator("#hint").wait_for(state="hidden")


async def test_a_question_is_still_there_when_one_comes_back_to_it(page):
    await page.locator("#question").fill("webhooks")
    await page.wait_for_function("() => location.hash.includes('webhooks')")
    for name in ("Digest", "Search"):
        await page.get_by_role("navigation").get_by_role("link", name=name).click()
        await page.locator(f"main.view-{name.lower()}").wait_for()
    await page.locator(".record").first.wait_for()
    assert await page.locator("#question").input_value() == "webhooks"


async def test_a_budget_that_is_too_small_says_what_it_needs(page):
    fitted = await choose_budget(page, 5)
    assert fitted["refused"]["needed"] > 5
    found = fitted["before"]["found"]
    assert (
        found > fitted["before"]["items"] == await number_in(page.locator("#left-out-title .chip[data-what=dropped]"))
    )
    await page.get_by_role("heading", name=f"None of {found} passages fits").wait_for()
    await page.locator(".results .failure code", has_text="TOKEN_LIMIT_EXCEEDED").wait_for()
    await page.get_by_role("button", name=re.compile(r"Use \d+ tokens")).click()
    await page.locator(".record").first.wait_for()
    assert await number_in(page.locator(".figure-sent .big")) <= fitted["refused"]["needed"]


async def test_in_japanese_failures_and_reasons_are_in_japanese(open_page, served):
    """What the server says itself stays below, for whoever wants to look it up."""
    page = await open_page(f"{served.address}/#/search?q=token&budget=none", locale="ja-JP")
    await page.locator(".record").first.wait_for()
    facts = " ".join(await page.locator(".record .facts").all_inner_texts())
    assert "最上位の結果：" in facts
    assert not re.search(r"result:|match|relevance|overlap", facts)
    await choose_budget(page, 5)
    await page.locator(".results .failure-title", has_text="返信がトークンの上限を超えます").wait_for()
    assert await page.locator(".results .failure [lang=en]").count() == 1


async def test_a_reply_is_the_same_in_another_dialect(page):
    """The rows stay; only their price changes."""
    await choose_budget(page, 100_000)
    shown = await page.locator(".record").all_inner_texts()
    for dialect in ("response-v2", "standard-v2", "bare"):
        await page.locator(f".price[data-name='{dialect}']").click()
        await page.locator(f".price[data-name='{dialect}'][aria-pressed='true']").wait_for()
        assert await page.locator(".record").all_inner_texts() == shown


async def test_a_cursor_from_yesterday_offers_to_start_again(open_page, served):
    with Library(served.index, clock=lambda: time.time() - 3 * 86_400) as yesterday:
        cursor = yesterday.knowledge.search("token", page_size=10, response_mode="full").page.cursor
    page = await open_page(f"{served.address}/#/search?q=token&cursor={cursor}")
    await page.get_by_text("place in the list has expired").wait_for()
    assert "INVALID_CURSOR" in await page.locator(".notice").inner_text()
    await page.get_by_role("button", name="Start again").click()
    await page.locator(".record").first.wait_for()
    assert "cursor" not in page.url


async def test_the_call_can_be_copied_for_every_client(page):
    await choose_budget(page, 1500)
    await page.get_by_role("button", name="Copy as").click()
    dialog = page.locator("dialog.copy")
    for tab, words in (("curl", "curl "), ("Python", "import"), ("TypeScript", "import"), ("MCP", "mcpServers")):
        await dialog.get_by_role("tab", name=tab).click()
        assert words in await dialog.locator("pre").first.inner_text()
    await dialog.get_by_role("tab", name="MCP").press("ArrowRight")
    assert await dialog.get_by_role("tab", name="curl").get_attribute("aria-selected") == "true"
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await dialog.get_by_role("button", name="Copy", exact=True).first.click()
    await dialog.get_by_text("Copied").wait_for()
    assert "curl" in await page.evaluate("navigator.clipboard.readText()")
    await page.keyboard.press("Escape")
    await dialog.wait_for(state="detached")


async def test_words_of_scripts_without_blanks_are_marked_whole(open_page, served):
    page = await open_page(f"{served.address}/#/search?q=トークンの有効期限&budget=100000")
    await page.locator(".record mark").first.wait_for()
    marks = await page.locator(".record mark").all_inner_texts()
    assert "有効期限" in marks and "トークン" in marks
    assert "の" not in "".join(marks)


async def test_the_range_is_that_of_the_rows_that_are_shown_and_the_next_page_goes_on_there(open_page, served):
    page = await open_page(f"{served.address}/#/search?q=webhooks&budget=900")
    await settled(page)
    shown = await page.locator(".record").count()
    assert 0 < shown < 10
    place = await page.locator(".place").inner_text()
    assert place.startswith(f"1–{shown} of ")
    await page.get_by_role("button", name="Next page").click()
    await page.locator(".place", has_text=re.compile(rf"^{shown + 1}–")).wait_for()
    assert f"from={shown + 1}" in page.url
    assert "belongs to its mode" in await page.locator(".budget").inner_text()


async def test_where_nothing_was_found_nothing_is_said_not_to_fit(open_page, served):
    page = await open_page(f"{served.address}/#/search?q=zzqqxx&budget=1")
    await settled(page)
    assert "None of" not in await page.locator(".results h2").inner_text()


async def test_beside_a_failure_stand_no_figures_of_the_reply_before(page):
    await page.locator(".figures").wait_for()
    await page.route(
        "**/page/api/shrink", lambda route: route.fulfill(status=429, json={"code": "RATE_LIMIT_EXCEEDED"})
    )
    await page.locator("#question").fill("pagination")
    await page.locator(".failure").first.wait_for()
    await page.get_by_text("There is no answer, so there is nothing to count").wait_for()
    assert await page.locator(".figures").count() == 0
    assert not await page.locator(".left-out").is_visible()


async def test_two_clicks_on_previous_page_go_back_one_page(open_page, served):
    page = await open_page(f"{served.address}/#/search?q=token")
    for first in (11, 21):
        await page.get_by_role("button", name="Next page").click()
        await page.locator(".place", has_text=f"{first}–").wait_for()
    held = await held_back(page, "**/page/api/shrink", "")
    await page.get_by_role("button", name="Previous page").dblclick()
    await (await held.get()).continue_()
    await page.locator(".place", has_text="11–").wait_for()
    assert held.empty()
