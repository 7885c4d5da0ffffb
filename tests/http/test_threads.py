"""Handlers that are plain functions run in a pool of threads, and nothing that is done around them holds one up."""

import asyncio
import functools
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

import httpx
import pytest
from fastapi import APIRouter, Depends, FastAPI, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, field_validator
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from aerogram import fastapi, starlette
from aerogram.contract import Contract
from aerogram.contract.cache import Cache
from aerogram.limits import Limits, Plan
from aerogram.starlette import Versions
from aerogram.telemetry import Observer

CALLERS = 60
"""More than the pool has threads."""


def slow(n: int = 0):
    time.sleep(0.03)
    return {"n": n}


class Hidden(APIRoute):
    """A route whose class keeps the handler that FastAPI made in a place of its own."""

    def get_route_handler(self):
        self.made = super().get_route_handler()
        return self.handled

    async def handled(self, request):
        return await self.made(request)


def in_fastapi():
    app = FastAPI()
    app.get("/slow", name="slow")(slow)
    return fastapi, app


def in_a_router():
    app, router = FastAPI(), APIRouter()
    router.get("/slow", name="slow")(slow)
    app.include_router(router)
    return fastapi, app


def in_a_route_of_its_own_kind():
    app = FastAPI()
    app.router.route_class = Hidden
    app.get("/slow", name="slow")(slow)
    return fastapi, app


def behind_a_dependency():
    app = FastAPI()

    def session():
        yield time.sleep(0.005)

    @app.get("/slow", name="slow")
    def depending(_: Annotated[None, Depends(session)], n: int = 0) -> dict[str, int]:
        return slow(n)

    return fastapi, app


def in_starlette():
    def handler(request):
        return slow(int(request.query_params["n"]))

    return starlette, Starlette(routes=[Route("/slow", handler, name="slow")])


APPLICATIONS = [in_fastapi, in_a_router, in_a_route_of_its_own_kind, behind_a_dependency, in_starlette]
SETTINGS = {
    "nothing": lambda _: {},
    "limits": lambda _: {"limits": Limits.in_memory(Plan.of("100000/minute"))},
    "a cache for others": lambda _: {"cache": Cache.in_memory(), "cached": ["other"]},
    "a cache in files": lambda path: {"cache": Cache.at(path), "cached": ["slow"]},
    "an observer": lambda _: {"observer": Observer()},
}


async def at_once(address, targets):
    """The answers to requests that are all under way at the same time."""
    limits = httpx.Limits(max_connections=len(targets))
    async with httpx.AsyncClient(base_url=address, timeout=15, limits=limits) as client:
        return await asyncio.gather(*map(client.get, targets))


@pytest.mark.parametrize(
    ("make", "setting"),
    [*((in_fastapi, setting) for setting in SETTINGS), *((one, "limits") for one in APPLICATIONS[1:])],
)
def test_more_callers_than_threads_are_all_answered(serve, tmp_path, make, setting):
    module, app = make()
    module.install(app, Contract(**SETTINGS[setting](tmp_path)), Versions(vendor="acme"))
    client = serve(app)
    targets = [f"/slow?n={number}" + ("&envelope=v2" if number % 2 else "") for number in range(CALLERS)]
    answers = asyncio.run(at_once(client.base_url, targets))
    assert Counter(answer.status_code for answer in answers) == {200: CALLERS}
    assert all(answer.json() == {"n": number} for number, answer in enumerate(answers) if number % 2 == 0)
    assert all(answer.json()["results"] == [{"n": number}] for number, answer in enumerate(answers) if number % 2)


def test_many_callers_with_one_question_hold_up_nobody_else(serve):
    app = FastAPI()
    fastapi.install(app, Contract(cache=Cache.in_memory(), cached=["asked"]), Versions(vendor="acme"))
    may_end = threading.Event()

    @app.get("/asked")
    def asked():
        may_end.wait(15)
        return {"a": 1}

    @app.get("/other")
    def other():
        may_end.set()
        return {"b": 1}

    client = serve(app)
    answers = asyncio.run(at_once(client.base_url, [*["/asked"] * CALLERS, "/other"]))
    assert Counter(answer.status_code for answer in answers) == {200: CALLERS + 1}


class Found(BaseModel):
    """What says in which thread it was checked."""

    thread: str

    @field_validator("thread")
    @classmethod
    def _name(cls, _):
        return threading.current_thread().name


@functools.cache
def checking(with_layer, with_limits):
    app = FastAPI()
    if with_layer:
        limits = Limits.in_memory(Plan.of("1000/minute")) if with_limits else None
        fastapi.install(app, Contract(limits=limits), Versions(vendor="acme"))

    @app.get("/thread")
    def thread(response: Response) -> Found:
        response.headers["X-Own"] = "yes"
        return {"thread": threading.current_thread().name}

    @app.get("/loop")
    async def loop() -> Found:
        return {"thread": threading.current_thread().name}

    @app.delete("/thread", status_code=204)
    def nothing() -> None:
        return None

    @app.get("/created", status_code=201)
    def created(response: Response):
        response.set_cookie("a", "b")
        return {"a": 1.0, "b": "ü"}

    return app


@pytest.mark.parametrize("with_limits", [False, True])
@pytest.mark.parametrize("query", ["", "?envelope=v2"])
def test_what_a_function_returns_is_checked_in_a_thread_as_ever(serve, with_limits, query):
    client = serve(checking(True, with_limits))
    in_thread, in_loop = (str(client.get(path + query).json()) for path in ("/thread", "/loop"))
    assert "AnyIO worker thread" in in_thread and "AnyIO worker thread" not in in_loop


@pytest.mark.parametrize("with_limits", [False, True])
def test_what_a_function_returns_is_answered_as_fastapi_does(serve, with_limits):
    bare, ours = serve(checking(False, False)), serve(checking(True, with_limits))
    for method, path in (("GET", "/thread"), ("GET", "/created"), ("DELETE", "/thread")):
        expected, got = bare.request(method, path), ours.request(method, path)
        assert (got.status_code, got.content) == (expected.status_code, expected.content)
        kept = {name: value for name, value in expected.headers.items() if name not in ("date", "server")}
        assert kept.items() <= dict(got.headers).items()


def test_a_large_answer_that_is_brought_to_size_holds_up_nobody_else(serve):
    parts = {f"part {number}": number for number in range(400_000)}
    assert order_of_answers(serve, {"entities": [{"name": "Delta Foods", "parts": parts}]}, 1_000) == ["small", "large"]


def test_a_large_response_that_is_read_holds_up_nobody_else(serve):
    rows = [{"number": number} for number in range(300_000)]
    assert order_of_answers(serve, JSONResponse(rows), None) == ["small", "large"]


def order_of_answers(serve, answer, budget):
    """Who has had their answers first: one who asks for much, or one who asks for little after that, three times."""
    app = FastAPI()
    began, ended = threading.Event(), []

    @app.get("/large", response_model=None)
    async def large():
        began.set()
        return answer

    @app.get("/small")
    async def small():
        return {"a": 1}

    fastapi.install(app, Contract(budget=budget), Versions(vendor="acme"))
    client = serve(app)

    def ask(name):
        with httpx.Client(base_url=client.base_url, timeout=30) as asking:
            began.wait(0 if name == "large" else 15)
            for _ in range(1 if name == "large" else 3):
                asking.get(f"/{name}", params={"envelope": "v2"})
            ended.append(name)

    callers = [threading.Thread(target=ask, args=(name,)) for name in ("small", "large")]
    for one in callers:
        one.start()
    for one in callers:
        one.join()
    return ended


class Unhurried:
    """A handler at which it takes a moment to look."""

    __name__ = "unhurried"

    async def __call__(self) -> dict[str, bool]:
        return {"here": True}

    def __getattr__(self, name):
        time.sleep(0.01)
        raise AttributeError(name)


def test_first_requests_that_come_at_once_find_each_route_hooked_once():
    """Each in a thread and an event loop of its own, to an application that nobody has started."""
    app, start = FastAPI(), threading.Barrier(4)
    app.get("/here")(Unhurried())
    fastapi.install(app)
    client = TestClient(app, raise_server_exceptions=False)

    def ask(_):
        start.wait()
        return client.get("/here").json()

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(ask, range(4))) == [{"here": True}] * 4
    assert client.get("/here").json() == {"here": True}
