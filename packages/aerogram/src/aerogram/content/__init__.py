"""Content: a JSON value, a text or bytes, named by the sha256 of its canonical form.

Canonical JSON is compact UTF-8 with sorted keys. Equal values have equal hashes, wherever they were made. A value is
kept, and given back, with its keys in the order of its author. The hash of a large body can be taken in another thread
while there is something else to do: it needs the interpreter for nothing.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from threading import Thread
from typing import Any, ClassVar, Final, Literal, TypeAlias

import orjson

from aerogram.content.jsontext import check_data, dumps
from aerogram.errors import ContractError

__all__ = [
    "DEAR_DIGITS",
    "LARGE",
    "LONG_DIGITS",
    "ZEROS",
    "Content",
    "Kind",
    "canonical_json",
    "read_json",
    "sha256_of",
    "short_digits",
]

Kind: TypeAlias = Literal["json", "text", "bytes"]

LARGE: Final = 1_000_000
"""From so many bytes on, a hash takes longer than a thread takes to start."""

SHORT: Final = 12
"""So many digits of a hash are told; an archive knows what begins with them."""

DEAR_DIGITS: Final = "4d7b3c9e5f8a"
"""Digits in as many tokens as hardly any others; what a hash costs is up to chance."""

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
_FIRST = b'{["-0123456789tfn'
ZEROS: Final = bytes.maketrans(b"123456789", b"000000000")
"""Puts a zero for every digit."""
LONG_DIGITS: Final = b"0" * 19  # orjson reads integers of more than 64 bits as floats


def canonical_json(value: Any) -> bytes:
    """The one spelling of a JSON value that its hash is taken of."""
    try:
        check_data(value)
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


def read_json(body: bytes) -> Any:
    """JSON that was written here, with every digit of large integers."""
    return json.loads(body) if LONG_DIGITS in body.translate(ZEROS) else orjson.loads(body)


def sha256_of(body: bytes) -> str:
    """`sha256:` and 64 hex digits."""
    return "sha256:" + hashlib.sha256(body).hexdigest()


def short_digits(digest: str) -> str:
    """The first digits of a hash, without its prefix."""
    return digest.removeprefix("sha256:")[:SHORT]


@dataclass(frozen=True)
class Content:
    """Bytes, what they are, and the hash that follows from them; `source` is the JSON value that they were made of."""

    kind: Kind
    body: bytes
    source: Any = field(default=None, compare=False, repr=False)
    _ahead: ClassVar[tuple[Thread, list[str]] | None] = None

    @classmethod
    def of_json(cls, value: Any) -> Content:
        """The content of a JSON value, which nobody may change from now on."""
        return cls("json", canonical_json(value), value)

    @classmethod
    def of_written(cls, kind: Kind, written: bytes) -> Content:
        """The content of what `written` gave."""
        return cls.of_json(read_json(written)) if kind == "json" else cls(kind, written)

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
        if self._ahead is None:
            return sha256_of(self.body)
        thread, found = self._ahead
        thread.join()
        return found[0]

    @property
    def short_hash(self) -> str:
        """`sha256:` and the digits that are told."""
        return f"sha256:{short_digits(self.hash)}"

    def hash_ahead(self) -> None:
        """Begin to take the hash of a large body; whoever asks for it waits until it is there."""
        found: list[str] = []
        thread = Thread(target=lambda: found.append(sha256_of(self.body)), daemon=True)
        with contextlib.suppress(RuntimeError):  # there may be no thread to be had
            if self.size >= LARGE:
                thread.start()
                self.__dict__["_ahead"] = thread, found

    @cached_property
    def spells_json(self) -> bool:
        """Whether a text is what JSON is hashed as, so that both have one hash."""
        if self.kind != "text" or self.body[:1] not in _FIRST or b"\n" in self.body:
            return False
        try:
            value = orjson.loads(self.body)  # which soon finds out of most texts that they are none
            is_canonical = canonical_json(value) == self.body
            return is_canonical or canonical_json(read_json(self.body)) == self.body
        except (ContractError, ValueError, RecursionError):
            return False

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self.body)

    @property
    def stored_body(self) -> bytes:
        """The body as it is kept: JSON with its keys in the order of its author, which is as long as the canonical."""
        return self.body if self.source is None else dumps(self.source)

    @cached_property
    def shared_value(self) -> Any:
        """As `value`, but always the same object, which nobody may change."""
        return self.value() if self.source is None else self.source

    @cached_property
    def text(self) -> str:
        """The text that was hashed; bytes as base64."""
        return base64.b64encode(self.body).decode() if self.kind == "bytes" else self.body.decode()

    def value(self) -> Any:
        """The JSON value, the text, or the bytes."""
        if self.kind == "json":
            return read_json(self.stored_body)
        return self.body.decode() if self.kind == "text" else self.body
