"""Query: what a JMESPath expression finds in a JSON value, within limits of time, memory and output.

An expression can double its own result a hundred times over, and no interpreter of the language can be stopped in the
middle of a step. So it runs in a process of its own, which the system stops.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from aerogram.errors import MissingExtra, ValidationFailed
from aerogram.jsontext import dumps, loads

__all__ = ["LONGEST", "run_query"]

LONGEST: Final = 2_000
"""Characters of an expression."""
SECONDS: Final = 20.0
"""How long the process may take; of the processor it gets two seconds."""
WRONG, TOO_LARGE = 3, 4
"""How the process ends when the expression is wrong, and when it finds too much."""
_PROGRAM: Final = Path(__file__).with_name("evaluation.py")
_SIMPLER: Final = "Ask for less at a time, such as [?state=='open'].id"


async def run_query(value: Any, expression: str) -> Any:
    """What the expression finds; nothing is None."""
    if find_spec("jmespath") is None:
        raise MissingExtra("archive", "jmespath")
    if not expression.strip() or len(expression) > LONGEST:
        raise ValidationFailed(f"A query has 1 to {LONGEST} characters", remediation=_SIMPLER)
    if "\0" in expression or expression.encode("utf-8", "replace").decode() != expression:
        raise ValidationFailed("A query has no null and no half of a character in it", remediation=_SIMPLER)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        str(_PROGRAM),
        expression,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, said = await asyncio.wait_for(process.communicate(dumps(value)), SECONDS)
    except TimeoutError:
        raise ValidationFailed("The query took too long", remediation=_SIMPLER) from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode == 0:
        return loads(out)
    if process.returncode == WRONG:
        words = said.decode("utf-8", "replace").strip()
        raise ValidationFailed(f"The query is wrong: {words}"[:500], remediation="Write JMESPath, such as [?a=='b'].c")
    what = "finds too much" if process.returncode == TOO_LARGE else "took too long or too much memory"
    raise ValidationFailed(f"The query {what}", remediation=_SIMPLER)
