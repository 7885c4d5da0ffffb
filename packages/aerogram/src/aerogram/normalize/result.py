"""Tool result: what a tool call answers, held as the bytes that will be sent.

Content and structured content are JSON already when a result exists, so that it can
always be sent. `to_bytes` only joins them; the dictionaries are read back on demand.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import orjson
from pydantic_core import SchemaSerializer, core_schema

from aerogram.content import read_json
from aerogram.content.jsontext import part_to_json
from aerogram.errors import ContractError, MissingExtra, TokenLimitExceeded
from aerogram.normalize.blocks import is_block
from aerogram.normalize.forms import encode_text
from aerogram.normalize.policy import LEGACY, Policy, is_modern
from aerogram.normalize.values import encode
from aerogram.reply import Notice, Problem

__all__ = [
    "NOTICES",
    "PROBLEM",
    "RESOURCE",
    "TOOL",
    "ContentBlock",
    "ToolResult",
    "is_foreign_result",
    "notices_body",
    "read_json",
    "response_start",
    "spell",
    "text_block",
    "text_content",
]

TOOL = ("fastmcp.tools.base", "ToolResult")
RESOURCE = ("fastmcp.resources.base", "ResourceResult")
"""Where FastMCP keeps its own results; the mcp SDK has one base for all of them."""


OLD_SDK = "mcp.types"
"""Where the mcp SDK kept its types before version 2."""


def is_foreign_result(kind: type, home: tuple[str, str]) -> bool:
    """Whether a class is a result of the mcp SDK, or the one of FastMCP that is named."""
    sdk, fastmcp = sys.modules.get("mcp_types"), sys.modules.get(home[0])
    ancestry = kind.__mro__  # models have a slow `issubclass`
    if sdk is not None and sdk.Result in ancestry:
        return True
    if any(one.__module__ == OLD_SDK and one.__name__ == "Result" for one in ancestry):
        return True
    return fastmcp is not None and getattr(fastmcp, home[1]) in ancestry


NOTICES = "dev.aerogram/notices"
PROBLEM = "dev.aerogram/problem"

_ABSENT: Any = object()
_DEFAULT = Policy()
_LONGEST_MESSAGE = 1000
_TEXT_MEMBERS = frozenset(("type", "text"))
_IDS = frozenset((str, int, type(None)))


class ContentBlock(dict[str, Any]):
    """A content block as the protocol writes it, whose members are attributes too."""

    def __getattr__(self, name: str) -> Any:
        try:
            held = self[name]
        except KeyError:
            kind = f"a block of type {self['type']}" if "type" in self else "this"
            raise AttributeError(f"{kind} has no {name}") from None
        return ContentBlock(held) if type(held) is dict else held


def _refuse(_: Any) -> None:
    """Raise for a result that a framework takes for data, whose `repr` it would send as a success."""
    raise TypeError("a server without Aerogram does not know its results: return result.to_mcp()")


class ToolResult:
    """The answer to a tool call. Return one from a handler to say exactly what is sent.

    `content` takes texts, `Block`s, blocks of the mcp SDK, and blocks as dictionaries;
    a value that is none of them is refused with a `ContractError`.
    """

    # what pydantic calls for an object of a class that it does not know, and MCP frameworks write by it
    __pydantic_serializer__: ClassVar = SchemaSerializer(
        core_schema.any_schema(serialization=core_schema.plain_serializer_function_ser_schema(_refuse))
    )
    body: bytes
    _structured: bytes | None = None
    _more: bytes | None = None
    _foreign: Any = None
    _texts: list[str] | None = None
    """Those of its blocks, where they are texts and nothing else: so that a long one need not be read again."""
    isError: bool = False  # noqa: N815 - the protocol's own names, so that a result reads as it is sent
    is_boxed: bool = False
    notices: tuple[Notice, ...] = ()

    def __init__(
        self,
        content: Iterable[Any] = (),
        structured_content: Any = _ABSENT,
        *,
        is_error: bool = False,
        meta: Mapping[str, Any] | None = None,
        policy: Policy | None = None,
    ) -> None:
        rules = policy or _DEFAULT
        blocks = [_encode_block(item, rules) for item in ([content] if isinstance(content, str) else content)]
        written = None if structured_content is _ABSENT else encode(structured_content, rules)
        self.body = b"[" + b",".join(body for body, _, _ in blocks) + b"]"
        texts = [text for _, _, text in blocks if text is not None]
        self._texts = texts if len(texts) == len(blocks) else None
        self._structured = written.body if written else None
        self.isError = is_error
        self.is_boxed = written is not None and not written.body.startswith(b"{")
        said = tuple(notice for _, notices, _ in blocks for notice in notices)
        self.notices = said + written.notices if written else said
        more = {name: part for name, part in (meta or {}).items() if name != NOTICES or not self.notices}
        self._more = encode(more, rules).body if more else None

    @classmethod
    def of_bytes(
        cls,
        body: bytes,
        structured: bytes | None = None,
        notices: tuple[Notice, ...] = (),
        is_boxed: bool = False,
    ) -> ToolResult:
        """A result from JSON that is proven already: the array of blocks, and the structured content."""
        self = cls.__new__(cls)
        self.body = body
        self._structured = structured
        self.is_boxed = is_boxed
        if notices:
            self.notices = notices
        return self

    @classmethod
    def of(cls, result: Any) -> ToolResult:
        """The result of another package as ours; `to_mcp` gives the same object back."""
        if isinstance(result, cls):
            return result
        made = cls.copy_of(result)
        made._foreign = result
        return made

    @classmethod
    def copy_of(cls, result: Any) -> ToolResult:
        """A result that says the same as one of the mcp SDK or of FastMCP, in words that can be sent."""
        if not hasattr(
            result, "structured_content"
        ):  # of an mcp SDK before version 2, which writes as the protocol does
            return cls.of_wire(result.model_dump(mode="json", by_alias=True, exclude_none=True))
        structured = _ABSENT if result.structured_content is None else result.structured_content
        return cls(result.content, structured, is_error=result.is_error, meta=result.meta)

    @classmethod
    def of_wire(cls, wire: Mapping[str, Any], policy: Policy | None = None) -> ToolResult:
        """A result from the dictionary that the protocol writes."""
        structured = wire.get("structuredContent")
        return cls(
            wire.get("content", ()),
            _ABSENT if structured is None else structured,
            is_error=wire.get("isError") is True,
            meta=wire.get("_meta") or wire.get("meta"),
            policy=policy,
        )

    @classmethod
    def failed(cls, problem: Problem) -> ToolResult:
        """An error that the caller can read and act on: in words, and for programs under `_meta`."""
        words = f"{problem.code}: {problem.message}"
        text = f"{words}\n{problem.remediation}" if problem.remediation else words
        try:
            return cls([encode_text(text)], is_error=True, meta={PROBLEM: _facts(problem)})
        except TokenLimitExceeded:
            return cls.failed(_shorten_problem(problem))

    @property
    def content(self) -> list[ContentBlock]:
        """The content blocks, as the protocol writes them; `result.content[0].text` reads a member of one."""
        return [ContentBlock(one) for one in read_json(self.body)]

    @property
    def structuredContent(self) -> Any:  # noqa: N802 - the protocol's own name
        """The structured content of versions up to 2025-11-25, an object; None when there is none."""
        if self._structured is None:
            return None
        value = read_json(self._structured)
        return {"result": value} if self.is_boxed else value

    @property
    def structured_content(self) -> Any:
        """The same under the name that the mcp SDK's results have it by."""
        return self.structuredContent

    @property
    def is_error(self) -> bool:
        """The same under the name that the mcp SDK's results have it by."""
        return self.isError

    @property
    def meta(self) -> dict[str, Any] | None:
        """What goes along for programs, under the name that the mcp SDK's results have it by."""
        return self._meta

    def data(self) -> Any:
        """The structured content of versions from 2026-07-28: the value itself, without a box."""
        return None if self._structured is None else read_json(self._structured)

    @property
    def has_structured_content(self) -> bool:
        """Whether structured content is sent; from 2026-07-28 it may be null."""
        return self._structured is not None

    @property
    def _meta(self) -> dict[str, Any] | None:
        """What goes along for programs: your own members, the problem of a failure, and the notices."""
        body = self._meta_body()
        return read_json(body) if body else None

    def _meta_body(self) -> bytes | None:
        """It is joined from bytes: what was proven once, large integers included, is not written again."""
        if not self.notices:
            return self._more
        said = notices_body(self.notices)
        return said if self._more is None else b"".join((self._more[:-1], b",", said[1:]))

    @property
    def size(self) -> int:
        """How many bytes its content and its structured content take."""
        return len(self.body) + len(self._structured or b"")

    def to_wire(self, protocol_version: str = LEGACY) -> dict[str, Any]:
        """The result as a plain dictionary for a protocol version."""
        texts = self._texts
        content = read_json(self.body) if texts is None else [{"type": "text", "text": text} for text in texts]
        wire: dict[str, Any] = {"content": content}
        if self._structured is not None:
            wire["structuredContent"] = self.data() if is_modern(protocol_version) else self.structuredContent
        if self.isError:
            wire["isError"] = True
        meta = self._meta
        if meta:
            wire["_meta"] = meta
        if is_modern(protocol_version):
            wire["resultType"] = "complete"
        return wire

    def to_bytes(self, request_id: str | int | None, protocol_version: str = LEGACY) -> bytes:
        """The finished JSON-RPC response."""
        modern = is_modern(protocol_version)
        start = response_start(request_id)
        end = b"}}"
        if modern or self.isError or self.notices or self._more:
            end = self._end(modern)
        if self._structured is None:
            return b"".join((start, b'"content":', self.body, end))
        if modern or not self.is_boxed:
            return b"".join((start, b'"content":', self.body, b',"structuredContent":', self._structured, end))
        box = b',"structuredContent":{"result":'
        return b"".join((start, b'"content":', self.body, box, self._structured, b"}", end))

    def to_mcp(self) -> Any:
        """The result as the mcp SDK's `CallToolResult`; what came from there comes back as the same object."""
        if self._foreign is not None:
            return self._foreign
        try:
            from mcp.types import CallToolResult
        except ImportError:
            raise MissingExtra("mcp", "mcp") from None
        return CallToolResult.model_validate(self.to_wire())

    def _end(self, modern: bool) -> bytes:
        """The members after the structured content, and the end of the response."""
        meta = self._meta_body()
        failed = b',"isError":true' if self.isError else b""
        said = b',"_meta":%b' % meta if meta else b""
        return b"".join((failed, said, b',"resultType":"complete"}}' if modern else b"}}"))

    def __repr__(self) -> str:
        return f"ToolResult({self.to_wire()!r})"


def notices_body(notices: tuple[Notice, ...]) -> bytes:
    """The `_meta` that carries some notices."""
    return encode({NOTICES: [part_to_json(notice) for notice in notices]}, _DEFAULT).body


def response_start(request_id: str | int | None) -> bytes:
    """A JSON-RPC response up to the first member of its result."""
    try:
        name = orjson.dumps(request_id) if type(request_id) in _IDS else encode(request_id, _DEFAULT).body
    except TypeError:  # an integer beyond 64 bits, a lone surrogate
        name = encode(request_id, _DEFAULT).body
    return b'{"jsonrpc":"2.0","id":%b,"result":{' % name


def spell(body: bytes, policy: Policy) -> bytes:
    """JSON as the text of a block: as `json.dumps` spells it, unless it is to be compact."""
    if policy.spelling == "compact" or not body.startswith((b"{", b"[")):
        return body
    return json.dumps(read_json(body), ensure_ascii=False).encode()


def text_block(body: bytes, form: bytes = b'{"type":"text","text":%b}') -> bytes:
    """A text block of JSON: a string as the text it is, anything else as its JSON."""
    return form % (body if body.startswith(b'"') else orjson.dumps(body.decode()))


def text_content(body: bytes) -> bytes:
    """Content that is one text block."""
    return text_block(body, b'[{"type":"text","text":%b}]')


def _encode_block(item: Any, policy: Policy) -> tuple[bytes, tuple[Notice, ...], str | None]:
    """A block as JSON, what had to be changed in it, and the text that it is if it is nothing else."""
    if isinstance(item, str):
        text = encode(item, policy)
        return text_block(text.body), text.notices, None
    form = policy.registry.forms[type(item)]
    wire = form.convert(item) if form.kind == "block" else item
    if not is_block(wire):
        raise ContractError(f"content is made of texts and blocks, not of {type(item).__name__}")
    written = encode(wire, policy)
    is_text = not written.notices and wire.keys() == _TEXT_MEMBERS and wire["type"] == "text"
    return written.body, written.notices, wire["text"] if is_text else None


def _shorten_problem(problem: Problem) -> Problem:
    """A failure must not fail because it says too much."""
    message = f"{str(problem.message)[:_LONGEST_MESSAGE]}… (too much was said to send it all)"
    return Problem(problem.code[:100], message, problem.kind, problem.retry, retry_after=problem.retry_after)


def _facts(problem: Problem) -> dict[str, Any]:
    facts: dict[str, Any] = part_to_json(problem)
    del facts["retry"]
    return {**facts, "retryable": problem.retryable}
