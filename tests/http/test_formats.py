"""Other formats on migrated routes: the envelope has nothing to do with them."""

import datetime as dt

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from aerogram import Contract, fastapi, starlette
from aerogram.starlette import Schedule, Versions, shapes

REMOVED = Versions(schedule=Schedule(opt_in=dt.date(2020, 1, 1), flip=dt.date(2020, 2, 1), removal=dt.date(2020, 3, 1)))


def applications(calls, versions):
    def exported(format):
        calls.append(format)
        kinds = {"csv": lambda: PlainTextResponse("a,b", media_type="text/csv"), "response": lambda: JSONResponse([1])}
        return kinds.get(format, lambda: [{"a": 1}])()

    one = Starlette(routes=[Route("/x", lambda asked: exported(asked.query_params["format"]), methods=["GET", "POST"])])
    other = FastAPI()
    other.api_route("/x", methods=["GET", "POST"], response_model=None)(exported)
    starlette.install(one, Contract(), versions)
    fastapi.install(other, Contract(), versions)
    return {"starlette": one, "fastapi": other}


@pytest.mark.parametrize("framework", ["starlette", "fastapi"])
@pytest.mark.parametrize(
    ("versions", "asked", "status"), [(Versions(), "v9", 400), (REMOVED, "v1", 410), (REMOVED, "v9", 400)]
)
def test_an_envelope_that_there_is_not_is_refused_where_there_would_be_one(serve, framework, versions, asked, status):
    """A safe request gets other formats whatever it says; one that may change something is refused before it runs."""
    calls = []
    client = serve(applications(calls, versions)[framework])
    answer = client.get(f"/x?format=csv&envelope={asked}")
    assert (answer.status_code, answer.text) == (200, "a,b")
    for wanted in ("json", "response"):
        refused = client.get(f"/x?format={wanted}&envelope={asked}")
        assert refused.status_code == status
        link = refused.headers.get("link", "")
        assert ('rel="successor-version"' in link) == (status == 410)
        if status == 410:
            assert f"</x?format={wanted}&envelope=v2>" in link
    calls.clear()
    for wanted in ("csv", "json"):
        assert client.post(f"/x?format={wanted}&envelope={asked}").status_code == status
    assert calls == []


GEO = "application/geo+json"


class Geo(JSONResponse):
    media_type = GEO


def _places(calls, versions):
    def place(_=None):
        calls.append(1)
        return Geo({"type": "Point"})

    star = Starlette(routes=[Route("/answered", place), Route("/declared", shapes(formats=(GEO,))(place))])
    star.router.routes.append(Route("/declared", shapes(formats=(GEO,))(place), methods=["POST"]))
    fast = FastAPI()

    def made():
        calls.append(1)
        return {"type": "Point"}

    def answered():
        return place()

    fast.get("/answered")(answered)
    fast.api_route("/declared", methods=["GET", "POST"], response_class=Geo)(made)
    starlette.install(star, versions=versions)
    fastapi.install(fast, versions=versions)
    return {"starlette": star, "fastapi": fast}


@pytest.mark.parametrize("framework", ["starlette", "fastapi"])
@pytest.mark.parametrize(("method", "path"), [("GET", "/answered"), ("GET", "/declared"), ("POST", "/declared")])
def test_json_of_another_type_is_for_those_who_take_it(serve, framework, method, path):
    """As it always was for legacy callers; for the others it becomes an envelope, which is of no such type."""
    calls = []
    client = serve(_places(calls, Versions())[framework])
    answer = client.request(method, path, headers={"Accept": GEO})
    assert (answer.status_code, answer.headers["Content-Type"], answer.json()) == (200, GEO, {"type": "Point"})
    assert client.request(method, path, headers={"Accept": "application/hal+json"}).status_code == 406
    newer = client.request(method, f"{path}?envelope=v2", headers={"Accept": GEO})
    assert newer.json()["results"] == [{"type": "Point"}]


@pytest.mark.parametrize("framework", ["starlette", "fastapi"])
@pytest.mark.parametrize(
    "versions", [Versions(default="v2"), Versions(legacy="response-v2")], ids=["newer", "enveloped"]
)
def test_json_that_becomes_an_envelope_is_refused_before_anything_is_changed(serve, framework, versions):
    calls = []
    client = serve(_places(calls, versions)[framework])
    refused = client.post("/declared", headers={"Accept": GEO})
    assert (refused.status_code, calls) == (406, [])
    assert GEO not in refused.text
