"""Inspect: any reply that is pasted or opened, however large."""

import json
import re
import subprocess

import pytest

from page.browser.conftest import held_back
from programs import start_program
from serving import clean_environment

pytestmark = pytest.mark.asyncio(loop_scope="session")

REPLY = {
    "success": True,
    "data": {"tasks": [{"task_id": f"task-{n:03}", "notes": "Read, think, write. " * 40} for n in range(30)]},
    "error": None,
    "meta": {"version": "response-v2"},
}


async def opened(open_page, served):
    page = await open_page(f"{served.address}/#/inspect")
    await page.locator("#paste").wait_for()
    return page


async def inspect(page, text):
    await page.locator("#paste").fill(text)
    await page.locator("#inspect-now").click()


async def test_a_pasted_reply_is_recognised_and_fitted(open_page, served):
    page = await opened(open_page, served)
    await inspect(page, json.dumps(REPLY))
    await page.locator(".chip", has_text="response-v2").first.wait_for()
    await page.locator(".figure-sent .big").wait_for()
    await page.locator(".piece .bring").first.click()
    await page.locator(".piece .proof.good").first.wait_for()


async def test_a_reply_that_breaks_the_contract_it_claims_is_told_so(open_page, served):
    page = await opened(open_page, served)
    await inspect(page, json.dumps({**REPLY, "success": "yes", "data": 3}))
    await page.locator(".chip", has_text="claims to be response-v2").wait_for()
    await page.locator(".chip.bad", has_text="breaks its contract").wait_for()
    assert "'yes' found using 'success'" in await page.locator(".outcome").first.inner_text()


async def test_numbers_are_shown_to_the_last_digit(open_page, served):
    """Ids of many services have nineteen digits, of which a number of the browser holds sixteen."""
    page = await opened(open_page, served)
    await inspect(page, '{"id": 1098765432109876543, "small": -9007199254740993, "share": 0.25, "count": 12}')
    leaves = page.locator(".results .leaf.number")
    await leaves.first.wait_for()
    shown = await leaves.all_inner_texts()
    assert {"1098765432109876543", "-9007199254740993", "0.25", "12"} <= set(shown)


async def test_a_notice_without_a_code_is_its_words(open_page, served):
    page = await opened(open_page, served)
    await inspect(page, json.dumps({**REPLY, "data": {"tasks": list(range(5_000))}}))
    notice = page.locator(".results .notice").first
    await notice.wait_for()
    assert re.match(r"\d+ of 5000 shown", (await notice.inner_text()).strip())


async def test_it_goes_on_to_every_dialect(open_page, served):
    page = await opened(open_page, served)
    await inspect(page, json.dumps(REPLY))
    await page.get_by_role("link", name="In every dialect").click()
    await page.locator(".sheet").nth(5).wait_for()


async def test_what_was_pasted_is_still_there_after_a_look_elsewhere(open_page, served):
    page = await opened(open_page, served)
    await inspect(page, json.dumps(REPLY))
    await page.locator(".figure-sent .big").wait_for()
    await page.locator("#preferences [data-name=ja]").click()
    await page.locator("html[lang=ja] .figure-sent .big").wait_for()
    assert json.loads(await page.locator("#paste").input_value()) == REPLY
    await page.locator("#preferences [data-name=en]").click()
    await page.get_by_role("link", name="In every dialect").click()
    await page.locator(".sheet").nth(5).wait_for()
    await page.go_back()
    await page.locator(".figure-sent .big").wait_for()
    assert json.loads(await page.locator("#paste").input_value()) == REPLY


@pytest.mark.parametrize("newer", ["#inspect-now", "#inspect-check"])
async def test_what_was_asked_last_is_what_is_shown(open_page, served, newer):
    page = await opened(open_page, served)
    held = await held_back(page, "**/page/api/replies", "older")
    await inspect(page, '["older"]')
    older = (await held.get()).request
    async with page.expect_event("requestfailed") as waiting:
        await page.locator("#paste").fill(json.dumps(REPLY))
        await page.locator(newer).click()
    assert (await waiting.value).url == older.url
    await page.locator(".figure-sent .big" if newer == "#inspect-now" else ".outcome .proof.good").wait_for()


async def test_what_is_not_json_says_where(open_page, served):
    page = await opened(open_page, served)
    await inspect(page, '{"success": tru')
    await page.locator(".failure code", has_text="INVALID_FORMAT").wait_for()


async def test_a_broken_contract_is_named(open_page, served):
    page = await opened(open_page, served)
    await page.locator("#paste").fill(
        json.dumps({"status": "okay", "results": [], "meta": {"request_id": "r", "api_version": "v2"}})
    )
    await page.locator("#inspect-check").click()
    await page.locator(".outcome .proof").wait_for()
    lines = await page.locator(".faults li").all_inner_texts()
    assert lines[0].startswith("/status ") and lines[0].endswith(' "okay"')
    missing = [line.strip() for line in lines if "required" in line.lower()]
    assert missing and not any(line.endswith("null") for line in missing)


async def test_ten_megabytes_leave_the_page_responsive(open_page, served, tmp_path):
    """It is opened from a file, fitted, and the page still answers the keyboard."""
    rows = [{"id": f"row-{n:06}", "text": f"Row {n} says the same again. " * 35} for n in range(10_000)]
    large = tmp_path / "large.json"
    large.write_text(
        json.dumps({"success": True, "data": {"rows": rows}, "error": None, "meta": {"version": "response-v2"}})
    )
    assert large.stat().st_size > 9_500_000
    page = await opened(open_page, served)
    await page.locator("#file").set_input_files(large)
    await page.locator(".figure-sent .big").wait_for()
    assert await page.evaluate("document.querySelectorAll('*').length") < 20_000
    await page.locator("#paste").fill("still here")
    assert await page.locator("#paste").input_value() == "still here"


@pytest.fixture
def alone(tmp_path):
    """The page that `aerogram inspect` opens for a file."""
    file = tmp_path / "reply.json"
    file.write_text(json.dumps(REPLY))
    words = ["inspect", str(file), "--no-open", "--port", "0"]
    process = start_program(words, stdout=subprocess.PIPE, text=True, env=clean_environment(tmp_path / "index"))
    try:
        address = next(line.split()[2] for line in process.stdout if line.startswith("Ready at "))
        yield address.rstrip("/")
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


async def test_a_reply_from_a_file_is_opened_without_a_server(open_page, alone):
    page = await open_page(f"{alone}/")
    await page.locator(".figure-sent .big").wait_for()
    assert await page.locator("nav a").all_inner_texts() == ["Inspect", "Dialects", "Digest", "Errors"]
    await page.locator("#budget-exact").fill("900")
    await page.locator("#budget-exact").press("Enter")
    await page.wait_for_function("() => /^\\d{3}$/.test(document.querySelector('.figure-sent .big').textContent)")
    await page.locator(".piece .bring").first.click()
    await page.locator(".piece .proof.good").first.wait_for()
    await page.get_by_role("link", name="Dialects").click()
    await page.locator(".sheet").nth(5).wait_for()
    await page.get_by_role("link", name="Digest").click()
    await page.locator("#digest-paste").wait_for()
    await page.get_by_role("link", name="Errors").click()
    await page.locator(".error").first.wait_for()


async def test_the_box_shows_the_file_that_was_opened(open_page, served):
    """A text that is too long to be read there is named instead."""
    page = await opened(open_page, served)
    await page.locator("#paste").fill("something old")
    short = {"name": "reply.json", "mimeType": "application/json", "buffer": json.dumps(REPLY).encode()}
    await page.locator("#file").set_input_files(short)
    await page.locator(".figure-sent .big").wait_for()
    assert json.loads(await page.locator("#paste").input_value()) == REPLY
    await page.locator("#file").set_input_files({**short, "name": "long.json", "buffer": b" " * 300_000 + b"[1]"})
    await page.wait_for_function("() => document.getElementById('paste').placeholder.startsWith('long.json')")
    assert await page.locator("#paste").input_value() == ""


async def test_a_piece_that_is_too_large_to_be_sent_has_its_size_in_bytes_and_the_hash_of_the_server(open_page, served):
    page = await opened(open_page, served)
    rows = [{"id": 1, "text": "word " * 500_000}, {"id": 2, "text": "short"}]
    body = {**REPLY, "data": {"results": rows}}
    file = {"name": "large.json", "mimeType": "application/json", "buffer": json.dumps(body).encode()}
    await page.locator("#file").set_input_files(file)
    piece = page.locator(".piece", has_text="2,500,018 bytes").first
    await piece.locator(".bring").click()
    await piece.locator(".proof.good", has_text="Computed by the server: 2,500,018 bytes").wait_for()
    assert "tokens" not in await piece.inner_text()
    assert await piece.locator(".restored").count() == 0
