"""The tree that is checked: its source packages, its data files, its requirements, and what they hash to.

The folders of packages are found by patterns, so that one package under `src` and several under `packages/*/src` are
read in the same way.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PACKAGES = ("src/*", "packages/*/src/*")
DATA = {".json", ".toml", ".ts"}
MOST_DATA = 200_000
OPEN = "open"
NOT_COLUMNS = {"id", "document", "promise", "test", "wire", "part", "also", "ruling", "feature"}


@dataclass(frozen=True)
class Requirement:
    """One promise, the test that proves it, the further columns of its row, and where its feature is, if it says so.

    A feature is `module:owner`, or `module:owner:text` for the places in it that are about a text.
    """

    id: str
    promise: str
    test: str
    columns: Mapping[str, Any]
    features: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """The file that the test is in."""
        return self.test.partition("::")[0]


@dataclass(frozen=True)
class Tree:
    """A working tree with sources, tests and requirements."""

    root: Path
    patterns: tuple[str, ...] = PACKAGES

    @cached_property
    def packages(self) -> list[Path]:
        """The folders of the packages."""
        found = (path for pattern in self.patterns for path in sorted(self.root.glob(pattern)))
        return [path for path in found if path.is_dir() and any(path.rglob("*.py"))]

    @cached_property
    def modules(self) -> dict[str, str]:
        """The name of each module by its path from the root."""
        found = ((path, package.parent) for package in self.packages for path in sorted(package.rglob("*.py")))
        return {self.relative(path): _module_name(path.relative_to(parent)) for path, parent in found}

    @cached_property
    def data(self) -> list[str]:
        """The paths of the data files that are short enough to change."""
        found = (path for package in self.packages for path in sorted(package.rglob("*")))
        short = (path for path in found if path.suffix in DATA and path.stat().st_size < MOST_DATA)
        return [self.relative(path) for path in short]

    @cached_property
    def digest(self) -> str:
        """What the sources and their data hash to."""
        return self.hash([*self.modules, *self.data])

    @cached_property
    def requirements(self) -> list[Requirement]:
        """The rows that name a test."""
        folder = self.root / "tests" / "contracts" / "requirements"
        tables = (tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.toml")))
        rows = (row for table in tables for row in table["requirement"] if row["test"] != OPEN)
        return [_requirement(row) for row in rows]

    def hash(self, paths: Iterable[str]) -> str:
        """Return what some files hash to, by name and content."""
        total = hashlib.sha256()
        for path in paths:
            total.update(f"{path}\0".encode() + (self.root / path).read_bytes() + b"\0")
        return total.hexdigest()[:16]

    @cached_property
    def test_hashes(self) -> dict[str, str]:
        """What the sources, a test file and all that tests share hash to, by test file."""
        files = sorted((self.root / "tests").rglob("*.py"))
        shared = [self.relative(path) for path in files if not path.name.startswith("test_")]
        common = self.digest + self.hash(shared)
        return {file: common + self.hash([file]) for file in {one.file for one in self.requirements}}

    def text(self, path: str) -> str:
        """Return the text of a file."""
        return (self.root / path).read_text(encoding="utf-8")

    def relative(self, path: Path) -> str:
        """Return a path from the root."""
        return path.relative_to(self.root).as_posix()


def _module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _requirement(row: dict[str, Any]) -> Requirement:
    columns = {name: value for name, value in row.items() if name not in NOT_COLUMNS}
    return Requirement(row["id"], row["promise"], row["test"], columns, tuple(row.get("feature", ())))
