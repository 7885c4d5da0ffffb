"""An index without documents, and budgets that nobody would mean: the page says what is so."""

import pytest

from page.browser.test_search import choose_budget, settled
from serving import serving

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture(scope="module")
def empty(chromium, tmp_path_factory):
    folder = tmp_path_factory.mktemp("empty")
    (folder / "documents").mkdir()
    with serving(folder / "index", documents=folder / "documents") as server:
        yield server


async def test_an_index_without_documents_is_named_and_not_the_words_of_the_question(open_page, empty):
    page = await open_page(f"{empty.address}/#/search?q=webhooks")
    await page.get_by_text("The index has no documents yet").wait_for()
    await page.get_by_text("There are no items, so none is missing.").first.wait_for()


@pytest.mark.parametrize(("written", "meant"), [("1500.4", "1500"), ("99999999", "none")])
async def test_a_budget_is_one_whole_number_wherever_it_stands(open_page, served, written, meant):
    page = await open_page(f"{served.address}/#/search?q=token&budget={written}")
    await page.locator(".record").first.wait_for()
    await settled(page)
    await page.wait_for_function("budget => location.hash.includes(`budget=${budget}`)", arg=meant)
    await choose_budget(page, 1200)
    assert "budget=1200" in page.url
