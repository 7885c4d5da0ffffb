"""Write the published schemas and types of every dialect's current revision: `python tests/golden/write.py`.

A change that takes something away from clients is refused until the dialect has a new revision in
`aerogram.documents.schemas.REVISIONS`; the files of the old revision then stay as they are.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from aerogram.dialects import NAMES
from aerogram.documents.schemas import published_files, schema
from golden.compatibility import breaks
from golden.declarations import declare


def current(name: str) -> dict[str, str]:
    """The schema files of a dialect as they should be now."""
    return {
        "schema.json": json.dumps(schema(name), indent=2, ensure_ascii=False) + "\n",
        "slim.json": json.dumps(schema(name, slim=True), indent=2, ensure_ascii=False) + "\n",
    }


def broken_promises(name: str) -> list[str]:
    """What the published schemas of the current revision promise and the current ones do not."""
    found = []
    for file, text in current(name).items():
        path = published_files(name)[file]
        if path.exists():
            old = json.loads(path.read_text(encoding="utf-8"))
            found += [f"{name} {file} {one}" for one in breaks(old, json.loads(text))]
    return found


def write_schemas() -> None:
    """Write the schemas of every dialect, or say why not."""
    refused = [one for name in NAMES for one in broken_promises(name)]
    if refused:
        advice = "Raise the dialect's number in aerogram.documents.schemas.REVISIONS, or keep the promise."
        sys.exit("\n".join([*refused, advice]))
    for name in NAMES:
        for file, text in current(name).items():
            path = published_files(name)[file]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def write_types() -> None:
    """Write the types of every dialect."""
    for name in NAMES:
        published_files(name)["types.d.ts"].write_text(declare(name), encoding="utf-8")


if __name__ == "__main__":
    write_schemas()
    write_types()
