"""Controls on requests that change something: what is done is done, and its answer is no error."""

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.routing import Route

from aerogram import Contract, fastapi, starlette
from aerogram.limits import Limits, Plan
from aerogram.starlette import Versions


def applications(calls, **settings):
    def made(*_):
        calls.append(1)
        return {"id": "7", "text": "word " * 100}

    def create():
        return made()

    versions = Versions(default="v2", controls=True)
    one = Starlette(routes=[Route("/tasks", made, methods=["GET", "POST"])])
    starlette.install(one, Contract(**settings), versions)
    other = FastAPI()
    other.post("/tasks")(create)
    other.get("/tasks")(create)
    fastapi.install(other, Contract(**settings), versions)
    return {"starlette": one, "fastapi": other}


@pytest.fixture(params=["starlette", "fastapi"])
def service(request, serve):
    def opened(**settings):
        calls = []
        return serve(applications(calls, **settings)[request.param]), calls

    return opened


@pytest.mark.parametrize("query", ["fields=zz", "max_tokens=5", "fields=zz&max_tokens=5"])
def test_a_control_that_cannot_be_used_does_not_hide_that_the_work_is_done(service, query):
    """The answer comes as it is, with a notice; a GET may be asked again, and is refused."""
    client, calls = service()
    answer = client.post(f"/tasks?{query}")
    assert (answer.status_code, len(calls)) == (200, 1)
    said = answer.json()
    assert said["results"][0]["id"] == "7"
    assert "CONTROL_IGNORED" in answer.text
    assert client.get(f"/tasks?{query}").status_code == 400


@pytest.mark.parametrize("query", ["response_mode=zz", "max_tokens=x", "max_tokens=0", "page_size=0"])
def test_what_is_wrong_with_a_control_by_itself_is_said_before_anything_is_done(service, query):
    """Nothing has happened when the error comes."""
    client, calls = service()
    assert (client.post(f"/tasks?{query}").status_code, calls) == (400, [])


def test_a_control_that_is_ignored_does_not_make_the_call_free(service):
    """What was done is charged."""
    client, calls = service(limits=Limits.in_memory(Plan.of("1/day")))
    assert client.post("/tasks?fields=zz").status_code == 200
    assert client.post("/tasks?fields=zz").status_code == 429
    assert len(calls) == 1


def test_a_cursor_is_never_passed_over(service):
    """It can only come from an earlier answer."""
    client, _ = service()
    assert client.post("/tasks?cursor=garbage").status_code == 400
