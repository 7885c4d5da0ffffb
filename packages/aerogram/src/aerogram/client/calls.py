"""Calls: those that a reply leads to, its next page and what it left out, without making them.

Whoever makes the calls sends the replies back in, and may wait for them or await them.
"""

from __future__ import annotations

import base64
import binascii
import re
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias
from urllib.parse import quote

from aerogram._http.responses import resolve_address
from aerogram.channels.reading import parse_texts
from aerogram.client.reading import NEXT, raise_for_problem
from aerogram.codes import ABOUT_SIZE
from aerogram.content import SHORT, Content, canonical_json, read_json, short_digits
from aerogram.content.datatext import read_data
from aerogram.dialects.protocol import restore_foreign
from aerogram.errors import AerogramError, ContractError, IntegrityError, NotFound, ValidationFailed
from aerogram.normalize.plain import extent
from aerogram.reply import Fidelity, Notice, Reply

__all__ = [
    "Calls",
    "ClientCall",
    "FollowedTooFar",
    "Reach",
    "Trail",
    "build_retrieval",
    "insist_on_whole",
    "make_whole",
    "next_page",
    "recovery",
]

HASH: Final = "{hash}"
RETRIEVE: Final = "retrieve"
"""What servers call the tool that gives back what was left out, if nobody says otherwise."""
_CALL: Final = re.compile(r"(?<![\w./-])([\w./-]++)\(hash='[0-9a-f]{12}'")
"""The call that a warning names."""


@dataclass(frozen=True, slots=True)
class ClientCall:
    """A target and what it is asked with."""

    target: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    is_led: bool = False
    """Whether the target is an address that a reply named; no method stands before it, because it is only read."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a client follows where replies lead: to their pages, and to what they left out."""

    calls: int = 1_000
    bytes: int = 2**28
    seconds: float = 600.0


class FollowedTooFar(AerogramError):
    """Replies led on and on. `limit` is what they went beyond, and `found` what had been recovered by then."""

    def __init__(self, limit: str, most: float, found: Mapping[str, Any] | None = None) -> None:
        self.limit = limit
        self.found = dict(found or {})
        super().__init__(f"this leads further than {most:,g} {limit}; give the client another Reach if that is meant")


class Trail:
    """How far replies have led from one call."""

    def __init__(self, reach: Reach, clock: Callable[[], float] = time.monotonic) -> None:
        self.found: dict[str, Any] = {}
        self._reach = reach
        self._clock = clock
        self._calls = 0
        self._bytes = 0
        self._seconds = 0.0
        self._since = 0.0

    def begin(self) -> float:
        """A call is made; the seconds that it may take. Those between calls are the caller's own."""
        if self._calls >= self._reach.calls:
            raise FollowedTooFar("calls", self._reach.calls, self.found)
        self._calls += 1
        self._since = self._clock()
        return self._reach.seconds - self._seconds

    def end(self, reply: Reply[Any]) -> Reply[Any]:
        """A call has been answered."""
        self._seconds += self._clock() - self._since
        self._bytes += (
            len(reply.data) if isinstance(reply.data, (bytes, str)) else extent(reply.data, self._reach.bytes)
        )
        if self._bytes > self._reach.bytes:
            raise FollowedTooFar("bytes", self._reach.bytes, self.found)
        if self._seconds > self._reach.seconds:
            raise self.time_is_over()
        return reply

    def time_is_over(self) -> FollowedTooFar:
        """What is raised when it took too long."""
        return FollowedTooFar("seconds", self._reach.seconds, self.found)


def next_page(call: ClientCall, reply: Reply[Any], seen: set[str]) -> ClientCall | None:
    """The call for the page after this one, or None after the last; more without a way to it is a `ContractError`."""
    page = reply.page
    if page is None or page.has_more is False:
        return None
    address = (page.extra or {}).get(NEXT)
    mark = page.cursor or (address if isinstance(address, str) else None)
    if not mark and page.has_more:
        raise ContractError(
            "the reply says that there is more, and neither a cursor nor a link leads there; "
            "ask for the rest with the parameters that this server has for it, such as an offset"
        )
    if not mark:
        return None
    if mark in seen:
        raise ContractError("the server gives the same cursor again, so its pages have no end")
    seen.add(mark)
    return replace(call, arguments={**call.arguments, "cursor": mark}) if page.cursor else _led(mark, {})


def _led(address: str, arguments: Mapping[str, Any]) -> ClientCall:
    return ClientCall(address.replace(" ", "%20"), arguments, is_led=True)


Calls: TypeAlias = Generator[ClientCall, Reply[Any], Any]


def recovery(reply: Reply[Any], way: Callable[[str], ClientCall], found: dict[str, Any]) -> Calls:
    """Everything the reply's archive hashes name, as it is found."""
    hashes = (reply.fidelity.archive_hashes if reply.fidelity else None) or {}
    for name, digest in hashes.items():
        found[name] = _verify(digest, (yield from _pieces(way(digest))))
    return found


def _pieces(call: ClientCall) -> Calls:
    """The data of every page of an answer."""
    following: ClientCall | None = call
    pieces, seen = [], set[str]()
    while following is not None:
        reply = raise_for_problem((yield following))
        pieces.append(reply.data)
        following = next_page(following, reply, seen)
    return pieces


def _verify(digest: str, pieces: list[Any]) -> Any:
    """The value whose hash this is, put together again from its pages."""
    has_digits = len(digest) >= len("sha256:") + SHORT  # fewer would be true of too much
    for candidate in _candidates(pieces) if has_digits else ():
        if candidate.hash.startswith(digest):
            return candidate.value()
    raise IntegrityError(
        "What was retrieved does not match its hash and was not used",
        remediation="Repeat the call that produced it to get fresh content",
        details={"hash": digest},
    )


def _candidates(pieces: list[Any]) -> Iterator[Content]:
    if all(isinstance(piece, bytes) for piece in pieces):
        yield _text_or_json(b"".join(pieces))
    elif all(isinstance(piece, str) for piece in pieces):
        text = "".join(pieces)
        yield _text_or_json(text.encode("utf-8", "surrogatepass"))
        yield from _decode_base64(text)
        yield Content.of_json(text)
    elif all(isinstance(piece, list) for piece in pieces):
        yield Content.of_json([item for piece in pieces for item in piece])
    elif len(pieces) == 1:
        yield Content.of_json(pieces[0])


def _text_or_json(body: bytes) -> Content:
    """The content of a body that was sent as text: JSON if it is in the one form that JSON is archived in."""
    try:
        return Content("json" if canonical_json(read_json(body)) == body else "text", body)
    except (ValueError, RecursionError, ContractError):
        return Content("text" if _is_text(body) else "bytes", body)


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def _decode_base64(text: str) -> Iterator[Content]:
    try:
        yield Content.of_bytes(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return


def make_whole(reply: Reply[Any], found: Mapping[str, Any]) -> Reply[Any]:
    """The reply with its whole data, and with what its envelope had given up."""
    if reply.fidelity is None or reply.fidelity.level == "full":
        return reply
    if not found:  # content beside the data may be all that was cut
        raise NotFound("What is missing from this reply was not kept", remediation="Ask for less at once")
    _check_parts(reply.data, found)
    heard = {**reply.present_fields(), "fidelity": Fidelity("full"), "data": _whole_data(reply.data, found)}
    heard["notices"] = tuple(notice for notice in reply.notices if not _is_about_size(notice, reply.fidelity))
    heard["actions"] = tuple(action for action in reply.actions if "hash" not in (action.args or {}))
    if reply.status == "partial" and len(heard["notices"]) < len(reply.notices):
        heard["status"] = "ok"
    whole = restore_foreign(heard, found.get("envelope", {}), "the archive", "/envelope")
    return whole.replace(fidelity=Fidelity("full"))


def _check_parts(data: Any, found: Mapping[str, Any]) -> None:
    """Refuse parts whose names do not say where they belong; where all of the data is among them, nothing is missing.

    Content belongs beside the data.
    """
    items = range(len(data)) if isinstance(data, list) else ()
    places = {"data", "envelope", "content", *(f"data/{at}" for at in items)}
    odd = [name for name in found if name not in places and not name.startswith("content/")]
    if odd and "data" not in found:
        raise ContractError(
            f"the reply says nowhere what its part {odd[0][:100]!r} is of, so it cannot be made whole; "
            "recover() gives its parts"
        )


def _is_about_size(notice: Notice, fidelity: Fidelity) -> bool:
    """Whether a warning is of what was left out: it says so, or names what it can be had back by."""
    named = (short_digits(digest) for digest in (fidelity.archive_hashes or {}).values())
    return notice.code in ABOUT_SIZE or any(digits in notice.message for digits in named)


def insist_on_whole(reply: Reply[Any]) -> None:
    """Refuse to call a reply whole that goes on elsewhere, because what it lacks is on other pages."""
    if reply.page is not None and (reply.page.cursor or reply.page.has_more):
        raise ValidationFailed(
            "This reply is a page of several",
            remediation="Call pages() or items() with the target, which go on to the end",
        )


def _whole_data(data: Any, found: Mapping[str, Any]) -> Any:
    """The data as it was: kept whole, or as a list some of whose texts were kept (`data/3`)."""
    kept = found.get("data", data)
    if isinstance(kept, str) and not isinstance(data, str):
        return _read_like(data, kept)
    if not isinstance(data, list):
        return kept
    texts = {at: found[f"data/{at}"] for at in range(len(data)) if f"data/{at}" in found}
    read = {at: parse_texts((text,)) if isinstance(text, str) else text for at, text in texts.items()}
    return found.get("data", [read.get(at, item) for at, item in enumerate(data)])  # as the others were read


def _read_like(data: Any, text: str) -> Any:
    """What a text is of which this data was shown: what it is read as, or a text in the box that it came in."""
    shown = next(iter(data.values())) if isinstance(data, dict) and len(data) == 1 else None
    if isinstance(shown, str) and shown[:2] == text[:2]:  # and no member of an object that the text says
        return dict.fromkeys(data, text)
    held = read_data([text])
    return text if held is None else held.value


def build_retrieval(reply: Reply[Any], default: str | None, address: str = "") -> Callable[[str], ClientCall]:
    """How a reply's archived content is asked for: as its actions or its words say, or as the protocol has it.

    The endpoints of actions are relative to the `address` at which the reply was given. A reply may hold what strangers
    wrote, so it leads to the one tool that is known for this, with a hash and no arguments of its own, and to addresses
    that are read. What a server inside of another one calls its tool is not known; its archive can be read by address.
    """
    for action in reply.actions:
        args = action.args or {}
        if "hash" in args and action.endpoint:
            return _address_retrieval(resolve_address(address, action.endpoint.rpartition(" ")[2]), args)
    known = default if default and HASH not in default else RETRIEVE
    named = [action.tool for action in reply.actions if "hash" in (action.args or {})]
    named += [call[1] for call in filter(None, (_CALL.search(notice.message) for notice in reply.notices))]
    if known in (*named, default):
        return lambda digest: ClientCall(known, {"hash": digest, "as_text": True})
    if default is None:
        raise NotFound("The reply does not say how to get the rest", remediation="Give the client a `retrieve` target")
    return _address_retrieval(default, {})


def _address_retrieval(template: str, args: Mapping[str, Any]) -> Callable[[str], ClientCall]:
    asked = {name: value for name, value in args.items() if name != "hash"} | {"as_text": "true"}
    if HASH not in template:
        return lambda digest: _led(template, {**asked, "hash": digest})
    return lambda digest: _led(template.replace(HASH, quote(digest, safe=":")), asked)
