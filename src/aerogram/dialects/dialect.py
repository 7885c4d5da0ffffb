"""Dialect: how one contract says a Reply, as a JSON body and back.

A dialect has two hands of its own, `write` (the members the contract names) and
`hear` (those members alone, read back), and a pydantic model of its body. Everything
else follows: `encode` adds whatever did not come back, `decode` takes it in again, so
that for every reply `decode(encode(reply)) == reply`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ValidationError

from aerogram.dialects.extension import KEY, leftover, restore
from aerogram.errors import ContractError, InvalidReply
from aerogram.reply import Reply

_MISSING = "missing"


class Dialect(ABC):
    """One contract: pure functions between a Reply and its JSON body."""

    name: ClassVar[str]
    media_type: ClassVar[str] = "application/json"
    body: ClassVar[type[BaseModel]]
    slim: ClassVar[Mapping[str, Any]]

    @abstractmethod
    def write(self, reply: Reply[Any]) -> dict[str, Any]:
        """The body with the members that the contract names."""

    @abstractmethod
    def hear(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The reply's fields as far as the contract's own members say them."""

    @abstractmethod
    def recognises(self, body: Mapping[str, Any]) -> bool:
        """Whether a body speaks this dialect, by its distinctive members alone."""

    def place(self, body: Mapping[str, Any]) -> Any:
        """The object in the body where the contract allows additions."""
        return body

    def encode(self, reply: Reply[Any]) -> dict[str, Any]:
        """The JSON body of a reply."""
        body = self.write(reply)
        left = leftover(reply.said(), self.hear(body))
        if left:
            self.place(body)[KEY] = left
        return body

    def decode(self, body: Any, *, lenient: bool = True) -> Reply[Any]:
        """The reply in a body; a broken rule is a `ContractError` with its JSON Pointer.

        Lenient reading takes fragments (a required member may be missing), never
        contradictions.
        """
        self.check(body, lenient=lenient)
        left = self.place(body).get(KEY) or {} if self.place(body) else {}
        return restore(self.hear(body), left, self.name, self._extension_pointer(body))

    def validate(self, body: Any) -> None:
        """Raise `ContractError` unless the body keeps every rule of the contract."""
        self.decode(body, lenient=False)

    def check(self, body: Any, *, lenient: bool) -> None:
        """Raise for the first member that breaks a rule (a missing one passes when lenient)."""
        try:
            self.body.model_validate(body, strict=True)
        except ValidationError as error:
            for fault in error.errors(include_url=False, include_input=False, include_context=False):
                if not (lenient and fault["type"] == _MISSING):
                    raise ContractError(_rule(fault["msg"]), _pointer(fault["loc"]), self.name) from None

    def schema(self, *, slim: bool = False) -> dict[str, Any]:
        """The JSON Schema (2020-12) of the body: full, or slim for tool listings."""
        if slim:
            return dict(self.slim)
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": f"urn:aerogram:schema:{self.name}",
            **self.body.model_json_schema(mode="serialization"),
        }

    def _extension_pointer(self, body: Mapping[str, Any]) -> str:
        return f"/{KEY}" if self.place(body) is body else f"/meta/{KEY}"


def require(reply: Reply[Any], dialect: str) -> None:
    """Raise unless the reply has what the complete contracts need (`Reply.complete` fills it in)."""
    telemetry = reply.telemetry
    have = {
        "request_id": reply.request_id,
        "operation": reply.operation,
        "timestamp": reply.timestamp,
        "telemetry.duration_ms": telemetry and telemetry.duration_ms,
        "telemetry.tokens_estimated": telemetry and telemetry.tokens_estimated,
        "telemetry.billable_units": telemetry and telemetry.billable_units,
    }
    missing = [name for name, value in have.items() if value is None]
    if missing:
        raise InvalidReply(f"{dialect} needs {', '.join(missing)}: use reply.complete(operation=…)")


def without_nothing(**members: Any) -> dict[str, Any]:
    """An object of the members that say something."""
    return {name: value for name, value in members.items() if value is not None}


def strangers(found: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any] | None:
    """The members a contract does not name, or None."""
    return {name: value for name, value in found.items() if name not in known} or None


def _pointer(location: tuple[int | str, ...]) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in location)


def _rule(message: str) -> str:
    return message.removeprefix("Value error, ").removeprefix("Assertion failed, ")
