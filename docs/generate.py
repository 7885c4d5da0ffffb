"""Write the generated parts of the documentation again: `python docs/generate.py` (or `make docs`).

A generated part stands between two comments in a page, and is replaced as a whole:

    <!-- generated: help translate -->
    <!-- end -->

It is the help of a command (`help`, `help translate`, …) or a table (`errors`, `warnings`, `kinds`, `settings`,
`clients`).
"""

# ruff: noqa: INP001  # a script among pages, not a package

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from aerogram.codes import KIND_RULES, TABLE, WARNINGS
from aerogram_knowledge.hosting.settings import Settings

PAGES = [Path(__file__).parents[1] / "README.md", *sorted(Path(__file__).parent.glob("*.md"))]
PART = re.compile(r"(<!-- generated: (\w+)((?: [\w-]+)*) -->\n).*?(<!-- end -->)", re.DOTALL)
RETRY = {"yes": "yes", "no": "no", "check": "look first"}


def print_help(*words: str) -> str:
    """What `aerogram … --help` prints in a pipe of 80 columns."""
    plain = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "PY_COLORS")}
    done = subprocess.run(  # noqa: S603  # our own program with words from our own pages
        [sys.executable, "-m", "aerogram", *words, "--help"],
        capture_output=True,
        check=True,
        env={**plain, "COLUMNS": "80"},
    )
    return done.stdout.decode()


def command_help(*words: str) -> str:
    """A session in which somebody asks for help."""
    return f"```text\n$ {' '.join(['aerogram', *words, '--help'])}\n{print_help(*words).rstrip()}\n```\n"


def errors() -> str:
    """The table of error codes."""
    rows = [
        (f"`{row.name}`", row.kind, str(row.status), RETRY[row.retry], _code(row.parent), row.title, row.remediation)
        for row in TABLE.values()
    ]
    return _table(("code", "kind", "status", "retry", "a kind of", "meaning", "what to do"), rows)


def warnings() -> str:
    """The table of standard warnings."""
    rows = [(f"`{row.name}`", row.severity, row.description, row.suggestion) for row in WARNINGS.values()]
    return _table(("code", "severity", "meaning", "what to do"), rows)


def kinds() -> str:
    """The table of kinds."""
    rows = [
        (f"`{name}`", str(rule.status), RETRY[rule.retry], rule.meaning, f"`{rule.code}`")
        for name, rule in KIND_RULES.items()
    ]
    return _table(("kind", "status", "retry", "meaning", "its plain code"), rows)


def settings() -> str:
    """The table of the server's settings."""
    rows = []
    for one in Settings.options():
        default = "" if one.default in (None, "", ()) else f"`{str(one.default).lower()}`"
        rows.append((f"`{one.name}`", default, one.kind.allowed.replace("|", "\\|"), one.about))
    return _table(("setting", "default", "allowed", "meaning"), rows)


def clients() -> str:
    """The table of clients: what is known of each, and what its model reads."""
    sys.path.append(str(Path(__file__).parents[1] / "tools"))
    import clients as harness

    return harness.table()


PARTS: dict[str, Callable[..., str]] = {
    "help": command_help,
    "errors": errors,
    "warnings": warnings,
    "kinds": kinds,
    "settings": settings,
    "clients": clients,
}


def rewritten(page: str) -> str:
    """A page with its generated parts as they should be."""
    return PART.sub(lambda part: part[1] + PARTS[part[2]](*part[3].split()) + part[4], page)


def _code(name: str | None) -> str:
    return f"`{name}`" if name else ""


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


if __name__ == "__main__":
    for found in PAGES:
        before = found.read_text(encoding="utf-8")
        after = rewritten(before)
        if after != before:
            found.write_text(after, encoding="utf-8")
