"""Fuzz: new cases for every target until the time is over; what finds something is kept in tests/fuzz/corpus.

    FUZZ_SECONDS=600 FUZZ_SEED=7 make fuzz

The same seed makes the same cases, as far as the time reaches.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import random
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

import httpx

from fuzz_targets import TARGETS, Target
from serving import SAMPLES, serving

CORPUS = Path(__file__).parents[1] / "tests" / "fuzz" / "corpus"
AT_ONCE = 20
"""Cases of one target before it is another one's turn."""
SLOW = 10.0
"""Seconds after which a case has hung."""


def main() -> int:
    """Fuzz, and say how many cases there were."""
    seconds, seed = float(os.environ.get("FUZZ_SECONDS", "60")), int(os.environ.get("FUZZ_SEED", "1"))
    chance, ends = random.Random(seed), time.monotonic() + seconds  # noqa: S311 - chance that can be repeated
    logging.disable()  # what goes wrong inside is meant to
    counts, found = dict.fromkeys(TARGETS, 0), 0
    with _server() as server:
        while time.monotonic() < ends:
            for name, target in TARGETS.items():
                for _ in range(AT_ONCE):
                    case = json.loads(json.dumps(target.make(chance)))
                    counts[name] += 1
                    found += not _try(name, target, case, server)
    said = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    print(f"seed {seed}, {seconds:g} s: {sum(counts.values()):,} cases ({said}); {found} found something")
    return 1 if found else 0


@contextlib.contextmanager
def _server() -> Any:
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder) / "index", documents=SAMPLES / "security") as served,
        httpx.Client(base_url=served.address, timeout=SLOW * 3) as client,
    ):
        yield client


def _try(name: str, target: Target, case: Any, server: httpx.Client) -> bool:
    """Whether a case keeps all promises; one that does not is kept."""
    begun = time.monotonic()
    try:
        target.run(case, server) if target.needs_server else target.run(case)
        _refuse_slow(time.monotonic() - begun)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
        text = json.dumps(case, ensure_ascii=True, indent=1)
        path = CORPUS / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
        path.write_text(text + "\n", encoding="utf-8")
        print(f"{path.name}: {type(error).__name__}: {str(error)[:300]}")
        traceback.print_tb(error.__traceback__, limit=-2)
        return False
    return True


def _refuse_slow(seconds: float) -> None:
    if seconds > SLOW:
        raise TimeoutError(f"it took {seconds:.0f} seconds")


if __name__ == "__main__":
    sys.exit(main())
