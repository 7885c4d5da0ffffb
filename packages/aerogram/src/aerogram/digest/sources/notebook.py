"""Notebooks: their cells in order, as Markdown: words as they stand, code between fences, and no output."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from aerogram.content.jsontext import loads
from aerogram.digest.limits import UnreadableSource
from aerogram.errors import ContractError

__all__ = ["VERSION", "extract"]

VERSION = "1"
_TICKS = re.compile("`{3,}")


def extract(text: str) -> str:
    """The words and the code of a notebook, ready to be normalised."""
    try:
        notebook = loads(text)
    except ContractError as error:
        raise UnreadableSource("broken", "it is not a notebook, because it is not JSON") from error
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise UnreadableSource("broken", "it is not a notebook, because it has no cells")
    return "\n\n".join(_cells(cells, _language(notebook)))


def _cells(cells: list[Any], language: str) -> Iterator[str]:
    for cell in cells:
        source = cell.get("source") if isinstance(cell, dict) else None
        words = "".join(map(str, source)) if isinstance(source, list) else str(source or "")
        if words.strip() and cell.get("cell_type") == "code":
            fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(words)), default=0))
            yield f"{fence}{language}\n{words}\n{fence}"
        elif words.strip():
            yield words


def _language(notebook: dict[str, Any]) -> str:
    about = notebook.get("metadata")
    kernel = about.get("kernelspec") if isinstance(about, dict) else None
    found = kernel.get("language") if isinstance(kernel, dict) else None
    return found if isinstance(found, str) and found.isalnum() else ""
