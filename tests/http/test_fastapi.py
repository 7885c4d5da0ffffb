"""What FastAPI promises its users still holds under the contract."""

import queue
from dataclasses import asdict
from typing import Annotated

import pytest
from fastapi import APIRouter, BackgroundTasks, Cookie, Depends, FastAPI, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from small_api import ROWS, Task, fastapi_app

from aerogram import Contract, fastapi, read, starlette, validate
from aerogram.contract.cache import Cache
from aerogram.documents.response_v2 import error_response, success_response
from aerogram.documents.standard_v2 import StandardResponse
from aerogram.fastapi import Versions, install


@pytest.fixture(scope="module")
def app():
    made = fastapi_app()
    install(made, versions=Versions(vendor="acme"))
    return made


@pytest.fixture(scope="module")
def client(app, serve):
    return serve(app)


@pytest.mark.parametrize("query", ["", "?envelope=v2"])
def test_a_response_model_filters_what_a_handler_returns(client, query):
    response = client.get(f"/filtered{query}")
    assert "hunter2" not in response.text
    rows = response.json()["results"] if query else response.json()
    assert rows == ROWS[:2]


def test_a_validation_error_names_the_field_the_constraint_and_what_was_received(client):
    response = client.get("/search?limit=many&envelope=v2")
    problem = read(response.content).problem
    assert (response.status_code, problem.code) == (422, "INVALID_FORMAT")
    assert {name: problem.details[name] for name in ("field", "pointer", "received")} == {
        "field": "query.limit",
        "pointer": "/query/limit",
        "received": "many",
    }
    assert problem.remediation.startswith("Correct query.limit")


def test_a_missing_header_is_a_validation_error_too(client):
    problem = read(client.get("/guarded?envelope=v2").content).problem
    assert (problem.code, problem.details["field"]) == ("MISSING_REQUIRED", "header.x-api-key")


def test_legacy_callers_get_fastapi_s_own_validation_errors(client):
    response = client.get("/search?limit=many")
    assert response.status_code == 422 and response.json()["detail"][0]["loc"] == ["query", "limit"]


class Strict(BaseModel, extra="forbid"):
    name: str = ""


def test_very_many_faults_of_one_body_are_told_as_far_as_somebody_reads_them(serve):
    app = FastAPI()

    @app.post("/strict")
    def strict(given: Strict) -> Strict:
        return given

    install(app, versions=Versions(vendor="acme"))
    client, body = serve(app), {f"member {number}": number for number in range(20_000)}
    problem = read(client.post("/strict?envelope=v2", json=body).content).problem
    assert problem.message.endswith("Extra inputs are not permitted (and more than 95 more)")
    assert [one["field"] for one in problem.details["errors"]] == [f"body.member {number}" for number in range(100)]
    legacy = client.post("/strict", json=body)
    assert (legacy.status_code, len(legacy.json()["detail"])) == (422, 1_000)


@pytest.mark.parametrize(
    ("path", "ended"),
    [
        ("/rows?envelope=v2", "committed"),
        ("/declared/missing?envelope=v2", "rolled back: NotFound"),
        ("/crash?envelope=v2", "rolled back: RuntimeError"),
        ("/crash", "rolled back: RuntimeError"),
    ],
)
def test_dependencies_see_how_their_handler_ended(app, client, path, ended):
    client.get(path)
    assert app.state.opened.get(timeout=60) == ended  # it ends after the answer is out


def test_generators_still_stream(client):
    response = client.get("/lines?envelope=v2")
    assert response.headers["Content-Type"] == "application/jsonl" and len(response.text.splitlines()) == 3


def test_the_pages_of_the_documentation_are_nobody_s_answer(client):
    assert client.get("/docs").headers["Content-Type"].startswith("text/html")
    assert "paths" in client.get("/openapi.json?envelope=v2").json()


def test_cookies_headers_status_and_background_tasks_of_a_handler_are_kept(serve):
    done = queue.Queue()
    app = FastAPI()

    def visit(response: Response, visits: Annotated[int, Cookie()] = 0) -> int:
        response.set_cookie("visits", str(visits + 1))
        return visits

    @app.get("/visit")
    def visited(visits: Annotated[int, Depends(visit)], response: Response, background: BackgroundTasks):
        response.headers["X-Visits"] = str(visits)
        response.status_code = 202
        background.add_task(done.put, visits)
        return {"visits": visits}

    install(app, versions=Versions(vendor="acme"))
    client = serve(app)
    for count in range(2):
        response = client.get("/visit?envelope=v2")
        assert (response.status_code, response.headers["X-Visits"]) == (202, str(count))
        assert response.json()["results"] == [{"visits": count}]
    assert client.cookies["visits"] == "2"
    assert {done.get(timeout=60), done.get(timeout=60)} == {0, 1}  # in threads, so in any order


def test_a_router_included_twice_may_be_migrated_once(serve):
    router = APIRouter()

    @router.get("/tasks")
    def tasks() -> list[Task]:
        return [Task(id="task-1")]

    app = FastAPI()
    app.include_router(router, prefix="/old")
    app.include_router(router, prefix="/new")
    installed = install(app, versions=Versions(vendor="acme", migrated=["/new/tasks"]))
    client = serve(app)
    old, new = client.get("/old/tasks?envelope=v2"), client.get("/new/tasks?envelope=v2")
    assert (old.headers["X-Envelope-Version"], old.json()) == ("v1", [{"id": "task-1", "title": "untitled"}])
    assert (new.headers["X-Envelope-Version"], new.json()["status"]) == ("v2", "sparse")
    assert installed.usage.by_route == {("/old/tasks", "v1"): 1, ("/new/tasks", "v2"): 1}


def test_a_mounted_application_answers_under_the_contract_of_the_outer_one(serve):
    app = FastAPI()
    app.mount("/part", fastapi_app())
    install(app, versions=Versions(vendor="acme"))
    client = serve(app)
    assert client.get("/part/rows?envelope=v2").json()["results"] == ROWS
    missing = client.get("/part/declared/missing?envelope=v2")
    assert (missing.status_code, read(missing.content).problem.remediation) == (404, "List the tasks")


def test_routes_may_be_added_after_installing(serve):
    app = FastAPI()
    install(app, versions=Versions(vendor="acme"))

    @app.get("/late")
    async def late() -> list[Task]:
        return [Task(id="task-1")]

    assert serve(app).get("/late?envelope=v2").json()["status"] == "sparse"


def test_a_value_that_breaks_its_response_model_is_an_internal_error(serve):
    app = FastAPI()

    @app.get("/broken")
    def broken() -> list[Task]:
        return [{"no": "id of a secret task"}]

    install(app, versions=Versions(vendor="acme"))
    response = serve(app).get("/broken?envelope=v2")
    assert response.status_code == 500 and "secret" not in response.text
    assert validate(response.content).name == "standard-v2"


def test_both_frameworks_offer_the_same_names():
    assert fastapi.__all__ == starlette.__all__


class OwnEnvelope(BaseModel):
    success: bool
    data: dict
    error: str | None = None
    meta: dict


ENVELOPES = {
    "response-v2": asdict(success_response(data={"a": 1}, request_id="r-1")),
    "failure": asdict(error_response("No such spec", error_code="NOT_FOUND", request_id="r-2")),
    "standard-v2": StandardResponse.rich([{"a": 1}] * 5, request_id="r-3", latency_ms=1).to_wire(),
}
SHAPES = (*ENVELOPES, "own-model")


def add_writers(app: FastAPI, name: str, body: dict) -> None:
    @app.get(f"/{name}", name=name)
    def called():
        return body

    @app.get(f"/{name}/awaited")
    async def awaited():
        return body

    @app.get(f"/{name}/response")
    def response():
        return JSONResponse(body)


def app_of_envelopes() -> FastAPI:
    """An API whose handlers write envelopes themselves, as they did before."""
    app = FastAPI()
    for name, body in ENVELOPES.items():
        add_writers(app, name, body)

    @app.get("/own-model", name="own-model")
    def own_model() -> OwnEnvelope:
        return OwnEnvelope(**ENVELOPES["response-v2"])

    return app


def paths_of_envelopes():
    return [f"/{name}{kind}" for name in ENVELOPES for kind in ("", "/response", "/awaited")] + ["/own-model"]


@pytest.mark.parametrize("has_cache", [False, True])
def test_legacy_callers_get_the_envelope_that_a_handler_wrote_itself(serve, has_cache):
    """No dialect is named, so that an envelope of any is the shape that they know, to the byte and with its status."""
    app = app_of_envelopes()
    caching = Contract(cache=Cache.in_memory(), cached=SHAPES) if has_cache else None
    install(app, caching, Versions(vendor="acme"))
    plain, client = serve(app_of_envelopes()), serve(app)
    for path in paths_of_envelopes():
        for _ in range(2):
            was, is_now = plain.get(path), client.get(path)
            assert (is_now.status_code, is_now.content) == (was.status_code, was.content), path
            newer = client.get(f"{path}?envelope=v2")
            assert newer.status_code == (404 if "failure" in path else 200), path
            assert "failure" in path or read(newer.content).data in ({"a": 1}, [{"a": 1}], [{"a": 1}] * 5), path


def test_a_named_dialect_is_the_newer_envelope_and_its_payload_the_older_one(serve):
    app = app_of_envelopes()
    install(app, Contract(dialect="response-v2"), Versions(vendor="acme", current="response-v2"))
    client = serve(app)
    for path in ("/response-v2", "/response-v2/awaited", "/own-model"):
        assert client.get(path).json() == {"a": 1}
    failed = client.get("/failure")
    assert (failed.status_code, failed.json()) == (404, {"detail": "No such spec", "error": "NOT_FOUND"})
    assert client.get("/standard-v2").json() == [{"a": 1}] * 5  # an envelope too, whichever the contract names
