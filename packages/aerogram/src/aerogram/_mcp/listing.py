"""Listing: tools as clients list them, with the schemas of what is sent and the controls among their inputs.

A `Profile` is what there is to know about a tool, found out once, when it is listed or wrapped; each call is opened
with it.
"""

from __future__ import annotations

import logging
import typing
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import UnionType
from typing import Any, Final, Literal, TypeAlias, get_args, get_origin

from pydantic import PydanticUserError, TypeAdapter

from aerogram._mcp.negotiation import Offer
from aerogram._mcp.promises import conforms
from aerogram.channels import ACCOUNT, BOX, Payload
from aerogram.contract import Contract
from aerogram.dialects import NAMES
from aerogram.dialects import dialect as dialect_named
from aerogram.dialects.bare import BareDialect
from aerogram.dialects.protocol import Dialect, Envelope, Form
from aerogram.errors import InvalidReply, strays
from aerogram.normalize.registry import Registry
from aerogram.reply import Reply, ResumablePage
from aerogram.shape.controls import SHAPE_CHANGING, Choice, Controls, check_choice, controls_for
from aerogram.shape.mold import Mold

__all__ = ["Listing", "Profile", "SchemaForm", "lift_schema", "output_schema", "read_schema"]

log = logging.getLogger("aerogram")

SchemaForm: TypeAlias = Literal["slim", "full", "own"]


OTHER_METHODS: Final = ("resources/read", "prompts/get")
"""What is limited besides the calls of tools, under its own name."""
SIZE_KEY: Final = "anthropic/maxResultSizeChars"
"""By this Claude Code learns that a tool has larger results than it takes otherwise."""
UNTOLD_CHARACTERS: Final = 50_000
MOST_CHARACTERS: Final = 500_000
_FINISHED: Final = ("CallToolResult", "ToolResult")
_HARMLESS: Final = ("readOnlyHint", "idempotentHint")
"""What a tool says of itself where a second call changes no more than the first; unless it does, it may."""


@dataclass(frozen=True)
class Profile:
    """What the service knows about a tool: its controls, its own output schema, and whether that is in a box.

    `is_content`: its handler says that it returns content or a finished result, which is sent as it is. `is_reply`: it
    says that it returns a `Reply` or an envelope, which no framework knows how to convert. `parameters` are the
    properties of its inputs, the controls among them; `inputs` is the schema without them.
    """

    name: str
    version: str = ""
    """Which of several tools of one name it is."""
    controls: Controls = field(default_factory=Controls)
    own_schema: Mapping[str, Any] | None = None
    is_boxed: bool = False
    is_content: bool = False
    is_reply: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    page_size: int | None = None
    """The items of a page, unless its caller says how many."""
    is_by_client: bool = False
    """Whether its budget is that of whoever calls."""
    may_repeat: bool = False
    """Whether it says of itself that a second call changes no more than the first."""
    typed: Mapping[str, Any] | None = None
    """The schema of its data as it stands in an envelope."""
    enveloped: Mapping[str, Any] | None = None
    """The schema of the envelopes that it answers in."""

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of its parameters."""
        return frozenset(self.parameters)

    @cached_property
    def mode(self) -> Any:
        """The mode in which it answers whoever asks for none."""
        return self.parameters.get("response_mode", {}).get("default", "full")

    @cached_property
    def payload(self) -> Payload:
        """How its payload is sent when it is sent alone."""
        own = self.own_schema
        is_closed = own is not None and not _has_place(own)
        is_object = own is not None and own.get("type") == "object" and not self.is_boxed
        return Payload(own is not None, self.is_boxed, is_closed, is_object, _is_text(own, self.is_boxed))

    @cached_property
    def mold(self) -> Mold:
        """What its payload must satisfy when it is sent alone."""
        return Mold.of(self.data_schema)

    @cached_property
    def mold_inside(self) -> Mold:
        """What its data must satisfy inside an envelope."""
        return Mold.of(self.typed)

    def suits(self, structured: Any) -> bool:
        """Whether structured content is what is listed."""
        return conforms(structured, self.own_schema)

    @cached_property
    def data_schema(self) -> Mapping[str, Any] | None:
        """The schema of the payload itself."""
        if self.own_schema is None or not self.is_boxed:
            return self.own_schema
        inner = self.own_schema.get("properties", {}).get("result", {})
        return {**inner, "$defs": self.own_schema["$defs"]} if "$defs" in self.own_schema else inner


_PLACE: Final = {"type": "object"}
_OPEN_PLACE: Final[Mapping[str, Any]] = {}
"""How the member is listed that says what is missing; and where members have any names, one of which may be its own."""


def _has_place(schema: Mapping[str, Any]) -> bool:
    """Whether a schema has a place for what is missing; a member of a tool's own of that name is none."""
    return schema.get("properties", {}).get(ACCOUNT) in (_PLACE, _OPEN_PLACE)


def _is_text(schema: Mapping[str, Any] | None, is_boxed: bool) -> bool:
    """Whether a schema is that of one text in a box."""
    inner = (schema or {}).get("properties", {}).get(BOX) if is_boxed else None
    return isinstance(inner, Mapping) and inner.get("type") == "string"


class Listing:
    """The tools of a server under a contract, as its clients see them.

    `own_tools` are those of the service itself, whose names it claims, and the setting that gives each another one.
    """

    def __init__(
        self, contract: Contract, offer: Offer, controls: Choice, form: SchemaForm | None, text_schema: bool
    ) -> None:
        if form not in (*get_args(SchemaForm), None):
            raise InvalidReply(f"schema is one of {', '.join(get_args(SchemaForm))}, or None, not {form!r}")
        self._contract = contract
        self._offer = offer
        self._controls = check_choice(controls)
        self.form = form
        self.text_schema = text_schema
        own = contract.speaker
        spoken = tuple(own if name == own.name else dialect_named(name) for name in offer.dialects)
        for one in spoken:
            contract.insist_on_room(one)
        self.spoken = spoken if form and contract.channels != "text" else ()
        self.own_tools: Mapping[str, str] = {}
        self.has_checked_names = False

    @property
    def names_by_setting(self) -> dict[str, Collection[str]]:
        """The tools that the settings name."""
        by_name = () if isinstance(self._controls, (bool, type(None))) else tuple(self._controls)
        named = self._contract.names_by_setting
        return {"controls": by_name, **named, "limits": [one for one in named["limits"] if one not in OTHER_METHODS]}

    def check_names(self, known: Collection[str]) -> None:
        """Say of which tools the settings speak that are not there; once, when there are tools to compare with."""
        self.has_checked_names = True
        for stray in strays(self.names_by_setting, known, "tool"):
            log.warning("%s", stray)

    def profile(
        self,
        name: str,
        *,
        inputs: Any,
        outputs: Any = None,
        is_boxed: bool = False,
        returns: Any = None,
        controls: Controls | None = None,
        hints: Mapping[str, Any] | None = None,
        version: str | None = None,
    ) -> Profile:
        """What there is to know about a tool, from its schemas, its return annotation and its hints about itself."""
        given = controls_for(None if name in self.own_tools else self._controls, name) if controls is None else controls
        read, outputs = read_schema(inputs), read_schema(outputs)
        # what cannot be read is listed as it came, without a place for ours
        given = Controls() if read is None else given.without(read.get("properties", {}))
        inputs, is_boxed = read or {}, is_boxed and outputs is not None
        is_reply = (get_origin(returns) or returns) in (Reply, ResumablePage)
        is_envelope = _returns_envelope(returns) or (outputs is not None and _is_envelope(outputs))
        is_reply = is_reply or (is_envelope and not self._offer.is_bare)
        if is_reply:  # a framework describes the class, which is never sent
            outputs, is_boxed = None, False
        if outputs is not None and not self.text_schema and _is_text(outputs, is_boxed):
            outputs, is_boxed = None, False
        size = self._contract.page_sizes.get(name) if "page_size" in given.names else None
        is_by_client = self._contract.chooses_by_client(name)
        has_limit = self._contract.own_limit(name) is not None or is_by_client
        is_bare = self._contract.speaker.is_bare
        may_lack = is_bare and not SHAPE_CHANGING.isdisjoint(given.names)
        is_fitted = has_limit or "max_tokens" in given.names or size is not None or may_lack
        is_lifted = is_fitted and self.form != "own" and not _is_text(outputs, is_boxed)
        if outputs is not None and is_lifted and outputs.get("type") == "object":
            outputs = lift_schema(outputs, is_boxed=is_boxed, may_lack=may_lack)
        if is_bare and not _spares_members(outputs, is_boxed=is_boxed):
            given = given.without(SHAPE_CHANGING)
        is_content = _is_content(returns, self._contract.forms.registry)
        parameters = given.extend(inputs)["properties"]
        may_repeat = any((hints or {}).get(one) is True for one in _HARMLESS)
        made = Profile(
            name,
            version or "",
            given,
            outputs,
            is_boxed,
            is_content,
            is_reply,
            parameters,
            inputs,
            size,
            is_by_client,
            may_repeat,
        )
        if not self.spoken or self.form is None:
            return made
        typed = type_data(schema_inside(returns) if is_reply else made.data_schema)
        has_schema = not is_content and name not in self.own_tools
        return replace(
            made, typed=typed, enveloped=output_schema(self.spoken, self.form, typed) if has_schema else None
        )

    def output_schema(self, profile: Profile, is_legacy: bool = False) -> Mapping[str, Any] | None:
        """The schema to list: that of what is sent, which for bare payloads is the tool's own.

        There is none that a payload and the envelopes satisfy that are offered besides.
        """
        return profile.own_schema if is_legacy or self._offer.is_bare else profile.enveloped

    def input_schema(self, profile: Profile, inputs: Mapping[str, Any], is_legacy: bool = False) -> dict[str, Any]:
        """The schema to list for the arguments of a tool: its own, and the controls that its caller may use."""
        if profile.name in self.own_tools:
            inputs = _lean_inputs(inputs)
        controls = profile.controls.without(SHAPE_CHANGING) if is_legacy and profile.own_schema else profile.controls
        if not controls.names:
            return dict(inputs)
        listed = controls.extend(read_schema(inputs) or {})
        if profile.page_size is not None:
            listed["properties"]["page_size"]["default"] = profile.page_size
        return listed

    def listed_meta(self, name: str, own: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """The `_meta` to list for a tool: its own, and the size of its results where a client has to be told of it."""
        limit = self._contract.own_limit(name)
        most = 0 if limit is None else limit.most_characters
        if most <= UNTOLD_CHARACTERS:
            return None if own is None else dict(own)
        return {SIZE_KEY: min(most, MOST_CHARACTERS), **(own or {})}


# Schemas


def read_schema(schema: Any) -> dict[str, Any] | None:
    """The schema of an object, if it is one that can be read: servers write a list or a null where there is nothing.

    What is written as true, for anything, or as false, for nothing at all, is put as the object that says the same.
    """
    if not isinstance(schema, dict):
        return None
    read = {name: _read_members(schema[name]) for name in ("properties", "$defs") if name in schema}
    asked, kinds = schema.get("required", []), schema.get("type", [])
    is_whole = None not in read.values() and _are_names(asked) and (isinstance(kinds, str) or _are_names(kinds))
    return {**schema, **read} if is_whole else None


def _read_members(members: Any) -> dict[str, Any] | None:
    if not isinstance(members, dict):
        return None
    read = {name: ({} if one else {"not": {}}) if isinstance(one, bool) else one for name, one in members.items()}
    return read if all(isinstance(one, dict) for one in read.values()) else None


def _are_names(names: Any) -> bool:
    return isinstance(names, list) and all(isinstance(one, str) for one in names)


def output_schema(
    dialects: Sequence[Dialect], form: SchemaForm = "slim", typed: Mapping[str, Any] | None = None
) -> dict[str, Any] | None:
    """The schema of the bodies of these dialects, successes and failures alike; none where the payload is bare.

    `typed` is the schema of a tool's data, as `type_data` gives it, which then stands in the slim form.
    """
    if any(isinstance(one, BareDialect) for one in dialects):
        return None
    shared: dict[str, Any] = {}
    kind = None if typed is None or form == "full" else _form_of(typed)
    if kind is None or typed is None:
        schemas = [_prune(one.schema()) if form == "full" else one.listed_schema() for one in dialects]
    else:
        own = {name: part for name, part in typed.items() if name != "$defs"}
        schemas = [one.listed_schema(kind, own) for one in dialects]
        shared = {"$defs": typed["$defs"]} if "$defs" in typed else {}
    if len(schemas) == 1:
        return {**schemas[0], "type": "object", **shared}
    return {"type": "object", "anyOf": schemas, **shared}


def schema_inside(returns: Any) -> Mapping[str, Any] | None:
    """The schema of the data in the reply or the envelope that a handler returns, if its annotation tells it."""
    data = returns.data_type() if _returns_envelope(returns) else next(iter(get_args(returns)), None)
    if data is None:
        return None
    try:
        found: dict[str, Any] = TypeAdapter(data).json_schema(mode="serialization")
    except PydanticUserError:  # a type that has no schema
        return None
    return found


def type_data(own: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The schema of a tool's data as it stands in an envelope; None where it names nothing that one could list.

    An envelope has a place of its own for what is missing, and may lack whatever the schema asks for.
    """
    if own is None or _form_of(own) is None or _is_envelope(own):
        return None
    typed: dict[str, Any] = _lift(own, widens=True)
    if _has_place(typed):
        del typed["properties"][ACCOUNT]
    return typed


_ENVELOPES: Final = tuple(name for name in NAMES if name not in ("bare", "problem"))


def _is_envelope(own: Mapping[str, Any]) -> bool:
    """Whether a schema is that of a contract further in, which asks for more than it describes, or of one's own."""
    names = {*own.get("properties", ()), *own.get("required", ())}
    return any(names.issuperset(dialect_named(name).slim["required"]) for name in _ENVELOPES)


_SCALARS: Final = frozenset({"string", "integer", "number", "boolean", "null"})


def _form_of(own: Mapping[str, Any]) -> Form | None:
    """What a tool gives by its own schema; None where that names nothing that an envelope could list."""
    if own.get("type") == "array" and own.get("items"):
        return "rows"
    if own.get("type") == "object" and len(own.get("properties", {})) > _has_place(own):
        return "record"
    kinds = own.get("type") or ()
    return "value" if kinds and _SCALARS.issuperset([kinds] if isinstance(kinds, str) else kinds) else None


def _prune(schema: dict[str, Any]) -> dict[str, Any]:
    """A contract's whole schema without what is for readers, and with what extends the contract as any object."""
    names = {name: _prune_part(part) for name, part in schema.items() if name not in _FOR_READERS}
    definitions = names.pop("$defs", {})
    used: dict[str, Any] = {}
    wanted = _references(names)
    while wanted - used.keys():
        for name in wanted - used.keys():
            used[name] = definitions[name]
        wanted = _references({**names, "$defs": used})
    return {**names, "$defs": used} if used else names


def _prune_part(part: Any) -> Any:
    if isinstance(part, list):
        return [_prune_part(one) for one in part]
    if not isinstance(part, dict):
        return part
    # a property may be called like a keyword, and is then a schema and no text
    kept = {name: one for name, one in part.items() if name not in _FOR_READERS or isinstance(one, dict)}
    if kept.get("additionalProperties") is True:
        del kept["additionalProperties"]
    found = {name: {"type": "object"} if name == ACCOUNT else _prune_part(one) for name, one in kept.items()}
    return _join_null(found) if isinstance(found.get("anyOf"), list) else found


def _join_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Something or nothing in one line, where that is all that a choice is about."""
    options = [one for one in schema["anyOf"] if one != {"type": "null"}]
    if len(options) != 1 or len(schema["anyOf"]) == 1 or not isinstance(options[0].get("type"), str):
        return schema
    if "enum" in options[0] or "const" in options[0]:  # which would refuse the nothing
        return schema
    return {
        **{name: one for name, one in schema.items() if name != "anyOf"},
        **options[0],
        "type": [options[0]["type"], "null"],
    }


def _references(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return {name for one in schema for name in _references(one)}
    if not isinstance(schema, dict):
        return set()
    own = schema.get("$ref")
    found = {name for one in schema.values() for name in _references(one)}
    return found | {own.rpartition("/")[2]} if isinstance(own, str) else found


_FOR_READERS: Final = frozenset({"$schema", "$id", "title", "description", "default"})
_VALUES: Final = frozenset({"enum", "const", "default", "examples"})
_LIFTED: Final = frozenset({"required", "minItems", "minLength", "minProperties", "pattern"})


def lift_schema(schema: Mapping[str, Any], *, is_boxed: bool = True, may_lack: bool = False) -> dict[str, Any]:
    """A tool's own schema as it holds for replies that were fitted as well, with the account of what they lack.

    What it asks for below its first level is not asked for any more; the names, types and descriptions stay. With
    `may_lack`, a record may lack members as well, because its caller may choose them.
    """
    lifted = {name: _lift(part) if name in ("properties", "$defs") else part for name, part in schema.items()}
    if may_lack and not is_boxed:
        lifted.pop("required", None)
    properties = {**lifted.get("properties", {})}
    properties.setdefault(ACCOUNT, _OPEN_PLACE if lifted.get("additionalProperties") else _PLACE)
    return {**lifted, "properties": properties}


def _spares_members(schema: Mapping[str, Any] | None, *, is_boxed: bool) -> bool:
    """Whether data may lack members and still be what a schema promises."""
    if schema is None:
        return True
    asked = {name: schema[name] for name in ("properties", "$defs") if name in schema} if is_boxed else dict(schema)
    return bool(_lift(asked) == asked)


def _lift(schema: Any, *, widens: bool = False) -> Any:
    """A schema without what it asks for; where it `widens`, a number may be none, because JSON has not every number."""
    if isinstance(schema, list):
        return [_lift(one, widens=widens) for one in schema]
    if not isinstance(schema, dict):
        return schema
    # a property may be called like a keyword, and is then a schema and no list or number
    kept = {name: part for name, part in schema.items() if name not in _LIFTED or isinstance(part, dict)}
    if widens and kept.get("type") == "number":
        kept["type"] = ["number", "null"]
    return {name: part if name in _VALUES else _lift(part, widens=widens) for name, part in kept.items()}


def _lean_inputs(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a tool of ours, absent rather than null, which keeps listings short."""
    return {**schema, "properties": {name: _lean_input(part) for name, part in schema["properties"].items()}}


def _lean_input(part: Mapping[str, Any]) -> dict[str, Any]:
    options = [one for one in part.get("anyOf", ()) if one.get("type") != "null"]
    told = {**(options[0] if len(options) == 1 else {}), **part}
    left_out = (
        {"default", "title"} | ({"anyOf"} if len(options) == 1 else set()) | ({"type"} if "enum" in told else set())
    )
    return {name: one for name, one in told.items() if name not in left_out}


# What a handler says that it returns


def _returns_envelope(returns: Any) -> bool:
    return isinstance(returns, type) and issubclass(returns, Envelope)


def _is_content(annotation: Any, registry: Registry) -> bool:
    """Whether an annotation says that a handler returns content blocks or a finished result."""
    origin = get_origin(annotation)
    if origin is typing.Annotated:
        return _is_content(get_args(annotation)[0], registry)
    if origin in (typing.Union, UnionType, list, tuple, Sequence):
        return any(_is_content(option, registry) for option in get_args(annotation))
    if not isinstance(annotation, type):
        return False
    return annotation.__name__ in _FINISHED or registry.forms[annotation].kind == "block"
