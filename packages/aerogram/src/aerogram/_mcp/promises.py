"""Promises: whether structured content is what its schema promises, as the clients of the SDK see it.

They validate by jsonschema, which takes longer than most calls. So jsonschema-rs says first what holds, where it is
installed, and jsonschema has the say about the rest. What a schema refers to elsewhere is looked up by neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple, NoReturn

from aerogram.content.jsontext import dumps, loads

__all__ = ["conforms", "is_broken"]

MOST_SCHEMAS: Final = 500


class _Judges(NamedTuple):
    quick: Any
    """None where it is not installed, or cannot read the schema."""
    final: Any

    def find_valid(self, value: Any) -> bool | None:
        """Whether a value is valid; None where nobody can say."""
        from referencing.exceptions import Unresolvable

        try:
            return (self.quick is not None and self.quick.is_valid(value)) or bool(self.final.is_valid(value))
        except (Unresolvable, RecursionError):
            return None


def conforms(value: Any, schema: Mapping[str, Any] | None) -> bool:
    """Whether structured content is what a schema promises; nothing is what one promises that cannot be read."""
    return schema is None or _find_valid(value, schema) is True


def is_broken(value: Any, schema: Mapping[str, Any] | None) -> bool:
    """Whether structured content is not what a schema promises which clients can read."""
    return schema is not None and _find_valid(value, schema) is False


def _find_valid(value: Any, schema: Mapping[str, Any]) -> bool | None:
    judges = _judges(dumps(schema))
    return None if judges is None else judges.find_valid(value)


@lru_cache(maxsize=MOST_SCHEMAS)
def _judges(schema: bytes) -> _Judges | None:
    """What judges by a schema, which to check takes longer than most values; None where it is none."""
    from jsonschema import SchemaError  # what the SDK brings along, and what it needs itself
    from jsonschema.validators import validator_for
    from referencing import Registry

    written = loads(schema)
    kind = validator_for(written)
    try:
        kind.check_schema(written)
    except SchemaError:
        return None
    return _Judges(_quick(written), kind(written, registry=Registry()))


def _quick(schema: dict[str, Any]) -> Any:
    try:
        import jsonschema_rs
    except ImportError:
        return None
    try:
        return jsonschema_rs.validator_for(schema, retriever=_refuse)
    except ValueError:
        return None


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is not looked up")
