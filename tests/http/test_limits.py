"""Limits, the cache and telemetry of a contract, over HTTP."""

import pytest
from fastapi import FastAPI, HTTPException
from small_api import ROWS
from starlette.applications import Starlette
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from aerogram import fastapi, read, starlette
from aerogram.cache import Cache
from aerogram.contract import Contract
from aerogram.limits import Limits, Plan
from aerogram.starlette import Versions
from aerogram.telemetry import Observer

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def starlette_service(calls):
    async def rows(request):
        calls.append(request.url.query)
        return ROWS[:6]

    def fails(_):
        raise RuntimeError("a secret")

    def declined(_):
        raise StarletteHTTPException(403)

    def export(_):
        return PlainTextResponse("a,b")

    handlers = {"/rows": rows, "/fails": fails, "/declined": declined, "/export": export}
    return starlette, Starlette(routes=[Route(path, handler) for path, handler in handlers.items()])


def fastapi_service(calls, *, is_async=False):
    app = FastAPI()

    if is_async:

        @app.get("/rows")
        async def rows(q: str = ""):
            calls.append(q)
            return ROWS[:6]
    else:

        @app.get("/rows")
        def rows(q: str = ""):
            calls.append(q)
            return ROWS[:6]

    @app.get("/fails")
    def fails():
        raise RuntimeError("a secret")

    @app.get("/declined")
    def declined():
        raise HTTPException(403)

    @app.get("/export")
    def export():
        return PlainTextResponse("a,b")

    return fastapi, app


SERVICES = {
    "starlette": starlette_service,
    "fastapi, in a thread": fastapi_service,
    "fastapi, in the loop": lambda calls: fastapi_service(calls, is_async=True),
}


@pytest.fixture(params=SERVICES)
def service(request, serve):
    """An application under a contract, and the calls that its handler has seen."""
    calls = []

    def start(migrated="all", **settings):
        module, app = SERVICES[request.param](calls)
        module.install(app, Contract(**settings), Versions(vendor="acme", migrated=migrated))
        return serve(app), calls

    return start


@pytest.mark.parametrize("query", ["?envelope=v2", ""])
def test_a_burst_is_limited_and_the_caller_is_told_when_to_come_back(service, query):
    client, calls = service(limits=Limits.in_memory(Plan.of("2/minute")))
    first, second, refused = (client.get(f"/rows{query}") for _ in range(3))
    assert (first.status_code, second.status_code, refused.status_code) == (200, 200, 429)
    assert len(calls) == 2
    assert first.headers["RateLimit"].startswith('"2/minute";r=1')
    assert refused.headers["RateLimit"].startswith('"2/minute";r=0') and int(refused.headers["Retry-After"]) > 0
    if query:
        problem = read(refused.content).problem
        assert (problem.code, problem.retryable) == ("RATE_LIMIT_EXCEEDED", True)
        assert refused.json()["error"]["code"] == "RATE_LIMITED"


def test_a_quota_that_is_used_up_is_not_worth_another_try(service):
    client, _ = service(limits=Limits.in_memory(Plan.of("1/day")))
    client.get("/rows?envelope=v2")
    refused = client.get("/rows?envelope=v2")
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "QUOTA_EXCEEDED")
    assert refused.json()["error"]["retryable"] is False


def test_a_failure_costs_nothing(service):
    client, _ = service(limits=Limits.in_memory(Plan.of("1/day")))
    for path in ("/fails?envelope=v2", "/fails", "/declined", "/declined?envelope=v2"):
        assert client.get(path).status_code in (500, 403)
    assert client.get("/rows?envelope=v2").status_code == 200


def test_an_answer_is_kept_for_the_same_question(service):
    client, calls = service(cache=Cache.in_memory(), cached=["rows"])
    first, second, other = (client.get(f"/rows?envelope=v2&q={q}") for q in ("a", "a", "b"))
    assert first.json()["results"] == second.json()["results"] == other.json()["results"]
    assert len(calls) == 2
    assert read(second.content).telemetry.cache_hit is True
    assert client.get("/rows?q=a").json() == ROWS[:6]
    assert len(calls) == 2


def test_a_response_is_given_on_and_not_kept(service):
    client, _ = service(cache=Cache.in_memory(), cached=["export"])
    answers = [client.get("/export?envelope=v2") for _ in range(2)]
    assert [(one.status_code, one.text) for one in answers] == [(200, "a,b")] * 2


def test_other_formats_pass_a_contract_with_a_cache(service):
    client, _ = service(cache=Cache.in_memory(), cached=["rows"], limits=Limits.in_memory(Plan.of("9/minute")))
    assert client.get("/export?envelope=v2").text == "a,b"


def test_a_trace_goes_on_and_comes_back(service, caplog):
    client, _ = service(observer=Observer())
    with caplog.at_level("INFO", "aerogram"):
        response = client.get("/rows?envelope=v2", headers={"traceparent": TRACE, "X-Request-Id": "mine"})
    assert response.headers["traceparent"].split("-")[1] == TRACE.split("-")[1]
    told = next(one for one in caplog.records if getattr(one, "request_id", None) == "mine")
    assert told.reply["size"] == len(response.content)


def test_limits_hold_on_routes_that_are_not_migrated(service):
    """They are the caller's, not the route's; a failure costs nothing there either."""
    client, calls = service(migrated=[], limits=Limits.in_memory(Plan.of("2/day")))
    assert client.get("/declined").status_code == 403
    first, second, refused = (client.get("/rows") for _ in range(3))
    assert (first.json(), second.status_code, refused.status_code, len(calls)) == (ROWS[:6], 200, 429, 2)
    assert first.headers["RateLimit"].startswith('"2/day";r=1')
    assert refused.json()["error"] == "QUOTA_EXCEEDED" and int(refused.headers["Retry-After"]) > 0
    assert {one.headers["X-Envelope-Version"] for one in (first, second, refused)} == {"v1"}


def test_the_cache_holds_on_routes_that_are_not_migrated(service):
    client, calls = service(migrated=[], cache=Cache.in_memory(), cached=["rows", "export"])
    assert [client.get("/rows?q=a").json() for _ in range(2)] == [ROWS[:6]] * 2
    assert len(calls) == 1
    assert client.get("/export").text == "a,b"


def test_a_failure_is_counted_in_whatever_shape_it_is_told(service, caplog):
    """A legacy answer too, and unknown paths under one name; what merely passes is not told of."""
    client, _ = service(observer=Observer())
    with caplog.at_level("INFO", "aerogram.reply"):
        for path in ("/fails", "/declined", "/export", "/nowhere/1", "/nowhere/2?envelope=v2"):
            client.get(path)
    told = [(one.reply["operation"], one.reply.get("error.type")) for one in caplog.records if hasattr(one, "reply")]
    assert told == [
        ("fails", "INTERNAL_ERROR"),
        ("declined", "FORBIDDEN"),
        ("unknown", "NOT_FOUND"),
        ("unknown", "NOT_FOUND"),
    ]


def test_the_older_names_of_the_limits_are_on_plain_legacy_answers_too(serve):
    """Migrated or not."""
    for migrated in ("all", ()):
        app = FastAPI()
        app.get("/rows")(lambda: ROWS)
        versions = Versions(rate_limit_headers=True, migrated=migrated)
        fastapi.install(app, Contract(limits=Limits.in_memory(Plan.of("5/day"))), versions)
        answer = serve(app).get("/rows")
        assert answer.headers["x-envelope-version"] == "v1"
        assert (answer.headers["x-ratelimit-limit"], answer.headers["x-ratelimit-remaining"]) == ("5", "4")
