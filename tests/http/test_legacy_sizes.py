"""Sizes of legacy answers: a budget is that of the body that is sent, whatever shape its route gives it."""

import pytest
from fastapi import FastAPI, HTTPException
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route

from aerogram import Reply, fastapi, read, starlette
from aerogram.archive import Archive
from aerogram.contract import Contract
from aerogram.errors import NotFound
from aerogram.starlette import Versions, install, shapes
from aerogram.tokens import Vocabulary

ROWS = [
    {"id": f"row-{number}", "title": f"Title {number}", "text": f"Row {number} says. " * 20} for number in range(40)
]
LICENCE = "These rows may be used by anybody who says where they are from. " * 6


def large(reply):
    """A shape that says much besides the rows."""
    return {"licence": LICENCE, "count": len(reply.data), "items": reply.data}


def small(reply):
    """A shape that says less than the rows."""
    return [item["id"] for item in reply.data]


def app_of(writer, legacy, budget=None):
    @shapes(legacy=writer)
    async def rows(request):
        return Reply.ok(ROWS)

    app = Starlette(routes=[Route("/rows", rows)])
    contract = Contract(budget=budget, archive=Archive.in_memory())
    install(app, contract, Versions(vendor="acme", legacy=legacy, controls=True))
    return app


@pytest.mark.parametrize("budget", [700, 1_500, 3_000])
@pytest.mark.parametrize("legacy", ["standard-v2", "response-v2", "knowledge-1.0"])
def test_a_shape_of_its_own_takes_part_in_the_measure(serve, legacy, budget):
    for client, asked in (
        (serve(app_of(large, legacy)), {"max_tokens": budget}),
        (serve(app_of(large, legacy, budget)), {}),
    ):
        answer = client.get("/rows", params={**asked, "envelope": "v1"})
        assert answer.status_code == 200
        assert 0.9 * budget < Vocabulary().count(answer.text) <= budget
        assert LICENCE in answer.text


def test_a_shape_that_says_little_needs_no_cut(serve):
    answer = serve(app_of(small, "standard-v2")).get("/rows?envelope=v1&max_tokens=700")
    assert answer.json()["results"] == [row["id"] for row in ROWS]
    assert Vocabulary().count(answer.text) <= 700


def test_the_newer_envelope_is_measured_without_the_older_shape(serve):
    answer = serve(app_of(large, "standard-v2")).get("/rows?envelope=v2&max_tokens=1500")
    assert 1_350 < Vocabulary().count(answer.text) <= 1_500
    assert LICENCE not in answer.text


@pytest.mark.parametrize("default", ["v1", "v2"])
@pytest.mark.parametrize("framework", [starlette, fastapi])
@pytest.mark.parametrize("long", ["words " * 5_000, None])
def test_a_failure_as_problem_details_is_within_the_budget_whatever_envelope_it_is_not_in(
    serve, framework, default, long
):
    """What it lacks is said in it, and is in the archive."""

    async def fail(request: Request):
        if long is None:
            raise NotFound("gone", details={"x": ["y"] * 2_000})
        raise HTTPException(404, long)

    app = FastAPI() if framework is fastapi else Starlette(routes=[Route("/fail", fail)])
    if framework is fastapi:
        app.get("/fail")(fail)
    framework.install(app, Contract(budget=800, archive=Archive.in_memory()), Versions(default=default))
    answer = serve(app).get("/fail", headers={"Accept": "application/problem+json"})
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
    assert Vocabulary().count(answer.text) <= 800
    assert read(answer.content).fidelity.level == "partial"
