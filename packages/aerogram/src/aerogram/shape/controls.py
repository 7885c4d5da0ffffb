"""Controls: the arguments with which a caller shapes a reply, added to the inputs of tools that need not know them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from aerogram.errors import InvalidReply
from aerogram.shape.modes import Mode
from aerogram.shape.pages import LARGEST_SIZE

__all__ = ["CONTROLS", "Choice", "Controls", "check_choice", "controls_for"]

Choice: TypeAlias = bool | Iterable[str] | Mapping[str, Iterable[str]] | None


class ControlArguments(BaseModel):
    """What a caller may ask of a reply."""

    model_config = ConfigDict(extra="forbid", strict=True)

    response_mode: Mode | None = Field(default=None, description="Detail of each item")
    fields: list[str] | None = Field(default=None, description="Only these fields or dotted paths")
    max_tokens: int | None = Field(default=None, ge=1, description="Largest reply")
    cursor: str | None = Field(default=None, description="From the last reply")
    page_size: int | None = Field(default=None, ge=1, le=LARGEST_SIZE, description="Items per page")


def _schema(name: str) -> dict[str, Any]:
    """A control as an optional input: absent rather than null, which keeps listings short."""
    whole: dict[str, Any] = ControlArguments.model_json_schema()["properties"][name]
    known = next(option for option in whole["anyOf"] if option.get("type") != "null")
    return {**known, "description": whole["description"]}


CONTROLS: Final[Mapping[str, Mapping[str, Any]]] = {name: _schema(name) for name in ControlArguments.model_fields}
"""The controls and their schemas, in the order in which they are listed."""

_UNLISTED: Final = frozenset({"minimum", "maximum"})


def _listed(control: Mapping[str, Any]) -> dict[str, Any]:
    """A control as every tool lists it again: its bounds are checked, and told to whoever breaks them."""
    unlisted = _UNLISTED | {"type"} if "enum" in control else _UNLISTED
    return {name: part for name, part in control.items() if name not in unlisted}


SHAPE_CHANGING: Final = frozenset({"response_mode", "fields"})
"""Controls that leave out members, which the schema of a bare payload may require."""


@dataclass(frozen=True)
class Controls:
    """The controls that one tool has been given."""

    names: tuple[str, ...] = ()

    def without(self, taken: Iterable[str]) -> Controls:
        """The controls but for some; a tool's own parameter of the same name stays the tool's."""
        gone = frozenset(taken)
        return Controls(tuple(name for name in self.names if name not in gone))

    def extend(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """The input schema of a tool with the controls in it."""
        added = {name: _listed(CONTROLS[name]) for name in self.names}
        return {**schema, "properties": {**schema.get("properties", {}), **added}}

    def split(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """What is asked of the reply, and the handler's own arguments; a wrong value is a validation error."""
        if not self.names or arguments.keys().isdisjoint(self.names):
            return {}, dict(arguments)
        asked = {name: value for name, value in arguments.items() if name in self.names and value is not None}
        rest = {name: value for name, value in arguments.items() if name not in self.names}
        return ControlArguments.model_validate(asked).model_dump(exclude_none=True), rest


def check_choice(choice: Choice) -> Choice:
    """The setting, if it is one; what an iterable gives only once is kept."""
    if isinstance(choice, bool) or choice is None:
        return choice
    if isinstance(choice, (str, bytes)) or not isinstance(choice, Iterable):
        raise InvalidReply(f"controls is True, a list of tools, or the controls of each tool, not {choice!r}")
    if not isinstance(choice, Mapping):
        return tuple(choice)
    for tool, names in choice.items():
        if isinstance(names, (str, bytes)) or not isinstance(names, Iterable):
            raise InvalidReply(f"the controls of {tool!r} are a list of {', '.join(CONTROLS)}, not {names!r}")
    kept = {tool: tuple(names) for tool, names in choice.items()}
    unknown = next((name for names in kept.values() for name in names if name not in CONTROLS), None)
    if unknown is not None:
        raise InvalidReply(f"there is no control {unknown!r}; there are {', '.join(CONTROLS)}")
    return kept


def controls_for(choice: Choice, tool: str) -> Controls:
    """The controls that a checked setting gives to a tool: all of them to all, to some tools, or some to each."""
    if isinstance(choice, Mapping):
        return Controls(tuple(choice.get(tool, ())))
    is_chosen = choice if isinstance(choice, bool) or choice is None else tool in tuple(choice)
    return Controls(tuple(CONTROLS)) if is_chosen else Controls()
