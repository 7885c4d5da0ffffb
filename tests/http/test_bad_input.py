"""Requests that mean harm or make no sense: always one well-formed answer, or a clean close."""

import json
import socket
import time
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_api import fastapi_app, starlette_app
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route

from aerogram import fastapi, read, starlette, validate
from aerogram.starlette import Versions

APPS = {"starlette": (starlette, starlette_app), "fastapi": (fastapi, fastapi_app)}


@pytest.fixture(scope="module", params=APPS)
def client(request, serve):
    module, make = APPS[request.param]
    app = make()
    module.install(app, versions=Versions(vendor="acme", controls=True))
    return serve(app)


BODIES = {
    "not JSON": b"{bad",
    "not UTF-8": b'{"id": "\xff"}',
    "cut off": b'{"id": "a"',
    "nested without end": b"[" * 100_000,
    "empty": b"",
    "two values": b"{}{}",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_body_that_is_not_what_it_claims_is_the_caller_s_fault(client, body):
    response = client.post("/echo?envelope=v2", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code in (400, 422)
    validate(response.content)
    assert read(response.content).problem.is_a("VALIDATION_ERROR")


def test_where_and_why_a_body_ends_to_be_json_is_told(serve):
    app = fastapi_app()
    fastapi.install(app, versions=Versions(vendor="acme"))
    response = serve(app).post("/echo?envelope=v2", content=b'{"id": 1,}', headers={"Content-Type": "application/json"})
    problem = read(response.content).problem
    assert "body: JSON decode error at character 9: " in problem.message or "character 8: " in problem.message
    assert (problem.remediation, problem.details["field"], problem.details["received"]) == (
        "Correct body",
        "body",
        None,
    )


def test_a_body_of_another_kind_is_the_caller_s_fault(client):
    response = client.post("/echo?envelope=v2", content=b"<id>a</id>", headers={"Content-Type": "application/xml"})
    assert response.status_code in (400, 422) and read(response.content).problem.kind == "validation"


def test_a_fault_of_the_handler_is_not_blamed_on_the_body(serve):
    async def parses_something_else(request):
        await request.json()
        return json.loads("{bad")

    app = Starlette(routes=[Route("/parse", parses_something_else, methods=["POST"])])
    starlette.install(app, versions=Versions(vendor="acme"))
    response = serve(app).post("/parse?envelope=v2", json={})
    assert (response.status_code, read(response.content).problem.code) == (500, "INTERNAL_ERROR")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("page_size=x", "page_size"),
        ("page_size=1&page_size=2", "page_size"),
        ("page_size=-1", "page_size"),
        ("page_size=99999999999999999999", "page_size"),
        ("max_tokens=1e3", "max_tokens"),
        ("cursor=a&cursor=b", "cursor"),
        ("response_mode=full&response_mode=ids_only", "response_mode"),
    ],
)
def test_a_control_that_is_not_clear_is_refused_before_the_handler_runs(client, query, field):
    response = client.get(f"/crash?envelope=v2&{query}")
    problem = read(response.content).problem
    assert (response.status_code, problem.code, problem.details["field"]) == (400, "VALIDATION_ERROR", field)


@pytest.mark.parametrize("query", ["cursor=garbled", "response_mode=all", "fields=nothing", "cursor=" + "A" * 5000])
def test_a_control_that_makes_no_sense_is_refused(client, query):
    response = client.get(f"/rows?envelope=v2&{query}")
    assert response.status_code == 400 and read(response.content).problem.is_a("VALIDATION_ERROR")


def test_too_many_parameters_are_refused(client):
    response = client.get("/rows?envelope=v2&" + "&".join("a" for _ in range(2_000)))
    assert response.status_code == 400 and "1000" in response.json()["detail"]


@given(query=st.text(alphabet="envlop=v12&%zfieds;[]+,cursor_ag?é", max_size=80))
def test_no_query_is_too_hostile_for_an_answer(client, query):
    response = client.get(f"/rows?{quote(query, safe='=&%;[]+,_?')}")
    assert response.status_code in (200, 400)
    assert response.headers["X-Envelope-Version"] in ("v1", "v2")
    assert response.json()


def test_a_client_that_leaves_in_the_middle_of_its_body_ends_in_silence(serve, caplog):
    app = starlette_app()
    starlette.install(app, versions=Versions(vendor="acme"))
    client = serve(app)
    address = (client.base_url.host, client.base_url.port)
    with socket.create_connection(address) as leaving:
        leaving.sendall(b"POST /echo?envelope=v2 HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
        time.sleep(0.05)
    assert client.get("/rows?envelope=v2").status_code == 200
    assert not caplog.records


def test_a_client_that_leaves_before_its_answer_harms_nobody(client):
    for _ in range(5):
        with socket.create_connection((client.base_url.host, client.base_url.port)) as leaving:
            leaving.sendall(b"GET /rows?envelope=v2 HTTP/1.1\r\nHost: x\r\n\r\n")
    assert client.get("/rows?envelope=v2").status_code == 200


def test_a_stream_that_breaks_off_is_not_patched_up(serve):
    """Its head is out already: what is left is to close the connection, so that the client knows."""

    async def breaks(request):
        async def chunks():
            yield b"a"
            raise RuntimeError("a secret")

        return StreamingResponse(chunks(), media_type="text/plain")

    app = Starlette(routes=[Route("/breaks", breaks)])
    starlette.install(app, versions=Versions(vendor="acme"))
    client = serve(app)
    with pytest.raises(Exception, match=r"closed|incomplete"):
        client.get("/breaks?envelope=v2")
