"""Campaign: load, faults and fuzzing one after the other, with a report in .cache/campaign.md.

CAMPAIGN_SECONDS=600 make campaign
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
REPORT: Final = ROOT / ".cache" / "campaign.md"
PYTEST: Final = ("-m", "pytest", "-n0", "-q")
LINES: Final = 12
LONGEST: Final = 900.0
"""Seconds that a part may take besides what CAMPAIGN_SECONDS makes longer; the longest takes a third of them."""


class Part(NamedTuple):
    """One program of the campaign, and what it tries."""

    name: str
    arguments: tuple[str, ...]


PARTS: Final = (
    Part("50 callers whose answers are archived", ("bench", "server_archive")),
    Part("50 callers, searches and digests, memory", ("bench", "server_load")),
    Part("50 clients of a wrapped server, and ten servers behind one gateway", ("bench", "wrap")),
    Part("wrapped servers that end, hang and write garbage", (*PYTEST, "tests/gateway/test_faults.py")),
    Part("kills, Redis and PostgreSQL away, clocks, full disk", (*PYTEST, "tests/fleet/test_faults.py")),
    Part("walks over servers that die and come back", (*PYTEST, "tests/fleet/test_hopping.py")),
    Part("a disk that is full while documents are read", (*PYTEST, "tests/knowledge/test_full_disk.py")),
    Part("a clock that goes back", (*PYTEST, "tests/server/test_clock.py")),
    Part("the tests that every run leaves out", (*PYTEST, "-m", "campaign", "tests")),
    Part("other Pythons", (*PYTEST, "tests/wheel/test_interpreters.py")),
    Part("idle connections", (*PYTEST, "tests/server_operation/test_room.py")),
    Part("drain", (*PYTEST, "tests/server_operation/test_guard.py", "-k", "grace")),
    Part("fuzzing", ("tools/fuzz.py",)),
)


def run(part: Part, environment: dict[str, str], most: float) -> tuple[int | None, str]:
    """The exit code of a part and what it said; None for one that takes too many seconds, which is ended."""
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        process = subprocess.Popen(  # noqa: S603 - programs of this repository
            [sys.executable, *part.arguments],
            cwd=ROOT,
            env=environment,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(most)
        except subprocess.TimeoutExpired:
            code = None
            os.killpg(process.pid, signal.SIGKILL)  # with what it has started
            process.wait()
        said.seek(0)
        return code, said.read()


def main() -> int:
    """Run every part, and say which failed."""
    seconds = os.environ.get("CAMPAIGN_SECONDS", "60")
    longer = {"BENCH_SECONDS": seconds, "FUZZ_SECONDS": seconds, "KILLS": "50", "INTERPRETERS": "3"}
    told = {**longer, "PYTHONPATH": str(ROOT / "tests")}
    REPORT.parent.mkdir(exist_ok=True)
    rows, said, failed = [], [], 0
    for part in PARTS:
        print(f"== {part.name}", flush=True)
        begun = time.monotonic()
        code, output = run(part, {**os.environ, **told}, LONGEST + 3 * float(seconds))
        failed += code != 0
        outcome = "did not end" if code is None else "passed" if code == 0 else f"failed ({code})"
        rows.append(f"| {part.name} | {outcome} | {time.monotonic() - begun:.0f} s |")
        last = "\n".join(output.strip().splitlines()[-LINES:])
        said.append(f"## {part.name}\n\n```text\n{last}\n```\n")
        print(last, flush=True)
        head = "# Campaign\n\n| part | outcome | took |\n|---|---|---|\n"
        REPORT.write_text(head + "\n".join(rows) + "\n\n" + "\n".join(said), encoding="utf-8")
    print(f"{len(PARTS) - failed} of {len(PARTS)} parts passed; {REPORT.relative_to(ROOT)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
