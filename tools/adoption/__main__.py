"""Run all trials, print what was found, and write the table in docs/adopting.md.

python -m adoption [NAME …]
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from pathlib import Path

from adoption.environments import ROOT, UnavailableError, furnish, install, servers
from adoption.trial import CALLS, Side, compare_times, findings, run, text_of

LONG = 600
PAGE = ROOT / "docs" / "adopting.md"
PLACE = re.compile(r"(<!-- measured: adoption -->\n).*?(<!-- end -->)", re.DOTALL)
HEAD = (
    "| server | from | tools | listed | small | big | failure | ms, small | ms, big | holds |\n" + "| --- " * 10 + "|\n"
)


def main(names: list[str]) -> int:
    """Try the servers that are named, or all of them; the number of those of which something does not hold."""
    rows, lost = [], 0
    with tempfile.TemporaryDirectory() as folder:
        work = furnish(Path(folder).resolve())
        for name, server in servers().items():
            if names and name not in names:
                continue
            try:
                before, after = asyncio.run(run(install(server), work))
                times = asyncio.run(compare_times(server, work))
            except UnavailableError as error:
                print(f"{name}: {error}")
                continue
            held = findings(before, after)
            lost += not all(held.values())
            rows.append(_row(name, server.needs[0], before, after, times, held))
            print(rows[-1])
            _show(before, after)
    if not names:
        PAGE.write_text(PLACE.sub(lambda found: found[1] + HEAD + "\n".join(rows) + "\n" + found[2], PAGE.read_text()))
    return lost


def _row(
    name: str,
    needs: str,
    before: Side,
    after: Side,
    times: dict[str, tuple[float, float]],
    held: dict[str, bool],
) -> str:
    tokens = " | ".join(f"{before.tokens[one]:,} → {after.tokens[one]:,}" for one in CALLS)
    taken = " | ".join(f"{one * 1e3:.1f} → {other * 1e3:.1f}" for one, other in times.values())
    missing = ", ".join(one for one, is_so in held.items() if not is_so)
    verdict = f"not: {missing}" if missing else "all"
    listed = f"{before.listed:,} → {after.listed:,}"
    return f"| {name} | `{needs}` | {before.tools} | {listed} | {tokens} | {taken} | {verdict} |"


def _show(before: Side, after: Side) -> None:
    for name in CALLS:
        for side, label in ((before, "without"), (after, "with")):
            text = text_of(side.results[name])
            shown = text if len(text) < LONG else f"{text[:250]} […] {text[-300:]}"
            print(f"    {name}, {label}: {shown!r}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
