"""Tool: any value that a handler returns as a tool result.

A value is data unless it is something more: a finished result, content, bytes, nothing,
a failure, or a pair of content and data. Data is sent twice, as text and as structured
content.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Any

import orjson

from aerogram.errors import ReplyError
from aerogram.normalize.blocks import is_block, media, sniff
from aerogram.normalize.forms import base64_size
from aerogram.normalize.output import PAIR, Output, is_structure
from aerogram.normalize.policy import Policy
from aerogram.normalize.registry import Registry
from aerogram.normalize.result import TOOL, ToolResult, is_foreign_result, read_json, spell, text_block, text_content
from aerogram.normalize.signals import SIGNALS, log_error
from aerogram.normalize.stream import DrainedItems, drain, settle
from aerogram.normalize.values import EncodedValue, encode, encode_carefully, encode_fast, encode_items
from aerogram.normalize.walk import ASK_THE_OPERATOR
from aerogram.problems import problem_of
from aerogram.reply import Notice, Problem

__all__ = ["RESULT_MEMBERS", "content_half", "is_finished", "is_pair", "is_written_result", "normalize_tool_result"]

_DEFAULT = Policy()
_NO_PROMISE = Output(None)
_BINARY = (bytes, bytearray, memoryview)
_DATA = frozenset((str, int, float, bool, dict, list))
RESULT_MEMBERS = frozenset(("content", "structuredContent", "isError", "_meta", "meta", "resultType"))
"""What the result of a tool call has."""


def normalize_tool_result(
    value: Any, *, policy: Policy = _DEFAULT, returns: Any = _NO_PROMISE, mime_type: str | None = None
) -> Any:
    """Turn what a handler returned into a tool result; whatever the value, there is one.

    `returns` is the handler's return annotation, or the `Output` made from it once: the
    result then keeps the schema that it promises. `mime_type` says what returned bytes
    are, and `auto` lets their first bytes say it; they are then sent as an image, a sound
    or a blob. A result object of an MCP package is given back as the same object.
    """
    try:
        promise = returns if isinstance(returns, Output) else _promise(returns, policy.registry)
        result = _normalize(value, policy, promise, mime_type)
        return _check_promise(result, value, promise) if promise.schema is not None else result
    except SIGNALS:
        raise
    except BaseException as error:  # noqa: BLE001 - a value must not keep its request from being answered
        return ToolResult.failed(_safe_problem(error))


def _promise(annotation: Any, registry: Registry) -> Output:
    try:
        return _remembered_promise(annotation, registry)
    except TypeError:  # an annotation that cannot be remembered, because it cannot be hashed
        return Output.of(annotation, registry)


_remembered_promise = lru_cache(maxsize=1024)(Output.of)


def _normalize(value: Any, policy: Policy, promise: Output, mime_type: str | None = None) -> Any:
    kind = type(value)
    if issubclass(kind, dict) and "content" in value and is_written_result(value, policy):
        return ToolResult.of_wire(value, policy=policy)
    if kind in _DATA or kind in policy.registry.data:
        return _data(value, policy, promise)
    return _special(value, policy, promise, mime_type)


def _special(value: Any, policy: Policy, promise: Output, mime_type: str | None) -> Any:
    """Nothing, bytes, pairs and finished results; for the rest their form decides."""
    if value is None:
        return ToolResult.of_bytes(b"[]", b"null" if promise.is_boxed else None, is_boxed=True)
    if issubclass(type(value), _BINARY):
        return _binary(value, sniff(value) if mime_type == "auto" else mime_type, policy)
    if is_pair(value) and not promise.is_rows:
        return _pair(value[0], value[1], policy, promise)
    if issubclass(type(value), ToolResult) or is_foreign_result(type(value), TOOL):
        return _make_sendable(value)
    return _normalize_form(value, policy, promise)


def _normalize_form(value: Any, policy: Policy, promise: Output) -> Any:
    """Failures and streams; anything else is data."""
    form = policy.registry.forms[type(value)]
    if form.kind == "json" and is_structure(type(value)):
        policy.registry.data.add(type(value))
    if form.kind == "exception":
        return ToolResult.failed(_safe_problem(value))
    if form.kind == "awaitable":
        return _normalize(_run_awaitable(value, policy), policy, promise)
    if form.kind == "iterator":
        value = drain(form.convert(value), policy)
    if type(value) is DrainedItems:
        return _data(list(value), policy, promise, (value.notice,) if value.notice else ())
    return _data(value, policy, promise)


def _run_awaitable(value: Any, policy: Policy) -> Any:
    """Outside of an event loop a coroutine can be run to its end; inside of one it had to be awaited."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(settle(value, policy))
    if hasattr(value, "close"):
        value.close()
    raise ReplyError(
        f"the value of type {type(value).__name__} at the top has to be awaited before it is normalised",
        remediation="Await `settle(value)` in the handler's own event loop.",
    )


# Data: text and structured content


def _data(value: Any, policy: Policy, promise: Output, notices: tuple[Notice, ...] = ()) -> ToolResult:
    body = encode_fast(value, policy)
    if body is None:
        return _careful_data(value, encode_carefully(value, policy), policy, promise, notices)
    if body.startswith(b"{"):
        return ToolResult.of_bytes(text_content(spell(body, policy)), body, notices, promise.is_boxed)
    is_listed = body.startswith(b"[") and policy.blocks == "each"
    content = _array(_texts(value, EncodedValue(body), policy)) if is_listed else text_content(spell(body, policy))
    return ToolResult.of_bytes(content, body, notices, is_boxed=True)


def _careful_data(
    value: Any, encoded: EncodedValue, policy: Policy, promise: Output, notices: tuple[Notice, ...]
) -> ToolResult:
    if encoded.is_content:
        return ToolResult.of_bytes(_array(_flatten(value, policy)), None, notices + encoded.notices)
    content = _array(_texts(value, encoded, policy))
    boxed = promise.is_boxed or not encoded.body.startswith(b"{")
    return ToolResult.of_bytes(
        content, _structured_content(encoded, promise), notices + encoded.notices, is_boxed=boxed
    )


def _structured_content(encoded: EncodedValue, promise: Output) -> bytes | None:
    """Structured content; none for what has no JSON form, unless a schema has promised some."""
    return None if encoded.odd and promise.schema is None else encoded.body


def _texts(value: Any, encoded: EncodedValue, policy: Policy) -> list[bytes]:
    """The text blocks of some data, and the media that stood in it."""
    bodies = [encoded.body]
    if policy.blocks == "each" and encoded.body.startswith(b"["):
        is_untouched = type(value) is list and not encoded.notices and not encoded.media
        found = encode_items(value, policy) if is_untouched else None
        items = list(islice(_items(read_json(encoded.body)), policy.max_items + 1)) if found is None else found
        bodies = items if len(items) <= policy.max_items else bodies
    return [*(text_block(spell(body, policy)) for body in bodies), *map(orjson.dumps, encoded.media)]


def _array(blocks: list[bytes]) -> bytes:
    return b"[" + b",".join(blocks) + b"]"


def _items(value: Any) -> Iterator[bytes]:
    """The items of nested lists, as JSON; nothing for None."""
    if isinstance(value, list):
        for item in value:
            yield from _items(item)
    elif value is not None:
        yield _write(value)


def _write(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # an integer beyond 64 bits
        return encode(value, _DEFAULT).body


# Content: blocks, alone or in lists


def _flatten(value: Any, policy: Policy) -> list[bytes]:
    if value is None:
        return []
    form = policy.registry.forms[type(value)]
    if form.kind == "block":
        return [encode(form.convert(value), policy).body]
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return [block for item in value for block in _flatten(item, policy)]
    return _texts(value, encode(value, policy), policy)


def _binary(value: bytes | bytearray | memoryview, mime_type: str | None, policy: Policy) -> ToolResult:
    if not mime_type or base64_size(value) > policy.max_bytes:  # what is too large is refused before it is copied
        return ToolResult.of_bytes(_array([text_block(encode(value, policy).body)]))
    return ToolResult.of_bytes(_array([encode(media(bytes(value), mime_type), policy).body]))


def is_pair(value: Any) -> bool:
    """Whether a value is a pair of content and data: two values, of which the second is a mapping or a record."""
    return type(value) is tuple and len(value) == PAIR and is_structure(type(value[1]))


def content_half(payload: Any, policy: Policy) -> ToolResult:
    """The result whose content is all of what stands first in a pair; nothing else tells what content lacks.

    A pair inside of a pair is a list, and a list of which items would leave nothing behind is one text.
    """
    if is_pair(payload):
        payload = list(payload)
    if isinstance(payload, (list, tuple)) and _loses_items(payload):
        policy = replace(policy, blocks="one")
    result = ToolResult.of(normalize_tool_result(payload, policy=policy))
    if not is_finished(payload) or not result.has_structured_content:
        return result
    body = text_block(_write(result.data()))
    told = orjson.loads(result.body)
    return result if orjson.loads(body) in told else ToolResult.of_bytes(_array([*map(orjson.dumps, told), body]))


def _loses_items(items: Iterable[Any]) -> bool:
    try:
        return any(map(_leaves_nothing, items))
    except RecursionError:  # of what has no end the normaliser tells
        return False


def _leaves_nothing(item: Any) -> bool:
    """Whether an item, or one in it, has no block of its own where there is one for each."""
    return item is None or (isinstance(item, (list, tuple)) and (not item or any(map(_leaves_nothing, item))))


def _pair(payload: Any, structured: Any, policy: Policy, promise: Output) -> ToolResult:
    """Content from the first half, structured content from the second."""
    shown = content_half(payload, policy)
    encoded = encode(structured, policy)
    boxed = promise.is_boxed or not encoded.body.startswith(b"{")
    notices = shown.notices + encoded.notices
    return ToolResult.of_bytes(shown.body, _structured_content(encoded, promise), notices, is_boxed=boxed)


# Finished results


def is_written_result(value: Any, policy: Policy = _DEFAULT) -> bool:
    """Whether a value is a dictionary of a whole result, with nothing in it that would be lost.

    Its members are those of the protocol; its blocks may be objects, for those would be accepted in a result too.
    """
    if not isinstance(value, dict) or "content" not in value or not (value.keys() <= RESULT_MEMBERS):
        return False
    if "_meta" in value and "meta" in value:
        return False
    content, meta = value["content"], value.get("_meta", value.get("meta"))
    return (
        isinstance(content, (list, tuple))
        and (bool(content) or len(value) > 1)  # else it is an object whose member is empty
        and all(is_block(item) or policy.registry.forms[type(item)].kind == "block" for item in content)
        and isinstance(value.get("isError", False), bool)
        and (meta is None or isinstance(meta, Mapping))
        and value.get("resultType", "complete") == "complete"
    )


def is_finished(value: Any) -> bool:
    """Whether a handler has made a whole result itself: ours, or one of an MCP package."""
    return isinstance(value, ToolResult) or is_foreign_result(type(value), TOOL)


def _make_sendable(value: Any) -> Any:
    """The same object, unless it could not be sent: then one that can, with the same meaning."""
    if isinstance(value, ToolResult):
        return value
    try:
        value.model_dump_json(by_alias=True)
    except SIGNALS:
        raise
    except BaseException:  # noqa: BLE001 - a lone surrogate, a cycle: nothing its own server could send
        return ToolResult.copy_of(value)
    return value


# Failures


def _check_promise(result: Any, value: Any, promise: Output) -> Any:
    """The result, or an error in its place if it breaks the schema that was promised for it."""
    if not isinstance(result, ToolResult) or result.isError:
        return result
    if not result.has_structured_content:
        return _breach_result("there is no structured content")
    if not result.notices and type(value) is promise.trusted:
        return result
    breach = promise.breach(result.data())
    return _breach_result(breach) if breach else result


def _breach_result(reason: str) -> ToolResult:
    log_error("a result breaks its output schema: %s", reason)
    words = f"the result breaks its output schema: {reason}"
    return ToolResult.failed(Problem.of("INTERNAL_ERROR", words, retry="no", remediation=ASK_THE_OPERATOR))


def _safe_problem(error: BaseException) -> Problem:
    try:
        if isinstance(error, BaseExceptionGroup):
            return _group_problem(error)
        return problem_of(error)
    except SIGNALS:
        raise
    except BaseException:  # noqa: BLE001 - an exception whose own methods raise
        log_error("an exception of type %s was returned or raised, and cannot be read", type(error).__name__)
        words = f"{type(error).__name__} at the top cannot be read"
        return Problem.of("INTERNAL_ERROR", words, remediation=ASK_THE_OPERATOR)


def _group_problem(group: BaseExceptionGroup[Any]) -> Problem:
    """The first failure speaks for the group; the details name each of them."""
    leaves = list(_leaves(group))[:20]
    problems = [_safe_problem(leaf) for leaf in leaves]
    each = [
        {"type": type(leaf).__name__, "code": p.code, "message": p.message}
        for leaf, p in zip(leaves, problems, strict=True)
    ]
    words = f"{len(each)} failures: " + "; ".join(f"{one['type']}: {one['message']}" for one in each)
    return Problem.of(problems[0].code, words, remediation=problems[0].remediation, details={"failures": each})


def _leaves(group: BaseExceptionGroup[Any]) -> Iterable[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
