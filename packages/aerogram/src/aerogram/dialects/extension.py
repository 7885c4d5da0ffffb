"""The extension: what a reply says and a contract has no word for.

A dialect writes the members its contract names and reads them back; what came back
differently travels under one key, `aerogram`, in the place where the contract allows
additions. Delete that key, and every field the contract names still reads.

    {"status": "partial", "box": "/results", "problem": {"retry": "check"}}

A part that the contract half says (a problem, a page, one of several warnings) carries only the half it lacks.
`box` is the JSON Pointer at which the contract's payload holds the data, or null when there is none; a name without
a slash is that of the one member of an object, where a contract takes such an object for a box.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from types import NoneType
from typing import Annotated, Any, Optional, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, create_model, model_serializer

from aerogram.errors import ContractError, InvalidReply
from aerogram.reply import (
    Action,
    Citation,
    Fidelity,
    Notice,
    Page,
    Problem,
    QueryEcho,
    RateLimit,
    Reply,
    Telemetry,
    part_to_json,
)

KEY = "aerogram"
BOX = "box"
ORIGIN = "origin"
_BESIDES = (BOX, ORIGIN)
"""Members that are no part of a reply."""

PARTS: Mapping[str, type[Any]] = {
    "problem": Problem,
    "page": Page,
    "rate_limit": RateLimit,
    "telemetry": Telemetry,
    "fidelity": Fidelity,
    "query_echo": QueryEcho,
}
LISTS: Mapping[str, type[Any]] = {"notices": Notice, "citations": Citation, "actions": Action}


def leftover(said: Mapping[str, Any], heard: Mapping[str, Any]) -> dict[str, Any]:
    """What must travel in the extension so that `heard` becomes `said` again."""
    left = {}
    for name, value in said.items():
        if name != "data" and (name not in heard or heard[name] != value):
            left[name] = _difference(value, heard.get(name))
    for name in heard:
        if name not in said:
            left[name] = None
    if heard.get("data") is not said["data"]:
        _leave_data(left, said["data"], heard.get("data"))
    return left


def restore(heard: dict[str, Any], left: Mapping[str, Any], dialect: str, pointer: str) -> Reply[Any]:
    """The reply that was said: what the contract carried, mended by the extension."""
    if BOX in left:
        heard["data"] = _unbox(heard.get("data"), left[BOX], dialect, pointer)
    try:
        for name, value in left.items():
            if name not in _BESIDES:
                heard[name] = _restore_part(name, value, heard.get(name))
        # a null in the extension takes back what a contract had to say by default
        return Reply(**{name: value for name, value in heard.items() if value is not None})
    except (InvalidReply, TypeError) as error:
        raise ContractError(str(error), pointer, dialect) from None


def _difference(said: Any, heard: Any) -> Any:
    if _pairs_up(said, heard):
        return [_difference(one, other) for one, other in zip(said, heard, strict=True)]
    if heard is None or not is_dataclass(said):
        return part_to_json(said)
    pairs = ((f.name, getattr(said, f.name), getattr(heard, f.name)) for f in fields(said))
    return {name: part_to_json(one) for name, one, other in pairs if one != other}


def _restore_part(name: str, value: Any, heard: Any) -> Any:
    if name in LISTS:
        if _pairs_up(value, heard):
            return tuple(replace(part, **one) for part, one in zip(heard, value, strict=True))
        return tuple(LISTS[name](**one) for one in value or ())
    if name not in PARTS or value is None:
        return value
    return PARTS[name](**value) if heard is None else replace(heard, **value)


def _pairs_up(said: Any, heard: Any) -> bool:
    """Whether the contract says each part of a list, so that what it lacks of each part is enough."""
    return isinstance(heard, tuple) and isinstance(said, (tuple, list)) and len(said) == len(heard)


def _leave_data(left: dict[str, Any], said: Any, heard: Any) -> None:
    """Record where the data stands in the contract's payload; carry it here if it stands nowhere."""
    if said is None:
        if heard is not None:
            left[BOX] = None
        return
    if isinstance(said, dict) and len(said) == 1 and next(iter(said.values())) is heard:
        left[BOX] = next(iter(said))
        return
    if isinstance(heard, list) and len(heard) == 1 and heard[0] is said:
        left[BOX] = "/0"
        return
    for name in ("results", "result", "data"):
        if isinstance(heard, dict) and heard.get(name) is said:
            left[BOX] = f"/{name}"
            return
    if type(said) is not type(heard) or said != heard:
        left["data"] = said


def _unbox(heard: Any, box: str | None, dialect: str, pointer: str) -> Any:
    if box is None:
        return None
    if not box.startswith("/"):
        return {box: heard}
    try:
        key = box.removeprefix("/")
        return heard[int(key)] if isinstance(heard, list) else heard[key]
    except (KeyError, IndexError, ValueError, TypeError):
        raise ContractError(f"the extension's box {box!r} points at nothing", pointer, dialect) from None


def _json_type(hint: Any) -> Any:
    """The type a member has in JSON: tuples arrive as lists, and anything may be null."""
    if get_origin(hint) is tuple:
        hint = list[get_args(hint)[0]]  # type: ignore[misc]  # built at run time for pydantic
    return hint if NoneType in get_args(hint) else Optional[hint]


_Pointer = Annotated[str, Field(pattern="^(/|$)")]


class _Part(BaseModel):
    """A null here means something, so only what was set is written."""

    model_config = ConfigDict(extra="forbid")

    @model_serializer(mode="wrap")
    def _write_set_members(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in serialise(self).items() if name in self.model_fields_set}


def _partial_model(part: type[Any]) -> type[BaseModel]:
    members = {name: (_json_type(hint), None) for name, hint in get_type_hints(part).items()}
    model: type[BaseModel] = create_model(f"{part.__name__}Part", __base__=_Part, **members)  # type: ignore[call-overload]
    return model


class _Origin(BaseModel):
    """Where a body was translated from, and what the way back would not say again (see `aerogram.dialects.origin`)."""

    model_config = ConfigDict(extra="forbid", title="AerogramOrigin")
    dialect: str
    set: dict[_Pointer, Any] = Field(default_factory=dict)
    drop: list[_Pointer] = Field(default_factory=list)


def _extension_model() -> type[BaseModel]:
    hints = get_type_hints(Reply) | {name: _partial_model(part) for name, part in PARTS.items()}
    hints |= {name: list[_partial_model(part)] for name, part in LISTS.items()}  # type: ignore[misc]
    members = {name: (_json_type(hint), None) for name, hint in hints.items()}
    members |= {"data": (Any, None), BOX: (Optional[str], None), ORIGIN: (Optional[_Origin], None)}
    doc = "What the reply says and the contract has no word for."
    model: type[BaseModel] = create_model("AerogramExtension", __base__=_Part, __doc__=doc, **members)  # type: ignore[call-overload]
    return model


Extension = _extension_model()
"""The pydantic model of the extension, for schemas and strict reading."""
