"""Inputs: what is derived from a schema satisfies it, and what is spoiled does not."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, Field

from aerogram.testing.inputs import example_of, explain_mismatch, number_near, spoil_arguments


class Part(BaseModel):
    code: str = Field(min_length=12)
    share: float = Field(gt=0, lt=1)


class Order(BaseModel):
    number: int = Field(ge=7)
    debt: int = Field(le=0)
    kind: Part | None
    parts: list[Part] = Field(min_length=2)
    day: str = Field(json_schema_extra={"format": "date"})
    note: str | None = None


SCHEMAS = [
    Order.model_json_schema(),
    {"type": "integer", "multipleOf": 5, "minimum": 3},
    {"type": ["null", "boolean"]},
    {"enum": ["b", "a"]},
    {"const": 4},
    {"oneOf": [{"type": "null"}, {"type": "string", "maxLength": 3}]},
    {},
    True,
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: str(schema)[:40])
def test_an_example_satisfies_its_schema(schema):
    assert schema is True or explain_mismatch(schema, example_of(schema)) is None


def test_each_argument_is_spoiled_and_each_required_one_left_out():
    schema = Order.model_json_schema()
    good = example_of(schema)
    wrong = list(spoil_arguments(schema, good))
    assert [name for name, _ in wrong] == [*schema["required"], *schema["properties"]]
    assert all(explain_mismatch(schema, arguments) is not None for _, arguments in wrong)


def test_an_argument_that_may_be_anything_cannot_be_spoiled():
    assert list(spoil_arguments({"properties": {"any": {}}}, {})) == []


def test_a_mismatch_says_where_and_what():
    assert (
        explain_mismatch({"properties": {"a": {"type": "integer"}}}, {"a": "x"})
        == 'at /a: "x" is not of type "integer"'
    )
    assert "broken" in explain_mismatch({"type": "nothing"}, 1)


@pytest.mark.parametrize(
    ("schema", "wanted", "found"),
    [
        ({}, 67, 50),
        (None, 0, 1),
        ({"type": "integer", "minimum": 1, "maximum": 50}, 67, 50),
        ({"anyOf": [{"type": "integer", "minimum": 10, "maximum": 20}, {"type": "null"}]}, 67, 20),
        ({"type": "integer", "exclusiveMinimum": 10}, 3, 11),
        ({"type": "integer", "minimum": 100}, 3, 100),
        ({"enum": [10, 25]}, 20, 25),
        ({"type": "integer", "multipleOf": 10, "default": 30}, 7, 30),
        ({"type": "string"}, 7, None),
    ],
)
def test_the_nearest_number_is_one_that_the_schema_allows(schema, wanted, found):
    assert number_near(schema, wanted, range(1, 51)) == found
