"""Installations: folders with what pip would install for some requirements, and nothing else; and Python in them."""

from __future__ import annotations

import os
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECTS: dict[str, dict[str, Any]] = {
    path.parent.name: tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    for path in sorted((ROOT / "packages").glob("*/pyproject.toml"))
}
"""What the `pyproject.toml` of each distribution says, by the name of its folder."""


def import_name(distribution: str) -> str:
    return distribution.replace("-", "_")


def package_folder(distribution: str) -> Path:
    """Where the source of one of our distributions is."""
    return ROOT / "packages" / distribution / "src" / import_name(distribution)


def requirements(project: dict[str, Any]) -> list[Requirement]:
    """All that a project requires, with any of its extras."""
    extras = project.get("optional-dependencies", {}).values()
    return [Requirement(line) for lines in (project["dependencies"], *extras) for line in lines]


def distributions(*requirements: str) -> set[str]:
    """The names of all distributions that these need, themselves included."""
    found: set[tuple[str, str]] = set()
    waiting = list(map(Requirement, requirements))
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        for extra in {"", *wanted.extras}:
            if (name, extra) not in found:
                found.add((name, extra))
                needed = map(Requirement, metadata.requires(name) or ())
                waiting += [one for one in needed if one.marker is None or one.marker.evaluate({"extra": extra})]
    return {name for name, _ in found}


def gather(folder: Path, *requirements: str) -> Path:
    """Fill a folder with these and what they need: the packages, and the metadata that entry points are found by."""
    for name in distributions(*requirements):
        for file in metadata.files(name) or ():
            top = file.parts[0]
            if top != "..":
                _link(folder / top, Path(str(file.locate())).parents[len(file.parts) - 1] / top)
        if name in PROJECTS:  # installed as a pointer to its source
            _link(folder / import_name(name), package_folder(name))
    return folder


def _link(place: Path, target: Path) -> None:
    if not place.exists():
        place.symlink_to(target)


def python_command(*arguments: str) -> list[str]:
    """Python without the packages of its own environment."""
    return [sys.executable, "-S", *arguments]


def environment_of(folder: Path, **more: str) -> dict[str, str]:
    """The environment in which that Python has the packages of the folder alone."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AEROGRAM_")}
    return {**kept, "PYTHONPATH": str(folder), **more}
