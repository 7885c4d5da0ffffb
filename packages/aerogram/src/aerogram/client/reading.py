"""Reading: what came back from a server, of whatever kind and in whichever dialect, as a reply.

    tool result (FastMCP, mcp SDK, or as it is on the wire)   structured content, else the text, else both as they are
    HTTP response (httpx, httpx2, requests)                   the body, and what only the headers say
    JSON text or a dictionary                                 the body

A body in none of the dialects is data. A failure in none of them is a problem all the same: by what it says, or by
its status alone.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from email.utils import parsedate_to_datetime
from typing import Any, Final

from aerogram import errors
from aerogram._http.headers import address_of, find_link, resolve_address
from aerogram._http.responses import read_problem
from aerogram._mcp.results import PREFIX
from aerogram.channels import ACCOUNT, BOX, Account, split_account
from aerogram.codes import KIND_RULES, TABLE
from aerogram.dialects import read as read_body
from aerogram.dialects import recognise
from aerogram.dialects.extension import restore
from aerogram.dialects.protocol import Dialect
from aerogram.encodings import read_text
from aerogram.errors import ContractError, ReplyError
from aerogram.jsontext import loads
from aerogram.reply import LEFT_OUT, Fidelity, Notice, Page, Problem, RateLimit, Reply, accept_request_id

__all__ = ["add_next_link", "items_of", "raise_for_problem", "read"]

OK: Final = 200
REDIRECTS: Final = 300
FAILURES: Final = 400
FAILED: Final = 500
NEXT: Final = "next"
"""Where in a page's `extra` the address of the next page stands, when a server gives one."""
_EXCEPTIONS: Final[Mapping[str, type[ReplyError]]] = {
    one.code: one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, ReplyError)
}
_REPLY_FIELDS: Final = frozenset(one.name for one in fields(Reply)) - {"data"}
_PROBLEM_FIELDS: Final = frozenset(one.name for one in fields(Problem))
_EPOCH: Final = 1_000_000_000
_LONGEST_NUMBER: Final = 15
_CURSOR: Final = re.compile(r"cursor='([^']+)'")
_HASH: Final = re.compile(r"hash='(\w{12})'")
_NUMBER: Final = re.compile(rf";\s*([qrtw])=(\d{{1,{_LONGEST_NUMBER}}})")


def read(result: Any, *, dialect: str | Dialect | None = None) -> Reply[Any]:
    """The reply in a tool result, an HTTP response, or a body; `dialect` says which it is in, if you know."""
    if isinstance(result, Reply):
        return result
    if all(hasattr(result, name) for name in ("status_code", "headers", "content")):
        return _read_response(result, dialect)
    tool = _tool_result(result)
    if tool is not None:
        return _read_tool(tool, dialect)
    if isinstance(result, (str, bytes, bytearray, memoryview, Mapping, list)):
        return _read_payload(result, dialect)
    raise TypeError(f"a {type(result).__name__} is neither a tool result, nor a response, nor a body")


def raise_for_problem(reply: Reply[Any]) -> Reply[Any]:
    """The reply, unless it failed; then its problem as the exception that a handler would have raised."""
    problem = reply.problem
    if problem is None:
        return reply
    error = _exception_for(problem)(
        problem.message,
        code=problem.code,
        remediation=problem.remediation,
        details=problem.details,
        retry_after=problem.retry_after,
        user_message=problem.user_message,
        documentation=problem.documentation,
    )
    if reply.request_id is not None:
        error.add_note(f"request id: {reply.request_id}")
    raise error


def _exception_for(problem: Problem) -> type[ReplyError]:
    """The exception of the code, or of the nearest code above it that has one."""
    above = [row.name for row in TABLE.lineage(problem.code)] or [KIND_RULES[problem.kind].code]
    return next((_EXCEPTIONS[name] for name in above if name in _EXCEPTIONS), ReplyError)


def items_of(reply: Reply[Any]) -> list[Any]:
    """The items of a reply: its list, the only list in its record, or the record itself."""
    if reply.data is None:
        return []
    if isinstance(reply.data, list):
        return reply.data
    lists = [one for one in reply.data.values() if isinstance(one, list)] if isinstance(reply.data, dict) else []
    return lists[0] if len(lists) == 1 else [reply.data]


def _read_payload(given: Any, dialect: str | Dialect | None) -> Reply[Any]:
    body: Any = dict(given) if isinstance(given, Mapping) else given if isinstance(given, list) else loads(given)
    if dialect is not None:
        return read_body(body, dialect=dialect)
    status = body.get("status") if isinstance(body, dict) else None
    return _read_envelope(body, status=status if isinstance(status, int) else OK) or Reply(body)


def _read_envelope(body: Any, dialect: str | Dialect | None = None, *, status: int = OK) -> Reply[Any] | None:
    """The reply in a body, if it is in a dialect; a body that breaks its own contract is a `ContractError`.

    `status` is what is known from outside: whether it failed, and for HTTP how.
    """
    if not isinstance(body, dict):
        return None
    if dialect is not None:
        return read_body(body, dialect=dialect)
    try:
        found = recognise(body)
    except ContractError:
        return None
    # ordinary records have a title and a type too, and many an API says `success` in its own way
    if found.name == "problem":
        return found.decode({"status": status, **body}) if status >= FAILURES else None
    return found.decode(body) if found.name != "response-v2" or _has_envelope(body) else None


def _has_envelope(body: Mapping[str, Any]) -> bool:
    return isinstance(body.get("data"), dict) and ("meta" in body or "error" in body)


# Tool results


@dataclass(frozen=True, slots=True)
class _PlainToolResult:
    """A tool result in plain words, whoever's class it is."""

    texts: tuple[str, ...]
    structured: Any
    failed: bool
    meta: Mapping[str, Any]


def _tool_result(result: Any) -> _PlainToolResult | None:
    if isinstance(result, Mapping):
        blocks = result.get("content")
        if not isinstance(blocks, list):
            return None
        is_marked = not result.keys().isdisjoint({"structuredContent", "isError", "resultType"})
        are_blocks = all(isinstance(one, Mapping) and isinstance(one.get("type"), str) for one in blocks)
        if not is_marked and not (blocks and are_blocks):
            return None
        structured, failed, meta = result.get("structuredContent"), result.get("isError"), result.get("_meta")
        return _PlainToolResult(_texts(blocks), structured, bool(failed), _mapping(meta))
    if not (hasattr(result, "content") and hasattr(result, "structured_content")):
        return None
    failed, meta = getattr(result, "is_error", False), getattr(result, "meta", None)
    return _PlainToolResult(_texts(result.content), result.structured_content, bool(failed), _mapping(meta))


def _mapping(meta: Any) -> Mapping[str, Any]:
    return meta if isinstance(meta, Mapping) else {}


def _texts(blocks: Iterable[Any]) -> tuple[str, ...]:
    found = (block.get("text") if isinstance(block, Mapping) else getattr(block, "text", None) for block in blocks)
    return tuple(text for text in found if isinstance(text, str))


def _read_tool(tool: _PlainToolResult, dialect: str | Dialect | None) -> Reply[Any]:
    body = tool.structured if tool.structured is not None else _parse_texts(tool.texts)
    status = FAILED if tool.failed else OK
    reply = _read_envelope(body, dialect, status=status) if dialect != "bare" else None
    if reply is None and tool.texts and dialect != "bare":
        # what is meant for people stands before the envelope
        reply = _read_envelope(_parse_texts(tool.texts[-1:]), dialect, status=status)
    if reply is not None:
        return _add_missing_content(reply, tool.meta)
    tool, account = _split_account(tool)
    aside = {name: tool.meta[PREFIX + name] for name in _REPLY_FIELDS if PREFIX + name in tool.meta}
    if isinstance(aside.get("problem"), Mapping):
        aside["problem"] = {name: said for name, said in aside["problem"].items() if name in _PROBLEM_FIELDS}
    heard: dict[str, Any] = {"data": None if tool.failed else _bare_data(tool)}
    if tool.failed and "problem" not in aside:
        # nobody said that trying again could help
        heard |= {"status": "error", "problem": Problem("INTERNAL_ERROR", "\n".join(tool.texts), retry="no")}
    return restore({**(_read_account(account) if account and not aside else {}), **heard}, aside, "bare", "/_meta")


def _split_account(tool: _PlainToolResult) -> tuple[_PlainToolResult, Account | None]:
    """A result without the account of what it lacks, and that account."""
    held, found = tool.structured, None
    if isinstance(held, dict) and isinstance(held.get(ACCOUNT), dict) and isinstance(held[ACCOUNT].get("note"), str):
        found = Account(held[ACCOUNT]["note"], held[ACCOUNT].get("left_out"))
        held = {name: value for name, value in held.items() if name != ACCOUNT}
    if isinstance(held, dict) and len(held) == 1:
        held = {name: split_account(one)[0] if isinstance(one, str) else one for name, one in held.items()}
    texts = tool.texts
    if texts and not tool.failed:
        text, told = split_account(texts[-1])
        texts, found = (*texts[:-1], text), found or told
    return replace(tool, structured=held, texts=texts), found


def _read_account(account: Account) -> dict[str, Any]:
    """What a reply says besides its data, from its account alone: a client may drop what is meant for programs."""
    said: dict[str, Any] = {"status": "partial"}
    cursor, digest = _CURSOR.search(account.note), _HASH.search(account.note)
    if cursor is not None:
        said["page"] = Page(cursor=cursor[1], has_more=True)
    if digest is not None or cursor is None:
        said["fidelity"] = Fidelity("partial", archive_hashes={"data": f"sha256:{digest[1]}"} if digest else None)
        said["notices"] = (Notice(account.note),)
    return said | ({"extra": {LEFT_OUT: account.left_out}} if account.left_out else {})


def _add_missing_content(reply: Reply[Any], meta: Mapping[str, Any]) -> Reply[Any]:
    """The reply, with what was cut from the content that stands beside its envelope."""
    said = meta.get(f"{PREFIX}fidelity")
    hashes = said.get("archive_hashes") if isinstance(said, Mapping) else None
    if not isinstance(hashes, Mapping):
        return reply
    own = reply.fidelity or Fidelity("full")
    level = "partial" if own.level == "full" else own.level
    return reply.replace(fidelity=replace(own, level=level, archive_hashes={**(own.archive_hashes or {}), **hashes}))


def _parse_texts(texts: tuple[str, ...]) -> Any:
    """The JSON object, list or null in a text; anything else is the text itself."""
    if len(texts) != 1:
        return [_parse_texts((text,)) for text in texts] or None
    try:
        value = read_text(texts[0])
    except ContractError:
        return texts[0]
    return value if value is None or isinstance(value, (dict, list)) else texts[0]


def _bare_data(tool: _PlainToolResult) -> Any:
    """The payload; frameworks put what is not an object into a box, which the text channel does not have."""
    held = tool.structured
    if not isinstance(held, dict) or held.keys() != {BOX}:
        return _parse_texts(tool.texts) if held is None else held
    marked = isinstance(tool.meta.get("fastmcp"), Mapping) and tool.meta["fastmcp"].get("wrap_result")
    return held[BOX] if marked or _mirrors(tool.texts, held[BOX]) else held


def _mirrors(texts: tuple[str, ...], value: Any) -> bool:
    """Whether texts say a value: one all of it, or each an item of its own."""
    if len(texts) == 1 and _says(texts[0], value):
        return True
    return isinstance(value, list) and len(value) == len(texts) and all(map(_says, texts, value))


def _says(text: str, value: Any) -> bool:
    return text == "null" if value is None else bool(text == value or _loads_or_none(text) == value)


# HTTP responses


def _read_response(response: Any, dialect: str | Dialect | None) -> Reply[Any]:
    headers = {str(name).lower(): str(value) for name, value in response.headers.items()}
    status, media_type = response.status_code, headers.get("content-type", "").split(";")[0].strip().lower()
    failed = status >= FAILURES
    reply = _redirect(response, headers) if REDIRECTS <= status < FAILURES and "location" in headers else None
    if reply is None and media_type.endswith(("/json", "+json")) and response.content:
        body = _json_of(response) if not failed else _loads_or_none(response.content)
        reply = _read_envelope(body, dialect, status=status) or Reply(body)
    if failed and (reply is None or reply.problem is None):
        raw = {name.encode(): value.encode("latin-1", "replace") for name, value in headers.items()}
        raw.pop(b"content-encoding", None)  # the client has decompressed it
        reply = Reply.failed(read_problem(status, raw, response.content))
    return _with_headers(reply or Reply(_other_data(response, media_type)), headers, response)


def _redirect(response: Any, headers: Mapping[str, str]) -> Reply[Any]:
    """A redirect that was not followed: what was asked for is not here, and the answer says where it is."""
    place = resolve_address(address_of(response), headers["location"])
    return Reply.failed(
        "NOT_FOUND",
        f"This address leads on ({response.status_code}) to {place}, and the redirect was not followed",
        remediation=f"Ask at {place}, or use an HTTP client with follow_redirects=True",
        details={"location": place, "status": response.status_code},
    )


def _json_of(response: Any) -> Any:
    try:
        return loads(response.content)
    except ContractError as error:
        where = f"the answer of {address_of(response)}" if address_of(response) else "the answer"
        remedy = "ask again, and if it stays so, look at what stands between you and the server"
        raise ContractError(f"{where} calls itself JSON and cannot be read: {error.rule}; {remedy}") from error


def _loads_or_none(content: str | bytes) -> Any:
    try:
        return loads(content)
    except ContractError:
        return None


def _other_data(response: Any, media_type: str) -> Any:
    if not response.content:
        return None
    return response.text if media_type.startswith("text/") else response.content


def _with_headers(reply: Reply[Any], headers: Mapping[str, str], response: Any) -> Reply[Any]:
    """The reply with what only the headers say."""
    said: dict[str, Any] = {}
    if reply.request_id is None:
        said["request_id"] = accept_request_id(headers.get("x-request-id"))
    if reply.rate_limit is None:
        said["rate_limit"] = _rate_limit(headers)
    if reply.problem is not None and reply.problem.retry_after is None and "retry-after" in headers:
        said["problem"] = replace(reply.problem, retry_after=_seconds(headers["retry-after"]))
    return add_next_link(reply.replace(**said) if said else reply, headers.get("link", ""), address_of(response))


def add_next_link(reply: Reply[Any], field: str, address: str) -> Reply[Any]:
    """A reply from some address, with the address of its next page if only the Link field has it."""
    link = find_link(NEXT, field)
    if link is None or (reply.page is not None and reply.page.cursor):
        return reply
    page = reply.page or Page(has_more=True)
    return reply.replace(page=replace(page, extra={**(page.extra or {}), NEXT: resolve_address(address, link)}))


def _seconds(text: str) -> float | None:
    """A Retry-After field: seconds, or a date."""
    if text.strip().isdecimal():
        return float(text) if len(text) <= _LONGEST_NUMBER else None
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    return max((zoned - dt.datetime.now(dt.UTC)).total_seconds(), 0.0)


def _rate_limit(headers: Mapping[str, str]) -> RateLimit | None:
    """The state in `RateLimit` and `RateLimit-Policy`, or in the older `X-RateLimit-*` fields."""
    found = {name: int(number) for name, number in _NUMBER.findall(headers.get("ratelimit", ""))}
    found |= {name: int(number) for name, number in _NUMBER.findall(headers.get("ratelimit-policy", "").split(",")[0])}
    for letter, name in (("q", "limit"), ("r", "remaining"), ("t", "reset")):
        older = headers.get(f"x-ratelimit-{name}", "")
        if letter not in found and older.isdecimal() and len(older) <= _LONGEST_NUMBER:
            found[letter] = int(older)
    if "q" not in found and "r" not in found:
        return None
    reset = found.get("t")
    if reset is not None and reset < _EPOCH:  # some servers count from now, some from 1970
        reset += int(dt.datetime.now(dt.UTC).timestamp())
    return RateLimit(found.get("q"), found.get("r"), reset)
