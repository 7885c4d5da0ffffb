"""Schemas: each dialect's promise as JSON Schema and as TypeScript, with its revision.

The folders beside this module hold the published files, so that a client author who
does not run Python can take them from the wheel: `<dialect>/<revision>/schema.json`,
`slim.json` and `types.d.ts`. They say the same as `schema` and `typescript`.
A revision only ever grows; a rename, a removal or a narrowing is a new one.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

from aerogram.dialects import NAMES
from aerogram.dialects import dialect as _dialect
from aerogram.reference.typescript import declarations

FOLDER = Path(__file__).parent
REVISIONS: Mapping[str, int] = MappingProxyType(dict.fromkeys(NAMES, 1))


def schema(dialect: str, *, slim: bool = False) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a dialect's bodies: full, or slim for tool listings."""
    return _dialect(dialect).schema(slim=slim)


def typescript(dialect: str) -> str:
    """The TypeScript types of a dialect's bodies, generic in the payload where the contract is."""
    full = _with_records(schema(dialect)) if dialect == "knowledge-1.0" else schema(dialect)
    text = declarations(full, parameter=_PAYLOADS.get(dialect), aliases=_ALIASES.get(dialect))
    head = f"// {dialect}, revision {REVISIONS[dialect]}: aerogram schema {dialect} --typescript\n\n"
    return head + text + _APPLIED.get(dialect, "")


def published_files(dialect: str) -> dict[str, Path]:
    """Where the published files of a dialect's current revision are, by name."""
    folder = FOLDER / dialect / str(REVISIONS[dialect])
    return {name: folder / name for name in ("schema.json", "slim.json", "types.d.ts")}


_PAYLOADS = {
    "response-v2": "/$defs/Success/properties/data",
    "standard-v2": "/properties/results/items",
    "knowledge-1.0": "/properties/results",
}
_EXTENSION_WORDS = {
    "EmptyReason": "/$defs/AerogramExtension/properties/empty_reason/anyOf/0",
    "ErrorKind": "/$defs/ProblemPart/properties/kind/anyOf/0",
    "FidelityLevel": "/$defs/FidelityPart/properties/level/anyOf/0",
}
_SEVERITY = "/$defs/NoticePart/properties/severity/anyOf/0"
_ALIASES = {
    "response-v2": {**_EXTENSION_WORDS, "Severity": _SEVERITY},
    "standard-v2": {
        **_EXTENSION_WORDS,
        "ErrorCode": "/$defs/StandardError/properties/code",
        "ResponseStatus": "/properties/status",
        "Severity": _SEVERITY,
    },
    "knowledge-1.0": {
        **_EXTENSION_WORDS,
        "ResponseMode": "/$defs/SearchRequest/properties/response_mode",
        "ResponseStatus": "/$defs/ResponseMetadata/properties/status",
        "WarningLevel": "/$defs/ResponseWarning/properties/level",
    },
    "problem": {**_EXTENSION_WORDS, "Severity": _SEVERITY},
}
_APPLIED = {
    "knowledge-1.0": """
export type SemanticSearchResponse = MCPResponseEnvelope<SemanticSearchResult[]>;

export type VendorInfoResponse = MCPResponseEnvelope<VendorInfoResult>;
""",
}
_UNIONS = ("SemanticSearchResult", "VendorInfoResult")


def _with_records(envelope: dict[str, Any]) -> dict[str, Any]:
    """The knowledge envelope with the request, and the records that its results hold in each mode."""
    from pydantic.json_schema import models_json_schema

    contract = importlib.import_module("aerogram.dialects.knowledge_v1")
    unions = {name: get_args(getattr(contract, name)) for name in _UNIONS}
    models = [contract.SearchRequest, *(model for union in unions.values() for model in union)]
    _, records = models_json_schema([(model, "validation") for model in models])
    refs = {name: {"anyOf": [{"$ref": f"#/$defs/{one.__name__}"} for one in union]} for name, union in unions.items()}
    return {**envelope, "$defs": {**envelope["$defs"], **records["$defs"], **refs}}
