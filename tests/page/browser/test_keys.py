"""Keys: a server that wants one is asked with one, and its owner is known by a token."""

import re

import pytest

from programs import run_program
from serving import clean_environment, serving

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return tmp_path_factory.mktemp("locked") / "index"


def make_key(index, name):
    made = run_program(["keys", "create", name], text=True, check=True, env=clean_environment(index))
    return re.search(r"\S{24,}", made.stdout)[0]


@pytest.fixture(scope="module")
def locked(chromium, documents, index):
    """A server that wants keys, one of its keys, and the address that it prints for its owner."""
    key = make_key(index, "reader")
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


async def test_no_link_of_the_page_leads_to_what_needs_a_key(open_page, locked, served):
    address, key, _ = locked
    page = await open_page(f"{address}/#/search?q=webhooks")
    await page.locator("#key").fill(key)
    await page.get_by_role("button", name="Use this key").click()
    await page.locator(".record").first.wait_for()
    assert await page.locator("#colophon a").count() == 0
    page = await open_page(f"{served.address}/#/search?q=webhooks")
    await page.locator(".record").first.wait_for()
    assert await page.locator("#colophon a").count() == 2


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


@pytest.mark.parametrize("wrong", ["schlüssel…", "a" * 100_000], ids=["no header", "too long"])
async def test_what_no_request_can_carry_is_a_wrong_key_and_no_server_that_is_away(open_page, locked, wrong):
    address, key, _ = locked
    page = await open_page(f"{address}/")
    await page.locator("#key").fill(wrong)
    await page.get_by_role("button", name="Use this key").click()
    await page.get_by_role("alert").filter(has_text="did not accept").wait_for()
    await page.reload()
    await page.locator("#key").fill(key)
    await page.get_by_role("button", name="Use this key").click()
    await page.locator(".record").first.wait_for()


async def test_an_address_with_a_token_that_nobody_can_send_opens_the_page_all_the_same(open_page, served):
    page = await open_page(f"{served.address}/#owner=%E2%80%A6")
    await page.locator(".record").first.wait_for()


async def test_the_owners_address_is_taken_by_a_page_that_is_open_already(open_page, locked):
    address, key, owners = locked
    page = await open_page(f"{address}/#/live")
    await page.locator("#key").fill(key)
    await page.get_by_role("button", name="Use this key").click()
    await page.get_by_text("for the owner of the server").wait_for()
    await page.goto(owners)
    await page.locator(".record").first.wait_for()
    assert "owner=" not in page.url
    await page.get_by_role("link", name="Live").click()
    await page.locator("#live-try").wait_for()


async def test_a_key_that_ends_while_the_page_is_open_makes_room_for_another(open_page, locked, index):
    address, key, _ = locked
    page = await open_page(f"{address}/#/search?q=webhooks")
    await page.locator("#key").fill(make_key(index, "visitor"))
    await page.get_by_role("button", name="Use this key").click()
    await page.locator(".record").first.wait_for()
    run_program(["keys", "revoke", "visitor"], text=True, check=True, env=clean_environment(index))
    await page.locator("#question").fill("pagination")
    await page.wait_for_url("**q=pagination**")  # the chart of the answer before may be refused earlier
    await page.get_by_role("button", name="Use another key").filter(visible=True).first.click()
    await page.locator("#key").fill(key)
    await page.get_by_role("button", name="Use this key").click()
    await page.locator(".record").first.wait_for()
    assert "q=pagination" in page.url
