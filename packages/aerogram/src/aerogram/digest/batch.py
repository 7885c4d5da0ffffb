"""Batches: many sources for one question, side by side. One that fails does not spoil the others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aerogram.digest.digest import Digest, Digester, Source
from aerogram.errors import MissingExtra
from aerogram.problems import problem_of
from aerogram.reply import Notice, Problem

Progress = Callable[["Outcome", int, int], object]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one source of a batch: a digest, or the problem that stood in the way."""

    name: str
    digest: Digest | None = None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """The outcomes in the order of the sources."""

    query: str
    outcomes: tuple[Outcome, ...]

    @property
    def failed_outcomes(self) -> tuple[Outcome, ...]:
        """The sources that could not be digested."""
        return tuple(outcome for outcome in self.outcomes if outcome.problem)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Everything worth knowing: what failed, then what the digests say of themselves."""
        return (*self._failures(), *self.made_notices)

    @property
    def made_notices(self) -> tuple[Notice, ...]:
        """What is worth knowing of the digests that were made."""
        return tuple(notice for outcome in self.outcomes if outcome.digest for notice in outcome.digest.notices)

    def _failures(self) -> tuple[Notice, ...]:
        failed, total = self.failed_outcomes, len(self.outcomes)
        if not failed:
            return ()
        message = f"{len(failed)} of {total} sources could not be digested"
        return (
            Notice.of(
                "PARTIAL_FAILURE",
                message,
                failed_sources=[outcome.name for outcome in failed],
                reasons={outcome.name: outcome.problem.message for outcome in failed if outcome.problem},
                successful_sources=total - len(failed),
                total_sources=total,
            ),
        )


async def digest_many(
    digester: Digester,
    sources: Mapping[str, Source],
    query: str,
    *,
    seconds: float | None = None,
    concurrency: int = 4,
    on_progress: Progress | None = None,
    principal: str | None = None,
) -> Batch:
    """Digest named sources for one question; `seconds` is for each of them, `on_progress` hears as each ends."""
    gate = asyncio.Semaphore(max(1, concurrency))
    done = 0

    async def one(name: str, source: Source) -> Outcome:
        nonlocal done
        async with gate:
            outcome = await _outcome(digester, name, source, query, seconds, principal)
        done += 1
        if on_progress:
            on_progress(outcome, done, len(sources))
        return outcome

    return Batch(query, tuple(await asyncio.gather(*(one(name, source) for name, source in sources.items()))))


async def _outcome(
    digester: Digester, name: str, source: Source, query: str, seconds: float | None, principal: str | None
) -> Outcome:
    try:
        async with asyncio.timeout(seconds):
            made = await digester.digest(source, query, name=name, seconds=seconds, principal=principal)
            return Outcome(name, made)
    except TimeoutError:
        allowed = "it may" if seconds is None else f"{seconds:g} s"
        return Outcome(name, problem=Problem.of("UNAVAILABLE", f"{name} took longer than {allowed}"))
    except MissingExtra as error:
        return Outcome(name, problem=Problem.of("FEATURE_DISABLED", str(error)))
    except Exception as error:  # noqa: BLE001  whatever one source does, the others go on; the table names it
        return Outcome(name, problem=problem_of(error))
