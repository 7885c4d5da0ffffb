"""The translation of JSON Schema into TypeScript, word by word."""

from __future__ import annotations

import pytest

from aerogram.reference.typescript import declarations


def only(schema: dict) -> str:
    """The type that a schema comes to."""
    return declarations({"title": "X", **schema}).partition(" = ")[2].removesuffix(";\n")


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, "unknown"),
        ({"type": "string"}, "string"),
        ({"type": "integer"}, "number"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"anyOf": [{"type": "integer"}, {"type": "number"}, {"type": "null"}]}, "number | null"),
        ({"anyOf": [{"type": "string"}, {}]}, "unknown"),
        ({"const": False}, "false"),
        ({"const": None}, "null"),
        ({"enum": ["a", 'quo"te', 1, None]}, '"a" | "quo\\"te" | 1 | null'),
        ({"type": "array"}, "unknown[]"),
        ({"type": "array", "items": {"type": ["string", "null"]}}, "(string | null)[]"),
        ({"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}}, "boolean[][]"),
        ({"type": "object"}, "Record<string, unknown>"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "Record<string, number>"),
    ],
    ids=str,
)
def test_a_schema_is_this_type(schema, expected):
    assert only(schema) == expected


def test_members_keep_their_order_names_and_comments():
    text = declarations(
        {
            "title": "Row",
            "description": "A row.",
            "type": "object",
            "properties": {
                "b-c": {"type": "string", "description": "Ends */ here"},
                "a": {"type": "integer", "minimum": 0, "description": "Count\nof things"},
            },
            "required": ["a"],
            "additionalProperties": True,
        }
    )
    assert text == (
        "/** A row. */\n"
        "export interface Row {\n"
        "  /** Ends * / here */\n"
        '  "b-c"?: string;\n'
        "  /**\n   * Count\n   * of things\n   * @minimum 0\n   */\n"
        "  a: number;\n"
        "  [key: string]: unknown;\n"
        "}\n"
    )


def test_whatever_holds_the_parameter_is_generic():
    """The parameter goes up through every reference, and nowhere else."""
    schema = {
        "title": "Envelope[Any]",
        "anyOf": [{"$ref": "#/$defs/Good"}, {"$ref": "#/$defs/Bad"}],
        "$defs": {
            "Good": {"type": "object", "properties": {"inner": {"$ref": "#/$defs/Inner"}}},
            "Inner": {"type": "object", "properties": {"rows": {"type": "array", "items": {}}}},
            "Bad": {"type": "object", "properties": {"why": {"type": "string"}}},
        },
    }
    text = declarations(schema, parameter="/$defs/Inner/properties/rows/items")
    assert "interface Inner<T = unknown> {\n  rows?: T[];" in text
    assert "interface Good<T = unknown> {\n  inner?: Inner<T>;" in text
    assert "interface Bad {" in text
    assert "type Envelope<T = unknown> = Good<T> | Bad;" in text


def test_a_type_that_has_a_name_is_written_by_name_wherever_it_stands():
    mood = {"enum": ["good", "bad"], "type": "string"}
    schema = {
        "title": "Day",
        "type": "object",
        "properties": {"start": mood, "end": {"anyOf": [{**mood, "title": "End"}, {"type": "null"}]}},
    }
    text = declarations(schema, aliases={"Mood": "/properties/start"})
    assert text.startswith('export type Mood = "good" | "bad";\n')
    assert "start?: Mood;\n  end?: Mood | null;" in text
