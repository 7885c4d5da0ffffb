"""The ladder: every module has its rung, imports go down, nothing goes in circles."""

from __future__ import annotations

from structure.source import LADDER, STRANGERS, cycles, modules

LEVELS = {noun: level for level, rung in enumerate(LADDER) for noun in rung}


def edges():
    return [(one, modules()[target]) for one in modules().values() for target in sorted(one.imports())]


def test_every_module_has_a_rung():
    """A new noun takes its place in the table before it takes one in the source."""
    assert sorted({one.noun for one in modules().values()} - LEVELS.keys()) == []


def test_imports_go_down():
    upward = [
        f"{one.name} imports {target.name}"
        for one, target in edges()
        if one.noun != target.noun
        and {one.noun, target.noun} <= LEVELS.keys()  # a noun without a rung is the other test's business
        and LEVELS[one.noun] <= LEVELS[target.noun]
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
            if (one.noun in some and target.noun in others) or (one.noun in others and target.noun in some)
        ]
        assert forbidden == []


def test_imports_are_absolute():
    """A relative import would be invisible to the ladder."""
    assert [one.name for one in modules().values() if "\nfrom ." in one.text] == []


def test_a_circle_is_found():
    """The search for circles finds one when there is one."""
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c", "a"]]
    assert cycles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
