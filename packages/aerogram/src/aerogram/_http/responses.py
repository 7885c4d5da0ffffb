"""Responses: a reply as status, fields and body, and an error response of any making as a problem."""

from __future__ import annotations

import datetime as dt
import hashlib
import math
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import parse_qsl, quote, urlencode, urljoin

from aerogram.codes import TABLE
from aerogram.content.jsontext import dumps, loads, part_to_json
from aerogram.dialects import recognise
from aerogram.dialects.protocol import Dialect
from aerogram.documents.standard_v2 import NEXT_OFFSET
from aerogram.errors import ContractError
from aerogram.limits.fields import header_fields, read_retry_after
from aerogram.normalize.plain import json_around
from aerogram.problems import invalid_input, look_first
from aerogram.reply import Page, Problem, Reply, accept_client_tag

__all__ = [
    "EXPOSED",
    "LONGEST_ERROR",
    "NOSNIFF",
    "Body",
    "Fields",
    "address_of",
    "announce_json",
    "are_of_file",
    "are_of_whole_body",
    "are_packed_on_the_way",
    "client_tag",
    "entity_tag",
    "find",
    "find_link",
    "forbid_guessing",
    "is_json",
    "join_words",
    "link_to",
    "matches_tag",
    "of_reply",
    "own_entity_tag",
    "quote_path",
    "read_problem",
    "render",
    "replace_content_type",
    "resolve_address",
    "tag_of",
    "unpack",
    "without_body_fields",
    "without_gzip_time",
]


LONGEST_ERROR: Final = 256 * 1024
"""How much of an error response is read to find out what it says."""

NOT_MODIFIED: Final = 304
_SERVER_ERROR, _OVERLOADED = 500, 503
_SAID: Final = ("detail", "message", "error_description", "title")
_CODES: Final = ("error", "code", "error_code")


class Body(NamedTuple):
    """A reply on the wire, without its headers."""

    status: int
    media_type: str
    content: bytes

    @property
    def fields(self) -> Fields:
        """What is said of it in fields; nothing where the client has it already."""
        if self.status == NOT_MODIFIED:
            return []
        return [(b"content-type", self.media_type.encode()), (b"content-length", b"%d" % len(self.content))]


def render(
    reply: Reply[Any], dialect: Dialect, media_type: str, status: int | None = None, json: bytes | None = None
) -> Body:
    """A finished reply in a dialect; a failure has its problem's status unless another is given.

    `json` is that of the reply's data, where it is known.
    """
    said = dialect.encode(reply)
    if reply.problem is not None and status is None:
        status = reply.problem.status
    if dialect.media_type != Dialect.media_type:
        media_type = dialect.media_type
        if isinstance(said.get("status"), int):
            said["status"] = status  # problem details repeat the status of their response
    is_known = json is not None and reply.problem is None
    return Body(status or 200, media_type, json_around(said, reply.data, json) if is_known else dumps(said))


def read_problem(
    status: int, headers: Mapping[bytes, bytes], content: bytes, *, is_meant: bool = False, may_repeat: bool = True
) -> Problem:
    """What an error response says: in one of the dialects, as `{"detail": …}`, as text, or by its status alone.

    The text of a server's failure is read only if it `is_meant` for its caller. A status alone does not say whether the
    request can be repeated, unless it is that of a server that has refused to begin.
    """
    found, is_told = _read_problem(status, headers, content, is_meant=is_meant)
    is_over = may_repeat or is_told or status < _SERVER_ERROR or status == _OVERLOADED
    return found if is_over else look_first(found)


def _read_problem(
    status: int, headers: Mapping[bytes, bytes], content: bytes, *, is_meant: bool
) -> tuple[Problem, bool]:
    """The problem, and whether the response tells it in one of the dialects."""
    try:
        text = unpack(content, headers.get(b"content-encoding", b""), LONGEST_ERROR) or b""
    except ContractError:
        text = b""
    kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
    delay = read_retry_after(headers.get(b"retry-after", b"").decode("latin-1"))
    if kind.endswith((b"/json", b"+json")):
        return _read_json_problem(status, text, delay)
    message = None  # a page for people, or a trace: not for the caller
    if kind == b"text/plain" and (status < _SERVER_ERROR or is_meant):
        message = text.decode("utf-8", "replace").strip()
    return Problem.of(TABLE.of_status(status), message or None, retry_after=delay), False


def unpack(content: bytes, encodings: bytes, longest: int) -> bytes | None:
    """A body without its encodings; None where one of them is not known.

    What cannot be unpacked, or is longer than it may be, is a `ContractError`.
    """
    names = [one.strip() for one in encodings.lower().split(b",")]
    for name in reversed([one for one in names if one not in (b"", b"identity")]):
        if name not in (b"gzip", b"x-gzip", b"deflate"):
            return None
        try:
            content = _inflate(content, zlib.MAX_WBITS | 32, longest)
        except zlib.error:
            if name != b"deflate":
                raise ContractError("it says that it is packed, and cannot be unpacked") from None
            content = _inflate_raw(content, longest)
    return content


_STEP: Final = 4_096
"""Bytes that are unpacked at once: what is left of them after each piece is copied."""


def _inflate(content: bytes, bits: int, longest: int) -> bytes:
    """What was packed, in one piece or in several that follow each other, each of which is read once."""
    whole, packed = bytearray(), None
    view = memoryview(content)
    for start in range(0, len(view), _STEP):
        left: bytes | memoryview = view[start : start + _STEP]
        while left:
            if packed is None or packed.eof:
                packed = zlib.decompressobj(bits)
            whole += packed.decompress(left, longest + 1 - len(whole))
            if len(whole) > longest:
                raise ContractError(f"unpacked it has more than {longest:,} bytes")
            left = packed.unused_data
    if packed is not None and not packed.eof:
        raise ContractError("it is packed, and its end is missing")
    return bytes(whole)


def _inflate_raw(content: bytes, longest: int) -> bytes:
    """What many servers send as deflate: without the head that the standard wants."""
    try:
        return _inflate(content, -zlib.MAX_WBITS, longest)
    except zlib.error:
        raise ContractError("it says that it is packed, and cannot be unpacked") from None


def _read_json_problem(status: int, text: bytes, delay: float | None) -> tuple[Problem, bool]:
    """The problem in a JSON body, and whether that is in one of the dialects."""
    try:
        said = loads(text)
    except ContractError:
        return Problem.of(TABLE.of_status(status), retry_after=delay), False
    if isinstance(said, dict):
        try:
            known = recognise(said).decode(said).problem
        except ContractError:
            known = None
        return known or _read_legacy_problem(status, said, delay), known is not None
    return Problem.of(TABLE.of_status(status), said if isinstance(said, str) else None, retry_after=delay), False


def _read_legacy_problem(status: int, said: dict[str, Any], delay: float | None) -> Problem:
    """`{"detail": …}` in its many forms; members that have no word of their own become details."""
    detail = said.get("detail")
    if isinstance(detail, dict):
        return _read_legacy_problem(status, {**said, "detail": None, **detail}, delay)
    if isinstance(detail, list) and detail and all(map(_is_fault, detail)):
        return invalid_input({"input": None, **one} for one in detail)
    code = next((said[name] for name in _CODES if isinstance(said.get(name), str) and said[name] in TABLE), None)
    named = next((name for name in _SAID if isinstance(said.get(name), str) and said[name]), None)
    waits = said.get("retry_after")
    is_delay = isinstance(waits, (int, float)) and waits >= 0
    return Problem.of(
        code or TABLE.of_status(status),
        said[named] if named else None,
        details={name: value for name, value in said.items() if name != named and value not in (code, None)},
        retry_after=waits if is_delay else delay,
    )


def _is_fault(one: Any) -> bool:
    """Whether this is a validation error as pydantic and FastAPI write it."""
    if not isinstance(one, dict) or not isinstance(one.get("ctx", {}), dict | None):
        return False
    return isinstance(one.get("loc"), list) and isinstance(one.get("type"), str) and isinstance(one.get("msg"), str)


# Fields: what a reply says in those of a response, and what a request says in its own


Fields: TypeAlias = list[tuple[bytes, bytes]]

_SILENT: Final = frozenset({"data", "request_id", "timestamp", "telemetry", "client_tag", "rate_limit", "operation"})
"""Parts of a reply that say nothing lasting besides its data."""

EXPOSED: Final = (
    b"X-Envelope-Version",
    b"Vary",
    b"X-Request-Id",
    b"X-Client-Tag",
    b"Retry-After",
    b"RateLimit",
    b"RateLimit-Policy",
    b"Link",
    b"ETag",
    b"Deprecation",
    b"Sunset",
)
"""What scripts of other origins may read of an answer."""
NOSNIFF: Final = (b"x-content-type-options", b"nosniff")
"""What keeps a browser from guessing at the type of an answer."""
_GZIP: Final = b"\x1f\x8b"
_AFTER_THE_TIME: Final = 8
_OF_A_BODY: Final = frozenset(
    {
        b"accept-ranges",
        b"content-disposition",
        b"content-encoding",
        b"content-length",
        b"content-type",
        b"etag",
        b"last-modified",
        b"retry-after",
        b"transfer-encoding",
    }
)


def find(given: Fields, wanted: bytes) -> bytes:
    """The first value of a field by its lower-case name; empty when there is none."""
    for name, value in given:
        if name == wanted:
            return value
    return b""


def forbid_guessing(given: Fields) -> Fields:
    """Fields by which a browser takes an answer for what it says that it is."""
    for name, _ in given:
        if name == NOSNIFF[0]:
            return given
    return [*given, NOSNIFF]


def without_body_fields(given: Fields) -> Fields:
    """Fields without those that speak of the body they came with, for an answer that has another one."""
    return [pair for pair in given if pair[0] not in _OF_A_BODY]


def are_of_whole_body(given: Fields) -> bool:
    """Whether the body is known in full, which it is not while it streams."""
    return bool(find(given, b"content-length"))


def are_packed_on_the_way(given: Fields) -> bool:
    """Whether a body was compressed without knowing its end, and with that lost its length."""
    names = dict(given)
    is_file = b"accept-ranges" in names or b"content-disposition" in names
    return b"content-encoding" in names and b"content-length" not in names and not is_file


def are_of_file(given: Fields) -> bool:
    """Whether a body is a file, or flows: parts of it may be asked for, it is to be saved, or its end is not known."""
    names = dict(given)
    return b"content-length" not in names or b"accept-ranges" in names or b"content-disposition" in names


def of_reply(
    reply: Reply[Any],
    target: str,
    clock: Callable[[], dt.datetime],
    *,
    older: bool = False,
    by_offset: bool = False,
) -> Fields:
    """When to come back, how much is left, and where the next page is, which may be told `by_offset`."""
    found: Fields = []
    delay = reply.problem.retry_after if reply.problem else None
    if reply.problem and delay is None and reply.rate_limit:
        delay = reply.rate_limit.retry_after
    if delay is not None:
        found.append((b"retry-after", b"%d" % math.ceil(delay)))
    if reply.rate_limit is not None:
        limits = header_fields(reply.rate_limit, now=clock().timestamp(), legacy=older)
        found += [(name.lower().encode(), value.encode()) for name, value in limits.items()]
    if reply.page is not None:
        for name, value in _next_parameter(reply.page, by_offset=by_offset):
            found.append((b"link", f'<{link_to(target, **{name: value})}>; rel="next"'.encode()))
    return found


def _next_parameter(page: Page, *, by_offset: bool) -> Iterator[tuple[str, str]]:
    """The parameter that leads to the next page."""
    following = (page.extra or {}).get(NEXT_OFFSET)
    if page.cursor and page.has_more is not False:
        yield "cursor", page.cursor
    elif page.has_more and following is not None and by_offset:
        yield "offset", str(following)


def link_to(target: str, **changed: str) -> str:
    """A target (path and query) with some parameters changed, as it may stand between angle brackets."""
    path, _, query = target.partition("?")
    sent = parse_qsl(query, keep_blank_values=True, encoding="latin-1")  # a character for each byte, text or none
    kept = urlencode([pair for pair in sent if pair[0] not in changed], encoding="latin-1")
    return f"{_keep_place(path)}?{kept}{'&' if kept else ''}{urlencode(changed)}"


def _keep_place(path: str) -> str:
    """A path that is resolved to itself: two slashes would begin with a host, and dots lead upwards (RFC 3986, 4.2)."""
    told = _DOTS.sub(lambda dots: dots[0].replace(".", "%2E"), path)
    return "/." + told if told.startswith("//") else told


_DOTS: Final = re.compile(r"(?<=/)\.{1,2}(?=/|$)")


def quote_path(path: str | bytes, besides: str = "") -> str:
    """A path as it may stand in a link; many who read links split them at commas and semicolons, wherever they are."""
    return quote(path, safe="/:@!$&'()*+=~" + besides)


def join_words(present: bytes | None, words: Iterable[bytes]) -> bytes:
    """A comma-separated field with further words, each of them once."""
    found = {word.lower(): word for word in (one.strip() for one in (present or b"").split(b",")) if word}
    for word in words:
        found.setdefault(word.lower(), word)
    return b", ".join(found.values())


def announce_json(given: Fields) -> bool:
    """Whether a body of these fields is JSON of some kind."""
    for name, value in given:
        if name == b"content-type":
            return is_json(value)
    return False


@lru_cache(maxsize=256)
def is_json(content_type: bytes) -> bool:
    """Whether a content type is JSON of some kind."""
    kind = content_type.partition(b";")[0].strip().lower()
    return kind in (b"application/json", b"text/json") or kind.endswith(b"+json")


def replace_content_type(given: Fields, media_type: str) -> Fields:
    """The fields of plain JSON with the name that its shape has."""
    kind = find(given, b"content-type").partition(b";")[0].strip().lower()
    if kind != b"application/json":
        return given
    return [(name, media_type.encode() if name == b"content-type" else value) for name, value in given]


def entity_tag(reply: Reply[Any], representation: str, json: bytes | None = None) -> bytes:
    """A weak tag of what a reply says in one representation, whichever request it answers."""
    if reply.page is not None and reply.page.cursor:  # it says when it ends, and the one that the client has is as good
        reply = reply.replace(page=replace(reply.page, cursor=None))
    said = reply.present_fields()
    text = representation.encode() + (json or dumps(reply.data))
    if not _SILENT.issuperset(said):
        text += dumps({name: part_to_json(value) for name, value in said.items() if name not in _SILENT})
    return tag_of(text)


def without_gzip_time(content: bytes | bytearray) -> bytes | bytearray:
    """The bytes of a body that are the same the next time: gzip writes down when it was."""
    return content[_AFTER_THE_TIME:] if content.startswith(_GZIP) else content


def tag_of(content: bytes | bytearray) -> bytes:
    """A weak tag of some bytes; weak, because what compresses them on the way keeps it."""
    return b'W/"' + hashlib.sha1(content, usedforsecurity=False).hexdigest().encode() + b'"'


def own_entity_tag(given: bytes, representation: str) -> bytes:
    """The tag that a handler gave, made weak and different for each representation: its data is the same, no more."""
    opaque = given.removeprefix(b"W/")
    is_tag = len(opaque) > 1 and opaque.startswith(b'"') and opaque.endswith(b'"')
    return b"W/" + opaque[:-1] + b"-" + representation.encode() + b'"' if is_tag else given


_OPAQUE_TAG: Final = re.compile(rb'"[^"]*"')


def matches_tag(wanted: bytes, tag: bytes) -> bool:
    """Whether If-None-Match names this tag, or any by a `*` alone (RFC 9110, section 13.1.2); weak ones match too."""
    return wanted.strip() == b"*" or tag.removeprefix(b"W/") in _OPAQUE_TAG.findall(wanted)


def client_tag(raw: bytes) -> str | None:
    """The caller's own mark in X-Client-Tag: UTF-8, short, and printable; anything else is not taken over."""
    try:
        return accept_client_tag(raw.decode("utf-8").strip())
    except UnicodeDecodeError:
        return None


_TEXT: Final = r'"(?:[^"\\]|\\.)*"'
_PARAMETER: Final = re.compile(rf';\s*([^\s=;,"<>]+)\s*(?:=\s*({_TEXT}|[^\s;,"]*))?\s*')
_LINK: Final = re.compile(rf"<([^<>]*)>\s*((?:{_PARAMETER.pattern})*)")


def find_link(relation: str, field: str) -> str | None:
    """The address of the first link in a Link field that has this relation to the answer it came with."""
    for link in _LINK.finditer(field):
        said: dict[str, str] = {}
        for name, value in _PARAMETER.findall(link[2]):
            said.setdefault(name.lower(), value.strip('"'))  # of several relations the first one counts
        if relation in said.get("rel", "").lower().split() and "anchor" not in said:
            return link[1].strip()
    return None


def address_of(response: Any) -> str:
    """The address that a response answered at; empty when it is not known."""
    try:
        return str(getattr(response, "url", None) or "")
    except RuntimeError:  # of httpx, for a response without a request
        return ""


def resolve_address(address: str, reference: str) -> str:
    """An address that an answer names, seen from the address of that answer; it may have a method before it."""
    method, space, path = reference.rpartition(" ")
    try:
        return f"{method}{space}{urljoin(address, path)}"
    except ValueError:  # no address at all, which whoever asks for it will say
        return reference
