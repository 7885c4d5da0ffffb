"""A function that finds out who asks may fail; the answer has the negotiated shape all the same."""

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.routing import Route

from aerogram import Archive, fastapi, starlette
from aerogram.contract import Contract
from aerogram.contract.cache import Cache
from aerogram.errors import ReplyError
from aerogram.limits import Limits, Plan
from aerogram.starlette import Versions
from aerogram.telemetry import Observer

SETTINGS = {
    "nothing": dict,
    "an observer": lambda: {"observer": Observer()},
    "limits": lambda: {"limits": Limits.in_memory(Plan.of("100/minute"))},
    "a cache": lambda: {"cache": Cache.in_memory(), "cached": ["rows"]},
    "an archive": lambda: {"archive": Archive.in_memory(), "budget": 500},
}


def who(scope):
    name = dict(scope["headers"])[b"x-login"].decode()
    if name == "expired":
        raise ReplyError("Your login has expired", code="UNAUTHORIZED")
    return name


def in_starlette():
    async def rows(_):
        return [{"id": 1}]

    return starlette, Starlette(routes=[Route("/rows", rows), Route("/older", rows, name="older")])


def in_fastapi():
    app = FastAPI()

    @app.get("/rows")
    def rows():
        return [{"id": 1}]

    app.get("/older", name="older")(rows)
    return fastapi, app


@pytest.fixture(params=[in_starlette, in_fastapi])
def service(request, serve):
    def start(setting):
        module, app = request.param()
        versions = Versions(vendor="acme", migrated=["/rows"])
        module.install(app, Contract(**SETTINGS[setting]()), versions, principal=who)
        return serve(app)

    return start


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_failure_is_said_in_the_envelope_that_was_asked_for(service, setting):
    client = service(setting)
    unknown = client.get("/rows?envelope=v2")
    expired = client.get("/rows?envelope=v2", headers={"X-Login": "expired"})
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (500, "INTERNAL_ERROR")
    assert (expired.status_code, expired.json()["error"]["code"]) == (401, "UNAUTHORIZED")
    assert unknown.headers["X-Envelope-Version"] == expired.headers["X-Envelope-Version"] == "v2"
    assert "x-login" not in unknown.text
    missing = client.get("/nowhere?envelope=v2")
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "NOT_FOUND")
    assert client.get("/rows?envelope=v2", headers={"X-Login": "ann"}).json()["results"] == [{"id": 1}]


@pytest.mark.parametrize("setting", ["nothing", "an observer"])
def test_where_nobody_has_to_know_who_asks_nobody_is_asked(serve, setting):
    module, app = in_fastapi()
    module.install(app, Contract(**SETTINGS[setting]()), Versions(vendor="acme", migrated=["/rows"]), principal=who)
    client = serve(app)
    assert client.get("/older").status_code == client.get("/rows").status_code == 200
