"""Query: what JMESPath finds in data, or words in a text, within limits of time, memory and output.

An expression can double its own result a hundred times over, a text can have millions of lines, and no interpreter can
be stopped in the middle of a step. So a query runs in a process of its own, which the system stops. Few of these run
at once, whoever asks; of those who wait, nobody takes more than a few places.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

from aerogram.content.jsontext import dumps, loads
from aerogram.errors import ContractError, MissingExtra, Unavailable, ValidationFailed

__all__ = ["LONGEST", "run_query"]

LONGEST: Final = 2_000
"""Characters of a query."""
SECONDS: Final = 20.0
"""How long the process may take; of the processor it gets two seconds."""
MOST_AT_ONCE: Final = 2
"""Queries that run at once, each with a processor and up to a gigabyte of memory."""
MOST_WAITING: Final = 8
"""Queries of one caller that wait for their turn."""
PATIENCE: Final = 10.0
"""Seconds that a query waits for its turn."""
WRONG, TOO_LARGE = 3, 4
"""How the process ends when the query is wrong, and when it finds too much."""
_PROGRAM: Final = Path(__file__).with_name("evaluation.py")
_ADVICE: Final = "Write JMESPath, such as [?a=='b'].c; a number stands in backticks: [?n<`20`]"
_SIMPLER: Final = "Ask for less at a time, such as [?state=='open'].id"
_RARER: Final = "Name words that fewer lines have, each line all of them"


_TURNS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[asyncio.Semaphore, Counter[str | None]]]] = (
    WeakKeyDictionary()
)
"""Of each event loop: who may run, and how many wait, by who asks."""


@contextlib.asynccontextmanager
async def _take_turn(principal: str | None) -> AsyncIterator[None]:
    """Wait until one more may run, not for ever, and not with too many of one's own."""
    turns = _TURNS.setdefault(asyncio.get_running_loop(), (asyncio.Semaphore(MOST_AT_ONCE), Counter()))
    free, waiting = turns
    if waiting[principal] >= MOST_WAITING:
        raise _busy()
    waiting[principal] += 1
    try:
        async with asyncio.timeout(PATIENCE):
            await free.acquire()
    except TimeoutError:
        raise _busy() from None
    finally:
        waiting[principal] -= 1
        waiting += Counter()  # forgets who does not wait
    try:
        yield
    finally:
        free.release()


def _busy() -> Unavailable:
    return Unavailable(
        "Too many queries are under way", remediation="Ask again in a moment, one query at a time", retry_after=2.0
    )


async def run_query(value: Any, query: str, *, principal: str | None = None) -> Any:
    """What is found: in data by JMESPath, where nothing is None, in a text the lines that have all of these words.

    `principal` is who asks.
    """
    is_text = isinstance(value, str)
    jmespath = None if is_text else find_spec("jmespath")
    if not is_text and (jmespath is None or jmespath.origin is None):
        raise MissingExtra("archive", "jmespath")
    # a process of its own does not look where PYTHONPATH leads, which may be anywhere
    folders = [] if jmespath is None else [str(Path(str(jmespath.origin)).parents[1])]
    simpler = _RARER if is_text else _SIMPLER
    if not query.strip() or len(query) > LONGEST:
        raise ValidationFailed(f"A query has 1 to {LONGEST} characters", remediation=simpler)
    if query.encode("utf-8", "replace").decode() != query:
        raise ValidationFailed("A query has no half of a character in it", remediation=simpler)
    async with _take_turn(principal):
        return await _evaluate(value, query, folders, simpler)


async def _evaluate(value: Any, query: str, folders: Sequence[str], simpler: str) -> Any:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        str(_PROGRAM),
        *folders,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, said = await asyncio.wait_for(process.communicate(dumps(query) + b"\n" + dumps(value)), SECONDS)
    except TimeoutError:
        raise ValidationFailed("The query took too long", remediation=simpler) from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode == 0:
        try:
            return loads(out)
        except ContractError as error:  # a literal of the query may be a number without end, or nested too deeply
            raise ValidationFailed("The query finds what is no JSON", remediation=simpler) from error
    if process.returncode == WRONG:
        words = said.decode("utf-8", "replace").strip()
        raise ValidationFailed(f"The query is wrong: {words}"[:500], remediation=_ADVICE)
    what = "finds too much" if process.returncode == TOO_LARGE else "took too long or too much memory"
    raise ValidationFailed(f"The query {what}", remediation=simpler)
