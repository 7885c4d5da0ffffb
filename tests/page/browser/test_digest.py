"""Digest: evidence where it stands, verified; a pasted digest is checked."""

import re

import pytest

from page.browser.conftest import held_back

pytestmark = pytest.mark.asyncio(loop_scope="session")

ADDRESS = "#/digest?file=security/jwt-guide.md&q=How+long+do+access+tokens+live"


async def opened(open_page, served):
    page = await open_page(f"{served.address}/{ADDRESS}")
    await page.locator(".document mark").first.wait_for()
    return page


async def test_every_quotation_is_highlighted_in_the_document(open_page, served):
    page = await opened(open_page, served)
    quotations = await page.locator(".evidence blockquote").all_inner_texts()
    assert quotations
    for at, quotation in enumerate(quotations):
        place = await page.locator(f"#evidence-{at}").inner_text()
        assert re.sub(r"\s", "", quotation) == re.sub(r"\s", "", place.removeprefix(str(at + 1)))


async def test_the_verification_is_shown_and_the_document_hashed_here(open_page, served):
    page = await opened(open_page, served)
    proof = page.locator(".digest-columns .proof.good")
    assert "Verified" in await proof.inner_text()
    codes = await proof.locator("code").all_inner_texts()
    assert len(codes) == 2 and codes[0] == codes[1]


async def test_where_nothing_bears_on_the_question_it_says_so_and_has_no_seal(open_page, served):
    page = await open_page(f"{served.address}/#/digest?file=apis/faq.jsonl%23auth-header&q=What+does+it+cost")
    proof = page.locator(".digest-columns .proof")
    await proof.wait_for()
    assert "Nothing in apis/faq.jsonl#auth-header bears on the question" in await page.locator(".notice").inner_text()
    assert "nothing is quoted" in await proof.inner_text()
    assert await page.locator(".digest-columns .proof.good, .digest-columns .seal, .evidence").count() == 0


async def test_a_document_that_is_shorter_than_its_digest_is_quoted_whole(open_page, served):
    page = await open_page(f"{served.address}/#/digest?file=apis/faq.jsonl%23auth-header&q=Which+header+is+reserved")
    await page.locator(".document mark").first.wait_for()
    marked = await page.locator(".document mark").all_inner_texts()
    assert "".join(marked).removeprefix("1") == (await page.locator(".document").inner_text()).removeprefix("1")
    assert "too few to condense" in await page.locator(".digest-columns").inner_text()
    assert "the one quotation stands" in await page.locator(".digest-columns .proof.good").inner_text()


async def test_a_quotation_leads_to_its_place(open_page, served):
    page = await opened(open_page, served)
    await page.get_by_role("button", name="quotation 1").click()
    assert await page.evaluate("document.activeElement.id") == "evidence-0"


async def test_a_digest_that_is_pasted_is_checked(open_page, served):
    page = await opened(open_page, served)
    await page.locator("#digest-check").click()
    await page.locator("#check-title ~ .outcome .proof.good").wait_for()


async def test_one_changed_letter_is_found(open_page, served):
    page = await opened(open_page, served)
    await page.locator("#digest-tamper").click()
    await page.locator("#check-title ~ .outcome .proof.bad").wait_for()
    assert await page.locator(".mismatch code").count() >= 1


@pytest.mark.parametrize("button", ["#digest-check", ".controls button"])
async def test_an_older_question_never_overtakes_a_newer_one(open_page, served, button):
    page = await opened(open_page, served)
    held = await held_back(page, "**/page/api/digest", "{")
    await page.locator(button).click()
    older = await held.get()
    async with page.expect_event("requestfailed") as waiting:
        await page.locator(button).click()
    assert (await waiting.value).post_data == older.request.post_data


async def test_something_that_is_no_digest_is_refused_in_words(open_page, served):
    page = await opened(open_page, served)
    await page.locator("#digest-paste").fill("this is no digest")
    await page.locator("#digest-check").click()
    await page.locator("#check-title ~ .outcome .failure").wait_for()


async def test_a_failure_stands_apart_from_what_follows_it(open_page, served):
    page = await open_page("about:blank")
    await page.route("**/page/api/digest", lambda route: route.fulfill(status=404, json={"code": "NOT_FOUND"}))
    await page.goto(f"{served.address}/#/digest?q=token")
    await page.locator(".failure.card").wait_for()
    box = await page.locator(".failure.card").bounding_box()
    following = await page.locator("main > .card").last.bounding_box()
    assert following["y"] - (box["y"] + box["height"]) >= 12


async def test_an_address_of_a_document_that_is_gone_says_so(open_page, served):
    page = await open_page(f"{served.address}/#/digest?file=gone.md&q=token")
    await page.locator(".failure", has_text="NOT_FOUND").wait_for()
    assert await page.locator("#digest-file").input_value() == "gone.md"
