"""Reading: what came back from a server, of whatever kind and in whichever dialect, as a reply.

    tool result (FastMCP, mcp SDK, or as it is on the wire)   structured content, else the text, else both as they are
    HTTP response (httpx, httpx2, requests)                   the body, and what only the headers say
    JSON text or a dictionary                                 the body, or what a JSON-RPC message brings

A body in none of the dialects is data. A failure in none of them is a problem all the same: by what it says, or by
its status alone.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from aerogram import errors
from aerogram._http.responses import address_of, find_link, read_problem, resolve_address
from aerogram.channels.reading import FAILURES, OK, find_tool_result, read_envelope, read_tool_result
from aerogram.codes import KIND_RULES, TABLE
from aerogram.content.jsontext import loads
from aerogram.dialects import read as read_body
from aerogram.dialects.protocol import Dialect, restore_foreign
from aerogram.errors import ContractError, ReplyError
from aerogram.limits.fields import read_retry_after
from aerogram.reply import Page, Problem, RateLimit, Reply, accept_request_id

__all__ = ["add_next_link", "items_of", "raise_for_problem", "read", "read_protocol_error"]

REDIRECTS: Final = 300
NEXT: Final = "next"
"""Where in a page's `extra` the address of the next page stands, when a server gives one."""
_EXCEPTIONS: Final[Mapping[str, type[ReplyError]]] = {
    one.code: one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, ReplyError)
}
_RPC_CODES: Final = {
    -32_700: "INVALID_FORMAT",
    -32_600: "VALIDATION_ERROR",
    -32_601: "NOT_FOUND",
    -32_602: "VALIDATION_ERROR",
}
_EPOCH: Final = 1_000_000_000
_LONGEST_NUMBER: Final = 15
_CHARSET: Final = re.compile(
    r';\s*charset\s*=\s*"?((?:utf|iso|windows|cp|koi8|mac|tis|ascii|us-|latin|shift|sjis|euc|gb|hz|big5|ks)[\w.:-]*)',
    re.IGNORECASE,
)
"""The name of an encoding that texts are sent in; Python has others, some of which take their time."""
_NUMBER: Final = re.compile(rf";\s*([qrtw])=(\d{{1,{_LONGEST_NUMBER}}})")


def read(result: Any, *, dialect: str | Dialect | None = None) -> Reply[Any]:
    """The reply in a tool result, an HTTP response, or a body; `dialect` says which it is in, if you know."""
    if isinstance(result, Reply):
        return result
    if all(hasattr(result, name) for name in ("status_code", "headers", "content")):
        return _read_response(result, dialect)
    tool = find_tool_result(result)
    if tool is not None:
        return read_tool_result(tool, dialect)
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
    return _read_known(body, None, status if isinstance(status, int) else OK) or Reply(body)


def _read_known(body: Any, dialect: str | Dialect | None, status: int) -> Reply[Any] | None:
    """The reply in a body that is an envelope, or a message of JSON-RPC, which brings a result or an error."""
    if dialect is not None or not isinstance(body, dict) or body.get("jsonrpc") != "2.0":
        return read_envelope(body, dialect, status=status)
    if isinstance(body.get("error"), dict):
        return _read_rpc_error(body["error"])
    result = body.get("result")
    tool = find_tool_result(result)
    return Reply(result) if tool is None else read_tool_result(tool, None)


def _read_rpc_error(error: Mapping[str, Any]) -> Reply[Any]:
    """The failure that an error of JSON-RPC is, with all of our problem where it carries one."""
    words, code = str(error.get("message") or ""), error.get("code")
    meant = _RPC_CODES.get(code) if isinstance(code, int) else None
    # of an unknown cause nobody said that trying again could help
    problem = Problem.of(meant, words or None) if meant else Problem("INTERNAL_ERROR", words, retry="no")
    return read_protocol_error(error.get("data"), words) or Reply.failed(problem)


def read_protocol_error(data: Any, words: str) -> Reply[Any] | None:
    """An error of a protocol that carries one of our problems, as the failed reply that it is."""
    if not isinstance(data, Mapping) or not isinstance(data.get("code"), str) or data["code"] not in TABLE:
        return None
    known = ("code", "remediation", "details", "retry_after", "user_message")
    said = {name: data[name] for name in known if name in data} | {"message": data.get("message") or words}
    return restore_foreign({"status": "error"}, {"problem": said}, "the error", "/error/data")


# HTTP responses


def _read_response(response: Any, dialect: str | Dialect | None) -> Reply[Any]:
    headers = {str(name).lower(): str(value) for name, value in response.headers.items()}
    status, media_type = response.status_code, headers.get("content-type", "").split(";")[0].strip().lower()
    failed = status >= FAILURES
    reply = _redirect(response, headers) if REDIRECTS <= status < FAILURES and "location" in headers else None
    if reply is None and media_type.endswith(("/json", "+json")) and response.content:
        body = _json_of(response) if not failed else _loads_or_none(response.content)
        reply = _read_known(body, dialect, status) or Reply(body)
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
    return _read_text(response) if media_type.startswith("text/") else response.content


def _read_text(response: Any) -> str:
    """A text in the encoding that it is said to be in, or else in UTF-8."""
    named = _CHARSET.search(str(response.headers.get("content-type")))
    try:
        return str(response.content, named[1] if named else "utf-8", "replace")
    except (LookupError, UnicodeError):
        return str(response.content, "utf-8", "replace")


def _with_headers(reply: Reply[Any], headers: Mapping[str, str], response: Any) -> Reply[Any]:
    """The reply with what only the headers say."""
    said: dict[str, Any] = {}
    if reply.request_id is None:
        said["request_id"] = accept_request_id(headers.get("x-request-id"))
    if reply.rate_limit is None:
        said["rate_limit"] = _rate_limit(headers)
    if reply.problem is not None and reply.problem.retry_after is None and "retry-after" in headers:
        said["problem"] = replace(reply.problem, retry_after=read_retry_after(headers["retry-after"]))
    return add_next_link(reply.replace(**said) if said else reply, headers.get("link", ""), address_of(response))


def add_next_link(reply: Reply[Any], field: str, address: str) -> Reply[Any]:
    """A reply from some address, with the address of its next page if only the Link field has it."""
    link = find_link(NEXT, field)
    if link is None or (reply.page is not None and reply.page.cursor):
        return reply
    page = reply.page or Page(has_more=True)
    return reply.replace(page=replace(page, extra={**(page.extra or {}), NEXT: resolve_address(address, link)}))


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
