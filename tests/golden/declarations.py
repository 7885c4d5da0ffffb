"""The TypeScript of a dialect's bodies, which json-schema-to-typescript makes of the JSON Schema.

The schema is prepared for it: a member is no type of its own, words that a contract shares have a name, limits that a
type cannot express stand in comments, and the payload is the type parameter `T`.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from typing import Any, get_args

from pydantic import TypeAdapter

from aerogram import codes, reply
from aerogram.dialects import knowledge_v1, standard_v2
from aerogram.documents.schemas import REVISIONS, schema
from node_packages import install

Schema = dict[str, Any]
Words = Mapping[tuple[Any, ...], str]

PACKAGE = ("json-schema-to-typescript-16.0.0", "json-schema-to-typescript", "16.0.0")
OPTIONS = ("--no-additionalProperties", "--ignoreMinAndMaxItems")
LIMITS = ("format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength")

EXTENSION_WORDS = {"EmptyReason": reply.EmptyReason, "ErrorKind": codes.Kind, "FidelityLevel": reply.FidelityLevel}
SEVERITY = {"Severity": codes.Severity}
WORDS: dict[str, dict[str, Any]] = {
    "response-v2": {**EXTENSION_WORDS, **SEVERITY},
    "standard-v2": {
        **EXTENSION_WORDS,
        **SEVERITY,
        "ErrorCode": standard_v2.ErrorCode,
        "ResponseStatus": standard_v2.Status,
    },
    "knowledge-1.0": {
        **EXTENSION_WORDS,
        "ResponseMode": knowledge_v1.ResponseMode,
        "ResponseStatus": knowledge_v1.ResponseStatus,
        "WarningLevel": knowledge_v1.WarningLevel,
    },
    "problem": {**EXTENSION_WORDS, **SEVERITY},
    "bare": {},
}
RECORDS = ("SearchRequest", "SemanticSearchResult", "VendorInfoResult")
PARAMETERS = {
    "Success": "<T extends object = Record<string, unknown>>",
    "ResponseV2": "<T extends object = Record<string, unknown>>",
    "StandardResponse": "<T = unknown>",
    "MCPResponseEnvelope": "<T = unknown>",
}


def declare(dialect: str) -> str:
    """The types of a dialect's bodies, generic in the payload where the contract is."""
    words = {get_args(values): name for name, values in WORDS[dialect].items()}
    named = {name: _prepare(one, words) for name, one in _named_schemas(dialect).items()}
    named |= {name: {"enum": values} for values, name in words.items()}
    every = {"title": "Every", "anyOf": [{"$ref": f"#/$defs/{name}"} for name in named], "$defs": named}
    head = f"// {dialect}, revision {REVISIONS[dialect]}: aerogram schema {dialect} --typescript"
    node, modules = install(*PACKAGE)
    program = [node, str(modules / PACKAGE[1] / "dist" / "src" / "cli.js"), *OPTIONS, f"--bannerComment={head}"]
    return _tidy(subprocess.check_output(program, input=json.dumps(every), encoding="utf-8", timeout=60))


def _named_schemas(dialect: str) -> dict[str, Schema]:
    """Each type by its name, the body first, with `T` where the payload stands."""
    body = schema(dialect)
    parts = body.pop("$defs")
    applied = {}
    if dialect == "response-v2":
        parts["Success"]["properties"]["data"] = {"tsType": "T"}
    elif dialect == "standard-v2":
        body["properties"]["results"]["items"] = {"tsType": "T"}
    elif dialect == "knowledge-1.0":
        body["properties"]["results"] = {"tsType": "T"}
        records = [(name, "validation", TypeAdapter(getattr(knowledge_v1, name))) for name in RECORDS]
        unions, models = TypeAdapter.json_schemas(records)
        parts |= {name: union for (name, _), union in unions.items()} | models["$defs"]
        applied = {
            "SemanticSearchResponse": {"tsType": "MCPResponseEnvelope<SemanticSearchResult[]>"},
            "VendorInfoResponse": {"tsType": "MCPResponseEnvelope<VendorInfoResult>"},
        }
    return {body["title"].partition("[")[0]: body, **applied, **parts}


def _prepare(one: Schema, words: Words) -> Schema:
    """A schema without titles and conditions, which calls types by name and has its limits in its description."""
    ready = {key: one[key] for key in ("type", "const", "enum", "required", "maxItems", "tsType") if key in one}
    for key in {"anyOf", "oneOf"} & one.keys():
        ready[key] = [_prepare(branch, words) for branch in one[key]]
    for key in {"items", "additionalProperties"} & one.keys():
        ready[key] = _prepare(one[key], words) if isinstance(one[key], dict) else one[key]
    if "properties" in one:
        ready["properties"] = {name: _prepare(member, words) for name, member in one["properties"].items()}
    if "$ref" in one:
        name = one["$ref"].rpartition("/")[2]
        ready["tsType"] = f"{name}<T>" if name in PARAMETERS else name
    elif tuple(one.get("enum", ())) in words:
        ready["tsType"] = words[tuple(one["enum"])]
    elif not {"type", "const", "enum", "anyOf", "oneOf", "tsType"} & ready.keys():
        ready["tsType"] = "unknown"
    ranges = (one, *one.get("anyOf", ()))
    limits = [f"@{word} {place[word]}" for place in ranges for word in LIMITS if word in place]
    return ready | {"description": "\n".join([one.get("description", ""), *limits]).strip()}


def _tidy(text: str) -> str:
    """The declarations without the union of them all, generic, with records and short comments on one line."""
    text = re.sub(r"^export type Every =[^;]*;\n", "", text, flags=re.MULTILINE)
    for name, parameter in PARAMETERS.items():
        text = re.sub(rf"^(export \w+ {name})\b", rf"\1{parameter}", text, flags=re.MULTILINE)
    text = re.sub(r"\{\s+\[k: string\]: (\w+);\s+\}", r"Record<string, \1>", text)
    text = re.sub(r"/\*\*\n +\* (.*)\n +\*/", r"/** \1 */", text)
    return re.sub(r"(?<=[;}])\n(?=/\*\*|export)", "\n\n", text)
