"""The files of the page: nothing in them could run a document's text, call elsewhere, or be lost."""

import re
from pathlib import Path

import pytest

ASSETS = Path(__file__).parents[3] / "packages/aerogram-page/src/aerogram_page/assets"
SCRIPTS = sorted(ASSETS.rglob("*.js"))
NAMESPACE = "http://www.w3.org/2000/svg"


def text_of(path):
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ASSETS)))
def test_a_script_says_what_it_is_and_never_makes_markup_of_text(path):
    text = text_of(path)
    assert text.startswith("/** ")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc", text)
    assert len(text.splitlines()) < 500
    assert max(map(len, text.splitlines())) <= 120 or path.parent.name == "texts"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ASSETS)))
def test_everything_that_is_imported_is_there_and_used(path):
    text = text_of(path)
    for names, target in re.findall(r'import (?:\{([^}]*)\}|\w+) from "(\.[^"]+)"', text):
        there = text_of((path.parent / target).resolve())
        for name in filter(None, map(str.strip, names.split(","))):
            assert re.search(
                rf"export (?:async )?(?:function\*?|class|const) {name}\b|export async function\* {name}", there
            )
            assert len(re.findall(rf"\b{name}\b", text)) > 1, f"{name} is not used"


def test_no_file_names_another_host():
    for path in ASSETS.rglob("*.*"):
        addresses = set(re.findall(r"https?://[^\s\"'<>)]+", text_of(path))) - {NAMESPACE}
        assert not addresses, path.name


def test_the_document_has_no_script_or_style_of_its_own():
    document = text_of(ASSETS / "index.html")
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", document)
    for reference in re.findall(r'(?:href|src)="page/assets/([^"]+)"', document):
        assert (ASSETS / reference).is_file()


def test_every_style_belongs_to_something():
    """A class that no script and no document mentions has been forgotten."""
    spoken = "".join(map(text_of, [*SCRIPTS, ASSETS / "index.html"]))
    made = {"differs-moved", "differs-only", "boolean"}  # put together from kinds of differences and of values
    for path in ASSETS.rglob("*.css"):
        for name in set(re.findall(r"\.([a-z][\w-]*)(?=[^{}]*\{)", re.sub(r"/\*.*?\*/", "", text_of(path)))) - made:
            stem = re.sub(r"-\w+$", "-", name)
            assert re.search(rf"[\"'` ]{re.escape(name)}\b", spoken) or f"{stem}$" in spoken, name
