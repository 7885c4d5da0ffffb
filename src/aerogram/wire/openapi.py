"""OpenAPI: the shapes and the errors of migrated routes, written into an application's own document.

A route's JSON stays as it is described; beside it stand the newer envelope under the vendor's media type, every
status of the table of codes in each shape, and the parameters and headers that negotiation reads and writes.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from aerogram.codes import TABLE
from aerogram.dialects import dialect as dialect_named
from aerogram.dialects.protocol import Dialect
from aerogram.wire.negotiation import CURRENT, JSON, PARAMETER, PROBLEM, VERSIONS, Versions
from aerogram.wire.routes import CONTROLS, Entry, Terms

__all__ = ["document"]

Document = dict[str, Any]

_OPERATIONS: Final = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace"})
_ERRORS: Final = {406: "None of the types in Accept is available", 422: "Invalid input"}
_FIELDS: Final = {
    "X-Envelope-Version": "The envelope that was served",
    "X-Request-Id": "The id under which this request is logged",
    "X-Client-Tag": "The caller's own mark, as it was received",
    "Vary": "What the answer depends on",
    "ETag": "The tag of this answer in this shape",
    "Link": "The next page, or the successor of a deprecated shape",
}
_ON_FAILURE: Final = {"Retry-After": "Seconds to wait before the next try"}
_PARAMETERS: Final = {
    "response_mode": ("How much of each record to show", "string"),
    "fields": ("The fields to show, separated by commas", "string"),
    "max_tokens": ("The largest size of the reply, in tokens", "integer"),
    "cursor": ("Where to go on, as the last page said", "string"),
    "page_size": ("How many records a page has", "integer"),
}


def document(schema: Document, versions: Versions, entries: Iterable[Entry]) -> Document:
    """A copy of an OpenAPI document that says everything a migrated route may answer."""
    found = copy.deepcopy(schema)
    writer = _Writer(found, versions)
    for entry in entries:
        described = found.get("paths", {}).get(entry.terms.path, {})
        for method, operation in described.items():
            if (
                entry.terms.migrated
                and method in _OPERATIONS
                and method.upper() in (entry.methods or (method.upper(),))
            ):
                writer.describe(operation, entry.terms)
    return found


class _Writer:
    """Writes into one document; what several operations share stands among its components."""

    def __init__(self, schema: Document, versions: Versions) -> None:
        self.versions = versions
        self.components: Document = schema.setdefault("components", {})
        self.current = self._component(dialect_named(versions.current))
        self.problem = self._component(dialect_named(versions.problem))
        self.schemas: Document = self.components["schemas"]

    def _component(self, speaker: Dialect) -> Document:
        """The schema of a dialect among the components, under names that no model of the application has."""
        schemas = self.components.setdefault("schemas", {})
        whole = speaker.body.model_json_schema(ref_template=f"#/components/schemas/{speaker.name}.{{model}}")
        for name, part in whole.pop("$defs", {}).items():
            schemas[f"{speaker.name}.{name}"] = part
        schemas[speaker.name] = whole
        return {"$ref": f"#/components/schemas/{speaker.name}"}

    def describe(self, operation: Document, terms: Terms) -> None:
        """Add to an operation what negotiation makes of it."""
        parameters = operation.setdefault("parameters", [])
        known = {one.get("name") for one in parameters}
        parameters += [self._shared("parameters", one["name"], one) for one in self._parameters(terms, known)]
        responses: Document = operation.setdefault("responses", {})
        for name, response in responses.items():
            if name.startswith("2") and JSON in response.get("content", {}):
                newer = self._success(response, terms)
                response["content"][self.versions.media_type(CURRENT)] = {"schema": newer}
                _either(response["content"][JSON], newer)
                response["headers"] = {**self._headers(_FIELDS), **response.get("headers", {})}
        for status, description in _failures().items():
            if str(status) in responses:
                self._fail(responses[str(status)])
            else:
                failed = self._fail({"description": description, "content": {JSON: {"schema": _LEGACY_ERROR}}})
                responses[str(status)] = self._shared("responses", str(status), failed)

    def _fail(self, response: Document) -> Document:
        """A failure in each of its shapes."""
        content = response.setdefault("content", {})
        content.setdefault(self.versions.media_type(CURRENT), {"schema": self.current})
        content.setdefault(PROBLEM, {"schema": self.problem})
        if JSON in content:
            _either(content[JSON], self.current)
        response["headers"] = {**self._headers({**_FIELDS, **_ON_FAILURE}), **response.get("headers", {})}
        return response

    def _headers(self, described: Mapping[str, str]) -> Document:
        return {
            name: self._shared("headers", name, {"description": text, "schema": {"type": "string"}})
            for name, text in described.items()
        }

    def _shared(self, kind: str, name: str, part: Document) -> Document:
        """A reference to a part that many operations have."""
        self.components.setdefault(kind, {}).setdefault(f"aerogram.{name}", part)
        return {"$ref": f"#/components/{kind}/aerogram.{name}"}

    def _parameters(self, terms: Terms, known: Collection[str]) -> list[Document]:
        choice = {"type": "string", "enum": list(VERSIONS)}
        found = [
            _parameter(PARAMETER, "query", "The envelope of the answer; it goes before the Accept header", choice),
            _parameter("X-Client-Tag", "header", "A mark of your own, in UTF-8, that the answer repeats"),
            _parameter("X-Request-Id", "header", "A request id of your own"),
        ]
        for name in (one for one in CONTROLS if one in terms.controls):
            description, kind = _PARAMETERS[name]
            found.append(_parameter(name, "query", description, {"type": kind}))
        return [one for one in found if one["name"] not in known]

    def _success(self, response: Document, terms: Terms) -> Document:
        """The newer envelope with the rows that the route's own schema describes."""
        own = self._resolved(response["content"][JSON].get("schema") or {})
        if self.versions.current != "standard-v2" or terms.shapes.reply or terms.shapes.legacy or not own:
            return self.current
        rows = own if own.get("type") == "array" else {"type": "array", "items": response["content"][JSON]["schema"]}
        return {"allOf": [self.current, {"type": "object", "properties": {"results": rows}}]}

    def _resolved(self, schema: Document) -> Document:
        name = schema.get("$ref", "").removeprefix("#/components/schemas/")
        found: Document = self.schemas.get(name, {}) if name else schema
        return found


_LEGACY_ERROR: Final[Document] = {
    "type": "object",
    "properties": {"detail": {}, "error": {"type": "string"}},
    "required": ["detail"],
}


def _either(described: Document, newer: Document) -> None:
    """Plain JSON is the newer envelope for those who ask for it in the query."""
    described["schema"] = {"anyOf": [described.get("schema") or {}, newer]}


def _failures() -> dict[int, str]:
    """Every status that a failure can have, with the codes that stand for it."""
    codes: defaultdict[int, list[str]] = defaultdict(list)
    for row in TABLE.values():
        codes[row.status].append(row.name)
    known = {status: f"{TABLE[names[0]].title}: {', '.join(names)}" for status, names in codes.items()}
    return dict(sorted({**_ERRORS, **known}.items()))


def _parameter(name: str, place: str, description: str, schema: Mapping[str, Any] | None = None) -> Document:
    return {"name": name, "in": place, "description": description, "schema": dict(schema or {"type": "string"})}
