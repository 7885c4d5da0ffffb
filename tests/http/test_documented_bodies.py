"""Routes whose handlers follow the documents: they return bodies, and each caller gets the shape that it asked for."""

from dataclasses import asdict

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.routing import Route

from aerogram import Contract, fastapi, read, starlette
from aerogram.codes import TABLE
from aerogram.dialects.response_v2 import error_response, success_response
from aerogram.dialects.standard_v2 import StandardError, StandardResponse, StandardV2Dialect
from aerogram.fastapi import Versions

CONTRACT = Contract(
    dialect=StandardV2Dialect(language="ja", documentation="https://example.org/errors#"), page_sizes={"many": 10}
)
FAILURES = {
    "model": lambda: StandardResponse.error(StandardError.not_found("no row x")),
    "wire": lambda: StandardResponse.error(StandardError.not_found("no row x")).to_wire(),
    "asdict": lambda: asdict(error_response("no row x", error_code="NOT_FOUND")),
}
SUCCESSES = {
    "rows": lambda: StandardResponse.sparse([{"id": 1}]),
    "rows-wire": lambda: StandardResponse.sparse([{"id": 1}]).to_wire(),
    "payload": lambda: asdict(success_response({"rows": [{"id": 1}]})),
}


def many():
    return [{"id": number} for number in range(25)]


def starlette_app():
    def handler(make):
        async def handle(request):
            return make()

        return handle

    made = Starlette(routes=[Route(f"/{name}", handler(make)) for name, make in (FAILURES | SUCCESSES).items()])
    made.router.routes.append(Route("/many", handler(many), name="many"))
    starlette.install(made, CONTRACT, Versions(vendor="acme", controls=True))
    return made


def fastapi_app():
    made = FastAPI()
    for name, make in (FAILURES | SUCCESSES).items():
        made.get(f"/{name}")(make)

    @made.get("/typed", response_model=StandardResponse[dict[str, int]])
    async def typed():
        return StandardResponse.sparse([{"id": 1}])

    made.get("/many", name="many")(many)
    fastapi.install(made, CONTRACT, Versions(vendor="acme", controls=True))
    return made


@pytest.fixture(scope="module", params=[starlette_app, fastapi_app])
def client(request, serve):
    return serve(request.param())


@pytest.mark.parametrize("path", FAILURES)
def test_a_legacy_caller_of_a_documented_failure_gets_a_legacy_failure(client, path):
    response = client.get(f"/{path}")
    assert (response.status_code, response.headers["x-envelope-version"]) == (404, "v1")
    assert response.json() == {"detail": "no row x", "error": "NOT_FOUND"}


@pytest.mark.parametrize("path", FAILURES)
def test_a_caller_who_opts_in_gets_the_documented_failure(client, path):
    response = client.get(f"/{path}?envelope=v2")
    assert (response.status_code, response.headers["x-envelope-version"]) == (404, "v2")
    assert response.json()["error"]["developer_message"] == "no row x"
    assert read(response.content, dialect="standard-v2").problem.code == "NOT_FOUND"


@pytest.mark.parametrize(("path", "payload"), [("rows", [{"id": 1}]), ("rows-wire", [{"id": 1}])])
def test_a_legacy_caller_of_documented_rows_gets_the_rows(client, path, payload):
    response = client.get(f"/{path}")
    assert (response.status_code, response.headers["x-envelope-version"]) == (200, "v1")
    assert response.json() == payload
    assert client.get(f"/{path}?envelope=v2").json()["results"] == payload


def test_a_legacy_caller_of_a_documented_success_gets_its_data(client):
    assert client.get("/payload").json() == {"rows": [{"id": 1}]}
    assert client.get("/payload?envelope=v2").json()["results"] == [{"rows": [{"id": 1}]}]


def test_a_response_model_of_the_document_holds_for_both_callers(serve):
    client = serve(fastapi_app())
    assert client.get("/typed").json() == [{"id": 1}]
    assert client.get("/typed?envelope=v2").json()["results"] == [{"id": 1}]


def test_the_language_and_the_documentation_of_a_contract_s_dialect_reach_the_client(client):
    error = client.get("/asdict?envelope=v2").json()["error"]
    assert error["user_message"] == TABLE["NOT_FOUND"].user_text["ja"]
    assert error["documentation"] == "https://example.org/errors#not_found"


def test_a_route_has_the_page_size_of_its_contract_unless_its_caller_names_one(client):
    first = client.get("/many?envelope=v2").json()
    assert [one["id"] for one in first["results"]] == list(range(10))
    then = client.get("/many", params={"envelope": "v2", "cursor": read(first).page.cursor}).json()
    assert [one["id"] for one in then["results"]] == list(range(10, 20))
    assert len(client.get("/many?envelope=v2&page_size=3").json()["results"]) == 3
    assert len(client.get("/many").json()) == 25  # a legacy caller who asks for no page gets everything, as ever
