"""Other formats on migrated routes: the envelope has nothing to do with them."""

import datetime as dt

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from aerogram import Contract, fastapi, starlette
from aerogram.starlette import Schedule, Versions

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
