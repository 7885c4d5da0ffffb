"""Routes: a sweep over a Starlette or FastAPI application, in this process: every route, in each of its shapes."""

from __future__ import annotations

import contextlib
import itertools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from aerogram.client import CONTENT
from aerogram.codes import TABLE
from aerogram.controls import CONTROLS
from aerogram.dialects import dialect as dialect_named
from aerogram.errors import AerogramError
from aerogram.jsontext import dumps
from aerogram.reading import read
from aerogram.reply import Reply
from aerogram.testing import asgi
from aerogram.testing.inputs import example_of, explain_mismatch, spoiled
from aerogram.testing.leaks import InjectedFault, leaks_in
from aerogram.testing.observation import Complaint, heard, observe
from aerogram.testing.report import Report
from aerogram.testing.settings import Settings
from aerogram.testing.trails import Trail, is_refusal
from aerogram.tokens import Budget
from aerogram.wire.exchange import Layer
from aerogram.wire.negotiation import CURRENT, LEGACY, PARAMETER, PROBLEM, Choice, Versions
from aerogram.wire.routes import Entry

__all__ = ["sweep_app"]

NOWHERE: Final = "/aerogram-sweep/nowhere"
UNHEARD_OF: Final = "image/x-aerogram-sweep"
_FAULT: Final = "aerogram.sweep.fault"
_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})
_FAILURES: Final = 400
_REDIRECTS: Final = 300
_NO_BODY: Final = frozenset({204, 304})
_NOT_ACCEPTABLE: Final = 406
_CRASH: Final = 500
_LONGEST_GUESSES: Final = ("1", "example", "6f1e4a52-3c1f-4b6c-9a55-0f5f5a1f0c11", "1.5")


async def sweep_app(app: Any, settings: Settings) -> Report:
    """Visit every route of an application."""
    async with asgi.running(app) as state:
        await asgi.send(app, "GET", NOWHERE, state=state)  # an application builds itself at its first request
        sweep = _Sweep(app, settings, state)
        with sweep.faulty():
            await sweep.everything()
    return sweep.report


@dataclass(frozen=True)
class Ask:
    """One request: which shape is asked for, and how."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: bytes = b""
    accept: str = ""
    is_faulty: bool = False
    how: str = "?envelope=v2"

    def choice(self, versions: Versions) -> Choice:
        """What the negotiation comes to."""
        asked = self.query.get(PARAMETER)
        return versions.negotiate([] if asked is None else [asked], self.accept)


class _Sweep:
    """One application."""

    _numbers = itertools.count(1)

    def __init__(self, app: Any, settings: Settings, state: Mapping[str, Any]) -> None:
        self.app, self.settings, self.state = app, settings, state
        self.report = Report()
        layer = _layer(app.middleware_stack)
        self.is_installed = layer is not None
        self.versions = settings.versions or (layer.versions if layer is not None else Versions())
        self.entries = list(_entries(app, self.versions))
        self.document: Mapping[str, Any] = app.openapi() if hasattr(app, "openapi") else {}

    async def everything(self) -> None:
        """Every route, and what is not there."""
        for shape in _shapes(self.versions):
            await self.ask("unknown route", shape.how, replace(shape, path=NOWHERE), None, (404,))
        foreign: str | None = None
        for entry in self.entries:
            for method in sorted(set(entry.methods or ()) - {"HEAD"}):
                route = _Route(self, entry, method)
                if not {route.name, entry.terms.path} & set(self.settings.skip):
                    foreign = await route.visit(foreign) or foreign

    @contextlib.contextmanager
    def faulty(self) -> Iterator[None]:
        """While this lasts, a marked request meets an exception where its handler would be."""
        router = self.app.router
        held = router.middleware_stack

        async def stumble(scope: Any, receive: Any, send: Any) -> None:
            if scope.get("state", {}).get(_FAULT):
                raise InjectedFault
            await held(scope, receive, send)

        router.middleware_stack = stumble
        try:
            yield
        finally:
            router.middleware_stack = held

    async def ask(
        self, target: str, probe: str, ask: Ask, entry: Entry | None, expected: tuple[int, ...] = ()
    ) -> tuple[Reply[Any], asgi.Response]:
        """One request, its answer checked."""
        request_id = f"sweep-{next(self._numbers)}"
        headers = {**self.settings.headers, "x-request-id": request_id}
        headers |= {"accept": ask.accept} if ask.accept else {}
        headers |= {"content-type": "application/json"} if ask.body else {}
        state = {**self.state, **({_FAULT: True} if ask.is_faulty else {})}
        response = await asgi.send(
            self.app, ask.method, ask.path, query=ask.query, headers=headers, body=ask.body, state=state,
            patience=self.settings.patience,
        )  # fmt: skip
        answer = _Answer(self, ask, response, entry)
        self.report.visit(target, probe, answer.outcome, succeeded=answer.reply.problem is None)
        for promise, evidence in answer.complaints(request_id):
            self.report.fail(target, probe, promise, evidence)
        if expected and response.status_code not in expected:
            self.report.fail(target, probe, "status", f"{response.status_code}, not {expected[0]}")
        return answer.reply, response

    async def send(self, target: str, arguments: Mapping[str, Any]) -> Reply[Any]:
        """What a reply leads to."""
        ask = Ask("GET", target.removeprefix("GET "), {PARAMETER: CURRENT, **arguments})
        entry = next((one for one in self.entries if one.pattern.match(ask.path)), None)
        if entry is None:
            return Reply.failed("NOT_FOUND", f"the reply leads to {target}, and there is no such route")
        return (await self.ask(f"GET {entry.terms.path}", "retrieval", ask, entry))[0]


def _layer(stack: Any) -> Layer | None:
    """The layer of `install` around an application, if it is there."""
    while stack is not None and not isinstance(stack, Layer):
        stack = getattr(stack, "app", None)
    return stack


def _entries(app: Any, versions: Versions) -> Iterator[Entry]:
    if hasattr(app, "openapi"):
        from aerogram.fastapi import entries_of
    else:
        from aerogram.starlette import entries_of
    yield from entries_of(app.routes, versions, "")


def _shapes(versions: Versions) -> Iterator[Ask]:
    """The ways to ask: by the query, by Accept, not at all, and for problem details."""
    vendored = versions.media_type(CURRENT)
    yield Ask("GET", "", {PARAMETER: CURRENT})
    yield Ask("GET", "", accept=vendored, how=vendored)
    yield Ask("GET", "", how="nothing asked for")
    yield Ask("GET", "", accept=f"{PROBLEM}, application/json", how=PROBLEM)


# routes


class _Route:
    """A route with one of its methods, and an example of its arguments."""

    def __init__(self, sweep: _Sweep, entry: Entry, method: str) -> None:
        self.sweep, self.entry, self.method = sweep, entry, method
        self.name = f"{method} {entry.terms.path}"
        self.described = sweep.document.get("paths", {}).get(entry.terms.path, {}).get(method.lower(), {})
        self.given = sweep.settings.examples_of(self.name, entry.terms.path)
        self.arguments: Mapping[str, Any] = self.given[0] if self.given else self._derived()
        self.controls = self._controls()

    def _controls(self) -> frozenset[str]:
        own = {one["name"] for one in self._parameters() if one.get("in") == "query"}
        return (frozenset(CONTROLS) & own) | (self.entry.terms.controls if self.sweep.is_installed else frozenset())

    def _parameters(self) -> list[Mapping[str, Any]]:
        return [_resolved(one, self.sweep.document) for one in self.described.get("parameters", ())]

    def _body_schema(self) -> Mapping[str, Any]:
        body = _resolved(self.described.get("requestBody", {}), self.sweep.document)
        found = _resolved(body.get("content", {}).get("application/json", {}).get("schema", {}), self.sweep.document)
        return found if isinstance(found, Mapping) else {}

    def _derived(self) -> dict[str, Any]:
        """Arguments that satisfy what is known of the route."""
        root = self.sweep.document
        found = {
            one["name"]: example_of(one.get("schema"), root)
            for one in self._parameters()
            if one.get("required") and one.get("in") in ("path", "query")
        }
        body = example_of(self._body_schema(), root) if self._body_schema() else {}
        for name in re.findall(r"\{(\w+)", self.entry.terms.path):
            found[name] = self._guess(name, found)
        return {**found, **(body if isinstance(body, Mapping) else {})}

    def _guess(self, name: str, known: Mapping[str, Any]) -> Any:
        """A value for a parameter of the path that its pattern takes."""
        others = re.findall(r"\{(\w+)", self.entry.terms.path)
        for guess in (*([known[name]] if name in known else ()), *_LONGEST_GUESSES):
            path = _filled(self.entry.terms.path, {**dict.fromkeys(others, "1"), **known, name: guess})
            if self.entry.pattern.match(path):
                return guess
        return "example"

    def request(self, arguments: Mapping[str, Any], shape: Ask | None = None) -> Ask:
        """Arguments as a request: those in the path, then those in the query or the body."""
        shape = shape or Ask(self.method, "", {PARAMETER: CURRENT})
        in_path = set(re.findall(r"\{(\w+)", self.entry.terms.path))
        in_query = {one["name"] for one in self._parameters() if one.get("in") == "query"} | self.controls
        rest = {name: value for name, value in arguments.items() if name not in in_path}
        if self.method not in _WITH_BODY:
            in_query = set(rest)
        query = {name: value for name, value in rest.items() if name in in_query}
        body = {name: value for name, value in rest.items() if name not in in_query}
        sent = dumps(body) if self.method in _WITH_BODY else b""
        return replace(shape, method=self.method, path=_filled(self.entry.terms.path, arguments), body=sent,
                       query={**shape.query, **query})  # fmt: skip

    async def ask(self, probe: str, arguments: Mapping[str, Any]) -> Reply[Any]:
        """A request in the newer envelope, its answer checked."""
        return (await self._ask(probe, self.request(arguments)))[0]

    async def _ask(self, probe: str, ask: Ask, *expected: int) -> tuple[Reply[Any], asgi.Response]:
        return await self.sweep.ask(self.name, probe, ask, self.entry, expected)

    async def visit(self, foreign: str | None) -> str | None:
        """Everything that can be asked of the route; gives a cursor of its own, if it has any."""
        settings, report = self.sweep.settings, self.sweep.report
        contract = settings.contract
        trail = Trail(self, report, self.sweep.send, CONTENT, contract.cursors if contract else None, foreign)
        is_json = True
        for example in self.given or [self.arguments]:
            self.arguments = example
            first, response = await self._ask("example", self.request(example))
            is_json = response.is_json and response.is_whole and first.problem is None
            if first.problem is not None and self.given and first.problem.kind != "rate_limit":
                report.fail(self.name, "example", "example", f"{first.problem.code}: {first.problem.message}")
            elif is_json and self.entry.terms.migrated:
                await trail.follow(first)
        for shape in _shapes(self.sweep.versions):
            await self._ask(f"example, {shape.how}", self.request(self.arguments, shape))
        if self.entry.terms.migrated:
            await self._errors(is_json)
        await self._burst(settings.bursts.get(self.name, 0))
        return trail.cursor

    async def _errors(self, is_json: bool) -> None:
        """Every source of errors that this route has."""
        settings = self.sweep.settings
        for shape in _shapes(self.sweep.versions):
            good = self.request(self.arguments, shape)
            await self._ask(f"injected fault, {shape.how}", replace(good, is_faulty=True), _CRASH)
            wrong = self._wrong_method()
            if wrong is not None:
                await self._ask(f"wrong method, {shape.how}", replace(good, method=wrong, body=b""), 405)
        await self._ask("unclear envelope", self.request({**self.arguments, PARAMETER: "v9"}), 400)
        if is_json:
            await self._unacceptable()
        await self._malformed_body()
        await self._wrong_arguments()
        if self.name in settings.faults:
            reply = await self.ask("marked fault", settings.faults[self.name])
            if reply.problem is None:
                self.sweep.report.fail(self.name, "marked fault", "mark", "it should fail, and did not")

    def _wrong_method(self) -> str | None:
        path = _filled(self.entry.terms.path, self.arguments)
        taken = {name for one in self.sweep.entries if one.pattern.match(path) for name in one.methods or _METHODS}
        return next((method for method in _METHODS if method not in taken), None)

    async def _unacceptable(self) -> None:
        ask = replace(self.request(self.arguments, Ask(self.method, "")), accept=UNHEARD_OF)
        reply, response = await self._ask("unacceptable Accept", ask)
        named = f"{reply.problem.details}" if reply.problem else ""
        if response.status_code != _NOT_ACCEPTABLE:
            self._fail("unacceptable Accept", "negotiation", f"the status is {response.status_code}")
        elif "application/json" not in named and "application/json" not in response.text:
            self._fail("unacceptable Accept", "negotiation", f"the list is missing: {response.text}")

    async def _malformed_body(self) -> None:
        if self.method not in _WITH_BODY:
            return
        reply, response = await self._ask("malformed body", replace(self.request(self.arguments), body=b'{"a": '))
        if reply.problem is not None and response.status_code >= _CRASH:
            self._fail("malformed body", "validation", f"it is called {reply.problem.code}, not a fault of the caller")
        elif reply.problem is None and self._body_schema():
            self._fail("malformed body", "validation", "it was taken")

    async def _wrong_arguments(self) -> None:
        known = self._parameters()
        query = {
            "properties": {one["name"]: one.get("schema", {}) for one in known if _is_own(one)},
            "required": [one["name"] for one in known if one.get("in") == "query" and one.get("required")],
        }
        for schema in (query, self._body_schema()):
            for name, arguments in spoiled(schema, self.arguments, self.sweep.document):
                probe = f"wrong {name}"
                reply, response = await self._ask(probe, self.request(arguments))
                if reply.problem is None:
                    self._fail(probe, "validation", f"{arguments} was taken")
                elif reply.problem.kind != "validation" or response.status_code >= _CRASH:
                    self._fail(probe, "validation", f"{arguments} gives {response.status_code} {reply.problem.code}")
                elif name not in response.text:
                    self._fail(probe, "validation", f"nothing names {name}: {reply.problem.message}")

    async def _burst(self, most: int) -> None:
        for number in range(1, most + 1):
            problem = (await self.ask("burst", self.arguments)).problem
            if problem is not None and problem.kind == "rate_limit":
                if problem.retry_after is None:
                    self._fail("burst", "rate-limit", f"request {number} is refused without a time")
                return
        if most:
            self._fail("burst", "rate-limit", f"{most} requests at once met no limit")

    def _fail(self, probe: str, promise: str, evidence: str) -> None:
        self.sweep.report.fail(self.name, probe, promise, evidence)


def _is_own(parameter: Mapping[str, Any]) -> bool:
    """Whether a parameter of path or query is the handler's, and has a type that a text may not have."""
    is_typed = "string" not in str(parameter.get("schema", {}).get("type", parameter.get("schema", {}).get("anyOf")))
    return parameter.get("in") in ("path", "query") and parameter["name"] not in (*CONTROLS, PARAMETER) and is_typed


def _resolved(schema: Any, document: Mapping[str, Any]) -> Any:
    while isinstance(schema, Mapping) and "$ref" in schema:
        found: Any = document
        for step in schema["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        schema = found
    return schema


def _filled(path: str, arguments: Mapping[str, Any]) -> str:
    return re.sub(r"\{(\w+)[^}]*\}", lambda found: str(arguments.get(found[1], "example")), path)


# answers


class _Answer:
    """A response, and what is wrong with it."""

    def __init__(self, sweep: _Sweep, ask: Ask, response: asgi.Response, entry: Entry | None) -> None:
        self.sweep, self.ask, self.response, self.entry = sweep, ask, response, entry
        self.choice = ask.choice(sweep.versions)
        self.has_failed = response.status_code >= _FAILURES
        self.is_migrated = entry is None or entry.terms.migrated
        self.found: list[Complaint] = []
        self.is_ours = self.is_migrated and (self.has_failed or self._is_json_success)
        self.is_problem = self.has_failed and response.media_type == PROBLEM
        self.version = None if self.is_problem else self.choice.version
        self.reply = self._read()

    @property
    def _is_json_success(self) -> bool:
        """Files, streams, redirects and other formats pass as they are."""
        response = self.response
        return response.is_json and response.is_whole and response.status_code < _REDIRECTS and bool(response.content)

    @property
    def outcome(self) -> str:
        """The answer in a word or two."""
        if not self.response.status_code:
            return "no answer"
        code = f" {self.reply.problem.code}" if self.reply.problem else ""
        return f"{self.response.status_code}{code}"

    @property
    def _dialect(self) -> Any:
        versions = self.sweep.versions
        if self.is_problem:
            return versions.problem
        return versions.current if self.version == CURRENT else versions.legacy

    def _read(self) -> Reply[Any]:
        is_foreign = not self.is_ours or (self.version == LEGACY and dialect_named(self._dialect).name == "bare")
        if self.response.status_code and not is_foreign:
            reply, self.found = heard(self.response, observe(self.response), self._dialect)
            if reply is not None:
                return reply
        try:
            return read(self.response) if self.response.status_code else Reply.failed("INTERNAL_ERROR", "no answer")
        except AerogramError:
            return Reply(None)

    def complaints(self, request_id: str) -> Iterator[Complaint]:
        """Every promise that the answer breaks."""
        response = self.response
        if not response.status_code or (response.is_json and not response.is_complete):
            yield "answer", f"{type(response.error).__name__}: {response.error}" if response.error else "nothing came"
            return
        yield from self.found
        if self.has_failed:
            yield from (("leak", leak) for leak in leaks_in(self._words, self.sweep.settings.secrets))
        else:
            yield from (("leak", f"it says {one!r}") for one in self.sweep.settings.secrets if one in self._words)
        if self.is_ours:
            yield from self._about_headers(request_id)
            yield from self._about_problem()
            yield from self._about_size()
            yield from self._about_schema()
        elif not self.is_migrated and self.sweep.is_installed:
            yield from self._about_version(LEGACY)

    @property
    def _words(self) -> str:
        return f"{self.response.text} {self.response.headers}"

    def _about_headers(self, request_id: str) -> Iterator[Complaint]:
        headers = self.response.headers
        yield from self._about_version(self.version)
        if "accept" not in headers.get("vary", "").lower():
            yield "vary", f"Vary is {headers.get('vary')!r}, and the answer depends on Accept"
        places = {"X-Request-Id": headers.get("x-request-id")}
        if self.version != LEGACY:
            places["the body"] = self.reply.request_id
        wrong = {place: found for place, found in places.items() if found != request_id}
        if wrong:
            said = ", ".join(f"{place} has {found}" for place, found in wrong.items())
            yield "request-id", f"{request_id} was sent, and {said}"
        wanted, given = self.choice.media_type, self.response.media_type
        if wanted in self.ask.accept and self.version == CURRENT and wanted != given:
            yield "version", f"{wanted} was asked for, and the type is {given}"

    def _about_version(self, expected: str | None) -> Iterator[Complaint]:
        said = self.response.headers.get("x-envelope-version")
        if said != expected:
            yield "version", f"X-Envelope-Version is {said}, and {expected or 'no envelope'} was to be served"

    def _about_problem(self) -> Iterator[Complaint]:
        problem, status = self.reply.problem, self.response.status_code
        if problem is None or self.version == LEGACY:
            return
        above = TABLE.of_status(status)
        if status != problem.status and above not in _names_of(problem.code):
            yield "status", f"{problem.code} came with {status}, and its status is {problem.status}"
        told = self.response.headers.get("retry-after")
        asked = observe(self.response).body
        wanted = (
            None if problem.retry_after is None or "retry_after" not in str(asked) else math.ceil(problem.retry_after)
        )
        if wanted is not None and told != str(wanted):
            yield "retry-after", f"the problem says {problem.retry_after:g} s, and Retry-After is {told}"

    def _about_size(self) -> Iterator[Complaint]:
        terms = self.entry.terms if self.entry else None
        limit: Budget | None = None
        if terms is not None and self.version == CURRENT:
            limit = self.sweep.settings.limit(terms.operation, self.ask.query)
        if limit is None or is_refusal(self.reply):
            return
        size = limit.counter.count(self.response.text)
        if size > limit.limit:
            yield "budget", f"it has {size} {limit.counter.unit}, and the budget is {limit.limit}"

    def _about_schema(self) -> Iterator[Complaint]:
        """What the application's own document says about such an answer."""
        document, path = self.sweep.document, self.entry.terms.path if self.entry else ""
        described = document.get("paths", {}).get(path, {}).get(self.ask.method.lower(), {}).get("responses", {})
        answer = described.get(str(self.response.status_code), {})
        schema = answer.get("content", {}).get(self._described_type, {}).get("schema")
        if schema is None or not self.response.is_json:
            return
        wrong = explain_mismatch({**schema, "components": document.get("components", {})}, observe(self.response).body)
        if wrong is not None:
            yield "schema", f"the OpenAPI document describes something else: {wrong}"

    @property
    def _described_type(self) -> str:
        """Under which media type a document describes the answer: it has no other way to tell two shapes apart."""
        return self.sweep.versions.media_type(CURRENT) if self.version == CURRENT else self.response.media_type


def _names_of(code: str) -> set[str]:
    return {one.name for one in TABLE.lineage(code)}
