"""What is known already: traces by test file and results by requirement, in files that outlive a run.

An entry counts only while the sources and the test are those it was made with.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class State:
    """A JSON file of entries, each with the hash of what it was made from."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._entries: dict[str, dict[str, Any]] = {}
        if path.exists():
            self._entries = json.loads(path.read_text(encoding="utf-8"))

    def get(self, key: str, made_from: str) -> Any:
        """Return an entry that is still true, or nothing."""
        entry = self._entries.get(key)
        return entry["value"] if entry is not None and entry["made_from"] == made_from else None

    def put(self, key: str, made_from: str, value: Any) -> None:
        """Keep an entry, and write all to disk."""
        self._entries[key] = {"made_from": made_from, "value": value}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_suffix(".draft")
        draft.write_text(json.dumps(self._entries), encoding="utf-8")
        draft.replace(self.path)
