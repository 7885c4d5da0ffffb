"""What the standard document promises of a service over HTTP: when each error is given, and what legacy callers see."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.authentication import AuthCredentials, AuthenticationBackend, SimpleUser, requires
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import HTTPConnection, Request

import aerogram
from aerogram.contract import Contract
from aerogram.errors import NotFound
from aerogram.fastapi import install
from aerogram.limits import Limits, Plan
from aerogram.serving.guard import protect
from aerogram_knowledge.access.keys import Keys
from aerogram_knowledge.hosting.settings import Settings
from web_servers import client_of

ROWS = [{"id": f"task-{number}", "title": "書く"} for number in range(7)]
V2 = {"envelope": "v2"}

Serve = Callable[[FastAPI], httpx.Client]


class Names(AuthenticationBackend):
    """Whoever gives a name is that person, and only the keeper may do everything."""

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, SimpleUser] | None:
        name = conn.headers.get("X-Name")
        scopes = ["known", "keeper"] if name == "keeper" else ["known"]
        return (AuthCredentials(scopes), SimpleUser(name)) if name else None


def application() -> FastAPI:
    """A small API that knows nothing of envelopes but one declared error."""
    app = FastAPI()
    app.add_middleware(AuthenticationMiddleware, backend=Names())

    @app.get("/tasks")
    def tasks(limit: int = 7) -> list[dict[str, str]]:
        return ROWS[:limit]

    @app.get("/tasks/{name}")
    def task(name: str) -> dict[str, str]:
        found = next((row for row in ROWS if row["id"] == name), None)
        if found is None:
            raise NotFound(f"there is no {name}")
        return found

    @app.get("/keys")
    @requires("keeper")
    def keys(request: Request) -> list[str]:
        return ["k1"]

    @app.get("/crash")
    def crash() -> None:
        raise RuntimeError("a secret")

    return app


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serve applications until the test is done."""
    with contextlib.ExitStack() as stack:
        yield lambda app: stack.enter_context(client_of(app, log_config=None, access_log=False))


def under_contract(**settings: Any) -> FastAPI:
    app = application()
    install(app, Contract(**settings))
    return app


def error_of(response: httpx.Response) -> dict[str, Any]:
    """The error of an answer that keeps its contract."""
    assert aerogram.validate(response.content).name == "standard-v2"
    assert (response.json()["status"], response.json()["results"]) == ("error", [])
    return dict(response.json()["error"])


def test_a_burst_is_refused_and_the_delay_it_names_is_enough(serve: Serve) -> None:
    """RATE_LIMITED, with the delay in the body and in the header; who waits that long is served."""
    client = serve(under_contract(limits=Limits.in_memory(Plan.of("1/second"))))
    answers = (client.get("/tasks", params=V2) for _ in range(20))
    refused = next(answer for answer in answers if answer.status_code == 429)
    error = error_of(refused)
    assert (error["code"], error["retryable"]) == ("RATE_LIMITED", True)
    assert int(refused.headers["Retry-After"]) >= error["retry_after"] > 0
    time.sleep(error["retry_after"])
    assert client.get("/tasks", params=V2).status_code == 200


def test_a_missing_or_invalid_key_is_unauthorized(serve: Serve, tmp_path: Any) -> None:
    """UNAUTHORIZED without X-API-Key and with one that nobody made; with a good one the rows."""
    keys = Keys(tmp_path / "keys.json")
    app = application()
    protect(app, Settings.load({"auth": "keys"}, environ={}), keys)
    install(app)
    client, secret = serve(app), keys.create("ada").secret
    for headers in ({}, {"X-API-Key": "nonsense"}, {"X-API-Key": secret[:-1]}):
        refused = client.get("/tasks", params=V2, headers=headers)
        error = error_of(refused)
        assert (refused.status_code, error["code"], error["retryable"]) == (401, "UNAUTHORIZED", False)
    assert client.get("/tasks", params=V2, headers={"X-API-Key": secret}).json()["results"] == ROWS


def test_a_caller_who_is_known_and_not_permitted_is_forbidden(serve: Serve) -> None:
    """FORBIDDEN for one whom the framework's own authentication knows and turns away."""
    client = serve(under_contract())
    refused = client.get("/keys", params=V2, headers={"X-Name": "ada"})
    error = error_of(refused)
    assert (refused.status_code, error["code"], error["retryable"]) == (403, "FORBIDDEN", False)
    assert client.get("/keys", params=V2, headers={"X-Name": "keeper"}).json()["results"] == ["k1"]


def test_a_lookup_that_misses_is_not_found(serve: Serve) -> None:
    """NOT_FOUND for a record that is not there, and for a path that is none."""
    client = serve(under_contract())
    for path in ("/tasks/task-99", "/nowhere"):
        missed = client.get(path, params=V2)
        error = error_of(missed)
        assert (missed.status_code, error["code"], error["retryable"]) == (404, "NOT_FOUND", False)
    assert client.get("/tasks/task-1", params=V2).json()["results"] == [ROWS[1]]


def test_bad_input_is_a_validation_error_that_names_the_field(serve: Serve) -> None:
    """VALIDATION_ERROR, and the developer message has the path of the field."""
    refused = serve(under_contract()).get("/tasks", params={"limit": "many", **V2})
    error = error_of(refused)
    assert (refused.status_code, error["code"], error["retryable"]) == (422, "VALIDATION_ERROR", False)
    assert "query.limit" in error["developer_message"]


def test_an_unexpected_exception_is_internal_and_its_trace_is_in_the_log(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    """INTERNAL_ERROR, whose developer message holds the id under which the log has the trace."""
    with caplog.at_level(logging.ERROR, "aerogram"):
        failed = serve(under_contract()).get("/crash", params=V2)
    error, request_id = error_of(failed), failed.json()["meta"]["request_id"]
    assert (failed.status_code, error["code"], error["retryable"]) == (500, "INTERNAL_ERROR", True)
    assert request_id in error["developer_message"] and "secret" not in failed.text
    [record] = [one for one in caplog.records if getattr(one, "request_id", None) == request_id]
    assert record.exc_info is not None and "a secret" in str(record.exc_info[1])


def test_legacy_callers_see_no_change(serve: Serve) -> None:
    """Successes and failures are, to the byte, what the same application answers without a contract."""
    alone, kept = serve(application()), serve(under_contract())
    for path in ("/tasks", "/tasks?limit=2", "/tasks/task-1", "/tasks?limit=many", "/keys", "/nowhere", "/crash"):
        was, is_now = alone.get(path), kept.get(path)
        assert (is_now.status_code, is_now.content) == (was.status_code, was.content), path
        assert is_now.headers["Content-Type"] == was.headers["Content-Type"], path
