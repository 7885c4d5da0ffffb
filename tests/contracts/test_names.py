"""Whoever moves over imports the names of a document from one place."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent / "examples"
PLACES = {
    "guide": "aerogram.documents.response_v2",
    "schema": "aerogram.documents.response_v2",
    "knowledge": "aerogram.documents.knowledge_v1",
    "standard": "aerogram.documents.standard_v2",
    "normalize": "aerogram.documents.normalization",
}
OTHERS = {
    *("BaseModel", "Generic", "Literal", "List", "Optional", "TypeVar", "Union"),
    *("asdict", "dataclass", "resource", "tool"),
}
"""What the documents' code takes from Python, from pydantic, and of the decorators of a framework."""


def imported() -> list[tuple[str, str]]:
    """Each name that the code of a document imports or defines as a class, and the document's place."""
    found = set()
    for path in EXAMPLES.glob("*-code-*.txt"):
        place = PLACES[path.stem.partition("-")[0]]
        code = path.read_text(encoding="utf-8")
        for names in re.findall(r"^from [\w.]+ import (\([^)]*\)|.*)$", code, re.MULTILINE):
            found |= {(place, name) for name in re.findall(r"\w+", names)}
        if place.endswith("knowledge_v1"):
            found |= {(place, name) for name in re.findall(r"^class (\w+)", code, re.MULTILINE)}
            found |= {(place, name) for name in re.findall(r"^([A-Z]\w+) = ", code, re.MULTILINE)}
    return sorted(pair for pair in found if pair[1] not in OTHERS and len(pair[1]) > 1)


def test_there_are_names_to_import() -> None:
    """The code of the documents is read."""
    assert len(imported()) > 25


@pytest.mark.parametrize(("place", "name"), imported())
def test_a_name_in_the_code_of_a_document_comes_from_its_place(place: str, name: str) -> None:
    """One module for each document has them all."""
    assert getattr(importlib.import_module(place), name) is not None


@pytest.mark.parametrize("place", sorted(set(PLACES.values())))
def test_a_place_has_what_it_lists(place: str) -> None:
    """All that is listed is there, and nothing else is public but the types of the SDK."""
    module = importlib.import_module(place)
    assert all(hasattr(module, name) for name in module.__all__)
    assert module.__all__ == sorted(module.__all__, key=lambda one: (not one.isupper(), not one[0].isupper(), one))
    assert ast.get_docstring(ast.parse(Path(module.__file__).read_text(encoding="utf-8")))
    with pytest.raises(AttributeError):
        _ = module.nothing
