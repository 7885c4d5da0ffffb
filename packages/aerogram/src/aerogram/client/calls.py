"""Calls: those that a reply leads to, its next page and what it left out, without making them.

Whoever makes the calls sends the replies back in, and may wait for them or await them.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias
from urllib.parse import quote

import orjson

from aerogram._http.headers import resolve_address
from aerogram.client.reading import NEXT, raise_for_problem
from aerogram.content import Content, canonical_json
from aerogram.dialects.extension import restore
from aerogram.errors import ContractError, IntegrityError, NotFound
from aerogram.reply import Fidelity, Reply

__all__ = ["Calls", "ClientCall", "build_retrieval", "make_whole", "next_page", "recovery"]

HASH: Final = "{hash}"
_ABOUT_SIZE: Final = frozenset({"CONTENT_TRUNCATED", "PARTIAL_RESULTS"})


@dataclass(frozen=True, slots=True)
class ClientCall:
    """A target and what it is asked with."""

    target: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


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
    return replace(call, arguments={**call.arguments, "cursor": mark}) if page.cursor else ClientCall(mark)


Calls: TypeAlias = Generator[ClientCall, Reply[Any], Any]


def recovery(reply: Reply[Any], way: Callable[[str], ClientCall]) -> Calls:
    """Everything the reply's archive hashes name."""
    hashes = (reply.fidelity.archive_hashes if reply.fidelity else None) or {}
    found = {}
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
    for candidate in _candidates(pieces):
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
        return Content("json" if canonical_json(orjson.loads(body)) == body else "text", body)
    except (orjson.JSONDecodeError, ContractError):
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
    heard = {**reply.present_fields(), "fidelity": Fidelity("full"), "data": _whole_data(reply.data, found)}
    heard["notices"] = tuple(notice for notice in reply.notices if notice.code not in _ABOUT_SIZE)
    heard["actions"] = tuple(action for action in reply.actions if "hash" not in (action.args or {}))
    if reply.status == "partial" and len(heard["notices"]) < len(reply.notices):
        heard["status"] = "ok"
    whole = restore(heard, found.get("envelope") or {}, "the archive", "/envelope")
    return whole.replace(fidelity=Fidelity("full"))


def _whole_data(data: Any, found: Mapping[str, Any]) -> Any:
    """The data as it was: kept whole, or as a list some of whose texts were kept (`data/3`)."""
    if not isinstance(data, list):
        return found.get("data", data)
    return found.get("data", [found.get(f"data/{at}", item) for at, item in enumerate(data)])


def build_retrieval(reply: Reply[Any], default: str | None, address: str = "") -> Callable[[str], ClientCall]:
    """How a reply's archived content is asked for: as its actions say, or as the protocol has it.

    The endpoints of actions are relative to the `address` at which the reply was given.
    """
    for action in reply.actions:
        if "hash" in (action.args or {}):
            args, endpoint = action.args or {}, action.endpoint or ""
            return (
                _tool_retrieval(action.tool, args)
                if action.tool
                else _address_retrieval(resolve_address(address, endpoint), args)
            )
    if default is None:
        raise NotFound("The reply does not say how to get the rest", remediation="Give the client a `retrieve` target")
    return _address_retrieval(default, {}) if HASH in default else _tool_retrieval(default, {})


def _tool_retrieval(tool: str, args: Mapping[str, Any]) -> Callable[[str], ClientCall]:
    return lambda digest: ClientCall(tool, {**args, "hash": digest, "as_text": True})


def _address_retrieval(template: str, args: Mapping[str, Any]) -> Callable[[str], ClientCall]:
    asked = {name: value for name, value in args.items() if name != "hash"} | {"as_text": "true"}
    if HASH not in template:
        return lambda digest: ClientCall(template, {**asked, "hash": digest})
    return lambda digest: ClientCall(template.replace(HASH, quote(digest, safe=":")), asked)
