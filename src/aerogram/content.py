"""Content: a JSON value, a text or bytes, named by the sha256 of its canonical form.

Canonical JSON is compact UTF-8 with sorted keys. Equal values have equal hashes, wherever they were made.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import orjson

from aerogram.errors import ContractError

__all__ = ["Content", "Kind", "canonical_json", "sha256_of"]

Kind: TypeAlias = Literal["json", "text", "bytes"]

_CANONICAL = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
_CANONICAL_WORDS: dict[str, Any] = {
    "sort_keys": True,
    "separators": (",", ":"),
    "ensure_ascii": False,
    "allow_nan": False,
}
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_LARGE = b"0" * 19  # orjson reads integers of more than 64 bits as floats


def canonical_json(value: Any) -> bytes:
    """The one spelling of a JSON value that its hash is taken of."""
    try:
        return orjson.dumps(value, option=_CANONICAL)
    except (TypeError, RecursionError) as error:
        if "64-bit" in str(error):
            return _with_large_integers(value)
        raise ContractError(f"only JSON data can be archived: {error}") from None


def _with_large_integers(value: Any) -> bytes:
    """JSON has integers of any size; orjson stops at 64 bits."""
    try:
        return json.dumps(value, **_CANONICAL_WORDS).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ContractError(f"only JSON data can be archived: {error}") from None


def sha256_of(body: bytes) -> str:
    """`sha256:` and 64 hex digits."""
    return "sha256:" + hashlib.sha256(body).hexdigest()


@dataclass(frozen=True)
class Content:
    """Bytes, what they are, and the hash that follows from them."""

    kind: Kind
    body: bytes

    @classmethod
    def of_json(cls, value: Any) -> Content:
        """The content of a JSON value."""
        return cls("json", canonical_json(value))

    @classmethod
    def of_text(cls, text: str) -> Content:
        """The content of a text; its hash is that of the UTF-8 bytes."""
        return cls("text", text.encode())

    @classmethod
    def of_bytes(cls, body: bytes) -> Content:
        """The content of raw bytes."""
        return cls("bytes", body)

    @cached_property
    def hash(self) -> str:
        """`sha256:…` of the body."""
        return sha256_of(self.body)

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self.body)

    def value(self) -> Any:
        """The JSON value, the text, or the bytes."""
        if self.kind == "json":
            is_exact = _LARGE not in self.body.translate(_DIGITS)
            return orjson.loads(self.body) if is_exact else json.loads(self.body)
        return self.body.decode() if self.kind == "text" else self.body
