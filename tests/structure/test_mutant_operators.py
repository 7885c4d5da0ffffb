"""The operators of the mutation check: each makes its change on a small source, and leaves alone what has no effect."""

from __future__ import annotations

import ast

import pytest

from mutants.operators import (
    BLUR,
    DELETE,
    DROP,
    LOOSEN,
    NEGATE,
    OPERATORS,
    REWORD,
    SHIFT,
    SKIP,
    mutants_of,
    mutants_of_data,
)
from structure.source import modules


def changed(text, operator):
    """What a source becomes by one operator, each mutant as a whole text."""
    return [one.apply(text) for one in mutants_of(text, "x.py") if one.operator == operator]


CASES = [
    (DELETE, "def f(a):\n    a.clear()\n    return a\n", "def f(a):\n    pass\n    return a\n"),
    (DELETE, "def f(a):\n    return g(a)\n", "def f(a):\n    return None\n"),
    (DELETE, "class M:\n    size: int = 1\n", "class M:\n    pass\n"),
    (DELETE, "def f(a):\n    if a:\n        raise ValueError\n", "def f(a):\n    pass\n"),
    (DELETE, "class M:\n    @check('x')\n    def f(self):\n        return 1\n", "class M:\n    pass\n"),
    (NEGATE, "def f(a):\n    if a:\n        return 1\n", "def f(a):\n    if not (a):\n        return 1\n"),
    (NEGATE, "def f(a):\n    return a == 2\n", "def f(a):\n    return a != 2\n"),
    (NEGATE, "x = [a for a in b if a]\n", "x = [a for a in b if (not (a))]\n"),
    (NEGATE, "def f(a):\n    return not a\n", "def f(a):\n    return bool(a)\n"),
    (SHIFT, "def f(a):\n    return a < 2\n", "def f(a):\n    return a <= 2\n"),
    (BLUR, "LIMIT = 2000\n", "LIMIT = 2001\n"),
    (BLUR, "def f(a=True):\n    return a\n", "def f(a=False):\n    return a\n"),
    (REWORD, "NAME = 'query'\n", "NAME = 'query~'\n"),
    (REWORD, "def f(a):\n    return f'{a} é'\n", "def f(a):\n    return (\"~\" + f'{a} é')\n"),
    (DROP, "T = {'a': 1, 'b': 2}\n", "T = {'b': 2}\n"),
    (DROP, "T = ('a', 'b')\n", "T = ('a',)\n"),
    (DROP, "T = {'a', 'b'}\n", "T = {'a'}\n"),
    (DROP, "K = Literal['a', 'b']\n", "K = Literal['b']\n"),
    (DROP, "x = f(1, a=2, b=3)\n", "x = f(1, b=3)\n"),
    (DROP, "class M:\n    size: int | None = f()\n", "class M:\n    size: int = f()\n"),
    (DROP, "x = {**(a or b), 'c': 1}\n", "x = {**(a or b)}\n"),
    (DROP, "def f(a, b):\n    return a and b\n", "def f(a, b):\n    return (b)\n"),
    (LOOSEN, "class M:\n    size: int\n", "class M:\n    size: int = None\n"),
    (LOOSEN, "class M:\n    size: int = Field(ge=0)\n", "class M:\n    size: int = Field(default=None, ge=0)\n"),
    (SKIP, "def f(a):\n    return sorted(a)\n", "def f(a):\n    return (a)\n"),
]


@pytest.mark.parametrize(("operator", "text", "expected"), CASES, ids=[f"{case[0]}: {case[1]!r}" for case in CASES])
def test_an_operator_makes_its_change(operator, text, expected):
    assert expected in changed(text, operator)


@pytest.mark.parametrize(
    "text",
    [
        '"""A docstring."""\n',
        "import os\n",
        "__all__ = ['a', 'b']\n",
        "LATER = {'Batch': 'aerogram.digest.batch'}\n",
        "if TYPE_CHECKING:\n    x = 1\n",
        "def f(a: Literal['a', 'b']) -> int | None:\n    return a\n",
        "def f(a):\n    log.info('said %s', 1)\n    return a\n",
        "@overload\ndef f(a=1):\n    return 1\n",
        "x = field(description='a text')\n",
    ],
)
def test_what_has_no_effect_is_left_alone(text):
    found = [one.about for one in mutants_of(text, "x.py")]
    assert [about for about in found if "description" not in about and about != "return a"] == []


def test_a_name_that_is_used_later_is_not_deleted():
    assert "def f(a):\n    pass\n    return b\n" not in changed("def f(a):\n    b = a\n    return b\n", DELETE)


def test_a_mutant_knows_where_it_stands():
    text = "class M:\n    size: int = 3\n\n    def f(self):\n        return self.size > 4\n"
    of_field, of_method = [one for one in mutants_of(text, "m.py") if one.operator == BLUR]
    assert (of_field.place.owner, of_field.place.defines) == ("M.size", "M")
    assert (of_method.place.owner, of_method.place.defines, of_method.line) == ("M.f", None, 5)


def test_a_table_in_a_data_file_loses_a_line_or_has_a_text_or_number_blurred():
    text = '# codes\n[[errors]]\nname = "GONE"\nstatus = 410\n\n[[errors]]\nname = "LÖST"\n'
    found = {(one.operator, one.apply(text)) for one in mutants_of_data(text, "codes.toml")}
    assert (DROP, text.replace('name = "GONE"', "")) in found
    assert (REWORD, text.replace("LÖST", "LÖST~")) in found
    assert (BLUR, text.replace("410", "411")) in found


def test_mutants_of_our_own_source_differ_from_it_and_parse():
    """A sample of every operator on a real module; all of them are parsed by the check itself."""
    text = modules()["aerogram.codes"].text
    found = mutants_of(text, "codes.py")
    assert {one.operator for one in found} >= set(OPERATORS) - {SHIFT}
    for one in found[::7]:
        assert ast.dump(ast.parse(one.apply(text))) != ast.dump(ast.parse(text))
