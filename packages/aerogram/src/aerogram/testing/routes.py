"""Routes: a sweep over a Starlette or FastAPI application, in this process: every route, in each of its shapes."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import parse_qsl

from aerogram._http.exchange import Layer
from aerogram._http.negotiation import CURRENT, PARAMETER, PROBLEM, Versions
from aerogram._http.routes import CONTENT, RouteEntry
from aerogram.content.jsontext import dumps
from aerogram.reply import Reply
from aerogram.shape.controls import CONTROLS
from aerogram.testing.asgi import Response, running, send
from aerogram.testing.inputs import example_of, number_near, spoil_arguments
from aerogram.testing.leaks import InjectedFault
from aerogram.testing.report import Report
from aerogram.testing.responses import KnownApp, ProbeRequest, ResponseCheck
from aerogram.testing.settings import SweepSettings
from aerogram.testing.trails import LIMITED, PAGE_SIZES, FollowUpChecks

__all__ = ["sweep_app"]

NOWHERE: Final = "/aerogram-sweep/nowhere"
UNHEARD_OF: Final = "image/x-aerogram-sweep"
_FAULT: Final = "aerogram.sweep.fault"
_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})
_NOT_ACCEPTABLE: Final = 406
_CRASH: Final = 500
_GUESSES: Final = ("1", "example", "6f1e4a52-3c1f-4b6c-9a55-0f5f5a1f0c11", "1.5")


async def sweep_app(app: Any, settings: SweepSettings) -> Report:
    """Visit every route of an application."""
    async with running(app) as state:
        await send(app, "GET", NOWHERE, state=state)  # an application builds itself at its first request
        sweep = _AppSweep(app, settings, state)
        with sweep.faulty():
            await sweep.run()
    return sweep.report


class _AppSweep:
    """One application."""

    _numbers = itertools.count(1)

    def __init__(self, app: Any, settings: SweepSettings, state: Mapping[str, Any]) -> None:
        self.app, self.settings, self.state = app, settings, state
        self.report = Report()
        layer = _layer(app.middleware_stack)
        self.versions = settings.versions or (layer.versions if layer is not None else Versions())
        self.entries = list(_entries(app, self.versions))
        self.document: Mapping[str, Any] = app.openapi() if hasattr(app, "openapi") else {}
        self.place = KnownApp(settings, self.versions, self.document, layer is not None)

    async def run(self) -> None:
        """Every route, and what is not there."""
        routes = {f"{method} {one.terms.path}" for one in self.entries for method in one.methods or ()}
        self.report.ignore(self.settings.strays(routes, {one.terms.path for one in self.entries}, "route"))
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

        async def raise_fault(scope: Any, receive: Any, send: Any) -> None:
            if scope.get("state", {}).get(_FAULT):
                raise InjectedFault
            await held(scope, receive, send)

        router.middleware_stack = raise_fault
        try:
            yield
        finally:
            router.middleware_stack = held

    async def ask(
        self, target: str, probe: str, ask: ProbeRequest, entry: RouteEntry | None, expected: tuple[int, ...] = ()
    ) -> tuple[Reply[Any], Response]:
        """One request, its answer checked."""
        request_id = f"sweep-{next(self._numbers)}"
        headers = {**self.settings.headers, "x-request-id": request_id}
        headers |= {"accept": ask.accept} if ask.accept else {}
        headers |= {"content-type": "application/json"} if ask.body else {}
        state = {**self.state, **({_FAULT: True} if ask.is_faulty else {})}
        response = await send(
            self.app, ask.method, ask.path, query=ask.query, headers=headers, body=ask.body, state=state,
            patience=self.settings.patience,
        )  # fmt: skip
        answer = ResponseCheck(self.place, ask, response, entry)
        self.report.visit(target, probe, answer.outcome, succeeded=answer.reply.problem is None)
        for promise, evidence in answer.complaints(request_id):
            self.report.fail(target, probe, promise, evidence)
        if expected and response.status_code not in expected:
            self.report.fail(target, probe, "status", f"{response.status_code}, not {expected[0]}")
        return answer.reply, response

    async def send(self, target: str, arguments: Mapping[str, Any]) -> Reply[Any]:
        """What a reply leads to."""
        path, _, query = target.removeprefix("GET ").partition("?")
        ask = ProbeRequest(
            "GET", path, {PARAMETER: CURRENT, **dict(parse_qsl(query, keep_blank_values=True)), **arguments}
        )
        entry = next((one for one in self.entries if one.pattern.match(ask.path)), None)
        if entry is None:
            return Reply.failed("NOT_FOUND", f"the reply leads to {target}, and there is no such route")
        probe = "linked page" if query else "retrieval"
        return (await self.ask(f"GET {entry.terms.path}", probe, ask, entry))[0]


def _layer(stack: Any) -> Layer | None:
    """The layer of `install` around an application, if it is there."""
    while stack is not None and not isinstance(stack, Layer):
        stack = getattr(stack, "app", None)
    return stack


def _entries(app: Any, versions: Versions) -> Iterator[RouteEntry]:
    if hasattr(app, "openapi"):
        from aerogram.fastapi import entries_of
    else:
        from aerogram.starlette import entries_of
    yield from entries_of(app.routes, versions, "")


def _shapes(versions: Versions) -> Iterator[ProbeRequest]:
    """The ways to ask: by the query, by Accept, not at all, and for problem details."""
    vendored = versions.media_type(CURRENT)
    yield ProbeRequest("GET", "", {PARAMETER: CURRENT})
    yield ProbeRequest("GET", "", accept=vendored, how=vendored)
    yield ProbeRequest("GET", "", how="nothing asked for")
    yield ProbeRequest("GET", "", accept=f"{PROBLEM}, application/json", how=PROBLEM)


# routes


class _Route:
    """A route with one of its methods, and an example of its arguments."""

    def __init__(self, sweep: _AppSweep, entry: RouteEntry, method: str) -> None:
        self.sweep, self.entry, self.method = sweep, entry, method
        self.name = f"{method} {entry.terms.path}"
        self.described = sweep.document.get("paths", {}).get(entry.terms.path, {}).get(method.lower(), {})
        self.given = sweep.settings.examples_of(self.name, entry.terms.path)
        self.arguments: Mapping[str, Any] = self.given[0] if self.given else self._derive_arguments()
        self.controls = self._controls()

    def _controls(self) -> frozenset[str]:
        own = {one["name"] for one in self._parameters() if one.get("in") == "query"}
        return (frozenset(CONTROLS) & own) | (
            self.entry.terms.controls if self.sweep.place.is_installed else frozenset()
        )

    def _parameters(self) -> list[Mapping[str, Any]]:
        return [_resolve(one, self.sweep.document) for one in self.described.get("parameters", ())]

    def _body_schema(self) -> Mapping[str, Any]:
        body = _resolve(self.described.get("requestBody", {}), self.sweep.document)
        found = _resolve(body.get("content", {}).get("application/json", {}).get("schema", {}), self.sweep.document)
        return found if isinstance(found, Mapping) else {}

    def _derive_arguments(self) -> dict[str, Any]:
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
        for guess in (*([known[name]] if name in known else ()), *_GUESSES):
            path = _fill(self.entry.terms.path, {**dict.fromkeys(others, "1"), **known, name: guess})
            if self.entry.pattern.match(path):
                return guess
        return "example"

    def request(self, arguments: Mapping[str, Any], shape: ProbeRequest | None = None) -> ProbeRequest:
        """Arguments as a request: those in the path, then those in the query or the body."""
        shape = shape or ProbeRequest(self.method, "", {PARAMETER: CURRENT})
        in_path = set(re.findall(r"\{(\w+)", self.entry.terms.path))
        in_query = {one["name"] for one in self._parameters() if one.get("in") == "query"} | self.controls
        rest = {name: value for name, value in arguments.items() if name not in in_path}
        if self.method not in _WITH_BODY:
            in_query = set(rest)
        query = {name: value for name, value in rest.items() if name in in_query}
        query = {name: dumps(one).decode() if isinstance(one, Mapping) else one for name, one in query.items()}
        body = {name: value for name, value in rest.items() if name not in in_query}
        sent = dumps(body) if self.method in _WITH_BODY else b""
        return replace(shape, method=self.method, path=_fill(self.entry.terms.path, arguments), body=sent,
                       query={**shape.query, **query})  # fmt: skip

    def page_size_near(self, wanted: int) -> int | None:
        """The nearest page size that the document allows."""
        described = next((one for one in self._parameters() if one["name"] == "page_size"), {})
        return number_near(described.get("schema"), wanted, PAGE_SIZES, self.sweep.document)

    async def ask(self, probe: str, arguments: Mapping[str, Any]) -> Reply[Any]:
        """A request in the newer envelope, its answer checked."""
        return (await self._ask(probe, self.request(arguments)))[0]

    async def _ask(self, probe: str, ask: ProbeRequest, *expected: int) -> tuple[Reply[Any], Response]:
        return await self.sweep.ask(self.name, probe, ask, self.entry, expected)

    async def visit(self, foreign: str | None) -> str | None:
        """Everything that can be asked of the route; gives a cursor of its own, if it has any."""
        settings, report = self.sweep.settings, self.sweep.report
        contract = settings.contract
        trail = FollowUpChecks(self, report, self.sweep.send, CONTENT, contract.cursors if contract else None, foreign)
        is_json = True
        for example in self.given or [self.arguments]:
            self.arguments = example
            first, response = await self._ask("example", self.request(example))
            is_json = response.is_json and response.is_whole and first.problem is None
            if first.problem is not None and self.given and first.problem.kind != LIMITED:
                report.fail(self.name, "example", "example", f"{first.problem.code}: {first.problem.message}")
            elif is_json and self.entry.terms.migrated:
                await trail.follow(first)
        for shape in _shapes(self.sweep.versions):
            await self._ask(f"example, {shape.how}", self.request(self.arguments, shape))
        if self.entry.terms.migrated:
            await self._probe_errors(is_json)
        await self._probe_burst(settings.bursts.get(self.name, 0))
        return trail.cursor

    async def _probe_errors(self, is_json: bool) -> None:
        """Every source of errors that this route has."""
        settings = self.sweep.settings
        for shape in _shapes(self.sweep.versions):
            good = self.request(self.arguments, shape)
            await self._ask(f"injected fault, {shape.how}", replace(good, is_faulty=True), _CRASH)
            wrong = self._wrong_method()
            if wrong is not None:
                await self._ask(f"wrong method, {shape.how}", replace(good, method=wrong, body=b""), 405)
        if is_json:
            unclear = ProbeRequest(self.method, "", {PARAMETER: "v9"})
            await self._ask("unclear envelope", self.request(self.arguments, unclear), 400)
            await self._probe_unacceptable()
        await self._probe_malformed_body()
        await self._probe_wrong_arguments()
        if self.name in settings.faults:
            reply = await self.ask("marked fault", settings.faults[self.name])
            if reply.problem is None:
                self.sweep.report.fail(self.name, "marked fault", "mark", "it should fail, and did not")

    def _wrong_method(self) -> str | None:
        path = _fill(self.entry.terms.path, self.arguments)
        taken = {name for one in self.sweep.entries if one.pattern.match(path) for name in one.methods or _METHODS}
        return next((method for method in _METHODS if method not in taken), None)

    async def _probe_unacceptable(self) -> None:
        ask = replace(self.request(self.arguments, ProbeRequest(self.method, "")), accept=UNHEARD_OF)
        reply, response = await self._ask("unacceptable Accept", ask)
        named = f"{reply.problem.details}" if reply.problem else ""
        if response.status_code != _NOT_ACCEPTABLE:
            self._fail("unacceptable Accept", "negotiation", f"the status is {response.status_code}")
        elif "application/json" not in named and "application/json" not in response.text:
            self._fail("unacceptable Accept", "negotiation", f"the list is missing: {response.text}")

    async def _probe_malformed_body(self) -> None:
        if self.method not in _WITH_BODY:
            return
        reply, response = await self._ask("malformed body", replace(self.request(self.arguments), body=b'{"a": '))
        if reply.problem is not None and response.status_code >= _CRASH:
            self._fail("malformed body", "validation", f"it is called {reply.problem.code}, not a fault of the caller")
        elif reply.problem is None and self._body_schema():
            self._fail("malformed body", "validation", "it was taken")

    async def _probe_wrong_arguments(self) -> None:
        known = self._parameters()
        query = {
            "properties": {one["name"]: one.get("schema", {}) for one in known if _is_own(one)},
            "required": [one["name"] for one in known if one.get("in") == "query" and one.get("required")],
        }
        for schema in (query, self._body_schema()):
            for name, arguments in spoil_arguments(schema, self.arguments, self.sweep.document):
                probe = f"wrong {name}"
                reply, response = await self._ask(probe, self.request(arguments))
                if reply.problem is None:
                    self._fail(probe, "validation", f"{arguments} was taken")
                elif reply.problem.kind == LIMITED:
                    return
                elif reply.problem.kind != "validation" or response.status_code >= _CRASH:
                    self._fail(probe, "validation", f"{arguments} gives {response.status_code} {reply.problem.code}")
                elif name not in response.text:
                    self._fail(probe, "validation", f"nothing names {name}: {reply.problem.message}")

    async def _probe_burst(self, most: int) -> None:
        for number in range(1, most + 1):
            problem = (await self.ask("burst", self.arguments)).problem
            if problem is not None and problem.kind == LIMITED:
                if problem.retry_after is None:
                    self._fail("burst", "rate-limit", f"request {number} is refused without a time")
                return
        if most:
            self._fail("burst", "rate-limit", f"{most} requests at once met no limit")

    def _fail(self, probe: str, promise: str, evidence: str) -> None:
        self.sweep.report.fail(self.name, probe, promise, evidence)


def _is_own(parameter: Mapping[str, Any]) -> bool:
    """Whether a parameter of path or query is the handler's, and has a type that a text may not have."""
    is_asked = parameter.get("in") in ("path", "query") and parameter["name"] not in (*CONTROLS, PARAMETER)
    return is_asked and not _takes_text(parameter.get("schema", {}))


def _takes_text(schema: Mapping[str, Any]) -> bool:
    """Whether a text is of the type that a parameter has, alone, as one of several, or as one of a list."""
    named = str(schema.get("type", ""))
    inner = [*schema.get("anyOf", ()), *([schema.get("items", {})] if "array" in named else ())]
    return "string" in named or any(_takes_text(one) for one in inner)


def _resolve(schema: Any, document: Mapping[str, Any]) -> Any:
    while isinstance(schema, Mapping) and "$ref" in schema:
        found: Any = document
        for step in schema["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        schema = found
    return schema


def _fill(path: str, arguments: Mapping[str, Any]) -> str:
    return re.sub(r"\{(\w+)[^}]*\}", lambda found: str(arguments.get(found[1], "example")), path)
