"""Three distributions: one version, one licence, and the library needs neither of the others."""

from __future__ import annotations

import subprocess

import pytest
from packaging.requirements import Requirement

import aerogram
from installations import (
    PROJECTS,
    ROOT,
    distributions,
    environment_of,
    gather,
    import_name,
    python_command,
    requirements,
)
from structure.source import modules

ABOVE = {"aerogram": {"aerogram-page", "aerogram-knowledge"}, "aerogram-page": {"aerogram-knowledge"}}
"""What a distribution never imports."""


def extras_of_the_library() -> list[str]:
    """Those that bring none of the other distributions."""
    extras = PROJECTS["aerogram"]["optional-dependencies"].items()
    return [name for name, lines in extras if not any(Requirement(line).name in PROJECTS for line in lines)]


INSTALLED = {"aerogram": f"aerogram[{','.join(extras_of_the_library())}]", "aerogram-page": "aerogram-page"}
"""The most that can be installed of a distribution without those above it."""


def modules_of(distribution: str) -> list[str]:
    return [name for name in modules() if name.partition(".")[0] == import_name(distribution)]


def test_all_carry_one_version():
    assert {name: project["version"] for name, project in PROJECTS.items()} == dict.fromkeys(
        ("aerogram", "aerogram-knowledge", "aerogram-page"), aerogram.__version__
    )


@pytest.mark.parametrize("name", PROJECTS)
def test_each_pins_the_others_to_its_version(name):
    """An upgrade of one is an upgrade of all: they share what is private between them."""
    others = [one for one in requirements(PROJECTS[name]) if one.name in PROJECTS.keys() - {name}]
    assert others
    assert {str(one.specifier) for one in others} == {f"=={aerogram.__version__}"}


@pytest.mark.parametrize("name", PROJECTS)
def test_each_carries_the_licence_of_the_whole(name):
    folder = ROOT / "packages" / name
    assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert (folder / "README.md").is_file()


@pytest.mark.parametrize("name", ABOVE)
def test_what_stands_above_is_imported_nowhere(name):
    """Imports inside functions, for type checkers and by name count like the others."""
    forbidden = {import_name(one) for one in ABOVE[name]}
    assert modules_of(name)
    assert [
        f"{one} imports {target}"
        for one in modules_of(name)
        for target in sorted(modules()[one].imports())
        if target.partition(".")[0] in forbidden
    ] == []


@pytest.mark.parametrize("name", ABOVE)
def test_every_module_can_be_imported_where_what_stands_above_is_not_installed(name, tmp_path):
    assert not distributions(INSTALLED[name]) & ABOVE[name]
    folder = gather(tmp_path, INSTALLED[name])
    missing = [import_name(one) for one in ABOVE[name]]
    program = f"""
from importlib import import_module
from importlib.util import find_spec
assert [name for name in {missing} if find_spec(name)] == []
for name in {modules_of(name)}:
    import_module(name)
"""
    done = subprocess.run(
        python_command("-c", program), env=environment_of(folder), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
