"""What is fuzzed: each target makes cases that can be stored as JSON, and raises when one of them breaks a promise.

`make fuzz` tries new ones, and `tests/fuzz` replays those that have once found something.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import datetime as dt
import decimal
import itertools
import json
import re
import uuid
from dataclasses import dataclass

import fastmcp
import httpx
import pydantic

from aerogram import Contract, Reply, dialect, read, translate
from aerogram._mcp.service import Caller
from aerogram.answer.retrieval import Retrieval, retrieve
from aerogram.archive import Archive
from aerogram.client import AsyncClient, FollowedTooFar, Reach
from aerogram.client import read as client_read
from aerogram.content import Content
from aerogram.content.jsontext import dumps
from aerogram.cursor import CursorKeys, Cursors, Position
from aerogram.dialects import NAMES
from aerogram.digest.sources import read as read_document
from aerogram.errors import AerogramError, InvalidCursor, ReplyError
from aerogram.fastmcp import install
from aerogram.gateway.eras import is_complete
from aerogram.gateway.tools import Tools
from aerogram.normalize import Policy, normalize_resource_payload, normalize_tool_result
from aerogram.sanitize import Redaction, sanitize
from aerogram.tokens import Budget, Bytes, best_counter
from aerogram_knowledge.documents.chunks import chunks_of
from aerogram_knowledge.documents.document import File, read_file

ODD = [
    None,
    True,
    False,
    0,
    -1,
    1,
    2**53,
    2**63,
    2**64,
    10**400,
    -0.0,
    0.5,
    1e308,
    "",
    "x",
    "null",
    "\x00",
    "é",
    "漢字",
    "\ud800".encode("utf-8", "surrogatepass").decode("utf-8", "replace"),
    "a" * 5_000,
    "../../etc/passwd",
    "%00",
    "' OR 1=1",
    "sha256:" + "0" * 64,
    "2026-11-16T00:00:00Z",
    "aerogram://archive/x",
    [],
    [[]],
    {},
    {"": ""},
    {"a": {"b": [1]}},
]
MEMBER_NAMES = (
    "success data error meta version status results result citations problem code message retry_after pagination "
    "cursor has_more total _metadata execution_context warnings type title detail aerogram fidelity archive_hashes "
    "notices actions tool endpoint args content structuredContent isError _meta text uri mimeType"
)
MEMBERS = MEMBER_NAMES.split()


class Broken(AssertionError):
    """A promise that a case broke."""


def odd_value(chance, depth=3):
    """Some JSON, more often strange than not."""
    kind = chance.random()
    if depth == 0 or kind < 0.6:
        return chance.choice(ODD)
    if kind < 0.8:
        return [odd_value(chance, depth - 1) for _ in range(chance.randrange(4))]
    return {
        chance.choice([*MEMBERS, *map(str, ODD[:20])]): odd_value(chance, depth - 1) for _ in range(chance.randrange(5))
    }


def mutated(chance, value, odds=0.15):
    """The value with some of its parts replaced, dropped or doubled."""
    if chance.random() < odds:
        return odd_value(chance)
    if isinstance(value, dict):
        kept = {name: mutated(chance, part, odds) for name, part in value.items() if chance.random() > odds / 3}
        if chance.random() < odds:
            kept[chance.choice(MEMBERS)] = odd_value(chance)
        return kept
    if isinstance(value, list):
        return [mutated(chance, part, odds) for part in value for _ in range(chance.choice((1, 1, 1, 0, 2)))]
    if isinstance(value, str) and value and chance.random() < odds:
        at = chance.randrange(len(value))
        return value[:at] + chance.choice(["", "\x00", "é", "..", "%", value]) + value[at + 1 :]
    return value


def require(holds, words):
    if not holds:
        raise Broken(words)


# Bodies


def body_case(chance):
    name = chance.choice([one for one in NAMES if one != "problem"])
    spoken = dialect(name)
    reply = Reply.ok([{"id": 1, "text": "x"}]) if chance.random() < 0.6 else Reply.failed("NOT_FOUND", "no")
    return mutated(chance, json.loads(dumps(spoken.encode(spoken.complete(reply, operation="search")))))


def run_body(case):
    try:
        found = read(case)
    except AerogramError as error:
        require(len(str(error)) < 5_000, "a refusal is long")
        return
    for name in ("response-v2", "standard-v2"):
        try:
            require(read(translate(case, to=name)).status == found.status, "a translation changed the status")
        except AerogramError:
            continue


def answer_case(chance):
    text = {"type": "text", "text": json.dumps(body_case(chance))}
    meta = {f"com.aerogram/{name}": odd_value(chance) for name in chance.sample(MEMBERS, 3)}
    result = {
        "content": [text],
        "structuredContent": body_case(chance),
        "isError": chance.random() < 0.5,
        "_meta": meta,
    }
    names = ("retry-after", "ratelimit", "x-ratelimit-reset", "x-ratelimit-limit", "link", "location", "content-type")
    headers = {name: str(chance.choice(ODD))[:6_000] for name in chance.sample(names, 3)}
    return {"result": mutated(chance, result), "headers": headers, "status": chance.choice((200, 301, 404, 429, 503))}


def run_answer(case):
    sent = {name: value.encode("ascii", "replace").decode() for name, value in case["headers"].items()}
    sent = {name: "".join(one for one in value if one.isprintable()) for name, value in sent.items()}
    response = httpx.Response(
        case["status"], headers=sent, content=dumps(case["result"]), request=httpx.Request("GET", "http://h.example/x")
    )
    for given in (case["result"], response):
        try:
            client_read(given)
        except (AerogramError, TypeError) as error:
            require(not isinstance(error, TypeError) or "neither a tool result" in str(error), f"a TypeError: {error}")


# Values, said as recipes


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    held: object = None


class Rude:
    def __str__(self):
        raise RuntimeError("no")

    __repr__ = __str__


MAKERS = {
    "nan": lambda _: float("nan"),
    "big": lambda size: 10 ** (size % 6_000),
    "bytes": lambda size: b"\xff" * (size % 5_000),
    "surrogate": lambda _: "\ud800",
    "date": lambda size: dt.datetime(1 + size % 9_998, 1, 1, tzinfo=dt.timezone(dt.timedelta(minutes=size % 1_000))),
    "decimal": lambda size: decimal.Decimal(size).scaleb(size % 500),
    "uuid": lambda size: uuid.UUID(int=size),
    "count": lambda _: itertools.count(),
    "drops": lambda size: (one for one in range(size % 50)),
    "rude": lambda _: Rude(),
    "error": lambda _: ValueError("password=hunter2"),
    "kind": lambda _: dict,
    "deep": lambda size: _nest(size % 2_000),
    "shared": lambda size: _share(size % 80),
    "cycle": lambda _: _cycle(),
}
WRAPS = {
    "list": list,
    "tuple": tuple,
    "dict": lambda parts: dict(enumerate(parts)),
    "named": lambda parts: {f"m{at}": part for at, part in enumerate(parts)},
    "model": lambda parts: Model(held=parts, **{f"x{at}": part for at, part in enumerate(parts)}),
    "deque": collections.deque,
    "user": collections.UserList,
    "iter": iter,
}


def _nest(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


def _share(levels):
    value = ["x"]
    for _ in range(levels):
        value = [value, value]
    return value


def _cycle():
    value = {}
    value["self"] = [value, value]
    return value


def recipe(chance, depth=3):
    if depth == 0 or chance.random() < 0.5:
        if chance.random() < 0.5:
            return ["plain", chance.choice(ODD)]
        return ["make", chance.choice(sorted(MAKERS)), chance.randrange(10_000)]
    return ["wrap", chance.choice(sorted(WRAPS)), [recipe(chance, depth - 1) for _ in range(chance.randrange(4))]]


def build(said):
    if said[0] == "plain":
        return said[1]
    if said[0] == "make":
        return MAKERS[said[1]](said[2])
    return WRAPS[said[1]]([build(one) for one in said[2]])


POLICY = Policy(max_bytes=200_000, max_items=500, max_seconds=5.0)


def run_value(case):
    result = normalize_tool_result(build(case), policy=POLICY)
    wire = json.loads(result.to_bytes(1))
    require(wire["jsonrpc"] == "2.0" and isinstance(wire["result"]["content"], list), "no tool result")
    try:
        normalize_resource_payload("x://y", None, build(case), policy=POLICY).to_bytes(1)
    except (AerogramError, ValueError):
        return


# Secrets

SECRET = "hunter2-Zebra-77"
PLACES = ["password", "api_key", "clientSecret", "db.password", "Authorization", "refresh_token", "credentials"]


def secret_case(chance):
    held = {chance.choice(PLACES): SECRET if chance.random() < 0.5 else {"deep": [SECRET, odd_value(chance)]}}
    text = chance.choice(
        ["{n}={v}", '"{n}": "{v}"', "{n}: {v}\nx", "--{n} {v}", "?{n}={v}&a=b", "postgres://a:{v}@h/x"]
    )
    said = text.format(n=chance.choice(["password", "api_key", "client-secret"]), v=SECRET)
    return {"held": held, "text": f"{chance.choice(['', 'x ', 'log: '])}{said}", "around": odd_value(chance)}


REDACTION = Redaction()


def run_secret(case):
    once = sanitize(Reply.ok(case), REDACTION)
    require(SECRET not in dumps(once.data).decode(), "a secret was sent")
    require(sanitize(once, REDACTION).data == once.data, "redacting twice is not redacting once")


# Cursors and archive handles

CURSORS = Cursors(CursorKeys.from_secrets("a secret of sixteen bytes"), clock=lambda: 1_000.0)
SEALED = CURSORS.seal(Position(query_hash="0" * 12, offset=10, response_mode="full"))


def cursor_case(chance):
    if chance.random() < 0.3:
        return str(chance.choice(ODD))
    at = chance.randrange(len(SEALED))
    return SEALED[:at] + chance.choice(["", "A", "=", "\x00", "é", SEALED]) + SEALED[at + chance.randrange(3) :]


def run_cursor(case):
    try:
        found = CURSORS.open(case, query_hash="0" * 12, response_mode="full")
    except InvalidCursor:
        return
    require((found.offset, case) == (10, SEALED), "a cursor that was not made here is good")


KEPT = Content.of_json([{"id": f"row-{number}", "text": "x" * 50} for number in range(20)])


def handle_case(chance):
    digest = KEPT.hash if chance.random() < 0.6 else str(chance.choice(ODD))
    path = chance.choice(["", "/0", "/0/text", "/x", "//", "/-", "/99999999999999999999", "~", "/~2", "/0/" * 500])
    size = chance.choice([None, 1, 5, 10**9])
    return {
        "hash": digest,
        "path": path,
        "ids": [str(chance.choice(ODD))] * chance.randrange(3),
        "page_size": size,
        "as_text": chance.random() < 0.5,
        "cursor": cursor_case(chance) if chance.random() < 0.3 else None,
    }


def run_handle(case):
    async def fetch():
        archive = Archive.in_memory()
        await archive.put(KEPT, principal="owner")
        for principal in ("owner", "stranger"):
            try:
                page = await retrieve(archive, CURSORS, Retrieval(**case), principal=principal)
            except (ReplyError, ValueError):
                continue
            require(principal == "owner", "a stranger got what is another's")
            dumps(page.reply.data if hasattr(page, "reply") else page[0].data)

    asyncio.run(fetch())


# Values in a budget, as a client gets them

LONG = ["word " * 300, "x" * 2_000, "漢字" * 400, "a\\n" * 500, json.dumps([{"a": "b " * 40}] * 20), "[+12 chars]" * 50]


def large_value(chance, depth=3):
    """Some JSON with parts that are too large, and empty ones beside them."""
    kind = chance.random()
    if depth == 0 or kind < 0.3:
        return chance.choice(ODD if chance.random() < 0.5 else LONG)
    size = chance.choice((0, 1, 2, 3, 8, 30))
    if kind < 0.7:
        rows = [large_value(chance, depth - 1) for _ in range(min(size, 3))]
        return [chance.choice(rows) for _ in range(size)]
    names = [*MEMBERS, "id", "name", "url", "score", *map(str, ODD[:20])]
    return {chance.choice(names): large_value(chance, depth - 1) for _ in range(min(size, 8))}


def fit_case(chance):
    return {
        "value": large_value(chance),
        "dialect": chance.choice(["bare", "response-v2", "standard-v2", "knowledge-1.0"]),
        "budget": chance.choice([400, 500, 700, 1_000, 2_000]),
        "unit": chance.choice(["tokens", "tokens", "bytes"]),
        "controls": chance.random() < 0.5,
        "page_size": chance.choice([None, None, 1, 2, 5]),
    }


def run_fit(case):
    asyncio.run(_fetch_fitted(case))


async def _fetch_fitted(case):
    server = fastmcp.FastMCP("fuzzed")
    server.tool(lambda: case["value"], name="get")
    counter = Bytes() if case["unit"] == "bytes" else best_counter()
    budget = Budget(case["budget"] * (4 if case["unit"] == "bytes" else 1), counter)
    install(server, dialect=case["dialect"], budget=budget, controls=case["controls"], archive=Archive.in_memory())
    asked = {"page_size": case["page_size"]} if case["page_size"] and case["controls"] else {}
    async with fastmcp.Client(server) as connection:
        sent = await connection.call_tool_mcp("get", asked)
        reply = client_read(sent)
        if reply.problem is not None:
            require(reply.problem.code not in ("INTERNAL_ERROR", "CONTRACT_VIOLATION"), f"failed: {reply.problem}")
            return
        _require_size(sent, budget)
        client = AsyncClient(connection, reach=Reach(calls=100))
        if reply.page is None or not reply.page.cursor:
            with contextlib.suppress(FollowedTooFar):
                whole = await client.whole(reply)
                require(_same(whole.data, case["value"]), f"whole is not what was: {str(whole.data)[:300]}")
            return
        with contextlib.suppress(FollowedTooFar):
            items = [one async for one in client.items("get", asked)]
            require(_same(items, _rows_in(case["value"])), f"{len(items)} items")


def _require_size(sent, budget):
    text = "\n".join(block.text for block in sent.content if hasattr(block, "text"))
    if budget.counter.unit == "bytes":
        size = len(sent.model_dump_json(by_alias=True, exclude_none=True))
    else:
        told = "" if sent.structured_content is None else dumps(sent.structured_content).decode()
        size = max(map(budget.counter.count, (text, told)))
    require(size <= budget.limit, f"{size} of {budget.limit}")


def _rows_in(value):
    """The rows of a value, wherever they stand."""
    said = json.loads(value) if isinstance(value, str) else value
    return max((one for one in said.values() if isinstance(one, list)), key=len) if isinstance(said, dict) else said


def _same(found, value):
    """Whether data came back; envelopes may put what is no object into a box, and JSON in a text is data."""
    said = [value, json.dumps(value)]
    with contextlib.suppress(TypeError, ValueError):
        said.append(json.loads(value))
    boxed = list(found.values()) if isinstance(found, dict) and len(found) == 1 else []
    return any(one == other for one in said for other in (found, *boxed))


# Documents

WORD = re.compile(r"[^\W_]+")
DOCUMENTS = {
    "a.md": "---\ntitle: One\nlicense: MIT\n---\n# One\n\nWords and *more* words.\n\n## Two\n\n- a\n- b\n",
    "a.html": "<html><head><title>T</title></head><body><h1>One</h1><p>Words &amp; more.</p><!-- x --></body></html>",
    "a.jsonl": '{"title": "One", "text": "words"}\n{"title": "Two", "text": "more"}\n',
    "a.txt": "Words.\n\nMore words.\n",
    "a.pdf": "%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\ntrailer << /Root 1 0 R >>\n",
}


TAGS = [
    # not `nav`, which is in no chunk
    *("h1", "h2", "h3", "h4", "p", "div", "aside", "article", "section", "main", "details"),
    *("table", "tr", "td", "dl", "dt", "dd", "pre", "ul", "li", "a", "blockquote"),
]
MARKS = ["# ", "## ", "- ", "> ", "| ", "```", "~~~", "---\n", "===\n", "", "", ".. _a:\n"]


def soup_case(chance):
    """A document whose tags or marks stand anywhere, and each of whose words is there once."""
    name = chance.choice(["a.html", "a.html", "a.md", "a.rst", "a.txt"])
    parts = []
    for number in range(chance.randrange(2, 16)):
        words = " ".join(f"w{number}x{n}" for n in range(chance.choice([0, 1, 2, 3, 60])))
        mark = f"<{chance.choice(['', '', '/'])}{chance.choice(TAGS)}>" if name == "a.html" else chance.choice(MARKS)
        parts.append(mark + words + chance.choice(["", ". ", "\n", "\n\n", "\n---\n", "\n```\n"]))
    return {"name": name, "text": "".join(parts)}


def document_case(chance):
    if chance.random() < 0.4:
        return soup_case(chance)
    name = chance.choice(sorted(DOCUMENTS))
    text = DOCUMENTS[name]
    for _ in range(chance.randrange(1, 8)):
        at = chance.randrange(len(text) + 1)
        text = (
            text[:at]
            + chance.choice(["", "\x00", "<", "&#0;", "---", "\ufeff", "{", "]" * 50, "x" * 300])
            + text[at + 2 :]
        )
    return {"name": name, "text": text}


def run_document(case):
    try:
        found = read_document(case["text"].encode(), name=case["name"])
    except (AerogramError, ValueError):
        return
    require(len(found.text) <= 20 * len(case["text"]) + 1_000, "a document grew")
    if not case["name"].endswith((".pdf", ".jsonl")):
        content = case["text"].encode()
        (document,) = read_file(File(case["name"], len(content), 0, content))
        held = "\n".join(f"{one.header}\n{one.text}" for one in chunks_of(document, best_counter()))
        lost = set(WORD.findall(document.source.text)) - set(WORD.findall(held))
        require(not lost, f"words in no chunk: {sorted(lost)[:5]}")


# A server

METHODS = ["GET", "GET", "GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"]
PATHS = [
    "/v1/search",
    "/v1/chunks/1",
    "/v1/vendors/x",
    "/v1/digests",
    "/v1/content/sha256:0",
    "/v1/health",
    "/v1/health/deep",
    "/",
    "/docs",
    "/openapi.json",
    "/page/api/shrink",
    "/page/api/check",
    "/page/api/errors/X",
    "/nothing",
    "/mcp",
]
NAMES_ASKED = [
    "q",
    "cursor",
    "page_size",
    "response_mode",
    "fields",
    "max_tokens",
    "after",
    "format",
    "hash",
    "ids",
    "path",
    "source_file",
    "query",
    "envelope",
]


KINDS = [*["application/json"] * 4, "text/plain", "", "application/octet-stream", "multipart/form-data; boundary=x"]
BODIES = [*[None] * 6, "\xff\xfe", "", "{", "\x00" * 20, "--x\r\n\xff"]
"""What is sent instead of JSON, a byte for each letter."""


def request_case(chance):
    asked = {name: str(chance.choice(ODD))[:300] for name in chance.sample(NAMES_ASKED, chance.randrange(4))}
    headers = {
        name: str(chance.choice(ODD))[:200] for name in chance.sample(["accept", "x-request-id", "if-none-match"], 1)
    }
    path = chance.choice(PATHS) + chance.choice(["", "", "", "/", "/../x", "%2e%2e", "//"])
    return {
        "method": chance.choice(METHODS),
        "path": path,
        "asked": asked,
        "headers": headers,
        "body": odd_value(chance),
        "kind": chance.choice(KINDS),
        "bytes": chance.choice(BODIES),
    }


def run_request(case, server):
    clean = {name: "".join(one for one in value if 32 <= ord(one) < 127) for name, value in case["headers"].items()}
    raw = case.get("bytes")
    sent = dumps(case["body"]) if raw is None else raw.encode("latin-1")
    body = sent if case["method"] in ("POST", "PUT", "PATCH") else b""
    if body:
        clean["content-type"] = case.get("kind", "application/json")
    answer = server.request(case["method"], case["path"], params=case["asked"], headers=clean, content=body)
    require(answer.status_code < 500 or answer.status_code == 503, f"{answer.status_code} {answer.text[:200]}")
    require("Traceback" not in answer.text, "a trace was sent")
    if answer.status_code >= 400 and answer.content and case["path"] != "/mcp":
        require(answer.headers["content-type"].partition(";")[0].endswith("json"), f"no shape: {answer.text[:200]}")


CALLS = {
    "tools/call": {
        "name": "semantic_search",
        "arguments": {"query": "token", "page_size": 2, "response_mode": "ids_only"},
    },
    "resources/read": {"uri": "aerogram://documents"},
    "prompts/get": {"name": "brief_on_vendor", "arguments": {"vendor": "x"}},
    "tools/list": {},
    "resources/list": {},
    "completion/complete": {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": "b"}},
}


def message_case(chance):
    method = chance.choice(sorted(CALLS))
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": mutated(chance, CALLS[method], 0.3)}
    return mutated(chance, message, 0.05)


def run_message(case, server):
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    answer = server.request("POST", "/mcp", headers=headers, content=dumps(case))
    require(answer.status_code < 500 or answer.status_code == 503, f"{answer.status_code} {answer.text[:200]}")
    require("Traceback" not in answer.text and "hunter2" not in answer.text, "a trace was sent")
    if answer.status_code == 200 and answer.content:
        require(answer.json().get("jsonrpc") == "2.0", f"no JSON-RPC: {answer.text[:200]}")


# Results of servers behind a gateway

TOKEN = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
"""A secret that its looks tell, whatever becomes of the names around it."""
RESULT = {
    "content": [
        {"type": "text", "text": "some words"},
        {"type": "text", "text": json.dumps([{"id": number, "name": "row"} for number in range(40)])},
        {"type": "resource_link", "uri": "a://b", "name": "link"},
        {"type": "resource", "resource": {"uri": "a://c", "text": "inside"}},
    ],
    "structuredContent": {"rows": [{"id": 1, "key": TOKEN}], "text": f"use {TOKEN}"},
    "isError": False,
    "_meta": {"a": 1},
}


def wrapped_case(chance):
    result = mutated(chance, RESULT)
    result = result if isinstance(result, dict) else {"content": result}
    if not isinstance(result.get("_meta", {}), dict):
        del result["_meta"]  # as the gateway does when it hears it
    return {"result": result, "budget": chance.choice([None, 200, 2000]), "redact": chance.random() < 0.5}


def run_wrapped(case):
    steps = (REDACTION,) if case["redact"] else ()
    tools = Tools(Contract(dialect="bare", budget=case["budget"], sanitizers=steps, archive=Archive.in_memory()))

    async def invoke(_):
        return case["result"]

    sent = asyncio.run(tools.call("some", {}, Caller(), invoke))
    if is_complete(case["result"]):
        blocks = sent.get("content")
        require(isinstance(blocks, list) and all(isinstance(one, dict) for one in blocks), "no client can read it")
        texts = [one.get("text") for one in blocks if one.get("type") == "text"]
        require(all(isinstance(one, str) for one in texts), "a text is none")
        require(not any("INTERNAL_ERROR" in one for one in texts), "the gateway has failed")
    require(not case["redact"] or TOKEN not in json.dumps(sent), "a secret was sent")


@dataclass(frozen=True)
class Target:
    """A way to make cases, and a way to try one; `needs_server` is tried against a real process."""

    make: object
    run: object
    needs_server: bool = False


TARGETS = {
    "body": Target(body_case, run_body),
    "answer": Target(answer_case, run_answer),
    "value": Target(recipe, run_value),
    "secret": Target(secret_case, run_secret),
    "cursor": Target(cursor_case, run_cursor),
    "handle": Target(handle_case, run_handle),
    "fit": Target(fit_case, run_fit),
    "document": Target(document_case, run_document),
    "wrapped": Target(wrapped_case, run_wrapped),
    "request": Target(request_case, run_request, needs_server=True),
    "message": Target(message_case, run_message, needs_server=True),
}
