"""Channels: what of a reply goes into `content`, which some clients show, and what into `structuredContent`.

    policy    content                                          structuredContent
    mirror    the body as compact JSON, below its contract's   the body
              own line where it has one
    compact   the body in its cheapest lossless encoding       the body
    summary   a few lines: status, ids, cursor, fidelity,      the body
              error code, how to retrieve the rest
    text      the body as compact JSON                         nothing

A payload alone (the dialect `bare`) is sent as it is; where something is missing from it, an account of that is its
last lines in the text, and one member `aerogram` in structured content.

Whichever channel a client drops, identifiers, cursor, fidelity and the retrieval call are in the other; and of a
failure the author's words, the code, whether and when to retry, the next step, the field and what was received.
A contract may have a line of its own for the text (standard-v2 has `rich · 23 results`): it comes first, and a summary
of a whole reply is that line alone.
A reply's size is that of the larger channel, because a model reads one of them; with `count="both"` it is what both
take together, for clients that pass on both, and with "text" or "structured" (where there is any) that of one.
Pictures and sounds are not text and are not counted as text; a budget in bytes counts the result as it goes over the
wire.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from aerogram.channels.encodings import cheapest_text
from aerogram.codes import KIND_RULES, Retry
from aerogram.content import DEAR_DIGITS
from aerogram.content.jsontext import dumps, loads, part_to_json
from aerogram.cursor import dearest as dearest_cursor
from aerogram.dialects import dialect as dialect_named
from aerogram.dialects.protocol import Dialect
from aerogram.errors import ContractError, ValidationFailed
from aerogram.normalize.plain import json_around
from aerogram.problems import MOST_FAULTS
from aerogram.reply import LEFT_OUT, WAY_ON, Action, Fidelity, Page, Problem, Reply, is_generated_id
from aerogram.reply.identity import shown_names
from aerogram.reply.shown import count_last, say_page
from aerogram.tokens import Counter, best_counter, counts_wire

__all__ = [
    "ACCOUNT",
    "BOX",
    "COUNTS",
    "POLICIES",
    "PREFIX",
    "Account",
    "Channels",
    "Count",
    "Payload",
    "Policy",
    "Sizer",
    "Writer",
    "channels_of",
    "frame_bytes",
    "meta_of",
    "read_failure",
    "split_account",
    "summary_of",
    "tell_facts",
    "tell_failure",
]

Policy: TypeAlias = Literal["mirror", "summary", "compact", "text"]
POLICIES: Final[tuple[Policy, ...]] = get_args(Policy)
Writer: TypeAlias = Callable[[Reply[Any]], Any]
"""What says a reply in a shape of its own, which is sent in place of its data."""

FRAME_BYTES: Final = 320
"""Room for what stands around a result and its text: the response's frame, flags, the server's name, annotations."""

NAME_BYTES: Final = 120
"""As much of that is for the server's name and version; one that says more of itself takes more."""

_SHARES: Final[dict[Policy, float]] = {"mirror": 2.0, "compact": 1.7, "summary": 1.15, "text": 1.0}
"""How often a piece of data is paid for where both channels count, about; the measured whole corrects it."""
Count: TypeAlias = Literal["larger", "both", "text", "structured"]
COUNTS: Final[tuple[Count, ...]] = get_args(Count)
_DEAR_ID: Final = "req_rnshgftn"
"""A request id in as many tokens as hardly any other; what other ids cost is up to chance."""
_DEAR_DURATIONS: Final[dict[type, float]] = {int: 12_345, float: 1234.567}
_SHORT_COUNT: Final = 999
"""A number of tokens that takes one; a larger one, up to a million, takes one more."""
_DEAR_HASH: Final = f"sha256:{DEAR_DIGITS}"
_STAND_INS: Final = {
    "request_id": "req_hsreltpu",
    "operation": "an_operation",
    "timestamp": "2026-11-15T10:00:00Z",
}


@dataclass(frozen=True, slots=True)
class Channels:
    """What a tool result says in each of its two channels."""

    text: str
    structured: Any = None


def channels_of(
    reply: Reply[Any], body: Any, policy: Policy, json: bytes | None = None, speaker: Dialect | None = None
) -> Channels:
    """The two channels of a reply whose body a `speaker` has written; `json` is that of its data, if it is known."""
    if policy == "mirror":
        own = None if speaker is None or speaker.headline is None else speaker.headline(body)
        told = (
            body
            if speaker is None or not speaker.required_if_empty
            else _without_empty(body, speaker.required_if_empty)
        )
        text = (dumps(told) if json is None else json_around(told, reply.data, json)).decode()
        return Channels(text if own is None else f"{own}\n{text}", body)
    if policy == "compact":
        return Channels(cheapest_text(body, best_counter()), body)
    if policy == "summary":
        return Channels(summary_of(reply, body, speaker), body)
    if policy == "text":
        return Channels(json_around(body, reply.data, json).decode())
    raise ValidationFailed(f"There is no channel policy {policy!r}", remediation=f"Use one of {', '.join(POLICIES)}")


def _without_empty(body: Any, names: frozenset[str]) -> Any:
    """A body as a model reads it in a text: without the members of these names that say nothing."""
    return {name: part for name, part in body.items() if name not in names or _says_something(part)}


def _says_something(part: Any) -> bool:
    return any(part.values()) if isinstance(part, dict) else bool(part)


def summary_of(reply: Reply[Any], body: Any = None, speaker: Dialect | None = None) -> str:
    """A reply in a few lines that are enough to take the next step; the first is the contract's own, if it has one."""
    own = None if speaker is None or speaker.headline is None else speaker.headline(body)
    lines = [_headline(reply, body) if own is None else own]
    if reply.problem is not None:
        lines += [] if reply.problem.message == lines[0] else [reply.problem.message]
        lines.append(_problem_line(reply.problem, None if speaker is None else speaker.code_of(reply.problem)))
    if own is None or _lacks_something(reply):
        lines += _steps(reply)
    lines += [f"warning: {notice.message}" for notice in reply.notices]
    if own is None or _lacks_something(reply):
        lines += [f"next: {_call(action)}" for action in reply.actions]
    return "\n".join(lines)


def _lacks_something(reply: Reply[Any]) -> bool:
    """Whether there is more than the reply shows: another page, or what was left out."""
    goes_on = reply.page is not None and (bool(reply.page.cursor) or reply.page.has_more is True)
    return goes_on or (reply.fidelity is not None and reply.fidelity.level != "full")


def _says_why_empty(reply: Reply[Any]) -> bool:
    """Whether a reply has words of its own about that; those that have a code are for programs."""
    return reply.status == "empty" and any(one.code is None for one in reply.notices)


def _steps(reply: Reply[Any]) -> list[str]:
    """What the next step can be taken with."""
    ids = shown_names(_items(reply.data))
    lines = ["ids: " + ", ".join(ids)] if ids else []
    if reply.page is not None:
        lines.append(_page_line(reply.page))
    if reply.fidelity is not None:
        lines.append(_fidelity_line(reply.fidelity))
    return lines


def _headline(reply: Reply[Any], body: Any) -> str:
    if reply.problem is not None:
        error = body.get("error") if isinstance(body, dict) else None
        told = error.get("user_message") if isinstance(error, dict) else None
        return told or reply.problem.user_message or reply.problem.message
    status = body.get("status") if isinstance(body, dict) else None
    count = len(_items(reply.data))
    results = f"{count} result" if count == 1 else f"{count} results"
    return f"{status if isinstance(status, str) else reply.status} · {results}"


def _items(data: Any) -> list[Any]:
    """The items of a reply: its list, the first list inside its record, or the record itself."""
    if isinstance(data, list):
        return data
    if isinstance(data, dict):
        return next((value for value in data.values() if isinstance(value, list) and value), [data])
    return [] if data is None else [data]


MOST_CHOICES: Final = 24
_ALLOWED: Final = "allowed_"
_PLAIN: Final = re.compile(r"[^\s,;]{1,60}")
LONGEST_RECEIVED: Final = 200
"""How many characters of a wrong value are worth repeating to whoever sent it."""
_RETRY_WORDS: Final[dict[Retry, str]] = {
    "yes": "retryable",
    "no": "not retryable",
    "check": "check the state before retrying",
}
_UNKNOWN_CAUSE: Final = frozenset(("TOOL_ERROR", "INTERNAL_ERROR"))
_UNSURE: Final = "probably not retryable"
"""What is said where nobody knows why a tool failed."""
_RETRY_RULES: Final[dict[str, Retry]] = {words: rule for rule, words in _RETRY_WORDS.items()} | {_UNSURE: "no"}


def _problem_line(problem: Problem, code: str | None = None) -> str:
    is_unsure = problem.code in _UNKNOWN_CAUSE and problem.retry == "no"
    said = [f"error: {code or problem.code} ({problem.kind}, {_UNSURE if is_unsure else _RETRY_WORDS[problem.retry]})"]
    if problem.remediation:
        said.append(" ".join(problem.remediation.split()))
    if problem.retry_after is not None:
        said.append(f"retry after {problem.retry_after:g} s")
    details = problem.details or {}
    return "; ".join((*said, *_choices(details), *_faults(details)))


def _choices(details: Mapping[str, Any]) -> list[str]:
    """What would have been allowed."""
    said = []
    for name, allowed in details.items():
        if name.startswith(_ALLOWED) and isinstance(allowed, list) and all(isinstance(one, str) for one in allowed):
            told = [one for one in allowed[:MOST_CHOICES] if _PLAIN.fullmatch(one)]
            others = f" and {len(allowed) - len(told)} more" if len(told) < len(allowed) else ""
            said.append(f"{name}: {', '.join(told)}{others}")
    return said


def _faults(details: Mapping[str, Any]) -> list[str]:
    """The fields that were wrong, and what was received for them."""
    told = list(details.get("errors") or (details,))[:MOST_FAULTS]
    faults = [one for one in told if isinstance(one, Mapping) and isinstance(one.get("field"), str)]
    received = {one["field"]: _short(one["received"]) for one in faults if one.get("received") is not None}
    names = [one["field"] for one in faults]
    if len(names) > 1 and all(map(_PLAIN.fullmatch, names)):
        said = [f"fields: {', '.join(names)}"]
        return [*said, f"received: {dumps(received).decode()}"] if received else said
    said = []
    for one in faults:
        said.append(f"field: {one['field']}")
        if one.get("received") is not None:
            said.append(f"received: {dumps(one['received']).decode()[:LONGEST_RECEIVED]}")
    return said


def _short(received: Any) -> Any:
    """A value that was received, or its beginning as a text."""
    shown = dumps(received).decode()
    return received if len(shown) <= LONGEST_RECEIVED else shown[:LONGEST_RECEIVED]


def _page_line(page: Page) -> str:
    total = f" of {page.total}" if page.total is not None else ""
    if page.cursor:
        return f"next page{total}: cursor={page.cursor}"
    return f"last page{total}" if page.has_more is False else f"more{total}: {page.has_more}"


def _fidelity_line(fidelity: Fidelity) -> str:
    said = [f"fidelity: {fidelity.level}"]
    dropped = (fidelity.extra or {}).get("dropped_count", len(fidelity.dropped_ids))
    if dropped:
        said.append(f"{dropped} left out" + (f" ({', '.join(fidelity.dropped_ids)})" if fidelity.dropped_ids else ""))
    said += [f"{name}={digest}" for name, digest in (fidelity.archive_hashes or {}).items()]
    return "; ".join(said)


def _call(action: Action) -> str:
    arguments = ", ".join(f"{name}={dumps(value).decode()}" for name, value in (action.args or {}).items())
    return f"{action.tool or action.endpoint}({arguments})"


_FOR_USER: Final = "for the user: "
_PROBLEM: Final = re.compile(r"error: (?P<code>\S+) \((?P<kind>\w+), (?P<retry>[a-z ]+)\)(?:; (?P<rest>.*))?")
_CHOICES: Final = re.compile(r"(?:\A|; )(allowed_\w+): ")
_OTHERS: Final = re.compile(r" and \d+ more\Z")
_FIELDS: Final = re.compile(r"(?:\A|; )fields: (?P<names>[^\s;]+, [^;]+?)(?:; received: (?P<received>\{.*\}))?\Z")
_WAIT: Final = re.compile(r"(?:\A|; )retry after (?P<seconds>[0-9.e+]+) s\Z")


def tell_failure(reply: Reply[Any], problem: Problem) -> str:
    """A failure in words: the author's own, then one line to act on."""
    lines = [problem.message]
    if problem.user_message and problem.user_message != problem.message:
        lines.append(_FOR_USER + " ".join(problem.user_message.split()))
    lines.append(_problem_line(problem, dialect_named("bare").code_of(problem)))
    lines += [f"warning: {notice.message}" for notice in reply.notices]
    lines += [f"next: {_call(action)}" for action in reply.actions]
    return "\n".join(lines)


def read_failure(text: str) -> Problem | None:
    """The problem in a text that `tell_failure` wrote."""
    lines = text.split("\n")
    for at in reversed(range(1, len(lines))):
        found = _PROBLEM.fullmatch(lines[at])
        if found is not None and found["kind"] in KIND_RULES and found["retry"] in _RETRY_RULES:
            return _read_problem(lines[:at], found)
    return None


def _read_problem(words: list[str], found: re.Match[str]) -> Problem:
    told = words.pop().removeprefix(_FOR_USER) if words[-1].startswith(_FOR_USER) else None
    advice, faults = _split_faults(found["rest"] or "")
    advice, *choices = _CHOICES.split(advice)
    wait = _WAIT.search(advice)
    return Problem(
        found["code"],
        "\n".join(words),
        kind=found["kind"],  # type: ignore[arg-type]  # known by now
        retry=_RETRY_RULES[found["retry"]],
        user_message=told,
        remediation=(advice if wait is None else advice[: wait.start()]) or None,
        retry_after=None if wait is None else float(wait["seconds"]),
        details={**_read_choices(choices), **faults} or None,
    )


def _read_choices(said: list[str]) -> dict[str, Any]:
    """Pairs of a name and what is allowed for it."""
    return {name: _OTHERS.sub("", told).split(", ") for name, told in zip(said[::2], said[1::2], strict=True)}


def _split_faults(said: str) -> tuple[str, dict[str, Any]]:
    """What comes before the fields that were wrong, and these as details."""
    several = _FIELDS.search(said)
    if several is not None:
        received = _value_of(several["received"] or "{}")
        shown = received if isinstance(received, dict) else {}
        names = several["names"].split(", ")
        faults = [{"field": one, **({"received": shown[one]} if one in shown else {})} for one in names]
        return said[: several.start()], {**faults[0], "errors": faults}
    advice, *fields = re.split(r"(?:\A|; )field: ", said)
    faults = []
    for one in fields:
        name, _, told = one.partition("; received: ")
        faults.append({"field": name, **({"received": _value_of(told)} if told else {})})
    if len(faults) > 1:
        return advice, {**faults[0], "errors": faults}
    return advice, faults[0] if faults else {}


def _value_of(shown: str) -> Any:
    try:
        return loads(shown)
    except ContractError:  # it was too long to be repeated
        return shown


PREFIX: Final = "dev.aerogram/"
"""What begins the names under which `_meta` has what a reply says besides its body."""
ACCOUNT: Final = "aerogram"
BOX: Final = "result"
_LINES: Final = re.compile(
    rf"\n\n?{ACCOUNT}: (?P<note>[^\n]+)(?:\n{ACCOUNT} left out: (?P<left_out>\{{[^\n]*\}}))?\Z",
)


def meta_of(reply: Reply[Any], dialect: Dialect) -> dict[str, Any]:
    """What goes under `_meta`: all but the data where the body is the data alone; the problem in any case."""
    said = {} if dialect.aside is None else dialect.aside(reply)
    if dialect.says_fidelity_in_words and reply.fidelity is not None:
        said["fidelity"] = part_to_json(reply.fidelity)
    if reply.problem is not None:
        said["problem"] = tell_facts(reply.problem)
        if reply.data is not None and dialect.is_bare:  # the text of a failure has no place for it
            said["problem"]["data"] = reply.data
    return {PREFIX + name: value for name, value in said.items()}


def tell_facts(problem: Problem) -> dict[str, Any]:
    """A problem for programs."""
    facts: dict[str, Any] = part_to_json(problem)
    return {**facts, "retryable": problem.retryable}


_TOLD: Final = frozenset({"CONTROL_IGNORED", "PARTIAL_RESULTS"})
"""What a model has to read of a payload beside its account."""


class Account(NamedTuple):
    """What a payload alone lacks, and how to get it, said where a model reads it.

    It is the last lines of the text, and one member of the structured content.
    """

    note: str
    left_out: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, reply: Reply[Any]) -> Account | None:
        """The account of a reply; a whole one has none."""
        if reply.problem is not None or not (_lacks_something(reply) or _says_why_empty(reply)):
            shown_less = [one.message for one in reply.notices if one.code == "PARTIAL_RESULTS"]
            return cls("; ".join(shown_less)) if shown_less else None
        said = []
        if reply.fidelity is not None and reply.fidelity.level != "full":
            hashes = reply.fidelity.archive_hashes or {}
            said.append(reply.notices[-1].message if reply.notices else _fidelity_line(reply.fidelity))
            said += [f"{name}: {digest}" for name, digest in hashes.items() if name != "data"]
        if reply.page is not None and reply.page.cursor:
            said.append(_way_on(reply.page, reply.data, is_counted=bool(said)))
        told = [one for one in reply.notices if one.code in _TOLD or (not said and one.code is None)]
        said += [one.message for one in told if one.message not in said]
        return cls("; ".join(said) or "more is there", (reply.extra or {}).get(LEFT_OUT))

    @property
    def lines(self) -> str:
        """The account as text."""
        outline = "" if not self.left_out else f"\n{ACCOUNT} left out: {dumps(self.left_out).decode()}"
        return f"{ACCOUNT}: {self.note}{outline}"

    @property
    def member(self) -> dict[str, Any]:
        """The account as a member of an object."""
        return {"note": self.note} if not self.left_out else {"note": self.note, "left_out": dict(self.left_out)}


def _way_on(page: Page, data: Any, *, is_counted: bool) -> str:
    """How far a page goes, unless that is said, and how the next is asked for: by a whole call where one is known."""
    known = (page.extra or {}).get(WAY_ON)
    if known is None:
        words = "" if is_counted else f"{say_page(0, len(_items(data)), page.total)}; "
        return f"{words}next: cursor='{page.cursor}'"
    (call, offset), is_text = known, isinstance(data, str)
    count = len(data if is_text else _items(data))
    reached = offset + max(count, 1)  # a page that shows nothing has passed over a row, as it says
    last = 0 if offset or page.total is None else count_last(reached, page.total)
    end = f"; end: offset=-{last}" if last else ""
    words = f"{say_page(offset, count, page.total, 'characters' if is_text else '')}; " if count else ""
    return f"{words}more: {call}, offset={reached}){end}"


def split_account(text: str) -> tuple[str, Account | None]:
    """A text without the account at its end, and the account."""
    found = _LINES.search(text, max(text.rfind(f"\n{ACCOUNT}: "), 1) - 1)
    if found is None:
        return text, None
    outline = loads(found["left_out"]) if found["left_out"] else None
    return text[: found.start()], Account(found["note"], outline if isinstance(outline, dict) else None)


def _as_object(data: Any) -> Any:
    """The payload of a handler that makes objects: what was read out of one with a lone `result` is put back."""
    if data is None or isinstance(data, dict):
        return data
    return {"results" if isinstance(data, list) else BOX: data}


@dataclass(frozen=True, slots=True)
class Payload:
    """How a bare payload is sent: as text, and as structured content where its tool has a schema or it is an object.

    `is_boxed`: the schema wants it inside an object, as `{"result": …}`, whose member may have another name (`box`).
    `is_closed`: it has no place for the account. `is_object`: the handler itself makes an object. `is_text`: it is a
    text, which says itself what it lacks. `spell` writes data as the text that it came in, in which it costs `weight`
    times as much as in compact JSON, about.
    """

    has_schema: bool = False
    is_boxed: bool = False
    is_closed: bool = False
    is_object: bool = False
    is_text: bool = False
    box: str = BOX
    spell: Callable[[Any], str] | None = None
    weight: float = 1.0

    def channels(self, reply: Reply[Any]) -> Channels:
        """The two channels of a payload and of what it lacks; a failure is told in words."""
        if reply.problem is not None:
            return Channels(tell_failure(reply, reply.problem))
        account, data = Account.of(reply), _as_object(reply.data) if self.is_object else reply.data
        text = data if isinstance(data, str) else self._spell(data)
        if isinstance(data, str) or self.is_text:  # it says itself what it lacks, in whichever channel it is read
            told = text if account is None else f"{text}\n\n{account.lines}"
            return Channels(told, self._box(told if self.is_text or self.is_boxed else data))
        structured = self._box(data) if self.has_schema else data if isinstance(data, dict) else None
        if account is None:
            return Channels(text, structured)
        if isinstance(structured, dict) and ACCOUNT not in structured and not self.is_closed:
            structured = {**structured, ACCOUNT: account.member}
        return Channels(f"{text}\n{account.lines}", structured)

    def _spell(self, data: Any) -> str:
        return dumps(data).decode() if self.spell is None else self.spell(data)

    def _box(self, data: Any) -> Any:
        """Structured content, where a schema promises some."""
        return None if not self.has_schema else {self.box: data} if self.is_boxed else data


def frame_bytes(stamp: int | None, meta: Mapping[str, Any]) -> int:
    """The bytes around the channels of a result, with what its server itself adds to `_meta` and what is there."""
    return FRAME_BYTES if stamp is None else FRAME_BYTES + max(stamp - NAME_BYTES, 0) + len(dumps(meta))


@dataclass(frozen=True, slots=True)
class Sizer:
    """The size of a reply in a dialect and a channel policy, as a counter counts it: a `measure` for `fit`."""

    dialect: str | Dialect = "response-v2"
    policy: Policy = "text"
    counter: Counter = field(default_factory=best_counter)
    payload: Payload | None = None
    writer: Writer | None = None
    counted: Count = "larger"
    stamp: int | None = None
    """How many bytes a server itself adds to `_meta`; None where nothing is sent there."""

    def __post_init__(self) -> None:
        if counts_wire(self.counter):  # over which both channels go, whichever of them is read
            object.__setattr__(self, "counted", "both")

    def dearest(self, reply: Reply[Any], /) -> int:
        """The size that the reply would have with an unlucky request id, a long duration and an unlucky cursor.

        What is decided by it does not depend on chance, and holds for the next call as well.
        """
        size, cost = self(_with_dear_parts(reply)), reply.telemetry
        is_long = size > _SHORT_COUNT and cost is not None and cost.tokens_estimated == 0
        return size + is_long * 2  # a token in each channel

    def __call__(self, reply: Reply[Any], /) -> int:
        """The size of the whole reply: of its larger channel, or of both."""
        spoken = dialect_named(self.dialect) if isinstance(self.dialect, str) else self.dialect
        if self.payload is not None:
            return self.of(self.payload.channels(reply)) + self._beside(reply, spoken)
        completed = spoken.complete(_with_stand_ins(reply, spoken.needs)) if spoken.needs else reply
        if self.writer is not None and completed.problem is None and completed.data is not None:
            completed = completed.replace(data=self.writer(completed))
        body = spoken.encode(completed)
        return self.of(channels_of(completed, body, self.policy, speaker=spoken)) + self._beside(completed, spoken)

    def _beside(self, reply: Reply[Any], spoken: Dialect) -> int:
        """What a reply says besides its channels, where the wire is limited."""
        if self.stamp is None or not counts_wire(self.counter):
            return 0
        return frame_bytes(self.stamp, meta_of(reply, spoken)) - FRAME_BYTES

    def of(self, channels: Channels) -> int:
        """The size of rendered channels."""
        if counts_wire(self.counter):
            return self.counter.count(_wire_text(channels)) + FRAME_BYTES
        text = self.counter.count(channels.text)
        if self.counted == "text" or channels.structured is None:
            return text
        body = dumps(channels.structured).decode()
        return self.join(
            text, text if body == channels.text else self.counter.count(body)
        )  # mostly one mirrors the other

    def join(self, text: int, structured: int) -> int:
        """What the two channels are together, as they are counted."""
        if self.counted == "both":
            return text + structured
        return {"text": text, "structured": structured}.get(self.counted, max(text, structured))

    def price(self, text: str) -> float:
        """What a piece of JSON text adds to a reply."""
        weight = 1.0 if self.payload is None else self.payload.weight
        if self.counted != "both":
            return self.counter.count(text) * weight if weight != 1 else self.counter.count(text)
        if self.payload is not None:
            return self.counter.count(text) * weight * _SHARES["mirror" if self.payload.has_schema else "text"]
        return self.counter.count(text) * _SHARES[self.policy]


def _with_stand_ins(reply: Reply[Any], needs: frozenset[str]) -> Reply[Any]:
    """A reply with typical values for what is not stamped on it yet, so that its size does not depend on chance."""
    missing = {name: value for name, value in _STAND_INS.items() if name in needs and getattr(reply, name) is None}
    return reply.replace(**missing) if missing else reply


def _with_dear_parts(reply: Reply[Any]) -> Reply[Any]:
    changes: dict[str, Any] = {}
    if reply.request_id is not None and is_generated_id(reply.request_id):
        changes["request_id"] = _DEAR_ID
    cost = reply.telemetry
    if cost is not None and cost.duration_ms is not None:
        count = cost.tokens_estimated if cost.tokens_estimated != 0 else _SHORT_COUNT  # 0 where nobody has counted yet
        duration = _DEAR_DURATIONS[type(cost.duration_ms)]
        changes["telemetry"] = replace(cost, duration_ms=duration, tokens_estimated=count)
    if reply.page is not None and reply.page.cursor:
        changes["page"] = replace(reply.page, cursor=dearest_cursor(reply.page.cursor))
        hashes = reply.fidelity.archive_hashes if reply.fidelity is not None else None
        if reply.fidelity is not None and hashes:  # on each page they are those of other rows
            changes["fidelity"] = replace(reply.fidelity, archive_hashes=dict.fromkeys(hashes, _DEAR_HASH))
    return reply.replace(**changes) if changes else reply


def _wire_text(channels: Channels) -> str:
    result: dict[str, Any] = {"content": [{"type": "text", "text": channels.text}]}
    if channels.structured is not None:
        result["structuredContent"] = channels.structured
    return dumps(result).decode()
