"""Report: a line for each call, and what they came to at the end; for whoever looks at standard error.

    list_issues  300 rows  77,101 → 1,960 tokens  sha256:6dcc…  41 ms

It says how much was sent and never what. The first number is what the server sent, the second one what the model read;
what is fetched back later was sent already, and counts in the sum as read alone. Tokens are counted after the answer
has gone, so that nobody waits for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TextIO, TypeAlias

from aerogram._mcp.results import PREFIX
from aerogram.content.jsontext import dumps_loosely
from aerogram.gateway.aside import Aside, aside
from aerogram.gateway.eras import is_complete
from aerogram.normalize.result import PROBLEM
from aerogram.tokens import Counter, best_counter

__all__ = ["Entry", "Listener", "Report"]

Message = dict[str, Any]
LARGEST_COUNT: Final = 200_000
"""Characters up to which tokens are counted; of what is larger they are estimated by its beginning."""
_FIDELITY: Final = f"{PREFIX}fidelity"
_SHORT: Final = 11


@dataclass
class Entry:
    """One call: what the server sent, what the model reads, and the tokens of both."""

    name: str
    is_own: bool = False
    """Whether it was answered here, and no server was asked."""
    started: float = field(default_factory=time.perf_counter)
    code: str | None = None
    got: Message | None = None
    result: Message | None = None
    seconds: float = 0.0
    before: int = 0
    after: int = 0
    is_exact: bool = True
    is_over: bool = True

    clean: Callable[[Message], Message] | None = None
    """What takes out of a result what may not be said."""

    def watch(self, invoke: Callable[[Message], Awaitable[Message]]) -> Callable[[Message], Awaitable[Message]]:
        """The call to the server, whose result is looked at in passing."""

        async def watch(given: Message) -> Message:
            self.got = await invoke(given)
            return self.got

        return watch

    def record_result(self, result: Message) -> None:
        """What was answered; a question to the client is no answer yet."""
        self.result = result
        self.is_over = is_complete(result)

    @property
    def hashes(self) -> dict[str, str]:
        """What was left out of the answer, by its name: the hashes under which it is kept."""
        found = self._read_meta(_FIDELITY).get("archive_hashes")
        return {str(name): str(digest) for name, digest in found.items()} if isinstance(found, dict) else {}

    @property
    def level(self) -> str:
        """How much of it the model reads, in a word."""
        return str(self._read_meta(_FIDELITY).get("level", "full"))

    def _read_meta(self, name: str) -> Message:
        """What the answer says under a name of ours, which a server may have written as well."""
        meta = (self.result or {}).get("_meta")
        found = meta.get(name) if isinstance(meta, dict) else None
        return found if isinstance(found, dict) else {}

    @property
    def has_failed(self) -> bool:
        """Whether the answer is a failure."""
        return self.code is not None or bool((self.result or {}).get("isError"))

    def count(self, counter: Counter) -> None:
        """Count the tokens, and see what went wrong."""
        self.after, self.is_exact = _tokens(self.result, counter)
        self.before = max(_tokens(self.got, counter)[0], self.after) if self.got is not None else self.after
        code = self._read_meta(PROBLEM).get("code")
        self.code = self.code or (code if isinstance(code, str) else None)


Listener: TypeAlias = Callable[[Entry], None]


class Report:
    """Writes the lines and keeps the totals; a listener hears of each call as well."""

    def __init__(
        self, out: TextIO | Aside | None = None, *, is_quiet: bool = False, listener: Listener | None = None
    ) -> None:
        self._out = out or aside()
        self._is_quiet = is_quiet
        self._listener = listener
        self._waiting: list[Entry] = []
        self.calls = self.failures = self.before = self.after = 0

    @contextlib.contextmanager
    def call(self, name: str, *, is_own: bool = False) -> Iterator[Entry]:
        """A call, from its beginning to its answer; a call that was given up has none."""
        entry = Entry(name, is_own)
        try:
            yield entry
        except Exception:
            entry.code = "ERROR"
            raise
        finally:
            entry.seconds = time.perf_counter() - entry.started
            if entry.is_over and (not self._is_quiet or self._listener is not None):
                self._waiting.append(entry)
                asyncio.get_running_loop().call_later(0.05, self._write_waiting)

    def note(self, words: str) -> None:
        """A line about something else."""
        self._write(f"aerogram: {words}")

    def _write_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for entry in waiting:
            entry.count(best_counter())
            self._add(entry)
            if not self._is_quiet:
                self._write(_line(entry))
            if self._listener is not None:
                if entry.got is not None and entry.clean is not None:
                    entry.got = entry.clean(entry.got)  # a listener may show it to somebody
                self._listener(entry)

    def _add(self, entry: Entry) -> None:
        self.calls += 1
        self.before, self.after = self.before + (0 if entry.is_own else entry.before), self.after + entry.after
        self.failures += entry.has_failed

    def end(self) -> None:
        """The totals."""
        self._write_waiting()
        if not self.calls or self._is_quiet:
            return
        saved = round(100 * (1 - self.after / self.before)) if self.before else 0
        failed = f", {self.failures} failed" if self.failures else ""
        calls = "1 call" if self.calls == 1 else f"{self.calls} calls"
        less = f" ({saved} % less)" if saved > 0 else ""
        self._write(f"aerogram: {calls}{failed}, {_sizes(self.before, self.after)}{less}")

    def _write(self, line: str) -> None:
        shown = "".join(one if one.isprintable() else ascii(one)[1:-1] for one in line)  # a name may hold anything
        with contextlib.suppress(OSError, ValueError):
            self._out.write(f"{shown}\n")


def _line(entry: Entry) -> str:
    said = [entry.name, *_rows(entry.got), _sizes(entry.before, entry.after, "" if entry.is_exact else "~")]
    said += [entry.code or "error"] if entry.has_failed else []
    said += [f"{digest[:_SHORT]}…" for digest in entry.hashes.values()][:1]
    return "  ".join([*said, f"{entry.seconds * 1000:,.0f} ms"])


def _sizes(before: int, after: int, mark: str = "") -> str:
    unit = "token" if after == 1 else "tokens"
    return f"{mark}{after:,} {unit}" if before == after else f"{before:,} → {mark}{after:,} {unit}"


def _tokens(result: Message | None, counter: Counter) -> tuple[int, bool]:
    """How many tokens a model reads of a result at most, and whether all of them were counted."""
    if result is None:
        return 0, True
    content = result.get("content")
    content = content if isinstance(content, list) else ()  # a server may have written anything
    texts = "".join(str(block.get("text") or "") for block in content if isinstance(block, dict))
    held = result.get("structuredContent")
    other = "" if held is None else dumps_loosely(held).decode()
    larger = max(texts, other, key=len)
    if len(larger) <= LARGEST_COUNT:
        return counter.count(larger), True
    return counter.count(larger[:LARGEST_COUNT]) * len(larger) // LARGEST_COUNT, False


def _rows(result: Message | None) -> list[str]:
    held = (result or {}).get("structuredContent")
    found = held if isinstance(held, list) else None
    if isinstance(held, dict):
        found = next((value for value in held.values() if isinstance(value, list)), None)
    return [] if found is None else [f"{len(found):,} rows"]
