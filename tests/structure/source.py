"""The source as data: its modules, what they import, how long their functions are, and the ladder they stand on."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "packages").glob("*/src"))

LADDERS = {
    "aerogram": (
        ("clients", "errors", "state"),
        ("codes", "content", "tokens"),
        ("archive", "reply"),
        ("cursor", "dialects", "sanitize", "telemetry"),
        ("limits", "problems", "shape"),
        ("normalize",),
        ("channels", "digest"),
        ("contract",),
        ("answer", "documents"),
        ("_http", "_mcp", "aerogram"),
        ("client", "fastmcp", "mcp", "serving", "starlette"),
        ("gateway",),
        ("cli",),
        ("__main__", "fastapi"),
        ("testing",),
    ),
    "aerogram_page": (
        ("aerogram_page", "members", "paths", "work"),
        ("files", "live", "pieces", "violations"),
        ("calls", "opening"),
        ("host", "targets"),
        ("asks", "failures"),
        ("digests", "snippets", "sources"),
        ("checks", "fitting"),
        ("comparison",),
        ("answers",),
        ("routes",),
        ("inspection",),
        ("cli", "gateway"),
    ),
    "aerogram_knowledge": (
        ("asking", "documents", "filters"),
        ("embedders", "lexicon"),
        ("store",),
        ("access", "licences", "roots"),
        ("hosting", "vendors"),
        ("contents",),
        ("ingest", "search"),
        ("knowledge",),
        ("aerogram_knowledge", "maintenance"),
        ("server",),
        ("cli",),
    ),
}
"""The entries in the root of each package, lowest first. One imports from lower rungs only; neighbours do not know each
other. A package imports from those that stand above it in this table, in which the library comes first.

The package's own name is its front door.
"""

STRANGERS = (({"shape"}, {"channels", "dialects"}),)
"""Nouns that never import each other in either direction: shaping knows sizes by a function it is given."""


@dataclass(frozen=True)
class Module:
    """One file of the package."""

    name: str
    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def package(self) -> str:
        """The package that the module is in."""
        return self.name.partition(".")[0]

    @property
    def entry(self) -> str:
        """The entry in the root of its package that the module is, or lies below."""
        parts = self.name.split(".")
        return parts[1] if len(parts) > 1 else parts[0]

    def imports(self) -> set[str]:
        """The modules of the package that this one imports, anywhere in it; also those it loads by name."""
        return self._targets & modules().keys() - {self.name}

    @cached_property
    def _targets(self) -> set[str]:
        return {name for node in ast.walk(self.tree) for name in _targets(node)}

    def functions(self) -> Iterator[tuple[str, int]]:
        """The name and the number of lines of each function."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{self.name}.{node.name}", (node.end_lineno or node.lineno) - node.lineno + 1


@cache
def modules() -> dict[str, Module]:
    """Every module of the package by its dotted name."""
    found = {}
    for source in SOURCES:
        for path in sorted(source.rglob("*.py")):
            parts = path.relative_to(source).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name] = Module(name, path)
    return found


def tracked_files() -> list[Path]:
    """Every file that belongs to the project: committed, or about to be."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    return [path for name in listed.stdout.decode().split("\0") if name and (path := ROOT / name).is_file()]


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """One way round for each knot of modules that import each other."""
    found: list[list[str]] = []
    finished: set[str] = set()

    def visit(name: str, way: list[str]) -> None:
        if name in way:
            found.append([*way[way.index(name) :], name])
        elif name not in finished:
            for target in sorted(graph.get(name, ())):
                visit(target, [*way, name])
            finished.add(name)

    for name in sorted(graph):
        visit(name, [])
    return found


def _targets(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        below = [f"{node.module}.{alias.name}" for alias in node.names]
        submodules = [name for name in below if name in modules()]
        yield from submodules
        if len(submodules) < len(below):
            yield node.module
    elif isinstance(node, ast.ImportFrom):
        yield f"a relative import in line {node.lineno}"
    elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and node.args:
        yield from _named(node.args[0])


def _named(argument: ast.expr) -> Iterator[str]:
    """What `import_module` may load: the module of that name, or all whose names begin like an f-string does."""
    if isinstance(argument, ast.Constant):
        yield str(argument.value)
    elif isinstance(argument, ast.JoinedStr) and isinstance(argument.values[0], ast.Constant):
        begin = str(argument.values[0].value)
        yield from (name for name in modules() if name.startswith(begin) and begin.startswith("aerogram."))
