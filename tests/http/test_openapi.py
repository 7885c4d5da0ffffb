"""The OpenAPI document says what a migrated route may answer, and what it answers is what the document says."""

import jsonschema_rs
import pytest
from fast_applications import fast
from fastapi import FastAPI
from small_api import ROWS, fastapi_app
from starlette.applications import Starlette
from starlette.routing import Route

from aerogram import TABLE, fastapi, starlette
from aerogram.starlette import Versions

V2, PROBLEM = "application/vnd.acme.v2+json", "application/problem+json"


@pytest.fixture(scope="module")
def client(serve):
    app = fastapi_app()
    fastapi.install(
        app, versions=Versions(vendor="acme", migrated=["/rows", "/limited", "/declared/{name}", "/search"])
    )
    return serve(app)


@pytest.fixture(scope="module")
def document(client):
    return client.get("/openapi.json").json()


def resolved(document, part):
    while "$ref" in part:
        *_, kind, name = part["$ref"].split("/")
        part = document["components"][kind][name]
    return part


def fits(document, schema, body):
    """Whether a body satisfies a schema of the document, whose references lead into its components."""
    return jsonschema_rs.Draft202012Validator({**schema, "components": document["components"]}).is_valid(body)


@pytest.mark.parametrize(
    ("path", "template", "status"),
    [
        ("/rows", "/rows", 200),
        ("/limited", "/limited", 200),
        ("/declared/missing", "/declared/{name}", 404),
        ("/declared/too-fast", "/declared/{name}", 429),
        ("/search?limit=x", "/search", 422),
    ],
)
@pytest.mark.parametrize("accept", ["application/json", V2, f"{V2}, {PROBLEM}"])
def test_every_answer_fits_the_schema_that_the_document_has_for_it(client, document, path, template, status, accept):
    response = client.get(path, headers={"Accept": accept})
    described = resolved(document, document["paths"][template]["get"]["responses"][str(response.status_code)])
    schema = described["content"][response.headers["Content-Type"]]["schema"]
    assert response.status_code == status
    assert fits(document, schema, response.json())


def test_the_rows_of_the_newer_envelope_are_those_of_the_response_model(client, document):
    schema = document["paths"]["/rows"]["get"]["responses"]["200"]["content"][V2]["schema"]
    body = client.get("/rows", headers={"Accept": V2}).json()
    assert fits(document, schema, body)
    assert not fits(document, schema, {**body, "results": [{"title": "no id"}]})


def test_a_route_that_returns_a_reply_is_described_by_its_data(document):
    responses = document["paths"]["/limited"]["get"]["responses"]
    assert resolved(document, responses["200"]["content"]["application/json"]["schema"]["anyOf"][0])["type"] == "array"


def test_every_status_of_the_table_is_described_in_every_shape(document):
    responses = document["paths"]["/rows"]["get"]["responses"]
    for row in TABLE.values():
        described = resolved(document, responses[str(row.status)])
        assert {V2, PROBLEM} <= described["content"].keys()
        assert row.name in described["description"]
        assert "Retry-After" in described["headers"]


def test_the_parameters_of_negotiation_are_described(document):
    names = {resolved(document, one)["name"] for one in document["paths"]["/rows"]["get"]["parameters"]}
    assert {"envelope", "X-Client-Tag", "X-Request-Id"} <= names
    described = resolved(document, document["paths"]["/rows"]["get"]["responses"]["200"])
    assert "X-Envelope-Version" in described["headers"]


def test_the_controls_are_described_with_what_they_take():
    app = Starlette(routes=[Route("/rows", lambda _: ROWS)])
    installed = starlette.install(app, versions=Versions(controls=True))
    described = installed.document({"paths": {"/rows": {"get": {}}}})
    found = [resolved(described, one) for one in described["paths"]["/rows"]["get"]["parameters"]]
    schemas = {one["name"]: one["schema"] for one in found}
    assert schemas["page_size"] == {"type": "integer", "minimum": 1, "maximum": 50}
    assert schemas["max_tokens"] == {"type": "integer", "minimum": 1}
    assert schemas["response_mode"]["enum"] == ["ids_only", "metadata", "preview", "full"]
    assert schemas["fields"] == {"type": "string"}


def test_a_route_that_is_not_migrated_is_described_as_it_was(document):
    bare = fastapi_app().openapi()
    assert document["paths"]["/none"] == bare["paths"]["/none"]


def test_models_of_the_application_keep_their_names(document):
    assert document["components"]["schemas"]["Task"]["required"] == ["id"]
    assert "standard-v2" in document["components"]["schemas"]


def test_a_document_from_elsewhere_is_completed_too():
    app = Starlette(routes=[Route("/rows", lambda _: ROWS)])
    installed = starlette.install(app, versions=Versions(vendor="acme"))
    given = {"paths": {"/rows": {"get": {"responses": {"200": {"content": {"application/json": {}}}}}}}}
    described = installed.document(given)["paths"]["/rows"]["get"]["responses"]
    assert V2 in described["200"]["content"] and "404" in described
    assert given["paths"]["/rows"]["get"]["responses"].keys() == {"200"}


def test_a_document_without_migrated_routes_is_the_framework_s_own():
    app, bare = fast([]), fast([])
    fastapi.install(app, versions=Versions(vendor="acme", migrated=()))
    assert app.openapi() == bare.openapi()


def test_a_crash_that_legacy_callers_see_is_in_the_document(serve):
    """It is text, as the framework has it."""
    app = FastAPI()
    app.get("/crash")(lambda: 1 / 0)
    fastapi.install(app)
    client = serve(app)
    described = client.get("/openapi.json").json()["components"]["responses"]["aerogram.500"]["content"]
    assert client.get("/crash").headers["content-type"].partition(";")[0] in described
    assert client.get("/crash?envelope=v2").headers["content-type"] in described
