"""The reference: the HTTP API as a page for people, written from its OpenAPI document.

It is plain HTML. It loads nothing from anywhere, so it is there without a network, and no script can run in it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from html import escape
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse

from aerogram.codes import TABLE
from aerogram.dialects import dialect
from aerogram.reply import Citation, Page, Problem, QueryEcho, Reply, Telemetry

__all__ = ["illustrate", "reference_page"]

JSON: Final = "application/json"
CURRENT: Final = "application/vnd.aerogram.v2+json"
PROBLEM: Final = "application/problem+json"
PLAIN: Final = "text/plain"
"""How the framework tells a legacy caller of a crash."""
UNPROCESSABLE: Final = "422"
_REQUEST_ID: Final = "req_01M7EYEJYJREP2NHRNZKE47WZ9"

_PASSAGE: Final = {
    "chunk_id": 170,
    "source_file": "security/jwt-guide.md",
    "source_category": "security",
    "hybrid_score": 0.69,
    "rank": 1,
    "chunk_index": 5,
    "total_chunks": 6,
}
_HEALTH: Final = {
    "status": "ok",
    "version": "1.0.0",
    "checks": {"store": {"status": "ok", "generation": 12, "ms": 0.4}},
    "timestamp_utc": "2026-11-15T10:00:00Z",
}
_VENDOR: Final = {
    "vendor_name": "Kestrelgate Inc.",
    "statistics": {"entity_count": 12, "relationship_count": 14},
    "last_updated": "2026-06-08T00:00:00Z",
}
_DIGEST: Final = {
    "sources": [{"id": "security/jwt-guide.md", "content_type": "digest/v1", "content": "{…}", "fidelity": "summary"}]
}
_REFUSED: Final = {"detail": [{"type": "missing", "loc": ["query", "q"], "msg": "Field required", "input": None}]}
_CITED: Final = Citation(
    source_id="security/jwt-guide.md",
    title="JWT Guide",
    checksum="sha256:5f2c",
    field_paths=("/results/0",),
    verification_status="verified",
)

Shown = tuple[Any, Reply[Any]]

_SHOWN: Final[Mapping[str, Shown]] = {
    "/v1/search": (
        {"total": 40, "limit": 10, "offset": 0, "results": [_PASSAGE]},
        Reply.ok(
            [_PASSAGE],
            page=Page(cursor="eyJxdWVyeV9oYXNoIjoi…", has_more=True, total=40, page_size=10),
            query_echo=QueryEcho({"q": "How long is a token valid?"}),
        ),
    ),
    "/v1/vendors/{name}": (_VENDOR, Reply.ok(_VENDOR)),
    "/v1/chunks/{id}": (_PASSAGE, Reply.ok(_PASSAGE, citations=(_CITED,))),
    "/v1/digests": (_DIGEST, Reply.ok(_DIGEST, citations=(_CITED,))),
    "/v1/content/{hash}": ([_PASSAGE], Reply.ok([_PASSAGE])),
    "/v1/health": (_HEALTH, Reply.ok(_HEALTH)),
    "/v1/health/deep": (_HEALTH, Reply.ok(_HEALTH)),
}


def illustrate(app: FastAPI) -> None:
    """Put examples into the document of an application that has a contract."""
    describe = app.openapi

    def openapi() -> dict[str, Any]:
        document = describe()
        for path, (legacy, reply) in _SHOWN.items():
            for operation in document["paths"].get(path, {}).values():
                content = operation["responses"]["200"]["content"]
                content[JSON]["example"] = legacy
                content[CURRENT]["example"] = _body("standard-v2", reply)
                _show_refused(operation["responses"].get(UNPROCESSABLE, {}).get("content", {}))
        for name, response in document["components"].get("responses", {}).items():
            if name.endswith(UNPROCESSABLE):
                _show_refused(response["content"])
            else:
                _show_failures(response["content"], int(name.rpartition(".")[2]))
        return document

    app.openapi = openapi  # type: ignore[method-assign]


def _show_failures(content: dict[str, Any], status: int) -> None:
    """Each code of a status, in each shape."""
    problems = {row.name: Problem.of(row.name, row.title) for row in TABLE.values() if row.status == status}
    for media_type, name in ((JSON, "bare"), (CURRENT, "standard-v2"), (PROBLEM, "problem")):
        if problems and media_type in content:
            shown = {code: {"value": _body(name, Reply.failed(problem))} for code, problem in problems.items()}
            content[media_type]["examples"] = shown
    if PLAIN in content:
        content[PLAIN]["examples"] = {"INTERNAL_ERROR": {"value": "Internal Server Error"}}


def _show_refused(content: dict[str, Any]) -> None:
    """Input that is not what the document says, in each shape; the legacy one is the framework's."""
    refused = Reply.failed(Problem.of("MISSING_REQUIRED", "Validation failed: query.q: Field required"))
    shown = {JSON: _REFUSED, CURRENT: _body("standard-v2", refused), PROBLEM: _body("problem", refused)}
    for media_type, value in shown.items():
        if media_type in content:
            content[media_type]["examples"] = {"MISSING_REQUIRED": {"value": value}}


def _body(name: str, reply: Reply[Any]) -> Any:
    speaker = dialect(name)
    told = reply.replace(request_id=_REQUEST_ID, timestamp="2026-11-15T10:00:00Z", telemetry=Telemetry(duration_ms=12))
    return speaker.encode(speaker.complete(told, operation="example", duration_ms=12))


Part = Mapping[str, Any]

FAILURES: Final = "400"
_STYLE: Final = """
:root { color-scheme: light dark }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 54rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .2rem .6rem .2rem 0; border-bottom: 1px solid #8884 }
pre { overflow: auto; padding: .6rem; border: 1px solid #8884; max-height: 24rem }
h2 code { font-size: 1.1rem }
summary { cursor: pointer }
input, select { font: inherit; margin: 0 .8rem .4rem .3rem }
"""
_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def reference_page(app: FastAPI) -> Callable[[Request], Awaitable[HTMLResponse]]:
    """What answers with the page about an application; it is written once."""
    written: list[str] = []

    async def reference(_: Request) -> HTMLResponse:
        if not written:
            written.append(_page(app.openapi()))
        return HTMLResponse(written[0], headers={"Content-Security-Policy": POLICY})

    return reference


def _page(document: Part) -> str:
    title = escape(f"{document['info']['title']} {document['info']['version']}")
    operations = [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    links = "".join(f'<li><a href="#{_anchor(one)}">{_name(one)}</a></li>' for one in operations)
    body = "".join(part for one in operations for part in _operation(document, *one)) + "".join(_failures(document))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{title}: the HTTP API</title><style>{_STYLE}</style>"
        f"<h1>{title}: the HTTP API</h1><p>{escape(document['info'].get('summary', ''))} "
        f'The same for programs: <a href="/openapi.json">/openapi.json</a></p>'
        f'<nav><ul>{links}<li><a href="#failures">Failures</a></li></ul></nav><main>{body}</main></html>'
    )


def _anchor(one: tuple[str, str, Part]) -> str:
    return escape(one[2]["operationId"])


def _name(one: tuple[str, str, Part]) -> str:
    return f"<code>{one[1].upper()} {escape(one[0])}</code>"


def _operation(document: Part, path: str, method: str, operation: Part) -> Iterator[str]:
    """What one operation takes and gives."""
    one = (path, method, operation)
    yield f'<section><h2 id="{_anchor(one)}">{_name(one)}</h2><p>{escape(operation.get("description", ""))}</p>'
    parameters = [_resolve(document, part) for part in operation.get("parameters", ())]
    yield _table([_parameter(part) for part in parameters])
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body is not None:
        yield _table(list(_members(_resolve(document, body["schema"]))))
    if method == "get" and "{" not in path:
        yield _form(path, [part for part in parameters if part["in"] == "query"])
    for status, response in sorted(operation["responses"].items()):
        if status < FAILURES:
            yield _response(status, _resolve(document, response))
    yield "</section>"


def _failures(document: Part) -> Iterator[str]:
    """What any operation may answer instead, in each shape; it is the same for all."""
    yield '<section><h2 id="failures">Failures</h2><p>Any request may be answered with one of these.</p>'
    for name, response in sorted(document["components"].get("responses", {}).items()):
        yield _response(name.rpartition(".")[2], response)
    yield "</section>"


def _resolve(document: Part, part: Part) -> Part:
    """The part itself, or what it refers to."""
    if "$ref" not in part:
        return part
    found: Any = document
    for step in part["$ref"].removeprefix("#/").split("/"):
        found = found[step]
    return _resolve(document, found)


def _parameter(part: Part) -> tuple[str, ...]:
    needed = ", required" if part.get("required") else ""
    return f"{part['name']} ({part['in']}{needed})", _kind(part["schema"]), part.get("description", "")


def _members(schema: Part) -> Iterator[tuple[str, ...]]:
    for name, part in schema.get("properties", {}).items():
        needed = ", required" if name in schema.get("required", ()) else ""
        yield f"{name} (body{needed})", _kind(part), part.get("description", "")


def _kind(schema: Part) -> str:
    """A schema in a few words."""
    options = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    if options:
        return _kind({**schema, "anyOf": (), **options[0]})
    if "enum" in schema:
        words = " | ".join(map(str, schema["enum"]))
    elif schema.get("type") == "array":
        words = f"several of: {_kind(schema['items'])}"
    else:
        words = str(schema.get("format") or schema.get("type", "any"))
    low, high = (schema.get(f"{end}imum", schema.get(f"{end}Length")) for end in ("min", "max"))
    span = "" if high is None else f", up to {high}" if low is None else f", {low} to {high}"
    default = f", {schema['default']} if not given" if schema.get("default") not in (None, "") else ""
    return words + span + default


def _table(rows: list[tuple[str, ...]]) -> str:
    if not rows:
        return ""
    cells = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr><th>input</th><th>values</th><th>meaning</th></tr>{cells}</table>"


def _form(path: str, parameters: list[Part]) -> str:
    """A form that asks the operation; the browser shows the answer."""
    fields = "".join(_field(part) for part in parameters)
    return f'<form action="{escape(path)}"><p>{fields}<button>Try it</button></p></form>'


def _field(part: Part) -> str:
    name, schema = escape(part["name"]), part["schema"]
    if "enum" in schema:
        usual = schema.get("default")
        options = "".join(
            f"<option{' selected' if one == usual else ''}>{escape(str(one))}</option>" for one in schema["enum"]
        )
        return f'<label>{name}<select name="{name}">{options}</select></label>'
    # a browser sends empty fields too, and empty is not absent: so there are only those that must be given
    return f'<label>{name}<input name="{name}" required></label>' if part.get("required") else ""


def _response(status: str, response: Part) -> str:
    shown = "".join(
        f"<p>{escape(media)}{escape(f': {name}' if name else '')}</p><pre>{_json(value)}</pre>"
        for media, content in response.get("content", {}).items()
        for name, value in _examples(content)
    )
    return f"<details><summary>{escape(status)} {escape(response['description'])}</summary>{shown}</details>"


def _examples(content: Part) -> Iterator[tuple[str, Any]]:
    if "example" in content:
        yield "", content["example"]
    for name, example in content.get("examples", {}).items():
        yield name, example["value"]


def _json(value: Any) -> str:
    return escape(json.dumps(value, indent=2, ensure_ascii=False))
