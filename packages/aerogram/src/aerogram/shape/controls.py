"""Controls: the arguments with which a caller shapes a reply, added to the inputs of tools that need not know them.

    Levers(frozenset({"response_mode", "page_size", "max_tokens"}), mode="full")

are those that a call has. What to do about a reply that is too large is told in them, and only where they help.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from aerogram.errors import InvalidReply
from aerogram.shape.modes import MODES, Mode
from aerogram.shape.pages import LARGEST_SIZE
from aerogram.tokens import Budget

__all__ = ["CONTROLS", "Choice", "Controls", "Levers", "check_choice", "controls_for"]


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

_UNLISTED: Final = frozenset({"minimum"})


def _list_control(control: Mapping[str, Any]) -> dict[str, Any]:
    """A control as every tool lists it again; nobody asks for less than nothing, and who does is told the bound."""
    unlisted = _UNLISTED | {"type"} if "enum" in control else _UNLISTED
    return {name: part for name, part in control.items() if name not in unlisted}


SHAPE_CHANGING: Final = frozenset({"response_mode", "fields"})
"""Controls that leave out members, which the schema of a bare payload may require."""


@dataclass(frozen=True)
class Controls:
    """The controls that one tool has been given."""

    names: tuple[str, ...] = ()

    def without(self, taken: Iterable[str]) -> Controls:
        """The controls but for some; a tool's own parameter of the same name stays the tool's.

        A cursor of a tool's own is one that it makes itself: its pages are its own as well.
        """
        gone = frozenset(taken)
        gone |= {"page_size"} if "cursor" in gone else frozenset()
        return Controls(tuple(name for name in self.names if name not in gone))

    def extend(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """The input schema of a tool with the controls in it."""
        added = {name: _list_control(CONTROLS[name]) for name in self.names}
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
    """The controls that a checked setting gives to a tool: all of them to all, to some tools, or some to each.

    Who may ask for a page may ask for the next one.
    """
    if isinstance(choice, Mapping):
        names = dict.fromkeys(choice.get(tool, ()))
        return Controls(tuple(names | {"cursor": None} if "page_size" in names else names))
    is_chosen = choice if isinstance(choice, bool) or choice is None else tool in tuple(choice)
    return Controls(tuple(CONTROLS)) if is_chosen else Controls()


# Sizes that callers choose by arguments of the tool's own

_SIZE: Final = re.compile(
    r"(?:max(?:imum)?|n|num(?:ber)?(?:_?of)?)?_?-?(?:limit|size|count|results?|rows?|lines?|items?|entries|records?|matches"
    r"|chars?|characters|length)|limit|top(?:_?[kn])?|first|last|take|head|tail|n|k"
    r"|(?:page|batch|result|row|line|item)_?-?(?:size|limit|count)|(?:results_?)?per_?-?page",
    re.IGNORECASE,
)
_MOST: Final = 10**9


def find_size(arguments: Mapping[str, Any]) -> str | None:
    """The size that a caller has chosen, as it was given: `max_count=120`."""
    sizes = (
        f"{name}={value}"
        for name, value in arguments.items()
        if type(value) is int and 0 < value < _MOST and _SIZE.fullmatch(name)
    )
    return next(sizes, None)


# Advice about replies that are too large


SMALLER_PAGES: Final = (25, 10, 5, 3, 2, 1)
_SHORTER: Final[tuple[Mode, ...]] = ("metadata", "ids_only")


@dataclass(frozen=True)
class Levers:
    """What a caller can change: the parameters of the call, and how much it shows now.

    `most` is the largest budget that the server allows, `agreed` the one that the client has set for all of its calls;
    None when there is none. With `is_walking`, the call has a cursor, which belongs to one mode.
    """

    names: frozenset[str] = frozenset()
    mode: Mode = "full"
    most: int | None = None
    agreed: int | None = None
    is_walking: bool = False

    @classmethod
    def of(
        cls,
        parameters: Mapping[str, Any],
        arguments: Mapping[str, Any],
        most: Budget | None = None,
        agreed: int | None = None,
    ) -> Levers:
        """The levers of a call: of the properties of its input schema, and of what it was called with.

        `most` is the budget that the call has at best, `agreed` the tokens that its client has set.
        """
        mode = arguments.get("response_mode", parameters.get("response_mode", {}).get("default"))
        return cls(
            frozenset(parameters),
            mode if mode in MODES else "full",
            None if most is None else most.room,
            agreed,
            arguments.get("cursor") is not None,
        )

    @property
    def leaner_modes(self) -> tuple[Mode, ...]:
        """The modes that show less, the richest first."""
        if "response_mode" not in self.names:
            return ()
        return tuple(mode for mode in _SHORTER if MODES.index(mode) < MODES.index(self.mode))

    def before_the_limit(self, rows: int, tokens: int | None) -> str | None:
        """What to do while a reply still fits into so many tokens; None when there is nothing to be done."""
        ways = [f"use {mode} mode" for mode in self.leaner_modes[:1] if not self.is_walking]
        if rows > 1 and "page_size" in self.names:
            ways.append("reduce page_size")
        if not ways and tokens is not None and (where := self._place_for(tokens + 1)) is not None:
            ways.append(f"raise max_tokens{where}")
        return _sentence(ways)

    def beyond_the_limit(
        self, rows: int, tokens: int | None, fits_in: Callable[[Mode], bool], fits_on: Callable[[int], bool]
    ) -> str | None:
        """What makes a reply fit that needs so many tokens; None when nothing does.

        `fits_in` says whether it would in a mode, `fits_on` whether a page of so many rows would.
        """
        modes = [mode for mode in self.leaner_modes if fits_in(mode)][:1]
        ways = [f"use {mode} mode" for mode in modes if not self.is_walking]
        if "page_size" in self.names:
            ways += [f"reduce page_size to {size}" for size in SMALLER_PAGES if size < rows and fits_on(size)][:1]
        if tokens is not None and (where := self._place_for(tokens)) is not None:
            ways.append(f"use max_tokens of at least {tokens}{where}")
        if self.is_walking:  # another mode is another walk
            ways += [f"start again without the cursor in {mode} mode" for mode in modes]
        return _sentence(ways)

    def _place_for(self, tokens: int) -> str | None:
        """Where so many tokens can be asked for: with the call, or in settings that it can only go below."""
        if self.most is not None and tokens > self.most:
            return None
        if self.agreed is not None and tokens > self.agreed:
            return " in the client's settings of the extension"
        return "" if "max_tokens" in self.names else None


def _sentence(ways: Sequence[Any]) -> str | None:
    """One way or another."""
    if not ways:
        return None
    *others, last = ways
    said = f"{', '.join(others)} or {last}" if others else str(last)
    return said[0].upper() + said[1:]
