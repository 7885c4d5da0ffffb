"""Walk: the careful way through a value. It keeps the path, the ancestors and the room that is left.

Every value it meets gets a JSON form, and every place where that form is not the value
itself gets a notice with the JSON Pointer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import orjson

from aerogram.content.jsontext import pointer_of
from aerogram.errors import ReplyError, TokenLimitExceeded
from aerogram.normalize.blocks import is_block
from aerogram.normalize.forms import Form, encode_text, qualified_name
from aerogram.normalize.models import WithheldValue, dump_fields, is_model
from aerogram.normalize.plain import fewest_items
from aerogram.normalize.policy import Policy
from aerogram.normalize.signals import SIGNALS, log_error
from aerogram.problems import problem_of
from aerogram.reply import Notice

__all__ = ["ASK_THE_OPERATOR", "TooLarge", "UnreadableValue", "Walk"]

_EXACT_INTEGER = 2**53
_LONGEST_INTEGER = 10**4300  # readers in Python take no more digits
_MOST_NOTICES = 100
_FEW_PLACES = 3  # where more than so many are changed in one way, that is said once
_MANY = 1_000_000  # fewer are walked through, to say where there are too many
_STEPS = 64  # after so many the clock is looked at
_LONGEST_POINTER = 1000
_CONTAINER_COST = 32  # what the careful way takes per container: it bounds time, too
_OBJECT_COST = 64
_MEDIA = frozenset(("image", "audio", "resource"))

ASK_THE_OPERATOR = "This is for whoever runs the server to mend; its log says more."
"""What a caller can do about a value that the server cannot send."""


class UnreadableValue(ReplyError):
    """A value cannot be written, nor named: its own methods raise."""

    def __init__(self, message: str) -> None:
        super().__init__(message, remediation=ASK_THE_OPERATOR)


class TooLarge(TokenLimitExceeded):
    """A value takes more room than there is."""


class Walk:
    """One careful pass over one value."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._changes: dict[tuple[str, str, str], _Places] = {}
        self.media: list[dict[str, Any]] = []
        self.is_odd = False
        self._is_logged = False
        self.has_listed_block = False
        self._mappings = 0
        self._path: list[str] = []
        self._above: dict[int, int] = {}
        self._room = policy.max_bytes
        self._steps = 0
        self._ends = time.monotonic() + policy.max_seconds
        self._unsaid = 0

    def write(self, value: Any) -> Any:
        """The value as plain JSON data; integers beyond 64 bits are fragments of digits."""
        return self._write(value)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What was changed, and where; what was changed in one way in many places is said once."""
        told = [
            notice for (code, text, kind), places in self._changes.items() for notice in places.tell(code, text, kind)
        ]
        if self._unsaid:
            told.append(Notice(f"{self._unsaid:,} more places were changed", "FALLBACK_USED", "info"))
        return tuple(told)

    def check_items(self, value: Any) -> None:
        """Refuse a value of very many items, more than there may be bytes, before any of them is looked at."""
        try:
            count = fewest_items(value)
        except TypeError:  # an iterator, or a native that is none: the walk will come to it
            return
        if count > max(self.policy.max_bytes, _MANY):
            raise self._too_large(value)

    def check_size(self, value: Any, body: bytes) -> None:
        """Refuse a body over the limit, naming the value it came from."""
        if len(body) > self.policy.max_bytes:
            raise self._too_large(value)

    # One value, made plainer until it is plain

    def _write(self, value: Any) -> Any:
        entered: list[Any] = []  # held, so that no other value can get the identity of one that is gone
        depth, mappings = len(self._path), self._mappings
        try:
            while True:
                kind = type(value)
                if kind in _SCALARS:
                    self._take(1, value)
                    return _SCALARS[kind](self, value)
                barred = self._enter(value)
                if barred is not None:
                    return barred
                entered.append(value)
                if kind in _CONTAINERS:
                    return _CONTAINERS[kind](self, value)
                form = self.policy.registry.forms[kind]
                if form.kind != "json":
                    return _FORMED[form.kind](self, value, form)
                value = self._plainer(value, form)
        except (TooLarge, UnreadableValue, *SIGNALS):
            raise
        except BaseException as error:  # noqa: BLE001 - the rest of the data is written all the same
            del self._path[depth:]
            self._mappings = mappings
            return self._unreadable(value, error)
        finally:
            for one in entered:
                del self._above[id(one)]

    def _enter(self, value: Any) -> Any:
        """What stands for a value that must not be gone into, because that would never end; else enter it."""
        self._take(_CONTAINER_COST if type(value) in _CONTAINERS else _OBJECT_COST, value)
        key, limit = id(value), self.policy.max_depth
        if key in self._above:
            target = _pointer(self._path[: self._above[key]])
            self._note("FALLBACK_USED", f"the value holds itself, at {target or 'the top'}", value)
            return {"$ref": f"#{target}"}
        if len(self._path) >= limit or len(self._above) >= 3 * limit:
            self._note("CONTENT_TRUNCATED", f"nesting deeper than {limit} levels was cut", value)
            return f"[deeper than {limit} levels]"
        self._above[key] = len(self._path)
        return None

    def _plainer(self, value: Any, form: Form) -> Any:
        """One step; what would be copied by it is weighed first."""
        if form.weigh is not None and is_model(type(value)):
            return self._model(value, form)
        if form.weigh is not None and form.weigh(value, self._room) > self._room:
            raise self._too_large(value)
        return form.convert(value)

    def _model(self, value: Any, form: Form) -> Any:
        """A model that its own serialiser cannot write, or would not stop writing, goes field by field."""
        error: BaseException = OverflowError("it is too large")
        try:
            if form.weigh is None or form.weigh(value, self._room) <= self._room:
                return form.convert(value)
        except SIGNALS:
            raise
        except BaseException as raised:  # noqa: BLE001 - its fields are asked one by one
            error = raised
        return dump_fields(value, self._room, error)

    # Scalars

    def _text(self, value: str) -> str:
        self._take(len(value), value)
        text = encode_text(value)
        if text is not value:
            self._note("FALLBACK_USED", "surrogates were joined, or replaced by U+FFFD", value)
        return text

    def _integer(self, value: int) -> Any:
        if -_EXACT_INTEGER <= value <= _EXACT_INTEGER:
            return value
        if not -_LONGEST_INTEGER < value < _LONGEST_INTEGER:
            self._take(value.bit_length() // 4, value)
            self._note("FALLBACK_USED", "an integer of more than 4,300 digits is written as hexadecimal text", value)
            return hex(value)
        self._note("FALLBACK_USED", "an integer beyond 2^53 is exact here, but not for every reader", value)
        return orjson.Fragment(str(value))

    def _number(self, value: float) -> float | None:
        if value - value == 0:
            return value
        self._note("FALLBACK_USED", f"{value} is not a JSON number and was written as null", value)
        return None

    def _same(self, value: Any) -> Any:
        return value

    def _withheld(self, value: WithheldValue) -> Any:
        return self._unreadable(value.value, value.error)

    # Containers

    def _mapping(self, value: dict[Any, Any]) -> dict[str, Any]:
        written: dict[str, Any] = {}
        self._mappings += 1
        for key, part in value.copy().items():  # another thread may change it meanwhile
            name = self._free_name(self._name(key), key, written)
            self._path.append(name)
            written[name] = self._write(part)
            self._path.pop()
        self._mappings -= 1
        return written

    def _sequence(self, value: Iterable[Any]) -> list[Any]:
        written: list[Any] = []
        for place, part in enumerate(value):
            self._path.append(str(place))
            written.append(self._write(part))
            self._path.pop()
        return written

    def _name(self, key: Any) -> str:
        """A key as JSON would write it: `true`, `null`, `1.5`, a date; a tuple as its JSON text."""
        if type(key) is str:
            return self._text(key)
        if type(key) is float and key - key != 0:
            return str(key)
        plain = self._write(key)
        return plain if type(plain) is str else orjson.dumps(plain).decode()

    def _free_name(self, name: str, key: Any, taken: Mapping[str, Any]) -> str:
        if name not in taken:
            return name
        free = named = f"{name} ({_type_name(key)})"
        count = 1
        while free in taken:
            count += 1
            free = f"{named} {count}"
        self._note("FALLBACK_USED", f"two keys have the name {name[:80]!r}; the second is {free[-80:]!r} here", key)
        return free

    # Kinds that are more than their JSON

    def _iterator(self, value: Any, form: Form) -> list[Any]:
        source, most = iter(form.convert(value)), self.policy.max_items
        written: list[Any] = []
        while (item := self._next(source, value, len(written))) is not _END:
            if len(written) == most or self._is_over():
                self._note("PARTIAL_RESULTS", f"only the first {len(written):,} items were read", value)
                getattr(source, "close", _nothing)()
                break
            self._path.append(str(len(written)))
            written.append(self._write(item))
            self._path.pop()
        return written

    def _next(self, source: Iterator[Any], value: Any, count: int) -> Any:
        """The next item; what was read before a source broke off is kept."""
        try:
            return next(source, _END)
        except SIGNALS:
            raise
        except BaseException as error:
            if not count:
                raise
            log_error(
                "a returned iterator at %s broke off after %s items", _pointer(self._path), str(count), error=error
            )
            self._note("PARTIAL_FAILURE", f"it broke off after {count:,} items: {_describe(error)}", value)
            return _END

    def _awaitable(self, value: Any, _: Form) -> Any:
        getattr(value, "close", _nothing)()
        raise TypeError("it has to be awaited first")

    def _block(self, value: Any, form: Form) -> Any:
        wire = self._write(form.convert(value))
        if not is_block(wire):
            raise TypeError("it is not a content block")
        self.has_listed_block = self.has_listed_block or not self._mappings
        if not self._path or wire["type"] not in _MEDIA:
            return wire
        self.media.append(wire)
        held = wire.get("resource", wire)
        named = {name: held[name] for name in ("uri", "mimeType") if name in held}
        return {"type": wire["type"], **named, "attachment": len(self.media) - 1}

    def _exception(self, value: Any, _: Form) -> Any:
        problem = problem_of(value)
        return self._write({"error": {"code": problem.code, "message": problem.message}})

    def _odd(self, value: Any, form: Form) -> Any:
        text = form.convert(value)
        if type(text) is not str:
            text = str.__str__(text)
        if self._path:  # at the top its text is what was promised
            self._note("FALLBACK_USED", "it has no JSON form; its text stands in its place", value)
        self._mark_odd()
        return self._text(text)

    def _unreadable(self, value: Any, error: BaseException) -> Any:
        reason = f"it cannot be read: {_describe(error)}"
        if not self._is_logged:
            self._is_logged = True
            where = _pointer(self._path) or "the top"
            log_error("a returned value of type %s at %s cannot be read", _type_name(value), where, error=error)
        if not self._path:
            raise UnreadableValue(f"the value of type {_type_name(value)} at the top: {reason}") from error
        self._note("PARTIAL_FAILURE", reason, value)
        self._mark_odd()
        return f"[unreadable {_type_name(value)}]"

    def _mark_odd(self) -> None:
        """The value has no JSON form: when it is at the top, or when the policy is all or nothing."""
        self.is_odd = self.is_odd or not self._path or self.policy.fallback == "result"

    # Limits and notices

    def _take(self, room: int, value: Any) -> None:
        self._room -= room
        if self._room < 0:
            raise self._too_large(value)
        self._steps += 1
        if not self._steps % _STEPS and self._is_over():
            raise self._too_slow(value)

    def _is_over(self) -> bool:
        return time.monotonic() > self._ends

    def _too_slow(self, value: Any) -> TooLarge:
        limit = f"takes longer than {self.policy.max_seconds:g} seconds to read; they were over"
        return self._refuse(limit, value)

    def _too_large(self, value: Any) -> TooLarge:
        return self._refuse(f"is larger than {self.policy.max_bytes:,} bytes; the limit was passed", value)

    def _refuse(self, limit: str, value: Any) -> TooLarge:
        where = _pointer(self._path) or "the top"
        return TooLarge(
            f"the result {limit} at {where}, in a value of type {_type_name(value)}",
            remediation="Ask for less: a page, a filter or fewer fields.",
        )

    def _note(self, code: str, text: str, value: Any) -> None:
        key = (code, text, _type_name(value))
        if key not in self._changes and len(self._changes) >= _MOST_NOTICES:
            self._unsaid += 1
            return
        self._changes.setdefault(key, _Places()).add(self._path)


class _Places:
    """The places where a value was changed in one way: the first few, and how many there are."""

    def __init__(self) -> None:
        self._first: list[str] = []
        self._count = 0

    def add(self, path: Iterable[str]) -> None:
        self._count += 1
        if len(self._first) < _FEW_PLACES:
            self._first.append(_pointer(path))

    def tell(self, code: str, text: str, kind: str) -> Iterator[Notice]:
        """A notice for each place, or one for all of them where they are many."""
        if self._count <= _FEW_PLACES:
            for pointer in self._first:
                yield Notice.of(code, f"{pointer or 'the value'} ({kind}): {text}", pointer=pointer, type=kind)
        else:
            places = f"{', '.join(self._first)} and {self._count - _FEW_PLACES:,} more places"
            yield Notice.of(code, f"{places} ({kind}): {text}", pointer=self._first[0], type=kind, count=self._count)


_SCALARS: dict[type, Callable[[Walk, Any], Any]] = {
    str: Walk._text,
    int: Walk._integer,
    float: Walk._number,
    bool: Walk._same,
    type(None): Walk._same,
    WithheldValue: Walk._withheld,
}
_CONTAINERS: dict[type, Callable[[Walk, Any], Any]] = {
    dict: Walk._mapping,
    list: Walk._sequence,
    tuple: Walk._sequence,
}
_FORMED: dict[str, Callable[[Walk, Any, Form], Any]] = {
    "iterator": Walk._iterator,
    "awaitable": Walk._awaitable,
    "block": Walk._block,
    "exception": Walk._exception,
    "odd": Walk._odd,
}
_END = object()


def _nothing() -> None: ...


def _pointer(path: Iterable[str]) -> str:
    """The JSON Pointer of a path; one with very long names is cut, for notices must stay small."""
    pointer = pointer_of(name[:_LONGEST_POINTER] for name in path)
    return pointer if len(pointer) <= _LONGEST_POINTER else pointer[:_LONGEST_POINTER] + "…"


def _type_name(value: Any) -> str:
    try:
        return encode_text(qualified_name(type(value)))[:200]
    except SIGNALS:
        raise
    except BaseException:  # noqa: BLE001 - a metaclass may hide even its name
        return "object"


def _describe(error: BaseException) -> str:
    """What went wrong inside a stranger's method: its kind, not its words, which may be anything."""
    return f"{_type_name(error)} was raised"
