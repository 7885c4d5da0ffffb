"""What would end a server: `sys.exit` in a handler is a failure as any other, and the server goes on."""

import asyncio
import contextlib
import sys

import httpx
import pytest
from fastapi import Depends, FastAPI
from starlette.applications import Starlette
from starlette.endpoints import HTTPEndpoint
from starlette.routing import Route

from aerogram import Contract, fastapi, starlette
from aerogram.limits import Limits, Plan
from aerogram.starlette import Versions


class Odd(BaseException):
    """What is no exception that one expects."""


def leaves(*_):
    sys.exit(3)


async def leaves_async(*_):
    sys.exit(3)


async def odd(*_):
    raise Odd


async def waits_in_vain(*_):
    task = asyncio.create_task(asyncio.sleep(5))
    task.cancel()
    await task


class Leaving(HTTPEndpoint):
    async def get(self, _):
        sys.exit(3)


HANDLERS = {"/leaves": leaves, "/leaves_async": leaves_async, "/odd": odd, "/vain": waits_in_vain}


def by_starlette(**settings):
    routes = [Route(path, run) for path, run in {**HANDLERS, "/class": Leaving}.items()]
    routes += [Route("/left", leaves_async), Route("/well", lambda _: {"a": 1})]
    app = Starlette(routes=routes)
    starlette.install(app, Contract(**settings), Versions(migrated=[*HANDLERS, "/class", "/well"]))
    return app


def by_fastapi(**settings):
    app = FastAPI()
    for path, run in HANDLERS.items():
        made = (lambda run=run: run()) if run is leaves else _async(run)
        app.get(path, response_model=None)(made)
    app.get("/class", dependencies=[Depends(_async(leaves_async))])(lambda: 1)
    app.get("/left")(_async(leaves_async))
    app.get("/well")(lambda: {"a": 1})
    fastapi.install(app, Contract(**settings), Versions(migrated=[*HANDLERS, "/class", "/well"]))
    return app


def _async(run):
    async def made():
        return await run()

    return made


@pytest.fixture(scope="module", params=["starlette", "fastapi", "limited"])
def service(request, serve):
    limits = {"limits": Limits.in_memory(Plan.of("100000/day"))}
    make = {"starlette": by_starlette, "fastapi": by_fastapi, "limited": lambda: by_fastapi(**limits)}
    return serve(make[request.param]())


def test_where_nothing_is_migrated_the_server_goes_on_too(service):
    """It closes the connection of such an answer, which may reach the client first."""
    address = str(service.base_url)
    with contextlib.suppress(httpx.TransportError):
        assert httpx.get(address + "/left", timeout=20).status_code == 500
    assert httpx.get(address + "/well", timeout=20).status_code == 200


@pytest.mark.parametrize("path", [*HANDLERS, "/class"])
@pytest.mark.parametrize("query", ["", "?envelope=v2"])
def test_an_exit_is_an_internal_error_and_the_server_goes_on(service, path, query):
    """In the envelope that was negotiated, with a request id."""
    answer = service.get(path + query)
    assert answer.status_code == 500
    if query:
        assert answer.json()["error"]["code"] == "INTERNAL_ERROR"
        assert answer.headers["x-envelope-version"] == "v2"
        assert answer.headers["x-request-id"]
    assert service.get("/well").json() == {"a": 1}
