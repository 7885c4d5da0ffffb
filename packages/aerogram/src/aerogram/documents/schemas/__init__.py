"""Schemas: each dialect's promise as JSON Schema and as TypeScript, with its revision.

The folders beside this module hold the published files, so that a client author who
does not run Python can take them from the wheel: `<dialect>/<revision>/schema.json`,
`slim.json` and `types.d.ts`. The types are made of the schemas when these change, not here.
A revision only ever grows; a rename, a removal or a narrowing is a new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from aerogram.dialects import NAMES
from aerogram.dialects import dialect as _dialect

FOLDER = Path(__file__).parent
REVISIONS: Mapping[str, int] = MappingProxyType(dict.fromkeys(NAMES, 1))


def schema(dialect: str, *, slim: bool = False) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a dialect's bodies: full, or slim for tool listings."""
    return _dialect(dialect).schema(slim=slim)


def typescript(dialect: str) -> str:
    """The TypeScript types of a dialect's bodies, generic in the payload where the contract is."""
    return published_files(_dialect(dialect).name)["types.d.ts"].read_text(encoding="utf-8")


def published_files(dialect: str) -> dict[str, Path]:
    """Where the published files of a dialect's current revision are, by name."""
    folder = FOLDER / dialect / str(REVISIONS[dialect])
    return {name: folder / name for name in ("schema.json", "slim.json", "types.d.ts")}
