"""Reading: the reply in the result of a tool call, whoever's class it is and whatever its client has dropped of it.

Structured content or a text in a dialect is that body. Anything else is a payload alone: it is taken out of its box,
and our account out of it; page, fidelity and problem are in `_meta`, or else in the account and in words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from aerogram.channels import ACCOUNT, BOX, PREFIX, Account, read_failure, split_account
from aerogram.channels.encodings import read_text
from aerogram.content.jsontext import loads
from aerogram.dialects import SIGNS, recognise
from aerogram.dialects import read as read_body
from aerogram.dialects.protocol import Dialect, check_aside, restore_foreign
from aerogram.errors import ContractError
from aerogram.reply import LEFT_OUT, WAY_ON, Fidelity, Notice, Page, Problem, Reply

__all__ = [
    "PlainToolResult",
    "find_tool_result",
    "parse_texts",
    "read",
    "read_envelope",
    "read_tool_result",
    "text_as_sent",
]

OK: Final = 200
FAILURES: Final = 400
FAILED: Final = 500
_REPLY_FIELDS: Final = frozenset(one.name for one in fields(Reply)) - {"data"}
_PROBLEM_FIELDS: Final = frozenset(one.name for one in fields(Problem))
_CURSOR: Final = re.compile(r"cursor='([^']+)'")
_HASH: Final = re.compile(r"hash='(\w{12})'")


def read(body: Any, *, dialect: str | Dialect | None = None) -> Reply[Any]:
    """The reply in the result of a tool call, or in a body, given as JSON text or as parsed JSON.

    Of a result, what is in no dialect is a payload alone. A body that is in no dialect, or that breaks its contract, is
    a `ContractError` that names the rule and the JSON Pointer; in `bare`, a `str` is the payload itself, which may be a
    text, and its JSON is given as bytes.
    """
    result = find_tool_result(body)
    return read_body(body, dialect=dialect) if result is None else read_tool_result(result, dialect)


def read_envelope(body: Any, dialect: str | Dialect | None = None, *, status: int = OK) -> Reply[Any] | None:
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
    if found.name == "response-v2" and _says_failure_alone(body):
        body = {**body, "data": {}}
    # ordinary records have a title and a type too, and many an API says `success` in its own way
    if found.name == "problem":
        return found.decode({"status": status, **body}) if status >= FAILURES else None
    return found.decode(body) if _has_envelope(body, found) else None


def _says_failure_alone(body: Mapping[str, Any]) -> bool:
    """Whether a body tells of a failure in words, and of nothing else, where its contract wants an object."""
    is_bare = "data" in body and body["data"] is None
    return is_bare and body.get("success") is False and isinstance(body.get("error"), str)


def _has_envelope(body: Mapping[str, Any], found: Dialect) -> bool:
    """Whether a body holds what an envelope is around, and not only a member that one has as well."""
    if found.name == "response-v2":
        return isinstance(body.get("data"), dict) and ("meta" in body or "error" in body)
    return found.name != "knowledge-1.0" or "results" in body


# Tool results


@dataclass(frozen=True, slots=True)
class PlainToolResult:
    """A tool result in plain words, whoever's class it is."""

    texts: tuple[str, ...]
    structured: Any
    failed: bool
    meta: Mapping[str, Any]


_MEMBERS: Final = (("structuredContent", "structured_content"), ("isError", "is_error"), ("_meta", "meta"))
"""What a result has besides its content, as it is on the wire and as the SDK's own objects dump it."""
_MARKS: Final = frozenset({"resultType", "result_type", *_MEMBERS[0], *_MEMBERS[1]})


def find_tool_result(result: Any) -> PlainToolResult | None:
    """The result of a tool call, as it is on the wire or an object of the SDK or of FastMCP; None if it is none."""
    if isinstance(result, Mapping):
        blocks = result.get("content")
        if not isinstance(blocks, list):
            return None
        is_marked = not result.keys().isdisjoint(_MARKS)
        are_blocks = all(isinstance(one, Mapping) and isinstance(one.get("type"), str) for one in blocks)
        if (not is_marked and not (blocks and are_blocks)) or _is_envelope(result):
            return None
        structured, failed, meta = (result.get(wire, result.get(own)) for wire, own in _MEMBERS)
        return PlainToolResult(_texts(blocks), structured, bool(failed), _mapping(meta))
    if not (hasattr(result, "content") and hasattr(result, "structured_content")):
        return None
    failed, meta = getattr(result, "is_error", False), getattr(result, "meta", None)
    return PlainToolResult(_texts(result.content), result.structured_content, bool(failed), _mapping(meta))


def _is_envelope(body: Mapping[str, Any]) -> bool:
    """Whether a body is in a dialect by its own members: others may be called as those of a result are."""
    if SIGNS.isdisjoint(body):
        return False
    try:
        return _has_envelope(body, recognise(dict(body)))
    except ContractError:
        return False


def _mapping(meta: Any) -> Mapping[str, Any]:
    return meta if isinstance(meta, Mapping) else {}


def _texts(blocks: Iterable[Any]) -> tuple[str, ...]:
    found = (block.get("text") if isinstance(block, Mapping) else getattr(block, "text", None) for block in blocks)
    return tuple(text for text in found if isinstance(text, str))


def read_tool_result(tool: PlainToolResult, dialect: str | Dialect | None) -> Reply[Any]:
    """The reply in the result of a tool call."""
    payload, account = _split_account(tool)
    try:
        # no envelope has an account: what looks like one is what a tool has made, and was cut
        is_cut_payload = dialect is None and _has_member(tool) and not _has_member(payload)
        reply = None if is_cut_payload else _find_envelope(tool, dialect)
    except ContractError:
        if account is None or dialect is not None:
            raise
        reply = None  # nor does it keep the contract that it looks like
    if reply is not None:
        return _add_missing_content(reply, tool.meta)
    tool = payload
    aside = {name: tool.meta[PREFIX + name] for name in _REPLY_FIELDS if PREFIX + name in tool.meta}
    if isinstance(aside.get("problem"), Mapping):
        aside["problem"] = {name: said for name, said in aside["problem"].items() if name in _PROBLEM_FIELDS}
    heard: dict[str, Any] = {"data": None if tool.failed else _bare_data(tool, is_ours=account is not None)}
    if tool.failed and "problem" not in aside:
        words = "\n".join(tool.texts)
        # where no line says what to do, nobody said that trying again could help
        problem = read_failure(words) or Problem("INTERNAL_ERROR", words, retry="no")
        heard |= {"status": "error", "problem": problem}
    if account is not None and aside.keys().isdisjoint({"page", "fidelity", "notices"}):
        heard = {**_read_account(account), **heard}
    return restore_foreign(heard, aside, "bare", "/_meta")


def _find_envelope(tool: PlainToolResult, dialect: str | Dialect | None) -> Reply[Any] | None:
    """The reply that a result says in a dialect."""
    if dialect == "bare":
        return None
    body = tool.structured if tool.structured is not None else parse_texts(tool.texts)
    status = FAILED if tool.failed else OK
    reply = read_envelope(body, dialect, status=status)
    if reply is None and tool.texts:
        # what is meant for people stands before the envelope
        last = tool.texts[-1]
        reply = read_envelope(parse_texts((last,)), dialect, status=status) or _read_below(last, dialect, status)
    return reply


def text_as_sent(reply: Reply[Any], result: Any) -> Reply[Any]:
    """The reply to whoever asked for a text: a page of it that happens to be JSON is a text as well."""
    tool = find_tool_result(result)
    if isinstance(reply.data, str) or reply.problem is not None or tool is None or tool.structured is not None:
        return reply
    return reply if len(tool.texts) != 1 else reply.replace(data=_split_account(tool)[0].texts[0])


def _read_below(text: str, dialect: str | Dialect | None, status: int) -> Reply[Any] | None:
    """The reply in a text whose first line is the one that its contract has for people."""
    line, _, below = text.partition("\n")
    return read_envelope(parse_texts((below,)), dialect, status=status) if line and below else None


def _split_account(tool: PlainToolResult) -> tuple[PlainToolResult, Account | None]:
    """A result without the account of what it lacks, and that account.

    Data may have a member of that name, and a text may end in such lines. What a server says in `_meta` decides
    whether there is an account at all, and the same words in the text whether a member is one.
    """
    if tool.failed or _is_whole(tool.meta):
        return tool, None
    text, told = split_account(tool.texts[-1] if tool.texts else _boxed_text(tool.structured))
    if told is not None and not _confirms(tool.meta, told.note):
        told = None
    if tool.texts and told is not None:
        tool = replace(tool, texts=(*tool.texts[:-1], text))
    member: Any = tool.structured.get(ACCOUNT) if isinstance(tool.structured, dict) else None
    if not _is_account(member):
        return replace(tool, structured=_without_lines(tool.structured, told)), told
    found = Account(member["note"], member.get("left_out"))
    if not _confirms(tool.meta, found.note) or (told is not None and told.note != found.note):
        return tool, told
    data = {name: value for name, value in tool.structured.items() if name != ACCOUNT}
    return replace(tool, structured=data), found


def _has_member(tool: PlainToolResult) -> bool:
    """Whether there is something where the structured content of a payload alone has its account."""
    return isinstance(tool.structured, dict) and ACCOUNT in tool.structured


def _boxed_text(structured: Any) -> str:
    """The text that structured content has in a box; empty where it has none."""
    boxed = next(iter(structured.values())) if isinstance(structured, dict) and len(structured) == 1 else None
    return boxed if isinstance(boxed, str) else ""


def _without_lines(structured: Any, told: Account | None) -> Any:
    """Structured content whose text says itself what it lacks, without these lines."""
    text, account = split_account(_boxed_text(structured))
    return dict.fromkeys(structured, text) if account is not None and account == told else structured


def _is_account(member: Any) -> bool:
    """Whether a member has the form of an account."""
    return isinstance(member, dict) and isinstance(member.get("note"), str) and member.keys() <= {"note", "left_out"}


def _confirms(meta: Mapping[str, Any], note: str) -> bool:
    """Whether a note can be the one that a server made of what it says in `_meta`."""
    notices, page = meta.get(f"{PREFIX}notices"), _mapping(meta.get(f"{PREFIX}page"))
    messages = [_mapping(one).get("message") for one in notices] if isinstance(notices, list) else []
    way_on = _mapping(page.get("extra")).get(WAY_ON)
    said = [page.get("cursor"), *(way_on[:1] if isinstance(way_on, list) else ()), *messages[-1:]]
    words = [one for one in said if isinstance(one, str)]
    return not words or any(one in note for one in words)


def _is_whole(meta: Mapping[str, Any]) -> bool:
    """Whether a server says besides a result that nothing is missing from it; a client may drop what it says there."""
    if not any(str(name).startswith(PREFIX) for name in meta):
        return False
    page, fidelity = _mapping(meta.get(f"{PREFIX}page")), _mapping(meta.get(f"{PREFIX}fidelity"))
    is_partial = meta.get(f"{PREFIX}status") == "partial" or fidelity.get("level", "full") != "full"
    return not (page.get("cursor") or page.get("has_more") is True or is_partial)


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
    check_aside({"fidelity": {"archive_hashes": hashes}}, "bare", "/_meta")
    own = reply.fidelity or Fidelity("full")
    if hashes.items() <= (own.archive_hashes or {}).items():
        return reply
    level = "partial" if own.level == "full" else own.level
    return reply.replace(fidelity=replace(own, level=level, archive_hashes={**(own.archive_hashes or {}), **hashes}))


def parse_texts(texts: tuple[str, ...]) -> Any:
    """The JSON object, list or null in a text; anything else is the text itself."""
    if len(texts) != 1:
        return [parse_texts((text,)) for text in texts] or None
    try:
        value = read_text(texts[0])
    except ContractError:
        return texts[0]
    return value if value is None or isinstance(value, (dict, list)) else texts[0]


def _bare_data(tool: PlainToolResult, *, is_ours: bool) -> Any:
    """The payload; frameworks put what is not an object into a box, which the text channel does not have."""
    held = tool.structured
    if not isinstance(held, dict) or held.keys() != {BOX}:
        return parse_texts(tool.texts) if held is None else held
    marked = isinstance(tool.meta.get("fastmcp"), Mapping) and tool.meta["fastmcp"].get("wrap_result")
    is_known = marked or (is_ours and not tool.texts)
    return held[BOX] if is_known or _mirrors(tool.texts, held[BOX]) else held


def _mirrors(texts: tuple[str, ...], value: Any) -> bool:
    """Whether texts say a value: one all of it, or each an item of its own."""
    if len(texts) == 1 and _says(texts[0], value):
        return True
    return isinstance(value, list) and len(value) == len(texts) and all(map(_says, texts, value))


def _says(text: str, value: Any) -> bool:
    return text == "null" if value is None else bool(text == value or _loads_or_none(text) == value)


def _loads_or_none(content: str) -> Any:
    try:
        return loads(content)
    except ContractError:
        return None
