"""OpenAPI: the shapes and the errors of migrated routes, written into an application's own document.

A route's JSON stays as it is described; beside it stand the newer envelope under the vendor's media type, every
status of the table of codes in each shape, and the parameters and headers that negotiation reads and writes. Where
answers may be shortened, by a budget or by what a caller asks for, their rows are described as sparse ones.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

from aerogram._http.negotiation import CURRENT, JSON, PARAMETER, PROBLEM, VERSIONS, Versions
from aerogram._http.routes import CONTROLS, RouteEntry, RouteTerms
from aerogram.codes import TABLE
from aerogram.dialects import dialect as dialect_named
from aerogram.dialects.protocol import Dialect

__all__ = ["SCHEMAS", "SparseSchemas", "document"]

SCHEMAS: Final = "#/components/schemas/"
_PREFIX: Final = "sparse."
_BROKEN: Final = frozenset(
    {
        "required", "minProperties", "additionalProperties", "unevaluatedProperties", "dependentRequired",
        "minItems", "uniqueItems", "contains", "minContains", "maxContains", "unevaluatedItems",
        "minLength", "pattern", "format", "contentEncoding", "contentMediaType", "contentSchema",
        "not", "if", "then", "else", "dependentSchemas", "discriminator", "default", "example", "examples",
    }
)  # fmt: skip
"""What shortening can break, or what would speak of whole values."""
_SAMPLES: Final = frozenset({"const", "enum"})
_LISTS: Final = frozenset({"anyOf", "allOf", "prefixItems"})
_MAPS: Final = frozenset({"properties", "patternProperties", "$defs"})
_ONES: Final = frozenset({"items", "propertyNames"})


class SparseSchemas:
    """The sparse versions of schemas, beside the whole ones among the components of a document."""

    def __init__(self, schemas: dict[str, Any]) -> None:
        self._schemas = schemas

    def of(self, schema: Any) -> Any:
        """What a schema says of values that may be shortened."""
        if not isinstance(schema, Mapping):
            return schema
        found = {name: self._part(name, part) for name, part in schema.items() if name not in _BROKEN | _SAMPLES}
        found |= {name: schema[name] for name in _SAMPLES & schema.keys() if not _can_shrink(schema[name])}
        if isinstance(members := schema.get("additionalProperties"), Mapping):
            found["additionalProperties"] = self.of(members)
        if "oneOf" in found:  # what told them apart may be missing
            found.setdefault("anyOf", found["oneOf"])
            del found["oneOf"]
        return found

    def _part(self, name: str, part: Any) -> Any:
        if name == "$ref":
            return self._sparse_ref(part)
        if name in _ONES:
            return self.of(part)
        if name in _LISTS or name == "oneOf":
            return [self.of(one) for one in part]
        return {one: self.of(inner) for one, inner in part.items()} if name in _MAPS else part

    def _sparse_ref(self, reference: str) -> str:
        """A reference to the sparse version of a component, which is made when it is first asked for."""
        name = reference.removeprefix(SCHEMAS)
        if name == reference or name not in self._schemas or name.startswith(_PREFIX):
            return reference
        if _PREFIX + name not in self._schemas:
            self._schemas[_PREFIX + name] = {}  # a model may contain itself
            self._schemas[_PREFIX + name] = self.of(self._schemas[name])
        return SCHEMAS + _PREFIX + name


def _can_shrink(sample: Any) -> bool:
    """Whether a value, or one of several, can be shortened."""
    return any(isinstance(one, (str, list, dict)) for one in (sample if isinstance(sample, list) else [sample]))


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
_PARAMETERS: Final[Mapping[str, tuple[str, Document]]] = {
    "response_mode": ("How much of each record to show", {"type": "string"}),
    "fields": ("The fields to show, separated by commas", {"type": "string"}),
    "max_tokens": ("The largest size of the reply, in tokens", {"type": "integer"}),
    "cursor": ("Where to go on, as the last page said", {"type": "string"}),
    "page_size": ("How many records a page has", {"type": "integer"}),
}
_LEAVING_OUT: Final = frozenset({"response_mode", "fields"})
_PAGING: Final = frozenset({"cursor", "page_size"})


def document(
    schema: Document,
    versions: Versions,
    entries: Iterable[RouteEntry],
    has_budget: Callable[[str], bool],
    bounds: Mapping[str, Document],
) -> Document:
    """A copy of an OpenAPI document that says everything a migrated route may answer.

    `has_budget` says of an operation whether a budget may shorten its replies, `bounds` what values a control takes.
    """
    found = copy.deepcopy(schema)
    writer = _DocumentWriter(found, versions, has_budget, bounds)
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


class _DocumentWriter:
    """Writes into one document; what several operations share stands among its components."""

    def __init__(
        self,
        schema: Document,
        versions: Versions,
        has_budget: Callable[[str], bool],
        bounds: Mapping[str, Document],
    ) -> None:
        self.versions = versions
        self.has_budget = has_budget
        self.bounds = bounds
        self.components: Document = schema.setdefault("components", {})
        self.schemas: Document = self.components.setdefault("schemas", {})
        self.sparse = SparseSchemas(self.schemas)
        speaker = dialect_named(versions.legacy)
        self.legacy = None if speaker.is_bare else self._component(speaker)
        self.current = self._component(dialect_named(versions.current))
        self.problem = self._component(dialect_named(versions.problem))

    def _component(self, speaker: Dialect) -> Document:
        """The schema of a dialect among the components, under names that no model of the application has."""
        whole = speaker.body.model_json_schema(ref_template=f"{SCHEMAS}{speaker.name}.{{model}}")
        for name, part in whole.pop("$defs", {}).items():
            self.schemas[f"{speaker.name}.{name}"] = part
        self.schemas[speaker.name] = whole
        return {"$ref": SCHEMAS + speaker.name}

    def describe(self, operation: Document, terms: RouteTerms) -> None:
        """Add to an operation what negotiation makes of it."""
        parameters = operation.setdefault("parameters", [])
        known = {one.get("name") for one in parameters}
        parameters += [self._share_part("parameters", one["name"], one) for one in self._parameters(terms, known)]
        responses: Document = operation.setdefault("responses", {})
        for name, response in responses.items():
            if name.startswith("2") and JSON in response.get("content", {}):
                own = response["content"][JSON].get("schema") or {}
                newer = self._envelope_schema(self.current, own, terms)
                response["content"][self.versions.media_type(CURRENT)] = {"schema": newer}
                response["content"][JSON]["schema"] = {"anyOf": [self._legacy_schema(own, terms), newer]}
                response["headers"] = {**self._headers(_FIELDS), **response.get("headers", {})}
        for status, description in _failures().items():
            if str(status) in responses:
                self._describe_failure(responses[str(status)])
            else:
                content = {JSON: {"schema": self.legacy or _LEGACY_ERROR}}
                if status == _CRASH and self.legacy is None:  # legacy callers see what the framework says of a crash
                    content["text/plain"] = {"schema": {"type": "string"}}
                failed = self._describe_failure({"description": description, "content": content})
                responses[str(status)] = self._share_part("responses", str(status), failed)

    def _describe_failure(self, response: Document) -> Document:
        """A failure in each of its shapes."""
        content = response.setdefault("content", {})
        content.setdefault(self.versions.media_type(CURRENT), {"schema": self.current})
        content.setdefault(PROBLEM, {"schema": self.problem})
        if JSON in content:
            shapes = [content[JSON].get("schema") or {}, *([self.legacy] if self.legacy else ()), self.current]
            content[JSON]["schema"] = {"anyOf": [one for at, one in enumerate(shapes) if one not in shapes[:at]]}
        response["headers"] = {**self._headers({**_FIELDS, **_ON_FAILURE}), **response.get("headers", {})}
        return response

    def _headers(self, described: Mapping[str, str]) -> Document:
        return {
            name: self._share_part("headers", name, {"description": text, "schema": {"type": "string"}})
            for name, text in described.items()
        }

    def _share_part(self, kind: str, name: str, part: Document) -> Document:
        """A reference to a part that many operations have."""
        self.components.setdefault(kind, {}).setdefault(f"aerogram.{name}", part)
        return {"$ref": f"#/components/{kind}/aerogram.{name}"}

    def _parameters(self, terms: RouteTerms, known: Collection[str]) -> list[Document]:
        choice = {"type": "string", "enum": list(VERSIONS)}
        found = [
            _parameter(PARAMETER, "query", "The envelope of the answer; it goes before the Accept header", choice),
            _parameter("X-Client-Tag", "header", "A mark of your own, in UTF-8, that the answer repeats"),
            _parameter("X-Request-Id", "header", "A request id of your own"),
        ]
        for name in (one for one in CONTROLS if one in terms.controls):
            description, schema = _PARAMETERS[name]
            found.append(_parameter(name, "query", description, {**schema, **self.bounds.get(name, {})}))
        return [one for one in found if one["name"] not in known]

    def _legacy_schema(self, own: Document, terms: RouteTerms) -> Document:
        """What legacy callers get: the route's own shape, of which they can leave out what they do not ask for."""
        if self.legacy is not None:
            return self._envelope_schema(self.legacy, own, terms)
        if terms.shapes.legacy is not None:
            return {}  # only its writer knows
        if terms.controls & _LEAVING_OUT:
            found: Document = self.sparse.of(own)
            return found
        return self._page_of(own) if terms.controls & _PAGING else own

    def _envelope_schema(self, envelope: Document, own: Document, terms: RouteTerms) -> Document:
        """An envelope with the rows that the route's own schema describes, whole or as they may be shortened."""
        if envelope != _STANDARD or terms.shapes.reply or terms.shapes.legacy or not self._resolve(own):
            return envelope
        rows = self._rows(own)
        if self.has_budget(terms.operation) or terms.controls & {*_LEAVING_OUT, "max_tokens"}:
            rows = self.sparse.of(rows)
        return {"allOf": [envelope, {"type": "object", "properties": {"results": rows}}]}

    def _rows(self, own: Document) -> Document:
        """The rows that an envelope makes of a value: a list is its rows, nothing is none, anything else is one."""
        schema = self._resolve(own)
        if "array" in schema.get("type", ()):
            return self._page_of(own)
        if schema.get("type") == "null":
            return {"type": "array", "maxItems": 0}
        options = schema.get("anyOf") or schema.get("oneOf")
        if options:
            rows = [self._rows(one) for one in options]
            different = [one for at, one in enumerate(rows) if one not in rows[:at]]
            return {"anyOf": different} if len(different) > 1 else different[0]
        is_list = any("array" in self._resolve(one).get("type", ()) for one in schema.get("allOf", ()))
        return {"type": "array"} if is_list else {"type": "array", "items": own}

    def _page_of(self, own: Document) -> Document:
        """A list of which only a part may be there."""
        schema = self._resolve(own)
        if "array" not in schema.get("type", ()) or _ABOUT_LENGTH.isdisjoint(schema):
            return own
        return {name: part for name, part in schema.items() if name not in _ABOUT_LENGTH}

    def _resolve(self, schema: Document) -> Document:
        for _ in range(len(self.schemas)):
            if "$ref" not in schema:
                break
            schema = self.schemas.get(schema["$ref"].removeprefix(SCHEMAS), {})
        return schema


_CRASH: Final = 500
_ABOUT_LENGTH: Final = frozenset({"minItems", "contains", "minContains"})
_STANDARD: Final[Document] = {"$ref": f"{SCHEMAS}standard-v2"}
_LEGACY_ERROR: Final[Document] = {
    "type": "object",
    "properties": {"detail": {}, "error": {"type": "string"}},
    "required": ["detail"],
}


def _failures() -> dict[int, str]:
    """Every status that a failure can have, with the codes that stand for it."""
    codes: defaultdict[int, list[str]] = defaultdict(list)
    for row in TABLE.values():
        codes[row.status].append(row.name)
    known = {status: f"{TABLE[names[0]].title}: {', '.join(names)}" for status, names in codes.items()}
    return dict(sorted({**_ERRORS, **known}.items()))


def _parameter(name: str, place: str, description: str, schema: Mapping[str, Any] | None = None) -> Document:
    return {"name": name, "in": place, "description": description, "schema": dict(schema or {"type": "string"})}
