"""A real Chromium and a real server for the page: the sample documents, and beside them some that mean harm."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import pytest_asyncio

from node_packages import node_and_package
from serving import SAMPLES, Served, serving

AXE = "axe-core", "4.14.0"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

HOSTILE = """# Parlour tricks

The parlour trick is <script>window.harmed = "script"</script> and
<img src=x onerror="window.harmed = 'image'"> and
<svg onload="window.harmed = 'svg'"><script>window.harmed = 1</script></svg> and
<a href="javascript:window.harmed = 'link'">a parlour link</a> and
<iframe srcdoc="<script>parent.harmed = 2</script>"> and <style>body { display: none }</style> and
{{constructor.constructor('window.harmed = 3')()}} "onmouseover="window.harmed=4
"""
SCRIPTS = """# Scripts of the parlour

The Hebrew parlour: שלום עולם (123) שלום. The Arabic parlour: مرحبا بالعالم.
The combining parlour: Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢ L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́, é as e\u0301, नमस्ते, 👩‍👩‍👧‍👦.
"""
TOWERS = f"""# Towers of the parlour

The towering parlour: Z{(chr(0x351) + chr(0x36B)) * 400}algo.
"""


@dataclass
class Watched:
    """What a page did that it should not have done."""

    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)


def find_browser() -> str | None:
    """A Chromium: the one without windows if there is one, which opens a page with two thirds of the work."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="session")
def chromium() -> str:
    """Where Chromium is."""
    program = find_browser()
    if program is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium-headless-shell)")
    pytest.importorskip("playwright", reason="playwright is not installed")
    return program


@pytest.fixture(scope="session")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The samples, and documents full of markup, script, and writing from right to left."""
    folder = tmp_path_factory.mktemp("documents")
    shutil.copytree(SAMPLES, folder, dirs_exist_ok=True)
    (folder / "hostile").mkdir()
    (folder / "hostile" / "tricks.md").write_text(HOSTILE, encoding="utf-8")
    (folder / "hostile" / "scripts.md").write_text(SCRIPTS, encoding="utf-8")
    (folder / "hostile" / "towers.md").write_text(TOWERS, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def served(chromium: str, documents: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all tests of a worker."""
    patient = ("--timeout", "170")  # what takes long on a busy machine is waited for, as the browser does
    with serving(tmp_path_factory.mktemp("served") / "index", *patient, documents=documents) as server:
        yield server


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(chromium: str) -> AsyncIterator:
    """One browser for all tests of a worker."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(executable_path=chromium, args=FLAGS, timeout=120_000)
        yield launched
        await launched.close()


@pytest_asyncio.fixture(loop_scope="session")
async def open_page(browser) -> AsyncIterator:
    """Opens pages; in the end none has thrown, run into its own policy, or called another host."""
    opened = []

    async def opening(address: str, *, is_innocent: bool = True, **options):
        # what moves is drawn again and again
        usual = {"viewport": {"width": 1280, "height": 900}, "locale": "en-GB", "reduced_motion": "reduce"}
        context = await browser.new_context(**{**usual, **options})
        page = await context.new_page()
        watched = _watch(page)
        opened.append((context, watched if is_innocent else Watched()))
        page.set_default_timeout(180_000)
        await page.goto(address)
        return page

    yield opening
    for context, _ in opened:
        await context.close()
    for _, watched in opened:
        assert watched == Watched()


@pytest_asyncio.fixture(loop_scope="session")
async def page(open_page, served: Served):
    """The first view, ready."""
    opened = await open_page(f"{served.address}/")
    await opened.locator(".record").first.wait_for()
    return opened


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, fetched once."""
    _, modules = node_and_package("axe", *AXE)
    return (modules / AXE[0] / "axe.min.js").read_text(encoding="utf-8")


async def held_back(page, where: str, words: str) -> asyncio.Queue:
    """From now on, answers to requests with these words are held back; gives them as they are asked for."""
    held = asyncio.Queue()

    async def hold(route) -> None:
        if words in (route.request.post_data or ""):
            held.put_nowait(route)
        else:
            await route.continue_()

    await page.route(where, hold)
    return held


def _watch(page) -> Watched:
    """Note everything that must not happen on a page."""
    watched = Watched()

    def heard(message) -> None:
        # a request that finds no server, or that is refused, is what some tests are about
        if message.type == "error" and "Failed to load resource" not in message.text:
            watched.errors.append(message.text)

    def requested(request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts.hostname not in ("127.0.0.1", "localhost"):
            watched.foreign.append(request.url)

    page.on("console", heard)
    page.on("pageerror", lambda error: watched.errors.append(str(error)))
    page.on("request", requested)
    return watched
