"""Codes in the source: whatever can be sent is a row of the table, so that every explanation knows it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from aerogram.codes import TABLE, WARNINGS, is_code
from structure.source import modules

PROBLEMS = {"Reply.failed": 0, "failed": 0, "Problem": 0, "Refused": 1}
NOTICES = {"Notice": 1, "Notice.of": 0}


def codes_in(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The codes that a module writes down as a word, with what they are the code of."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _codes_of_call(node)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(one, ast.Name) and one.id == "code" for one in targets):
                yield from (("either", word) for word in _words(node.value))


def _codes_of_call(call: ast.Call) -> Iterator[tuple[str, str]]:
    name = ast.unparse(call.func)
    kind = "notice" if name in NOTICES else "problem"
    place = {**PROBLEMS, **NOTICES}.get(name)
    given = [one.value for one in call.keywords if one.arg == "code"]
    given += call.args[place : place + 1] if place is not None else []
    yield from ((kind, word) for one in given for word in _words(one))


def _words(node: ast.expr | None) -> Iterator[str]:
    """The texts that a value can be: a word, or one of several."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and is_code(node.value):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _words(node.body)
        yield from _words(node.orelse)


@cache
def found() -> list[tuple[str, str, str]]:
    """What each code is the code of, the code, and the module that sends it."""
    return sorted({(*one, name) for name, module in modules().items() for one in codes_in(module.tree)})


def test_a_code_that_can_be_sent_is_in_the_table():
    tables = {"notice": {*WARNINGS}, "problem": {*TABLE}, "either": {*WARNINGS, *TABLE}}
    assert [one for one in found() if one[1] not in tables[one[0]]] == []


def test_codes_are_found_where_they_are_written():
    kinds = [kind for kind, _, _ in found()]
    assert kinds.count("problem") > 10 and kinds.count("notice") > 10
    assert ("notice", "CONTROL_IGNORED", "aerogram.answer") in found()
