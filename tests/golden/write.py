"""Write the published schemas and types of every dialect's current revision: `python tests/golden/write.py`.

A change that takes something away from clients is refused until the dialect has a new revision in
`aerogram.schemas.REVISIONS`; the files of the old revision then stay as they are.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from aerogram.dialects import NAMES
from aerogram.reference.schemas import published_files, schema, typescript
from golden.compatibility import breaks


def current(name: str) -> dict[str, str]:
    """The files of a dialect as they should be now."""
    return {
        "schema.json": json.dumps(schema(name), indent=2, ensure_ascii=False) + "\n",
        "slim.json": json.dumps(schema(name, slim=True), indent=2, ensure_ascii=False) + "\n",
        "types.d.ts": typescript(name),
    }


def broken_promises(name: str) -> list[str]:
    """What the published schemas of the current revision promise and the current ones do not."""
    found = []
    for file, path in published_files(name).items():
        if path.suffix == ".json" and path.exists():
            old = json.loads(path.read_text(encoding="utf-8"))
            found += [f"{name} {file} {one}" for one in breaks(old, json.loads(current(name)[file]))]
    return found


def main() -> None:
    """Write everything, or say why not."""
    refused = [one for name in NAMES for one in broken_promises(name)]
    if refused:
        sys.exit(
            "\n".join([*refused, "Raise the dialect's number in aerogram.schemas.REVISIONS, or keep the promise."])
        )
    for name in NAMES:
        for file, path in published_files(name).items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(current(name)[file], encoding="utf-8")


if __name__ == "__main__":
    main()
