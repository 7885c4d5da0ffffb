"""Every way in which a request can fail, in every shape, in both frameworks."""

import logging

import pytest
from small_api import ROWS, RejectsStrangers, fastapi_app, starlette_app
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Route

from aerogram import TABLE, fastapi, read, starlette, validate
from aerogram.starlette import Versions

VERSIONS = Versions(vendor="acme")
V2, PROBLEM = "application/vnd.acme.v2+json", "application/problem+json"
APPS = {"starlette": (starlette, starlette_app), "fastapi": (fastapi, fastapi_app)}


@pytest.fixture(scope="module", params=APPS)
def client(request, serve):
    module, make = APPS[request.param]
    app = make()
    module.install(app, versions=VERSIONS)
    return serve(app)


FAILURES = {
    "a declared error": ("GET", "/declared/missing", {}, 404, "NOT_FOUND", "there is no such task"),
    "not permitted": ("GET", "/declared/forbidden", {}, 403, "FORBIDDEN", "not yours"),
    "not authenticated": ("GET", "/declared/unauthenticated", {}, 401, "UNAUTHORIZED", "the key is not valid"),
    "a conflict": ("GET", "/declared/conflict", {}, 409, "CONFLICT", "it is closed"),
    "a rate limit": ("GET", "/declared/too-fast", {}, 429, "RATE_LIMIT_EXCEEDED", "30 a minute"),
    "a quota": ("GET", "/declared/used-up", {}, 429, "QUOTA_EXCEEDED", "3 a day"),
    "the framework's exception": ("GET", "/raises/403", {}, 403, "FORBIDDEN", "as the app says"),
    "a status without a code": ("GET", "/raises/418", {}, 418, "VALIDATION_ERROR", "as the app says"),
    "a server error of the app": ("GET", "/raises/503", {}, 503, "UNAVAILABLE", None),
    "no such path": ("GET", "/nowhere", {}, 404, "NOT_FOUND", "Not Found"),
    "no such method": ("PUT", "/rows", {}, 405, None, "Method Not Allowed"),
    "middleware, before any route": ("GET", "/rows", {"X-Reject": "1"}, 401, "UNAUTHORIZED", "Unknown key"),
    "a crash in middleware": ("GET", "/rows", {"X-Break": "1"}, 500, "INTERNAL_ERROR", None),
    "a crash": ("GET", "/crash", {}, 500, "INTERNAL_ERROR", None),
    "a timeout": ("GET", "/timeout", {}, 503, "UNAVAILABLE", None),
    "a reply that is too large to send": ("GET", "/unwritable", {}, 400, None, None),
}
every_failure = pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)


def ask(client, failure, *, accept="*/*", query=""):
    method, path, headers, status, *_ = failure
    response = client.request(method, path + query, headers={**headers, "Accept": accept})
    assert response.status_code == status
    return response


@every_failure
def test_a_failure_is_a_standard_error_for_those_who_opted_in(client, failure):
    response = ask(client, failure, query="?envelope=v2")
    assert response.headers["X-Envelope-Version"] == "v2"
    assert validate(response.content).name == "standard-v2"
    problem = read(response.content).problem
    code = failure[4] or problem.code
    assert problem.is_a(code) and (failure[5] is None or problem.message == failure[5])
    body = response.json()
    assert (body["status"], body["results"], body["meta"]["billable_units"]) == ("error", [], 0)
    assert body["meta"]["request_id"] == response.headers["X-Request-Id"]
    assert body["error"]["retryable"] == (TABLE[code].retry == "yes")


@every_failure
def test_a_failure_is_a_problem_for_those_who_asked_for_one(client, failure):
    response = ask(client, failure, accept=f"{V2}, {PROBLEM}")
    assert response.headers["Content-Type"] == PROBLEM
    assert validate(response.content).name == "problem"
    assert response.json()["status"] == response.status_code


@every_failure
def test_no_failure_tells_a_secret(client, failure):
    method, path, headers, *_ = failure
    for query in ("", "?envelope=v2"):
        response = client.request(method, path + query, headers=headers)
        assert "secret" not in response.text and "Traceback" not in response.text


def test_legacy_callers_get_the_framework_s_own_failures_as_they_were(serve):
    """Word for word what the same application answers without the layer."""
    for module, make in APPS.values():
        bare, app = make(), make()
        module.install(app, versions=VERSIONS)
        alone, kept = serve(bare), serve(app)
        for name in (
            "the framework's exception",
            "no such path",
            "no such method",
            "a crash",
            "a server error of the app",
        ):
            was, is_now = ask(alone, FAILURES[name]), ask(kept, FAILURES[name])
            assert (is_now.content, is_now.headers["Content-Type"]) == (was.content, was.headers["Content-Type"])
            assert is_now.headers["X-Envelope-Version"] == "v1"


def test_headers_of_a_failure_survive_its_rewriting(client):
    refused = client.get("/rows?envelope=v2", headers={"X-Reject": "1"})
    assert refused.headers["WWW-Authenticate"] == "Bearer"
    assert client.put("/rows?envelope=v2").headers["Allow"]
    assert client.get("/raises/409?envelope=v2").headers["X-Own"] == "kept"


@pytest.mark.parametrize("query", ["", "?envelope=v2"])
def test_a_failure_with_a_delay_sends_retry_after_in_whole_seconds(client, query):
    response = client.get(f"/declared/too-fast{query}")
    assert response.headers["Retry-After"] == "13"
    if query:
        assert response.json()["error"]["retry_after"] == 12.2


def test_a_crash_is_in_the_log_under_the_request_id_of_its_answer(client, caplog):
    with caplog.at_level(logging.ERROR, "aerogram"):
        response = client.get("/crash?envelope=v2", headers={"X-Request-Id": "req-of-mine"})
    assert response.headers["X-Request-Id"] == "req-of-mine"
    record = next(one for one in caplog.records if getattr(one, "request_id", None) == "req-of-mine")
    assert "a secret" in str(record.exc_info[1])


def test_the_connection_survives_a_crash(client):
    for _ in range(3):
        assert client.get("/crash?envelope=v2").status_code == 500
        assert client.get("/rows?envelope=v2").status_code == 200


def test_a_body_that_is_too_large_is_refused_in_the_negotiated_shape(serve):
    app = starlette_app(max_body_size=100)
    starlette.install(app, versions=VERSIONS)
    response = serve(app).post("/echo?envelope=v2", content=b'"' + b"x" * 500 + b'"')
    assert response.status_code == 413 and read(response.content).problem.is_a("VALIDATION_ERROR")


def test_compressed_failures_are_read_too(serve):
    app = starlette_app()
    app.add_middleware(GZipMiddleware, minimum_size=10)
    starlette.install(app, versions=VERSIONS)
    response = serve(app).get("/raises/404?envelope=v2")
    assert read(response.content).problem.message == "as the app says"
    assert "Content-Encoding" not in response.headers


def test_an_application_s_own_handlers_still_run(serve):
    """Their words reach the caller in the negotiated shape, and their headers stay."""
    app = fastapi_app()

    @app.exception_handler(RuntimeError)
    async def tell(request, error):
        return JSONResponse({"detail": "told", "error": "CONFLICT", "limit": 3}, 409, {"X-Handled": "yes"})

    @app.exception_handler(TimeoutError)
    async def show(request, error):
        return HTMLResponse("<h1>secret page for people</h1>", 504)

    fastapi.install(app, versions=VERSIONS)
    client = serve(app)
    told = client.get("/crash?envelope=v2")
    problem = read(told.content).problem
    assert (told.status_code, told.headers["X-Handled"], problem.code, problem.message) == (
        409,
        "yes",
        "CONFLICT",
        "told",
    )
    assert problem.details == {"limit": 3}
    assert client.get("/crash").json() == {"detail": "told", "error": "CONFLICT", "limit": 3}
    shown = client.get("/timeout?envelope=v2")
    assert (shown.status_code, read(shown.content).problem.code) == (504, "UNAVAILABLE")
    assert "people" not in shown.text


@pytest.mark.parametrize(
    ("body", "message", "details"),
    [
        ({"detail": "a"}, "a", None),
        ({"detail": {"message": "b", "field": "x"}}, "b", {"field": "x"}),
        ({"message": "c", "resets_at": "2099"}, "c", {"resets_at": "2099"}),
        ({"detail": ["odd", 1]}, "Invalid input", {"detail": ["odd", 1]}),
        ("d", "d", None),
        ([1, 2], "Invalid input", None),
        ({"title": "Broken", "status": 400, "detail": "e", "code": "INVALID_FORMAT"}, "e", None),
        ({"success": False, "data": {}, "error": "f", "meta": {"version": "response-v2"}}, "f", None),
    ],
    ids=str,
)
def test_whatever_a_failure_looks_like_its_words_are_found(serve, body, message, details):
    app = starlette_app()
    app.add_route("/odd", lambda _: JSONResponse(body, 400))
    starlette.install(app, versions=VERSIONS)
    problem = read(serve(app).get("/odd?envelope=v2").content).problem
    assert (problem.message, problem.details) == (message, details)


def test_layers_inside_of_layers_answer_once(serve):
    """An application with a contract, mounted in another one, with middleware that copies nothing and loses nothing."""
    inner = starlette_app()
    starlette.install(inner, versions=VERSIONS)
    outer = starlette_app()
    outer.mount("/inner", inner)
    starlette.install(outer, versions=VERSIONS)
    response = serve(outer).get("/inner/declared/missing?envelope=v2")
    assert response.status_code == 404 and read(response.content).problem.remediation == "List the tasks"
    assert len(response.headers.get_list("X-Envelope-Version")) == 1
    assert len(response.headers.get_list("X-Request-Id")) == 1


def test_a_route_s_own_middleware_stays_around_its_handler(serve):
    route = Route("/own", lambda _: ROWS, middleware=[Middleware(RejectsStrangers)], max_body_size=9)
    app = Starlette(routes=[route])
    starlette.install(app, versions=VERSIONS)
    client = serve(app)
    assert client.get("/own?envelope=v2").json()["results"] == ROWS
    assert client.get("/own?envelope=v2", headers={"X-Reject": "1"}).json()["error"]["code"] == "UNAUTHORIZED"
