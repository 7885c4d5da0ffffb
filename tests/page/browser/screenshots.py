"""Pictures of the page: every view at two sizes, light and dark.

python tests/page/browser/screenshots.py FOLDER     all of them
python tests/page/browser/screenshots.py --docs     those of the documentation, put where they belong
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests"))

from PIL import Image  # noqa: E402
from playwright.sync_api import Browser, Page, sync_playwright  # noqa: E402

from page.browser.conftest import find_browser  # noqa: E402
from serving import serving  # noqa: E402

SIZES = {"desktop": (1280, 900), "phone": (360, 740)}
QUESTION = "q=How+long+is+a+token+valid%3F"
VIEWS = {
    "search": (f"search?{QUESTION}&budget=3600", ".chart .now"),
    "dialects": (f"dialects?{QUESTION}", ".sheet >> nth=5"),
    "digest": (f"digest?file=security/jwt-guide.md&{QUESTION}", ".document mark"),
    "vendors": ("vendors?name=Kestrelgate+Inc.&mode=preview", ".graph .node.at"),
    "errors": ("errors?code=RATE_LIMITED", ".error[open] .tree"),
    "live": ("live", "#live-try"),
    "inspect": ("inspect", "#paste"),
}


class Picture(NamedTuple):
    """One picture of a view."""

    view: str
    size: str
    scheme: str

    @property
    def name(self) -> str:
        return f"page-{self.view}-{self.size}-{self.scheme}.png"


DOCS = [
    Picture("search", "desktop", "light"),
    Picture("dialects", "desktop", "dark"),
    Picture("vendors", "desktop", "light"),
]


def bring_back(page: Page) -> None:
    """One piece is back, with its proof."""
    page.locator(".left-out .bring").first.click()
    page.locator(".left-out .proof").wait_for()


def send_one(page: Page) -> None:
    """One reply has gone by."""
    page.locator("#live-try").click()
    page.locator(".live tbody tr").first.wait_for()


def open_example(page: Page) -> None:
    """A reply is open."""
    page.get_by_text("an example").click()
    page.locator("#inspect-now").click()
    page.locator(".figure-sent").wait_for()


STEPS: dict[str, Callable[[Page], None]] = {"search": bring_back, "live": send_one, "inspect": open_example}


def take(browser: Browser, address: str, picture: Picture) -> bytes:
    """The picture, as small as PNG makes it."""
    width, height = SIZES[picture.size]
    page = browser.new_page(
        viewport={"width": width, "height": height},
        color_scheme=picture.scheme,
        locale="en-GB",
        reduced_motion="reduce",
    )
    route, ready = VIEWS[picture.view]
    page.goto(f"{address}/#/{route}")
    page.locator(ready).first.wait_for()
    if picture.view in STEPS:
        STEPS[picture.view](page)
    page.mouse.move(1, 1)
    page.evaluate("scrollTo(0, 0)")
    taken = Image.open(BytesIO(page.screenshot()))
    page.close()
    packed = BytesIO()
    taken.convert("RGB").save(packed, "PNG", optimize=True)
    return packed.getvalue()


def pictures(arguments: list[str]) -> Iterator[tuple[Path, Picture]]:
    """Which pictures to take, and where they go."""
    if arguments == ["--docs"]:
        for one in DOCS:
            yield ROOT / "docs" / "images" / f"page-{one.view}.png", one
        return
    for one in (Picture(view, size, scheme) for view in VIEWS for size in SIZES for scheme in ("light", "dark")):
        yield Path(arguments[0]) / one.name, one


def main(arguments: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "index") as server, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=find_browser(), args=["--no-sandbox", "--disable-gpu"])
        for path, picture in pictures(arguments):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(take(browser, server.address, picture))
            print(path, path.stat().st_size)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
