"""Limits: how large a source may be and how long reading it may take, and the error when it cannot be read."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final, Literal

from aerogram.errors import ValidationFailed

Unreadable = Literal["binary", "broken", "encrypted", "missing", "too_large", "too_slow", "unknown_kind"]

MB: Final = 1024 * 1024
SECONDS: Final = 30.0
SECONDS_PER_MB: Final = 2.0
MEMORY_PER_BYTE: Final = 8
"""What any source may take, and what a large one may take besides: a few kilobytes that take more are up to no good."""


class UnreadableSource(ValidationFailed):
    """A source whose words cannot be had; `reason` says why in one word."""

    code = "INVALID_FORMAT"

    def __init__(self, reason: Unreadable, message: str) -> None:
        self.reason = reason
        super().__init__(message, details={"reason": reason})


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """What reading one source may cost. Raise them when you know your sources.

    `max_unpacked` is for the characters of a PDF, which may be many times its bytes. `memory` is in bytes and grows
    by 8 for each byte of the source. Without `seconds`, reading may take 30 of them, and 2 more for each MB.
    """

    max_bytes: int = 64 * 1024 * 1024
    max_pages: int = 20_000
    max_chars: int = 64 * 1024 * 1024
    seconds: float | None = None
    memory: int = 512 * 1024 * 1024
    max_unpacked: int = 20 * 1024 * 1024

    def check_bytes(self, size: int, name: str) -> None:
        """Refuse a source that is too large before it is read."""
        if size > self.max_bytes:
            raise UnreadableSource("too_large", f"{name} has {size:,} bytes; the limit is {self.max_bytes:,}")

    def check_pages(self, count: int) -> None:
        """Refuse a document of too many pages before they are read."""
        if count > self.max_pages:
            raise UnreadableSource("too_large", f"the document has {count:,} pages; the limit is {self.max_pages:,}")

    def check_chars(self, count: int) -> None:
        """Refuse text that has grown too long."""
        if count > self.max_chars:
            raise UnreadableSource("too_large", f"the text has {count:,} characters; the limit is {self.max_chars:,}")

    def check_unpacked(self, count: int) -> None:
        """Refuse text that comes out of a packed document and has grown too long."""
        most = min(self.max_chars, self.max_unpacked)
        if count > most:
            raise UnreadableSource("too_large", f"the text has {count:,} characters; the limit is {most:,}")

    def allowed_seconds(self, size: int) -> float:
        """How long reading a source of so many bytes may take."""
        return SECONDS + SECONDS_PER_MB * size / MB if self.seconds is None else self.seconds

    def allowed_memory(self, size: int) -> int:
        """How many bytes of memory it may take."""
        return self.memory + MEMORY_PER_BYTE * size

    def allowed_answer(self, size: int) -> int:
        """How many bytes may come of it."""
        return 4 * min(self.max_chars, self.max_unpacked) + 2 * MEMORY_PER_BYTE * size + MB

    def deadline(self) -> Deadline:
        """A deadline that starts to run now."""
        return Deadline(self.seconds)


class Deadline:
    """A moment after which work stops at its next check."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def seconds_left(self) -> float | None:
        """The seconds that are left; None without a deadline."""
        return None if self._end is None else self._end - time.monotonic()

    def check(self) -> None:
        """Stop when the time is up."""
        left = self.seconds_left
        if left is not None and left <= 0:
            raise self.timeout_error()

    def timeout_error(self) -> UnreadableSource:
        """The error that says so."""
        return UnreadableSource("too_slow", f"the source took longer than {self.seconds or 0:g} s to read")
