"""Dialect: how one contract says a Reply, as a JSON body and back.

A dialect has two hands of its own, `write` (the members the contract names) and
`read` (those members alone, read back), and a pydantic model of its body. Everything
else follows: `encode` adds whatever did not come back, `decode` takes it in again, so
that for every reply `decode(encode(reply)) == reply`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from types import MappingProxyType, NoneType
from typing import Annotated, Any, ClassVar, Literal, Optional, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    create_model,
    model_serializer,
)

from aerogram.content.jsontext import part_to_json, pointer_of
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
)

_MISSING = "missing"
KEY = "aerogram"
BOX = "box"
ORIGIN = "origin"
Form: TypeAlias = Literal["rows", "record", "value"]


class Part:
    """Something that answers are made of. One that contradicts its document is a mistake of the server."""


class Envelope(Part):
    """A whole answer in the shape of a document."""

    @classmethod
    def data_type(cls) -> Any:
        """The type of the payload inside, if it is told; else None."""
        told = getattr(cls, "model_fields", {}).get("results")
        found: Any = None if told is None else told.annotation
        return None if isinstance(found, TypeVar) or bool(getattr(found, "__parameters__", ())) else found


class Dialect(ABC):
    """One contract: pure functions between a Reply and its JSON body."""

    name: ClassVar[str]
    is_bare: ClassVar[bool] = False
    """Whether a body is the payload alone, and no envelope."""
    media_type: ClassVar[str] = "application/json"
    body: ClassVar[type[BaseModel]]
    slim: ClassVar[Mapping[str, Any]]
    members: ClassVar[frozenset[str]]
    """The members that the contract names at the top of a body."""
    extension: ClassVar[str] = f"/{KEY}"
    """Where the extension stands."""
    echoes: ClassVar[bool] = False
    """Whether this contract says in every reply how the request was understood."""
    shortage: ClassVar[str | None] = "PARTIAL_RESULTS"
    """The code of the warning that something is missing; None where the warning and the fidelity say as much."""
    explains_partial: ClassVar[bool] = False
    """Whether this contract wants a warning wherever something is missing."""
    explains_emptiness: ClassVar[bool] = False
    """Whether this contract wants a reason wherever there are no rows."""
    says_fidelity_in_words: ClassVar[bool] = False
    """Whether a body says what is missing in the words of its warnings alone; programs want it as data."""
    documents_cursors: ClassVar[bool] = False
    """Whether this contract says what a cursor is made of."""
    has_whole_durations: ClassVar[bool] = False
    """Whether this contract writes how long something took in whole milliseconds, of which there is at least one."""
    hides_own_ids: ClassVar[bool] = False
    """Whether a success goes without a request id that was made here: nobody needs it, and it has its price."""
    needs: ClassVar[frozenset[str]] = frozenset()
    """What the contract requires and a handler rarely says; `complete` fills it in."""
    has_pages: ClassVar[bool] = False
    """Whether the contract has a member that says which page of a list this is."""
    required_if_empty: ClassVar[frozenset[str]] = frozenset()
    """Members that the contract requires even where they say nothing; a text for a model goes without them then."""
    smallest: ClassVar[int] = 1
    """The fewest tokens that hold a row with its title, or some of its text, and what is said about the rest."""
    aside: Callable[[Reply[Any]], dict[str, Any]] | None = None
    """What a reply says that has no place in a body, and goes beside it; None where all of it has one."""
    headline: Callable[[Mapping[str, Any]], str | None] | None = None
    """What gives the line that the contract has for the text of a tool result with this body, if it has one."""
    vocabularies: ClassVar[frozenset[str]] = frozenset()
    """Where a body has a word of a list that may grow: one that was added later can be read, and not written."""

    @abstractmethod
    def write(self, reply: Reply[Any]) -> dict[str, Any]:
        """The body with the members that the contract names."""

    @abstractmethod
    def read(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The reply's fields as far as the contract's own members say them."""

    @abstractmethod
    def recognises(self, body: Mapping[str, Any]) -> bool:
        """Whether a body speaks this dialect, by its distinctive members alone."""

    def says_all(self, reply: Reply[Any]) -> bool:
        """Whether a reply is complete and the contract has a word for all of it; in doubt it has not.

        It only saves time: the common reply is known to come back whole, and need not be compared.
        """
        return False

    def skeleton(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """What lenient reading assumes for top-level members that are missing."""
        return {}

    def place(self, body: Mapping[str, Any]) -> Any:
        """The object in the body where the contract allows additions."""
        return body

    def code_of(self, problem: Problem) -> str:
        """The word that bodies in this dialect have for the code of a problem."""
        return problem.code

    def encode(self, reply: Reply[Any], said: Reply[Any] | None = None) -> dict[str, Any]:
        """The JSON body of a reply; with `said`, it reads as that one, which was completed only for this contract."""
        if said is None and self.says_all(reply):
            return self.write(reply)
        if self.needs and (missing := reply.missing(self.needs)):
            wanted = ", ".join(sorted(missing))
            raise InvalidReply(f"{self.name} needs {wanted}: use dialect.complete(reply, operation=…)")
        body = self.write(reply)
        place = self.place(body)
        left = leftover(vars(said or reply), self.read(body))
        if left:
            place[KEY] = left
        return body

    def decode(self, body: Any, *, lenient: bool = True) -> Reply[Any]:
        """The reply in a body; a broken rule is a `ContractError` with its JSON Pointer.

        Lenient reading takes fragments (a required member may be missing), never
        contradictions.
        """
        self.check(body, lenient=lenient)
        return self._restore(body)

    def is_older(self, body: Mapping[str, Any]) -> bool:
        """Whether a dictionary is in the shape that callers knew before this contract: it stays so for them."""
        return False

    def decode_fragment(self, body: Mapping[str, Any]) -> Reply[Any] | None:
        """The reply in a handler's dictionary that is meant as a body of this dialect and lacks something of one."""
        if not self.recognises(body) or not body.keys() <= self.members:
            return None
        try:
            return self.decode(body)
        except ContractError:
            return None

    def _restore(self, body: Any) -> Reply[Any]:
        place = self.place(body) or {}
        left = place.get(KEY) or {}
        try:
            return restore(self.read(body), left, self.name, self.extension if left else "")
        except InvalidReply as error:
            raise ContractError(str(error), "", self.name) from None

    def validate(self, body: Any) -> None:
        """Raise `ContractError` unless the body keeps every rule of the contract, with words that are known today."""
        self.check(body, lenient=False, later=False)
        self._restore(body)

    def check(self, body: Any, *, lenient: bool, later: bool = True) -> None:
        """Raise for the first member that breaks a rule.

        A missing one passes when lenient, and a word that a list may have got `later`.
        """
        if not isinstance(body, dict):
            raise ContractError("the body is a JSON object", "", self.name)
        try:
            assumed = {**self.skeleton(body), **body} if lenient else body
            self.body.model_validate(assumed, strict=True, by_alias=True, by_name=False)
        except ValidationError as error:
            for fault in error.errors(include_url=False, include_context=False):
                if not (lenient and fault["type"] == _MISSING):
                    pointer = _pointer(fault["loc"], body, missing=fault["type"] == _MISSING)
                    if later and pointer in self.vocabularies and isinstance(fault["input"], str):
                        continue
                    rule = fault["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
                    raise ContractError(rule, pointer, self.name) from None
        broken = self.contradiction(body)
        if broken is not None:
            raise ContractError(broken, "", self.name)

    def contradiction(self, body: Mapping[str, Any]) -> str | None:
        """The rule between members that a body breaks, whatever else is missing from it."""
        return None

    def schema(self, *, slim: bool = False) -> dict[str, Any]:
        """The JSON Schema (2020-12) of the body: full, or slim for tool listings."""
        if slim:
            return dict(self.slim)
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": f"urn:aerogram:schema:{self.name}",
            **self.body.model_json_schema(),
        }

    def listed_schema(self, form: Form | None = None, own: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
        """The schema for a tool listing, with the type of the data in it: of `rows`, one `record`, or a single `value`.

        It holds for failures as well, and for replies from which something was left out.
        """
        return self.schema(slim=True)

    def complete(self, reply: Reply[Any], **facts: Any) -> Reply[Any]:
        """The reply with what this contract requires filled in (see `Reply.complete`)."""
        return reply.complete(self.needs, hides_own_id=self.hides_own_ids, **facts)


def without_nothing(**members: Any) -> dict[str, Any]:
    """An object of the members that say something."""
    return {name: value for name, value in members.items() if value is not None}


def unnamed_members(found: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any] | None:
    """The members a contract does not name, or None."""
    if found.keys() <= known:
        return None
    return {name: value for name, value in found.items() if name not in known}


def flatten(part: Any, words: Mapping[str, str], others: Collection[str] = ()) -> dict[str, Any]:
    """An open object of a contract: the part's own words, then whatever else it holds, unless that has one's name.

    `others` are members of the object that are not the part's.
    """
    held = {
        word: list(value) if type(value) is tuple else value
        for name, word in words.items()
        if (value := getattr(part, name)) is not None
    }
    can_join = part.extra and part.extra.keys().isdisjoint((*words.values(), *others))
    return {**held, **part.extra} if can_join else held


def unflatten(part: type[Any], members: Mapping[str, Any], words: Mapping[str, str]) -> Any:
    """The part in an open object; members without a word of their own become its `extra`."""
    named = {name: members[word] for name, word in words.items() if word in members}
    if len(named) == len(members):
        return part(**named)
    return part(**named, extra=unnamed_members(members, frozenset(words.values())))


def read_retry(error: Mapping[str, Any]) -> Any:
    """The retry rule in a `retryable` flag; None when there is none, for the table to settle."""
    if error.get("retryable") is None:
        return None
    if error["retryable"]:
        return "yes"
    return "check" if error.get("kind") == "conflict" else "no"


def _pointer(location: tuple[int | str, ...], body: Any, *, missing: bool) -> str:
    """The JSON Pointer of a fault; steps that name a branch of a union are not in the body and are skipped."""
    steps: list[int | str] = []
    for depth, step in enumerate(location, 1):
        inside = body if isinstance(body, dict) else dict(enumerate(body)) if isinstance(body, list) else {}
        if step in inside:
            body = inside[step]
        elif not missing or depth < len(location):
            continue
        steps.append(step)
    return pointer_of(steps)


# The extension: what a reply says and a contract has no word for. It travels under one key, `aerogram`, in the place
# where the contract allows additions; delete that key, and every field the contract names still reads.
#
#     {"status": "partial", "box": "/results", "problem": {"retry": "check"}}
#
# A part that the contract half says (a problem, a page, one of several warnings) carries only the half it lacks.
# `box` is the JSON Pointer at which the contract's payload holds the data, or null when there is none; a name without
# a slash is that of the one member of an object, where a contract takes such an object for a box.


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
            return tuple(_mend_part(LISTS[name], part, one) for part, one in zip(heard, value, strict=True))
        return tuple(_mend_part(LISTS[name], None, one) for one in value or ())
    return value if name not in PARTS or value is None else _mend_part(PARTS[name], heard, value)


def _mend_part(kind: type[Any], heard: Any, said: Mapping[str, Any]) -> Any:
    """A part as it was said; a null takes back a default, and there is none for what every such part has."""
    required = (one.name for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING)
    for name in required:
        if name in said and said[name] is None:
            raise InvalidReply(f"{kind.__name__.lower()}.{name} is not null")
    return kind(**said) if heard is None else replace(heard, **said)


def check_aside(aside: Mapping[str, Any], dialect: str, pointer: str) -> None:
    """Raise `ContractError` where what stands beside a body is of another type than it has in a reply.

    A word that a list may have got later passes.
    """
    try:
        Extension.model_validate(aside, strict=True)
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_context=False):
            if fault["type"] != "literal_error" or not isinstance(fault["input"], str):
                raise ContractError(fault["msg"], pointer + pointer_of(fault["loc"]), dialect) from None


def restore_foreign(heard: dict[str, Any], left: Any, dialect: str, pointer: str) -> Reply[Any]:
    """As `restore`, of what a stranger has said, in which everything may be of any type."""
    check_aside(left, dialect, pointer)
    return restore(heard, left, dialect, pointer)


def _pairs_up(said: Any, heard: Any) -> bool:
    """Whether the contract says each part of a list, so that what it lacks of each part is enough."""
    return isinstance(heard, tuple) and isinstance(said, (tuple, list)) and len(said) == len(heard)


def _leave_data(left: dict[str, Any], said: Any, heard: Any) -> None:
    """Record where the data stands in the contract's payload; carry it here if it stands nowhere."""
    if said is None:
        if heard is not None:
            left[BOX] = None
        return
    if isinstance(said, dict) and len(said) == 1:
        ((name, value),) = said.items()
        if value is heard and not name.startswith("/"):  # which would be a place in the payload
            left[BOX] = name
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
