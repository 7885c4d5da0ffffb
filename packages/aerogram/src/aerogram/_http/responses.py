"""Responses: a reply as status and body, and an error response of any making as a problem."""

from __future__ import annotations

import datetime as dt
import zlib
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final, NamedTuple

from aerogram._http.headers import NEXT_OFFSET
from aerogram.codes import TABLE
from aerogram.dialects import recognise
from aerogram.dialects.protocol import Dialect
from aerogram.errors import ContractError
from aerogram.jsontext import loads
from aerogram.normalize.plain import json_around
from aerogram.problems import invalid_input
from aerogram.reply import Notice, Page, Problem, QueryEcho, Reply

__all__ = ["LONGEST_ERROR", "Body", "decompress", "from_health", "from_offset_page", "read_problem", "render"]

LONGEST_ERROR: Final = 256 * 1024
"""How much of an error response is read to find out what it says."""

_SERVER_ERROR: Final = 500
_MOST_DIGITS: Final = 12
_SAID: Final = ("detail", "message", "error_description", "title")
_CODES: Final = ("error", "code", "error_code")


class Body(NamedTuple):
    """A reply on the wire, without its headers."""

    status: int
    media_type: str
    content: bytes


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
    return Body(status or 200, media_type, json_around(said, reply.data, json))


def read_problem(status: int, headers: Mapping[bytes, bytes], content: bytes) -> Problem:
    """What an error response says: in one of the dialects, as `{"detail": …}`, as text, or by its status alone."""
    text = decompress(content, headers.get(b"content-encoding", b"").strip().lower())
    kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
    delay = _seconds(headers.get(b"retry-after"))
    if kind.endswith((b"/json", b"+json")):
        return _read_json_problem(status, text, delay)
    if kind == b"text/plain" and status < _SERVER_ERROR:
        message = text.decode("utf-8", "replace").strip()
        return Problem.of(TABLE.of_status(status), message or None, retry_after=delay)
    # a page for people, or a trace: not for the caller
    return Problem.of(TABLE.of_status(status), retry_after=delay)


def decompress(content: bytes, encoding: bytes, longest: int = LONGEST_ERROR) -> bytes:
    """A body without its encoding, if that is a known one, up to a length; 0 is no limit."""
    if encoding not in (b"gzip", b"deflate"):
        return b"" if encoding not in (b"", b"identity") else content
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(content, longest)
    except zlib.error:
        return b""


def _seconds(delay: bytes | None) -> float | None:
    """A Retry-After field, which is a number of seconds or a date (RFC 9110, section 10.2.3)."""
    said = (delay or b"").strip()
    if said.isdigit():
        return float(said) if len(said) <= _MOST_DIGITS else None
    try:
        moment = parsedate_to_datetime(said.decode("latin-1"))
    except ValueError:
        return None
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    return max((zoned - dt.datetime.now(dt.UTC)).total_seconds(), 0.0)


def _read_json_problem(status: int, text: bytes, delay: float | None) -> Problem:
    """The problem in a JSON body."""
    try:
        said = loads(text)
    except ContractError:
        return Problem.of(TABLE.of_status(status), retry_after=delay)
    if isinstance(said, dict):
        try:
            known = recognise(said).decode(said).problem
        except ContractError:
            known = None
        return known or _read_legacy_problem(status, said, delay)
    return Problem.of(TABLE.of_status(status), said if isinstance(said, str) else None, retry_after=delay)


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
    return isinstance(one, dict) and isinstance(one.get("loc"), list) and {"type", "msg"} <= one.keys()


_WELL = "ok"


def from_offset_page(body: Mapping[str, Any]) -> Reply[Any]:
    """`{total, limit, offset, results}` as rows and where they stand; other members go along as `extra`."""
    rows, total = body["results"], body.get("total")
    limit, offset = body.get("limit"), body.get("offset") or 0
    has_more = None if total is None else offset + len(rows) < total
    place = {"offset": offset, **({NEXT_OFFSET: offset + len(rows)} if has_more and rows else {})}
    page = Page(has_more=has_more, total=total, page_size=limit, extra=place)
    echo = QueryEcho(applied_filters={name: body[name] for name in ("limit", "offset") if body.get(name) is not None})
    others = {name: value for name, value in body.items() if name not in ("total", "limit", "offset", "results")}
    said: dict[str, Any] = {"page": page, "query_echo": echo, "extra": others or None}
    return Reply.ok(rows, **said) if rows else Reply.empty(data=rows, **said)


def from_health(body: Mapping[str, Any]) -> Reply[Any]:
    """`{status, version, checks, timestamp_utc}` as one record: ok when all is well, else partial, and why."""
    state = str(body.get("status", "unknown"))
    if state == _WELL:
        return Reply.ok(body)
    checks = body.get("checks")
    failing = [name for name, check in checks.items() if not _is_well(check)] if isinstance(checks, Mapping) else []
    why = f": {', '.join(failing)}" if failing else ""
    return Reply.partial(body, Notice.of("PARTIAL_FAILURE", f"The service is {state}{why}", status=state))


def _is_well(check: Any) -> bool:
    state = check.get("status") if isinstance(check, Mapping) else check
    return state in (_WELL, True)
