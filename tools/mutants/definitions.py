"""Definitions: which module-level tables, models and constants a test uses, found by the names that lead to them.

A statement that runs at import runs for every test that imports its module, so its line says nothing. What tells is
whether the test, or a function that it executes, names what the statement defines, directly or through another
definition: a model through its base class, a field through the alias of its type.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from mutants.sources import Requirement, Tree

Definition = tuple[str, str]
"""The path of a module and a name that it defines."""


@dataclass
class Names:
    """The definitions of one module, what its functions name, and the names that it imports."""

    definitions: dict[str, set[str]] = field(default_factory=dict)
    functions: list[tuple[int, int, set[str]]] = field(default_factory=list)


class Definitions:
    """Every module-level definition of a tree, by name."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    @cached_property
    def _modules(self) -> dict[str, Names]:
        return {path: names_of(ast.parse(self.tree.text(path))) for path in self.tree.modules}

    @cached_property
    def _places(self) -> dict[str, list[str]]:
        """The modules that define a name."""
        places: dict[str, list[str]] = {}
        for path, names in self._modules.items():
            for name in names.definitions:
                places.setdefault(name, []).append(path)
        return places

    def used(self, lines: Mapping[str, Iterable[int]], words: Iterable[str]) -> set[Definition]:
        """Return the definitions that executed functions or some words lead to."""
        found: set[Definition] = set()
        waiting = [(path, name) for name in words for path in self._places.get(name, [])]
        for path, numbers in lines.items():
            executed = set(numbers)
            for first, last, names in self._modules[path].functions:
                if not executed.isdisjoint(range(first, last + 1)):
                    waiting += self._resolve(path, names)
        while waiting:
            definition = waiting.pop()
            if definition not in found:
                found.add(definition)
                path, name = definition
                waiting += self._resolve(path, self._modules[path].definitions[name])
        return found

    def _resolve(self, path: str, names: Iterable[str]) -> list[Definition]:
        own = self._modules[path].definitions
        return [(place, name) for name in names for place in ([path] if name in own else self._places.get(name, []))]


def names_of(tree: ast.Module) -> Names:
    """Return what a module defines and what its functions name."""
    found = Names()
    for statement in tree.body:
        _add(found, statement)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.functions.append((node.body[0].lineno, node.end_lineno or node.lineno, _named_in(node)))
    return found


def words_of_test(tree: Tree, requirement: Requirement) -> set[str]:
    """Return the names in a test function and in the functions and constants of its file that it uses."""
    module = ast.parse(tree.text(requirement.file))
    function = requirement.test.partition("[")[0].rpartition("::")[2]
    known = _named_by_each(module)
    found: set[str] = set()
    waiting = [function]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += known.get(name, ())
    return found


def _named_by_each(module: ast.Module) -> dict[str, set[str]]:
    known: dict[str, set[str]] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            fixtures = {one.arg for one in getattr(node, "args", ast.arguments([], [], None, [], [], None, [])).args}
            known[node.name] = _named_in(node) | fixtures
    for statement in module.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            known |= {one.id: _named_in(statement) for one in targets if isinstance(one, ast.Name)}
    return known


def _add(found: Names, statement: ast.stmt) -> None:
    match statement:
        case ast.ClassDef(name=name):
            found.definitions[name] = _named_at_import(statement)
        case ast.Assign(targets=targets):
            for one in targets:
                if isinstance(one, ast.Name):
                    found.definitions[one.id] = _named_in(statement)
        case ast.AnnAssign(target=ast.Name(id=name)):
            found.definitions[name] = _named_in(statement)
        case ast.If() | ast.Try():
            for one in ast.iter_child_nodes(statement):
                if isinstance(one, ast.stmt):
                    _add(found, one)


def _named_at_import(statement: ast.ClassDef) -> set[str]:
    """Return what a class names outside of its methods."""
    outside = [one for one in statement.body if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    return set().union(*map(_named_in, [*statement.bases, *statement.keywords, *outside]))


def _named_in(node: ast.AST) -> set[str]:
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return names | {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute) and not one.attr.islower()}
