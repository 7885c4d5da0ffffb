"""Errors: every code with all that is known of it, and each can be provoked."""

import re

import pytest

from aerogram import TABLE
from aerogram.codes import WARNINGS

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def opened(open_page, served, query=""):
    page = await open_page(f"{served.address}/#/errors{query}")
    await page.locator(".error").first.wait_for()
    return page


async def test_every_code_is_listed_with_kind_status_and_retry_rule(open_page, served):
    page = await opened(open_page, served)
    listed = await page.locator(".error").evaluate_all(
        "rows => Object.fromEntries(rows.map(row => [row.dataset.code, row.querySelector('summary').innerText]))"
    )
    assert set(listed) == set(TABLE)
    for code, text in listed.items():
        assert TABLE[code].kind in text and f"HTTP {TABLE[code].status}" in text and "Retry?" in text


async def test_a_code_has_its_own_address_and_shows_its_shape_in_each_dialect(open_page, served):
    page = await opened(open_page, served, "?code=NOT_FOUND")
    row = page.locator(".error[data-code=NOT_FOUND]")
    await row.locator(".tree").wait_for()  # it opens by itself, a moment after the list is there
    assert TABLE["NOT_FOUND"].remediation in await row.inner_text()
    for name in ("response-v2", "standard-v2", "knowledge-1.0", "problem", "mcp"):
        await row.locator(f".choice button[data-name='{name}']").click()
        assert await row.locator(".tree .member").count() > 2


JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


async def test_in_japanese_every_code_and_every_warning_is_in_japanese(open_page, served):
    page = await open_page(f"{served.address}/#/errors", locale="ja-JP")
    await page.locator(".error").first.wait_for()
    said = await page.evaluate(
        """async () => {
            const { errorWords, warningWords } = await import("/page/assets/codes.js");
            const { errors, warnings } = await (await fetch("/page/api/errors")).json();
            return [...errors.map(errorWords), ...warnings.map(warningWords)].flatMap(Object.values);
        }"""
    )
    assert len(said) == 2 * (len(TABLE) + len(WARNINGS))
    assert [text for text in said if not JAPANESE.search(text)] == []
    shown = await page.locator(".error .meaning, .warnings td:not(:first-child)").all_inner_texts()
    assert len(shown) == len(TABLE) + 3 * len(WARNINGS)
    assert [text for text in shown if not JAPANESE.search(text)] == []
    assert TABLE["QUOTA_EXCEEDED"].title not in await page.locator("main").inner_text()


async def test_codes_are_found_by_words_and_kind(open_page, served):
    page = await opened(open_page, served)
    await page.locator("#error-kind").select_option("rate_limit")
    codes = await page.locator(".error").evaluate_all("rows => rows.map(row => row.dataset.code)")
    assert set(codes) == {code for code, row in TABLE.items() if row.kind == "rate_limit"}
    await page.locator("#error-words").fill("no such code at all")
    assert await page.locator(".error").count() == 0


async def test_every_code_can_be_provoked_live(open_page, served):
    """Each one really happens: the answer that came carries the very code."""
    page = await opened(open_page, served)
    outcomes = await page.evaluate(
        """async (codes) => {
            const { ask } = await import("/page/assets/server.js");
            const found = {};
            for (const code of codes) {
                const happened = await ask(`provoke/${code}`, {}).catch((error) => ({ heard: error }));
                found[code] = happened.heard.code;
            }
            return found;
        }""",
        sorted(TABLE),
    )
    assert outcomes == {code: code for code in TABLE}


@pytest.mark.parametrize("code", ["RATE_LIMITED", "NOT_FOUND", "VALIDATION_ERROR"])
async def test_what_was_provoked_is_shown_as_it_came(open_page, served, code):
    page = await opened(open_page, served, f"?code={code}")
    row = page.locator(f".error[data-code={code}]")
    await row.locator(".provoke-now").click()
    await row.locator(".happening .proof.good").wait_for()
    assert f"HTTP {TABLE[code].status}" in await row.locator(".happening").inner_text()
    assert "content-type" in await row.locator(".happening").inner_text()
