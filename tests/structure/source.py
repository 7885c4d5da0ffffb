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

LADDER = (
    ("errors", "identity", "interrupt", "mint", "natives", "secrecy", "spelling", "state", "typescript"),
    ("bucket", "codes", "content", "cursor", "file_store", "hosts", "jsontext", "ledger", "redis_store", "tokens"),
    ("archive", "counters", "reply"),
    ("deprecation", "faults", "flags", "limits", "paged", "sanitize", "telemetry"),
    ("dialects", "digest", "normalize", "shape"),
    ("cache", "controls", "echo", "explain", "retrieval", "schemas", "wire"),
    ("call", "negotiation", "profile", "reading", "settings", "terminal"),
    ("caller", "contract"),
    ("pairing",),
    ("clerk", "defaults", "fastmcp_hearing", "following", "installation", "service"),
    ("aerogram", "fastmcp_keeping", "fastmcp_latecomers", "fastmcp_resources", "fastmcp_turn"),
    ("client", "fastmcp", "mcp", "starlette"),
    ("fastapi", "serving"),
    ("testing",),
    ("check", "gateway", "knowledge", "page"),
    ("server",),
    ("commands",),
    ("cli",),
    ("__main__",),
)
"""The nouns, lowest first. A noun imports from lower rungs only; neighbours on one rung do not know each other.

`aerogram` is the front door itself; `commands` is every module of that name, wherever it lies.
"""

STRANGERS = (({"shape"}, {"dialects", "wire"}),)
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
    def noun(self) -> str:
        """What the module belongs to on the ladder."""
        parts = self.name.split(".")
        if parts[-1] == "commands":
            return "commands"
        if parts[0] != "aerogram":
            return "server" if parts[1:2] == ["server"] else parts[0].removeprefix("aerogram_")
        return parts[1] if len(parts) > 1 else parts[0]

    def imports(self) -> set[str]:
        """The modules of the package that this one imports, anywhere in it; also those it loads by name."""
        found = {name for node in ast.walk(self.tree) for name in _targets(node)}
        return {name for name in found if name in modules()} - {self.name}

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
