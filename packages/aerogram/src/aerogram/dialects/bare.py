"""bare: the payload alone, for clients whose typed results must not change.

What else a reply says goes beside the body: `aside` gives it for `_meta` or headers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, JsonValue, RootModel

from aerogram.codes import TABLE
from aerogram.content.jsontext import dumps_unproven, part_to_json
from aerogram.dialects.protocol import Dialect
from aerogram.errors import ContractError
from aerogram.reply import Problem, Reply

NAME = "bare"


class Payload(RootModel[JsonValue]):
    """Any JSON value."""


class BareDialect(Dialect):
    """The data of a reply and nothing else; a failure is `{"detail": …, "error": CODE}`."""

    name = NAME
    is_bare = True
    body: ClassVar[type[BaseModel]] = Payload
    members: ClassVar[frozenset[str]] = frozenset()
    slim: ClassVar[Mapping[str, Any]] = {}
    shortage = None
    smallest = 150

    def recognises(self, body: Mapping[str, Any]) -> bool:
        """Any value is a payload, so no body is known by its looks."""
        return False

    def code_of(self, problem: Problem) -> str:
        row = TABLE.rows.get(problem.code)
        return problem.code if row is None else row.spellings.get(NAME, problem.code)

    def encode(self, reply: Reply[Any], said: Reply[Any] | None = None) -> Any:
        if reply.problem is not None:
            return {"detail": reply.problem.message, "error": self.code_of(reply.problem)}
        return reply.data

    def _restore(self, body: Any) -> Reply[Any]:
        """Nothing of a payload is an extension."""
        return Reply(body)

    def check(self, body: Any, *, lenient: bool, later: bool = True) -> None:
        try:
            dumps_unproven(body)
        except ContractError as error:
            raise ContractError(error.rule, "", NAME) from None

    def aside(self, reply: Reply[Any]) -> dict[str, Any]:
        """Everything the reply says besides its data."""
        return {name: part_to_json(value) for name, value in reply.present_fields().items() if name != "data"}

    def write(self, reply: Reply[Any]) -> dict[str, Any]:
        """The contract names no members."""
        return {}

    def read(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The whole body is the data."""
        return {"data": body}


DIALECT = BareDialect()
