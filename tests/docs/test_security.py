"""The page on security: each threat names a test that is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROWS = re.findall(r"^\| [^|]+ \| [^|]+ \| `(tests/[^`]+)` \|$", (ROOT / "docs/security.md").read_text(), re.MULTILINE)


def test_every_threat_names_a_test_that_is_there():
    assert len(ROWS) > 20
    for row in ROWS:
        path, _, name = row.partition("::")
        source = (ROOT / path).read_text(encoding="utf-8")
        assert f"def {name}(" in source if name else "def test_" in source, row


def test_no_threat_is_without_a_test():
    table = (ROOT / "docs/security.md").read_text().partition("## Threats")[2].partition("\n## ")[0]
    assert len(re.findall(r"^\| ", table, re.MULTILINE)) - 1 == len(ROWS)
