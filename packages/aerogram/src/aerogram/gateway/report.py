"""Report: a line for each call, and what they came to at the end; for whoever looks at standard error.

    list_issues  300 rows  77,101 → 1,960 tokens  sha256:6dcc…  41 ms

It says how much was sent and never what. Tokens are counted after the answer has gone, so that nobody waits for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, TextIO

from aerogram.gateway.eras import is_complete
from aerogram.jsontext import dumps_unproven
from aerogram.reply import Reply
from aerogram.telemetry import Observation, Observer
from aerogram.tokens import Counter, best_counter

__all__ = ["Entry", "Report", "observer"]

Message = dict[str, Any]
LARGEST_COUNT: Final = 200_000
"""Characters up to which tokens are counted; what is larger is estimated."""
_PER_TOKEN: Final = 4
_ENTRY: Final[ContextVar[Entry | None]] = ContextVar("aerogram_gateway_entry", default=None)
_HASH: Final = "dev.aerogram/fidelity"
_SHORT: Final = 11


def observer() -> Observer:
    """The observer of a contract whose calls are reported here."""

    def listen(_: Observation, reply: Reply[Any], __: Mapping[str, Any], readings: Mapping[str, float]) -> None:
        entry = _ENTRY.get()
        if entry is not None:
            entry.before = int(readings.get("tokens.before", 0)) or entry.before
            entry.code = reply.problem.code if reply.problem is not None else None

    return Observer().with_listener(listen)


@dataclass
class Entry:
    """One call."""

    name: str
    started: float = field(default_factory=time.perf_counter)
    before: int = 0
    code: str | None = None
    rows: int | None = None
    got: Message | None = None
    result: Message | None = None
    seconds: float = 0.0
    is_over: bool = True

    def watch(self, invoke: Callable[[Message], Awaitable[Message]]) -> Callable[[Message], Awaitable[Message]]:
        """The call to the server, whose result is looked at in passing."""

        async def watched(given: Message) -> Message:
            self.got = await invoke(given)
            return self.got

        return watched

    def sent(self, result: Message) -> None:
        """What was answered; a question to the client is no answer yet."""
        self.result = result
        self.is_over = is_complete(result)


class Report:
    """Writes the lines and keeps the totals."""

    def __init__(self, out: TextIO | None = None, *, is_quiet: bool = False) -> None:
        self._out = out or sys.stderr
        self._is_quiet = is_quiet
        self._waiting: list[Entry] = []
        self.calls = self.failures = self.before = self.after = 0

    @contextlib.contextmanager
    def call(self, name: str) -> Iterator[Entry]:
        """A call, from its beginning to its answer; a call that was given up has none."""
        entry = Entry(name)
        token = _ENTRY.set(entry)
        try:
            yield entry
        except Exception:
            entry.code = entry.code or "ERROR"
            raise
        finally:
            _ENTRY.reset(token)
            entry.seconds = time.perf_counter() - entry.started
            self._waiting += [entry] if entry.is_over else []
            asyncio.get_running_loop().call_later(0.05, self._write_waiting)

    def note(self, words: str) -> None:
        """A line about something else."""
        self._write(f"aerogram: {words}")

    def _write_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for entry in waiting:
            line = self._line(entry)
            if not self._is_quiet:
                self._write(line)

    def _line(self, entry: Entry) -> str:
        counter = best_counter()
        after, is_exact = _tokens(entry.result, counter)
        before = max(entry.before, after) if entry.before else after
        self.calls += 1
        self.before, self.after = self.before + before, self.after + after
        is_failed = entry.code is not None or bool((entry.result or {}).get("isError"))
        self.failures += is_failed
        said = [entry.name, *_rows(entry.got), _sizes(before, after, "" if is_exact else "~")]
        said += [entry.code or "error"] if is_failed else []
        said += [f"{digest[:_SHORT]}…" for digest in _hashes(entry.result)][:1]
        return "  ".join([*said, f"{entry.seconds * 1000:,.0f} ms"])

    def end(self) -> None:
        """The totals."""
        self._write_waiting()
        if not self.calls or self._is_quiet:
            return
        saved = 0 if not self.before else round(100 * (1 - self.after / self.before))
        failed = f", {self.failures} failed" if self.failures else ""
        sizes = _sizes(self.before, self.after, "")
        self._write(f"aerogram: {self.calls} calls{failed}, {sizes} ({saved} % less)")

    def _write(self, line: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            print(line, file=self._out, flush=True)


def _sizes(before: int, after: int, mark: str) -> str:
    unit = "token" if after == 1 else "tokens"
    return f"{mark}{after:,} {unit}" if before == after else f"{before:,} → {mark}{after:,} {unit}"


def _tokens(result: Message | None, counter: Counter) -> tuple[int, bool]:
    """How many tokens a model reads of a result at most, and whether that is counted."""
    if result is None:
        return 0, True
    content = result.get("content") or ()
    texts = "".join(str(block.get("text") or "") for block in content if isinstance(block, dict))
    held = result.get("structuredContent")
    other = "" if held is None else dumps_unproven(held).decode()
    larger = max(texts, other, key=len)
    return (counter.count(larger), True) if len(larger) <= LARGEST_COUNT else (len(larger) // _PER_TOKEN, False)


def _rows(result: Message | None) -> list[str]:
    held = (result or {}).get("structuredContent")
    found = held if isinstance(held, list) else None
    if isinstance(held, dict):
        found = next((value for value in held.values() if isinstance(value, list)), None)
    return [] if found is None else [f"{len(found):,} rows"]


def _hashes(result: Message | None) -> list[str]:
    fidelity = ((result or {}).get("_meta") or {}).get(_HASH) or {}
    return [str(one) for one in (fidelity.get("archive_hashes") or {}).values()]
