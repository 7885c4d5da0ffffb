"""Policy: which sources are digested, how, and why one was not."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from aerogram.digest.limits import ReadLimits
from aerogram.digest.payload import MAX_POINTS, MAX_SNIPPET, MAX_SNIPPETS, MAX_SUMMARY
from aerogram.digest.text import NORMALISATION
from aerogram.errors import ValidationFailed

Mode = Literal["off", "auto", "always"]
SkipReason = Literal["off", "already_digest", "empty", "too_small", "not_relevant"]

# raise it whenever the same text and question would give another digest, so that no cache answers for the old way
METHOD = "windows/4"
_SHORTEST_SNIPPET = 40


@dataclass(frozen=True, slots=True)
class DigestPolicy:
    """When to digest and how large the parts of a digest may be.

    `auto` leaves alone what is shorter than `min_chars` and what has no passage of at
    least `min_relevance`. `always` digests whatever has words. With `quote_whole`, what is
    shorter than its digest is quoted from its beginning to its end.
    """

    mode: Mode = "auto"
    min_chars: int = 6_000
    min_relevance: float = 0.05
    summary_chars: int = 600
    key_points: int = 5
    snippets: int = 10
    snippet_chars: int = 500
    quote_whole: bool = False
    limits: ReadLimits = field(default_factory=ReadLimits)

    def __post_init__(self) -> None:
        _within("mode", self.mode in ("off", "auto", "always"), "off, auto or always")
        _within("summary_chars", 0 < self.summary_chars <= MAX_SUMMARY, f"1 to {MAX_SUMMARY}")
        _within("key_points", 0 <= self.key_points <= MAX_POINTS, f"0 to {MAX_POINTS}")
        _within("snippets", 0 <= self.snippets <= MAX_SNIPPETS, f"0 to {MAX_SNIPPETS}")
        _within(
            "snippet_chars",
            _SHORTEST_SNIPPET <= self.snippet_chars <= MAX_SNIPPET,
            f"{_SHORTEST_SNIPPET} to {MAX_SNIPPET}",
        )
        _within("min_relevance", 0 <= self.min_relevance <= 1, "0 to 1")

    def skips_size(self, chars: int) -> SkipReason | None:
        """Why a text of this many characters is not digested, if it is not."""
        if self.mode == "off":
            return "off"
        if chars == 0:
            return "empty"
        return "too_small" if self.mode == "auto" and chars < self.min_chars else None

    def skips_relevance(self, best: float) -> SkipReason | None:
        """Why a text whose best passage bears this much on the question is not digested, if it is not."""
        return "not_relevant" if self.mode == "auto" and best < self.min_relevance else None

    def with_deadline(self, seconds: float | None) -> DigestPolicy:
        """The same policy with this many seconds to read a source."""
        return replace(self, limits=replace(self.limits, seconds=seconds))

    def fingerprint(self, *parts: str) -> str:
        """A short hash of everything here that changes what a digest says; `parts` name embedders and writers."""
        shape = {name: value for name, value in asdict(self).items() if name not in ("mode", "limits")}
        said = json.dumps([METHOD, NORMALISATION, shape, parts], sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()[:16]


def _within(name: str, holds: bool, allowed: str) -> None:
    if not holds:
        raise ValidationFailed(f"{name} must be {allowed}")
