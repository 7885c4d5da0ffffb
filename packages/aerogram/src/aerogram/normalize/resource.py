"""Resource: any payload that a resource handler returns as the result of reading it."""

from __future__ import annotations

import io
import mimetypes
import os
import stat
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from aerogram.errors import ContractError, Forbidden, MissingExtra, NotFound, TokenLimitExceeded, Unavailable
from aerogram.normalize.blocks import is_contents, sniff
from aerogram.normalize.forms import base64_text, encode_text
from aerogram.normalize.policy import LEGACY, Policy, is_modern
from aerogram.normalize.result import (
    RESOURCE,
    ContentBlock,
    is_foreign_result,
    notices_body,
    read_json,
    response_start,
    spell,
)
from aerogram.normalize.signals import SIGNALS, log_error
from aerogram.normalize.values import encode
from aerogram.normalize.walk import UnreadableValue
from aerogram.reply import Notice

__all__ = ["ResourceResult", "normalize_resource_payload", "open_at_once"]

_DEFAULT = Policy()
_BINARY = (bytes, bytearray, memoryview)
_MEMBERS = frozenset(("uri", "mimeType", "text", "blob", "_meta"))
_PYTHON_NAMES = {"mime_type": "mimeType", "meta": "_meta"}
_TEXTUAL = ("text/", "application/json", "application/xml", "application/javascript", "application/yaml")
_CHUNK = 1024 * 1024


class ResourceResult:
    """The contents that reading a resource gives. Return one from a handler to say exactly what is sent.

    Each of `contents` is a dictionary as the protocol writes it, with its own URI, or an
    object of the mcp SDK. `ttl_ms` and `cache_scope` go along from 2026-07-28.
    """

    __slots__ = ("_body", "cache_scope", "notices", "ttl_ms")

    def __init__(
        self,
        contents: Iterable[Any],
        *,
        ttl_ms: int = 0,
        cache_scope: Literal["private", "public"] = "private",
        notices: tuple[Notice, ...] = (),
        policy: Policy = _DEFAULT,
    ) -> None:
        wires = [_wire(item) for item in contents]
        broken = next((wire for wire in wires if not is_contents(wire)), None)
        if broken is not None:
            raise ContractError(f"not the contents of a resource: {str(broken)[:100]}")
        self._body = encode(wires, policy).body
        self.ttl_ms = ttl_ms
        self.cache_scope = cache_scope
        self.notices = notices

    @property
    def contents(self) -> list[ContentBlock]:
        """The contents, as the protocol writes them; `result.contents[0].text` reads a member of one."""
        return [ContentBlock(one) for one in read_json(self._body)]

    def to_wire(self, protocol_version: str = LEGACY) -> dict[str, Any]:
        """The result as a plain dictionary for a protocol version."""
        wire: dict[str, Any] = {"contents": self.contents}
        if self.notices:
            wire["_meta"] = read_json(notices_body(self.notices))
        return {**wire, **self._caching()} if is_modern(protocol_version) else wire

    def to_bytes(self, request_id: str | int | None, protocol_version: str = LEGACY) -> bytes:
        """The finished JSON-RPC response."""
        said = b',"_meta":%b' % notices_body(self.notices) if self.notices else b""
        caching = b"," + encode(self._caching(), _DEFAULT).body[1:-1] if is_modern(protocol_version) else b""
        return b"".join((response_start(request_id), b'"contents":', self._body, said, caching, b"}}"))

    def to_mcp(self) -> Any:
        """The result as the mcp SDK's `ReadResourceResult`."""
        try:
            from mcp.types import ReadResourceResult
        except ImportError:
            raise MissingExtra("mcp", "mcp") from None
        return ReadResourceResult.model_validate({**self.to_wire(), **self._caching()})

    def _caching(self) -> dict[str, Any]:
        return {"resultType": "complete", "ttlMs": self.ttl_ms, "cacheScope": self.cache_scope}

    def __repr__(self) -> str:
        return f"ResourceResult({self.contents!r})"


def normalize_resource_payload(
    uri: Any,
    mime_type: str | None,
    payload: Any,
    *,
    policy: Policy = _DEFAULT,
    infer: bool = False,
    ttl_ms: int = 0,
    cache_scope: Literal["private", "public"] = "private",
) -> Any:
    """Turn what a resource handler returned into the result of reading it.

    A declared MIME type is kept. Without one bytes are `application/octet-stream` and
    everything else is `text/plain`; with `infer` the payload or the URI says more. A
    result object of an MCP package is given back as the same object. A payload that
    cannot be sent raises, as a resource handler would: reading has no error result.
    """
    if isinstance(payload, ResourceResult) or is_foreign_result(type(payload), RESOURCE):
        return payload
    if isinstance(payload, BaseException):
        raise payload
    reading = _PayloadReader(encode_text(str(uri)), mime_type, policy, infer)
    try:
        contents = reading.contents(payload)
    except (Exception, *SIGNALS):
        raise
    except BaseException as error:  # what is no `Exception` would end the server
        log_error("the payload of %s cannot be read", reading.uri, error=error)
        raise UnreadableValue(f"the payload of {reading.uri} cannot be read") from error
    roomy = replace(policy, max_bytes=policy.max_bytes * 8)  # the limit is on payloads; base64 makes them larger
    return ResourceResult(
        contents, ttl_ms=ttl_ms, cache_scope=cache_scope, notices=tuple(reading.notices), policy=roomy
    )


def open_at_once(path: str, flags: int) -> int:
    """For `open`: whoever opens the end of a pipe waits for the other one, unless he says that he does not."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _is_finite(file: Any) -> bool:
    """Whether reading a file comes to an end without waiting for anybody: pipes, sockets and devices may not."""
    try:
        mode = os.fstat(file.fileno()).st_mode
    except (AttributeError, OSError, TypeError, ValueError):  # it is in memory, or reads what it has itself
        return True
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


class _PayloadReader:
    """One payload on its way to contents."""

    def __init__(self, uri: str, mime_type: str | None, policy: Policy, infer: bool) -> None:
        self.uri = uri
        self.declared = mime_type
        self.policy = policy
        self.infer = infer
        self.notices: list[Notice] = []

    def contents(self, value: Any) -> list[Any]:
        """The contents that a payload stands for."""
        several = self._several(value)
        if several is not None:
            return several
        if isinstance(value, str):
            return [self._text(str.__str__(value), "text/plain")]
        if isinstance(value, _BINARY):
            self._check_size(memoryview(value).nbytes)
            return [self._blob(bytes(value))]
        if isinstance(value, Path):
            return [self._file(value)]
        if isinstance(value, io.IOBase) or hasattr(type(value), "read"):
            return [self._read(value, None)]
        return [self._other(value)]

    def _several(self, value: Any) -> list[Any] | None:
        """Contents that are made already: one, a list of them, or a dictionary but for its URI."""
        if _is_sdk_contents(value):
            return [self._with_mime(_wire(value))]
        if isinstance(value, Mapping):
            return self._from_mapping(value)
        if isinstance(value, (list, tuple)) and value and all(map(_is_whole, value)):
            return [self._with_mime(_wire(item)) for item in value]
        return None

    def _from_mapping(self, value: Mapping[Any, Any]) -> list[Any] | None:
        held = _few_members(value)
        if held is None:
            return None
        listed = held.get("contents")
        if held.keys() == {"contents"} and isinstance(listed, list) and all(map(_is_whole, listed)):
            return [self._with_mime(_wire(item)) for item in listed]
        wire = {"uri": self.uri, **_wire(held)}
        return [self._with_mime(wire)] if _is_whole(wire) else None

    def _with_mime(self, wire: Mapping[str, Any]) -> dict[str, Any]:
        """Contents that are made already, with a MIME type where they say none: by what they hold, as for payloads."""
        default = "text/plain" if "text" in wire else None
        return {"uri": wire["uri"], "mimeType": self._mime(default, uri=wire["uri"]), **wire}

    def _mime(self, default: str | None, data: bytes | None = None, uri: str | None = None) -> str:
        """The MIME type: the declared one, the one inferred on request, or the documented default."""
        if self.declared:
            return self.declared
        found = (sniff(data) if data else None) or mimetypes.guess_type(uri or self.uri)[0] if self.infer else None
        return found or default or "application/octet-stream"

    def _text(self, text: str, default: str) -> dict[str, Any]:
        self._check_size(len(text))
        return {"uri": self.uri, "mimeType": self._mime(default), "text": encode_text(text)}

    def _blob(self, data: bytes, default: str | None = None) -> dict[str, Any]:
        self._check_size(len(data))
        return {"uri": self.uri, "mimeType": self._mime(default, data), "blob": base64_text(data)}

    def _check_size(self, size: int) -> None:
        if size > self.policy.max_bytes:
            raise TokenLimitExceeded(f"the payload of {self.uri} is larger than {self.policy.max_bytes:,} bytes")

    def _file(self, path: Path) -> dict[str, Any]:
        try:
            with open(path, "rb", opener=open_at_once) as file:
                return self._read(file, path.name)
        except PermissionError as error:
            log_error("the file behind %s may not be read", self.uri, error=error)
            raise Forbidden(f"the file behind {self.uri} may not be read") from None
        except (OSError, ValueError) as error:  # their words have the path in them, which is the server's own
            log_error("the file behind %s cannot be read", self.uri, error=error)
            raise NotFound(f"there is no file behind {self.uri}") from None

    def _read(self, file: Any, name: str | None) -> dict[str, Any]:
        """A file, read in pieces so that one over the limit is not read whole; text when it is text."""
        if not _is_finite(file):
            raise NotFound(f"what is behind {self.uri} is not a regular file")
        pieces: list[Any] = []
        size, ends = 0, time.monotonic() + self.policy.max_seconds
        while piece := file.read(_CHUNK):
            pieces.append(piece)
            size += len(piece)
            self._check_size(size)
            if time.monotonic() > ends:
                raise Unavailable(f"the payload of {self.uri} takes longer than {self.policy.max_seconds:g} seconds")
        if pieces and isinstance(pieces[0], str):
            return self._text("".join(pieces), "text/plain")
        return self._decode_bytes(b"".join(pieces), name)

    def _decode_bytes(self, data: bytes, name: str | None) -> dict[str, Any]:
        guessed = mimetypes.guess_type(name)[0] if self.infer and name else None
        declared = self.declared or guessed
        if declared is None or declared.startswith(_TEXTUAL) or declared.endswith(("+json", "+xml")):
            try:
                text = data.decode()
            except UnicodeDecodeError:
                return self._blob(data, guessed)
            if "\0" not in text:
                return self._text(text, guessed or "text/plain")
        return self._blob(data, guessed)

    def _other(self, value: Any) -> dict[str, Any]:
        """Everything else: media as a blob, data as JSON text, and the rest as its own text."""
        encoded = encode(value, self.policy)
        self.notices += encoded.notices
        if encoded.is_content and encoded.body.startswith(b"{"):
            return self._block(read_json(encoded.body))
        if encoded.body.startswith(b'"'):
            return self._text(read_json(encoded.body), "text/plain")
        written = spell(encoded.body, self.policy).decode()
        return self._text(written, "application/json" if self.infer else "text/plain")

    def _block(self, wire: dict[str, Any]) -> dict[str, Any]:
        if wire["type"] in ("image", "audio"):
            mime = self.declared or wire["mimeType"]
            return {"uri": self.uri, "mimeType": mime, "blob": wire["data"]}
        if wire["type"] == "resource":
            return self._with_mime(wire["resource"])
        return self._text(wire.get("text") or encode(wire, self.policy).body.decode(), "text/plain")


def _wire(item: Any) -> Any:
    """Contents as the protocol writes them: an object of the mcp SDK, or a dictionary with the names of its fields."""
    if _is_sdk_contents(item):
        return item.model_dump(mode="json", by_alias=True, exclude_none=True)
    if not (isinstance(item, Mapping) and item.keys() & _PYTHON_NAMES.keys()):
        return item
    free = {name: meant for name, meant in _PYTHON_NAMES.items() if meant not in item}
    return {free.get(name, name): part for name, part in item.items()}


def _is_whole(value: Any) -> bool:
    """Whether a value is contents with a URI of its own, and nothing besides that would be lost."""
    if _is_sdk_contents(value):
        return True
    held = _few_members(value) if isinstance(value, Mapping) else None
    return held is not None and (wire := _wire(held)).keys() <= _MEMBERS and is_contents(wire)


def _few_members(value: Mapping[Any, Any]) -> dict[Any, Any] | None:
    """The members of a mapping that has as few as contents have, whatever its class says of its keys."""
    if type(value) is dict:
        return value if len(value) <= len(_MEMBERS) else None
    names = list(islice(iter(value), len(_MEMBERS) + 1))
    return {name: value[name] for name in names} if len(names) <= len(_MEMBERS) else None


def _is_sdk_contents(value: Any) -> bool:
    sdk = sys.modules.get("mcp_types")
    return sdk is not None and isinstance(value, (sdk.TextResourceContents, sdk.BlobResourceContents))
