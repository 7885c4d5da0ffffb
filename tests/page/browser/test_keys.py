"""Keys: a server that wants one is asked with one, and its owner is known by a token."""

import re

import pytest

from programs import run_program
from serving import clean_environment, serving

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture(scope="module")
def locked(chromium, documents, tmp_path_factory):
    """A server that wants keys, one of its keys, and the address that it prints for its owner."""
    index = tmp_path_factory.mktemp("locked") / "index"
    made = run_program(["keys", "create", "reader"], text=True, check=True, env=clean_environment(index))
    key = re.search(r"\S{24,}", made.stdout)[0]
    with serving(index, "--auth", "keys", documents=documents / "apis") as server:
        owners = next(line.split()[1] for line in server.said if line.strip().startswith("page"))
        yield server.address, key, owners


async def test_the_page_asks_for_a_key_and_goes_on_with_it(open_page, locked):
    address, key, _ = locked
    page = await open_page(f"{address}/#/search?q=webhooks")
    await page.get_by_text("aerogram keys create NAME").wait_for()
    await page.locator("#key").fill("this-is-not-a-key-of-this-server")
    await page.get_by_role("button", name="Use this key").click()
    await page.get_by_role("alert").filter(has_text="did not accept").wait_for()
    await page.locator("#key").fill(key)
    await page.get_by_role("button", name="Use this key").click()
    await page.locator(".record").first.wait_for()
    assert key not in page.url


async def test_a_key_is_not_enough_for_the_live_view(open_page, locked):
    address, key, _ = locked
    page = await open_page(f"{address}/#/live")
    await page.locator("#key").fill(key)
    await page.get_by_role("button", name="Use this key").click()
    await page.get_by_text("for the owner of the server").wait_for()


async def test_the_owner_comes_with_a_token_that_leaves_the_address(open_page, locked):
    _, key, owners = locked
    page = await open_page(owners)
    await page.locator("#key").or_(page.locator(".record")).first.wait_for()
    assert "owner=" not in page.url
    if await page.locator("#key").count():
        await page.locator("#key").fill(key)
        await page.get_by_role("button", name="Use this key").click()
    await page.locator(".record").first.wait_for()
    await page.get_by_role("link", name="Live").click()
    await page.locator("#live-try").wait_for()
