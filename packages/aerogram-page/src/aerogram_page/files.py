"""Files: the document of the page and its assets, out of the package; small, tagged, and never from another folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from aerogram.errors import NotFound

__all__ = ["POLICY", "Asset", "asset"]

DOCUMENT: Final = "index.html"
TYPES: Final[Mapping[str, str]] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)
"""What a browser lets the page do: nothing but what the page brings itself, and no text becomes script."""


class Asset(NamedTuple):
    """A file as it is sent."""

    content: bytes
    media_type: str
    tag: str


def asset(name: str) -> Asset:
    """The file of that name; its tag follows from its content."""
    found = _names().get(name)
    if found is None:
        raise NotFound("The page has no such file")
    content = found.read_bytes()
    return Asset(content, TYPES[PurePosixPath(name).suffix], _tag(content))


@cache
def _names() -> Mapping[str, Traversable]:
    """The files that the package has: no other name leads anywhere, whatever it is."""
    return dict(_files_in(files("aerogram_page") / "assets", ""))


def _files_in(folder: Traversable, above: str) -> Iterator[tuple[str, Traversable]]:
    for found in folder.iterdir():
        if found.is_dir():
            yield from _files_in(found, f"{above}{found.name}/")
        elif PurePosixPath(found.name).suffix in TYPES:
            yield above + found.name, found


@lru_cache(maxsize=256)
def _tag(content: bytes) -> str:
    return f'"{sha256(content).hexdigest()[:32]}"'
