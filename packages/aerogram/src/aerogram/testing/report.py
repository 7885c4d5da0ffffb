"""Report: what a sweep has visited, which promises it found broken, and by what it knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

__all__ = ["PROMISES", "BrokenPromises", "Report", "SweepFailure", "UnseenTarget", "Visit"]

PROMISES: Final[Mapping[str, str]] = {
    "answer": "every request is answered",
    "archive": "what a reply left out can be fetched back, and matches its hash",
    "budget": "no reply is larger than its budget",
    "channels": "error code, cursor and retrieval call are in both channels",
    "cursor": "a cursor that is garbled, foreign or expired is refused",
    "envelope": "every answer keeps the rules of the dialect that was negotiated",
    "example": "an example succeeds",
    "leak": "no failure gives away secrets, traces or paths",
    "listing": "listings do not change from one time to the next",
    "mark": "failures are marked as failures, and nothing else is",
    "negotiation": "who accepts nothing that there is gets 406 and the list of what there is",
    "pages": "has_more leads to the next page, pages end, and each item comes once",
    "plane": "unknown tools and resources are protocol errors, failures of known tools are results",
    "rate-limit": "a limit answers with the time to wait",
    "request-id": "the caller's request id comes back, the same in every place",
    "resource": "a resource can be read, and a failure to read says what to do",
    "retry-after": "Retry-After says what the problem says",
    "schema": "the schema that is advertised holds for what is sent",
    "status": "the HTTP status is that of the error code",
    "validation": "wrong input is refused as such, and the refusal names what is wrong",
    "vary": "Vary names what the answer depends on",
    "version": "X-Envelope-Version says what was served",
}
"""The promises that a sweep checks, by their names."""

NOT_THERE: Final = frozenset({"unknown tool", "unknown resource", "unknown route", "aerogram_sweep_fault"})
"""Targets that are visited because they fail."""
_SHOWN: Final = 300


class Visit(NamedTuple):
    """One request of a sweep, and how it was answered."""

    target: str
    probe: str
    outcome: str


class UnseenTarget(NamedTuple):
    """What a sweep did not look at, and why; no promise is judged by it."""

    target: str
    what: str


@dataclass(frozen=True, slots=True)
class SweepFailure:
    """A promise that was broken: where, at which request, and how one can tell."""

    target: str
    probe: str
    promise: str
    evidence: str

    def __str__(self) -> str:
        return f"{self.target} ({self.probe})\n    {self.promise}: {PROMISES[self.promise]}\n    found: {self.evidence}"


class BrokenPromises(AssertionError):
    """A server does not keep its contract; `report` has the details."""

    def __init__(self, report: Report) -> None:
        super().__init__(str(report))
        self.report = report


@dataclass
class Report:
    """The result of a sweep."""

    visited: list[Visit] = field(default_factory=list)
    failures: list[SweepFailure] = field(default_factory=list)
    unseen: list[UnseenTarget] = field(default_factory=list)
    _succeeded: set[str] = field(default_factory=set, repr=False)

    def visit(self, target: str, probe: str, outcome: str, *, succeeded: bool = False) -> None:
        """Note a request and its answer."""
        self.visited.append(Visit(target, probe, outcome))
        if succeeded:
            self._succeeded.add(target)

    def fail(self, target: str, probe: str, promise: str, evidence: str) -> None:
        """Note a broken promise; the same one with the same evidence counts once."""
        shown = evidence if len(evidence) <= _SHOWN else evidence[: _SHOWN - 1] + "…"
        if not any((one.target, one.promise, one.evidence) == (target, promise, shown) for one in self.failures):
            self.failures.append(SweepFailure(target, probe, promise, shown))

    def leave_out(self, target: str, what: str) -> None:
        """Note what is not looked at."""
        if UnseenTarget(target, what) not in self.unseen:
            self.unseen.append(UnseenTarget(target, what))

    def ignore(self, settings: Iterable[str]) -> None:
        """Note settings that are for nothing that there is."""
        for words in settings:
            self.leave_out("settings", words)

    @property
    def targets(self) -> list[str]:
        """Everything that was visited, each once."""
        return list(dict.fromkeys(one.target for one in self.visited))

    @property
    def never_succeeded(self) -> list[str]:
        """What only ever failed: an example of its arguments would let the sweep see more of it."""
        return [target for target in self.targets if target not in self._succeeded and target not in NOT_THERE]

    @property
    def broken_promises(self) -> list[str]:
        """The names of the promises that were broken, sorted."""
        return sorted({one.promise for one in self.failures})

    def raise_for_failures(self) -> Report:
        """The report, unless a promise was broken; then `BrokenPromises`, which is an AssertionError."""
        if self.failures:
            raise BrokenPromises(self)
        return self

    def __str__(self) -> str:
        count = f"{len(self.visited)} requests to {len(self.targets)} targets"
        lines = [f"{count}: every promise kept" if not self.failures else f"{count}: {len(self.failures)} failures"]
        lines += [f"\n{number}. {failure}" for number, failure in enumerate(self.failures, 1)]
        if self.unseen:
            lines.append("\nnot looked at: " + "; ".join(f"{target}: {what}" for target, what in self.unseen))
        if self.never_succeeded:
            lines.append(f"\nno success seen, so examples are wanted: {', '.join(self.never_succeeded)}")
        return "\n".join(lines)
