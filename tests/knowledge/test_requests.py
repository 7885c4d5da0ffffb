"""What a search takes: an integer is an integer, and what may be left out may be left out for type checkers too."""

import ast
from pathlib import Path

import pytest
from pydantic import ValidationError

import aerogram
from aerogram.dialects.knowledge_v1 import SearchRequest


@pytest.mark.parametrize("page_size", ["10", True, 10.0, None, [10]])
def test_a_page_size_that_is_no_integer_is_refused(page_size):
    with pytest.raises(ValidationError):
        SearchRequest.model_validate({"query": "x", "page_size": page_size})


def test_a_page_size_that_is_an_integer_is_taken_from_python_and_from_json():
    assert SearchRequest.model_validate({"query": "x", "page_size": 3}).page_size == 3
    assert SearchRequest.model_validate_json('{"query": "x", "page_size": 3}').page_size == 3


def test_every_default_of_a_model_is_named_because_type_checkers_see_no_other():
    unseen = [
        f"{path.name}:{call.lineno}"
        for path in Path(aerogram.__file__).parent.rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Field" and call.args
    ]
    assert unseen == []
