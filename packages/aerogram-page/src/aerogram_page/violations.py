"""Violations: every rule of its contract that a body breaks, with the place and what was found there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from aerogram.content.jsontext import dumps, pointer_of, value_at
from aerogram.dialects import dialect as dialect_named
from aerogram.errors import ContractError, InvalidReply

__all__ = ["Fault", "faults_of", "model_faults"]

MOST: Final = 50
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class Fault:
    """One broken rule."""

    pointer: str
    rule: str
    found: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The fault as JSON data."""
        return {"pointer": self.pointer, "rule": self.rule, "found": self.found}


def faults_of(body: Any, dialect: str) -> tuple[Fault, ...]:
    """What is wrong with a body in a dialect: all that its model says, then what members say against each other."""
    spoken = dialect_named(dialect)
    if spoken.name == "bare":
        return ()
    try:
        spoken.validate(body)
    except ContractError as error:
        return _all_of(spoken.body, body, error)
    except InvalidReply as error:
        return (Fault("", str(error)),)
    return ()


def _all_of(model: Any, body: Any, first: ContractError) -> tuple[Fault, ...]:
    """The first fault as the dialect words it, and the others that its model finds."""
    found = {first.pointer: Fault(first.pointer, first.rule, excerpt_at(body, first.pointer))}
    try:
        model.model_validate(body, strict=True, by_alias=True, by_name=False)
    except ValidationError as error:
        for fault in model_faults(error, body):
            found.setdefault(fault.pointer, fault)
    return tuple(found.values())[:MOST]


def model_faults(error: ValidationError, body: Any) -> list[Fault]:
    """The faults that a model has found; steps that name a branch of a union are not in the body."""
    faults = []
    for one in error.errors(include_url=False, include_input=False, include_context=False)[:MOST]:
        pointer = pointer_of(_steps(one["loc"], body))
        rule = one["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
        faults.append(Fault(pointer, rule, excerpt_at(body, pointer)))
    return faults


def _steps(location: tuple[int | str, ...], body: Any) -> list[int | str]:
    steps: list[int | str] = []
    for depth, step in enumerate(location, 1):
        inside = body if isinstance(body, dict) else dict(enumerate(body)) if isinstance(body, list) else {}
        if step in inside:
            body = inside[step]
        elif depth < len(location):
            continue
        steps.append(step)
    return steps


def excerpt_at(body: Any, pointer: str) -> str | None:
    """What stands at a place, in few words; None when nothing does."""
    try:
        value = value_at(body, pointer)
        text = dumps(value).decode()
    except (LookupError, ContractError):
        return None
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
