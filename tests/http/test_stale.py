"""Old answers over HTTP: they cover what fails, and never what refuses."""

import pytest
from fastapi import FastAPI
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.testclient import TestClient

from aerogram import Contract, fastapi, starlette
from aerogram.contract.cache import Cache
from aerogram.errors import Forbidden, Unavailable
from aerogram.starlette import Versions


class Gone(Exception):
    """What the application answers for itself."""


async def gone(*_):
    return JSONResponse({"detail": "gone"}, 404)


class Outcome:
    """What the handler does next, and what time it is."""

    raised = None
    returned = None
    now = 0.0

    def happens(self):
        if self.raised is not None:
            raise self.raised
        return self.returned or {"old": True}


def by_fastapi(outcome):
    app = FastAPI(exception_handlers={Gone: gone})
    app.get("/told", name="told")(outcome.happens)
    return app, fastapi.install


def by_starlette(outcome):
    async def told(_request):
        return outcome.happens()

    return Starlette(routes=[Route("/told", told, name="told")], exception_handlers={Gone: gone}), starlette.install


@pytest.fixture(params=[by_fastapi, by_starlette])
def told(request):
    """A client for an application that has an old answer, and what its handler does next."""
    outcome = Outcome()
    app, install = request.param(outcome)
    cache = Cache.in_memory(fresh_for=1, stale_for=100, clock=lambda: outcome.now)
    install(app, Contract(cache=cache, cached=["told"]), Versions())
    with TestClient(app, raise_server_exceptions=False) as client:
        assert client.get("/told").json() == {"old": True}
        outcome.now = 10.0
        yield client, outcome


@pytest.mark.parametrize("envelope", ["v1", "v2"])
@pytest.mark.parametrize(
    ("refusal", "status"),
    [*((HTTPException(status), status) for status in (401, 403, 404, 410, 429)), (Gone(), 404), (Forbidden("no"), 403)],
    ids=repr,
)
def test_a_refusal_is_told_although_there_is_an_old_answer(told, refusal, status, envelope):
    client, outcome = told
    outcome.raised = refusal
    answer = client.get("/told", params={"envelope": envelope})
    assert answer.status_code == status and '"old"' not in answer.text


@pytest.mark.parametrize("failure", [HTTPException(503), RuntimeError("lost"), Unavailable("lost")], ids=repr)
def test_a_failure_of_the_server_is_covered(told, failure):
    client, outcome = told
    outcome.raised = failure
    answer = client.get("/told", params={"envelope": "v2"})
    assert answer.status_code == 200 and "STALE_CACHE" in answer.text


def test_a_response_of_the_handlers_own_is_not_a_failure(told):
    client, outcome = told
    outcome.returned = PlainTextResponse("new")
    assert client.get("/told").text == "new"
