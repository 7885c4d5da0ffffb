"""The requirements themselves: every promise has a test that exists, or is visibly open."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache

import pytest

from contracts.requirement_rows import DOCUMENTS, PAGE, PARTS, ROOT, page, requirements

IDENTIFIER = re.compile(r"(RV2|RVG|STD|KNW|NRM|DIG)-[A-Z]+-\d{3}")
NODE = re.compile(r"(?P<file>tests/[\w/]+\.py)::(?P<name>\w+(::\w+)?)(\[(?P<row>[\w.-]+)\])?")
proven = [row for row in requirements() if not row.is_open]


@cache
def functions_of(file: str) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    """Return the test functions of a file, those in classes under `Class::name`."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    found: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
    for node in tree.body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        owner = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        functions = [item for item in inside if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)]
        found |= {owner + item.name: item for item in functions if item.name.startswith("test_")}
    return found


def complaint(test: str | None) -> str | None:
    """Say what is wrong with a test that a row names, if anything is."""
    node = NODE.fullmatch(test or "")
    if node is None:
        return f"{test!r} is not a test id"
    if not (ROOT / node["file"]).exists():
        return f"there is no file {node['file']}"
    function = functions_of(node["file"]).get(node["name"])
    if function is None:
        return f"there is no test {node['name']} in {node['file']}"
    decorators = [ast.unparse(decorator) for decorator in function.decorator_list]
    if any("skip" in text or "xfail" in text or text == "pytest.mark.campaign" for text in decorators):
        return f"{node['name']} does not run"
    return None if node["row"] is None else _complaint_about_row(node["row"], decorators)


def _complaint_about_row(identifier: str, decorators: list[str]) -> str | None:
    """A parameter is named only where the test is driven by rows, so that the name can be checked."""
    prefixes = [found[1] for text in decorators if (found := re.match(r"rows\('([^']+)'", text))]
    known = any(row.id == identifier for row in requirements())
    return None if known and any(map(identifier.startswith, prefixes)) else f"it is not driven by the row {identifier}"


def test_every_requirement_has_a_test_that_exists_or_is_open() -> None:
    """A promise without a proof cannot go unnoticed."""
    named = [(row.id, test) for row in proven for test in (row.test, row.wire) if test is not None or test is row.test]
    complaints = [f"{name}: {text}" for name, test in named if (text := complaint(test))]
    assert not complaints, "\n".join(complaints)


def test_every_open_requirement_names_the_part_that_will_keep_it() -> None:
    """Open rows name one of the known parts, and proven rows none."""
    strays = [row.id for row in requirements() if (row.part in PARTS) != row.is_open or (row.part and not row.is_open)]
    assert not strays


def test_ids_are_well_formed_and_do_not_repeat() -> None:
    """An id points at one promise."""
    assert [row.id for row in requirements() if not IDENTIFIER.fullmatch(row.id)] == []
    assert [name for name, times in Counter(row.id for row in requirements()).items() if times > 1] == []


def test_every_promise_is_one_sentence_from_a_known_document() -> None:
    """A row says what is promised, once, and where."""
    for row in requirements():
        assert row.document in DOCUMENTS and row.also in (None, *DOCUMENTS), row.id
        assert re.fullmatch(r"[A-Z_a-z].*\.", row.promise) and ". " not in row.promise, row.id


def test_no_two_rows_promise_the_same() -> None:
    """Two rows with one sentence would count one promise twice."""
    sentences = Counter((row.document, row.promise) for row in requirements())
    assert [sentence for sentence, times in sentences.items() if times > 1] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_document_has_requirements(document: str) -> None:
    """No document is forgotten."""
    assert sum(row.document == document for row in requirements()) >= 20


def test_the_page_says_what_is_proven_and_what_is_open() -> None:
    """The counts are in the documentation, and are those of the rows."""
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python tests/contracts/requirement_rows.py"


def test_a_missing_test_is_noticed() -> None:
    """The check above can fail: a row that names a test that does not exist is complained about."""
    for bad in ("tests/contracts/test_requirements.py::test_that_is_not_there", "tests/nowhere.py::test_x", "soon", ""):
        assert complaint(bad)


def test_a_proof_on_the_wire_is_one_of_the_matrix() -> None:
    """The second test of a row asks real servers of every framework."""
    assert all(row.wire is None or row.wire.startswith("tests/wire/") for row in requirements())
