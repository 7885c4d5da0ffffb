"""Whether a request that broke off may be made again: its method decides, unless the application has said it."""

import pytest
from fastapi import FastAPI
from fastapi import HTTPException as FastHTTPException
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Route

from aerogram import fastapi, read, starlette
from aerogram.errors import Unavailable
from aerogram.starlette import Versions

VERSIONS = Versions(vendor="acme")
METHODS = {"GET": "yes", "PUT": "yes", "DELETE": "yes", "POST": "check", "PATCH": "check"}
FAULTS = {
    "crash": (lambda _: RuntimeError("the secret"), "INTERNAL_ERROR"),
    "timeout": (lambda _: TimeoutError(), "UNAVAILABLE"),
    "status": (lambda refusal: refusal(500, "the mill stands still"), "INTERNAL_ERROR"),
    "gateway": (lambda refusal: refusal(504, "the mill is slow"), "UNAVAILABLE"),
}


def of_starlette(make):
    async def orders(request):
        raise make(HTTPException)

    return Starlette(routes=[Route("/orders", orders, methods=list(METHODS))])


def of_fastapi(make):
    app = FastAPI()

    @app.api_route("/orders", methods=list(METHODS))
    def orders():
        raise make(FastHTTPException)

    return app


APPS = {"starlette": (starlette, of_starlette), "fastapi": (fastapi, of_fastapi)}
apps = pytest.mark.parametrize("framework", APPS)


def ask(serve, framework, make, method, **headers):
    module, app_of = APPS[framework]
    app = app_of(make)
    module.install(app, versions=VERSIONS)
    return serve(app).request(method, "/orders?envelope=v2", headers=headers)


@apps
@pytest.mark.parametrize(("method", "retry"), METHODS.items())
@pytest.mark.parametrize(("make", "code"), FAULTS.values(), ids=FAULTS)
def test_a_failure_in_the_middle_is_retryable_only_where_the_method_can_be_repeated(
    serve, framework, make, code, method, retry
):
    for accept in ("*/*", "application/vnd.acme.v2+json, application/problem+json"):
        answer = ask(serve, framework, make, method, Accept=accept)
        problem = read(answer.content).problem
        assert (problem.code, problem.retry, "secret" in answer.text) == (code, retry, False)
        assert ("may have been carried out" in (problem.remediation or "")) == (retry == "check")


@apps
@pytest.mark.parametrize(
    "make", [lambda _: Unavailable("closed until noon"), lambda refusal: refusal(503, "closed")], ids=["said", "503"]
)
def test_an_application_that_refuses_has_done_nothing(serve, framework, make):
    problem = read(ask(serve, framework, make, "POST").content).problem
    assert (problem.code, problem.retry) == ("UNAVAILABLE", "yes")
