"""Whether structured content is what its schema promises."""

import socket

import pytest

from aerogram._mcp.promises import conforms, is_broken

RECORD = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}


@pytest.mark.parametrize("value", [{"id": 1}, {"id": 1, "more": None}])
def test_what_is_promised_conforms(value):
    assert conforms(value, RECORD)
    assert not is_broken(value, RECORD)


@pytest.mark.parametrize("value", [{"id": "1"}, {}, [], None])
def test_what_is_not_promised_breaks_it(value):
    assert not conforms(value, RECORD)
    assert is_broken(value, RECORD)


def test_without_a_schema_everything_conforms():
    assert conforms([1], None)
    assert not is_broken([1], None)


@pytest.mark.parametrize("schema", [{"type": "strange"}, {"$ref": "#/$defs/Nowhere"}], ids=["type", "reference"])
def test_a_schema_that_cannot_be_read_is_neither_kept_nor_broken(schema):
    assert not conforms(1, schema)
    assert not is_broken(1, schema)


def test_what_a_schema_refers_to_elsewhere_is_not_asked_for():
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        elsewhere.settimeout(0.5)
        schema = {"properties": {"id": {"$ref": f"http://127.0.0.1:{elsewhere.getsockname()[1]}/schema"}}}
        assert not conforms({"id": 1}, schema)
        assert not is_broken({"id": 1}, schema)
        with pytest.raises(TimeoutError):
            elsewhere.accept()
