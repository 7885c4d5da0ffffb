"""The ladder: every module has its rung, imports go down, nothing goes in circles."""

from __future__ import annotations

from structure.source import LADDERS, STRANGERS, Module, cycles, modules

PACKAGES = list(LADDERS)
LEVELS = {
    (package, entry): level
    for package, ladder in LADDERS.items()
    for level, rung in enumerate(ladder)
    for entry in rung
}


def edges():
    return [(one, modules()[target]) for one in modules().values() for target in sorted(one.imports())]


def level(module: Module) -> tuple[int, int]:
    """The place of a module: its package's, then its entry's; one that has none stands below everything."""
    return PACKAGES.index(module.package), LEVELS.get((module.package, module.entry), -1)


def test_every_module_has_a_rung():
    """A new entry takes its place in the table before it takes one in the source, and leaves it when it goes."""
    assert sorted({(one.package, one.entry) for one in modules().values()} ^ LEVELS.keys()) == []


def test_imports_go_down():
    upward = [
        f"{one.name} imports {target.name}"
        for one, target in edges()
        if (one.package, one.entry) != (target.package, target.entry) and level(one) <= level(target)
    ]
    assert upward == []


def test_nothing_imports_in_a_circle():
    """Imports inside functions and imports by name count like the others."""
    assert cycles({name: one.imports() for name, one in modules().items()}) == []


def test_shaping_and_rendering_do_not_know_each_other():
    for some, others in STRANGERS:
        forbidden = [
            f"{one.name} imports {target.name}"
            for one, target in edges()
            if one.package == target.package == "aerogram"
            and ((one.entry in some and target.entry in others) or (one.entry in others and target.entry in some))
        ]
        assert forbidden == []


def test_imports_are_absolute():
    """A relative import would be invisible to the ladder."""
    assert [one.name for one in modules().values() if "\nfrom ." in one.text] == []


def test_a_circle_is_found():
    """The search for circles finds one when there is one."""
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c", "a"]]
    assert cycles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
