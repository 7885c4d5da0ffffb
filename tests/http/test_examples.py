"""The example of each framework: a paged, budgeted, negotiated reply and an error that can be acted on."""

import importlib.util
from pathlib import Path

import pytest

from aerogram import read, validate
from aerogram.client import Client

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module", params=["tasks_starlette", "tasks_fastapi"])
def client(request, serve):
    spec = importlib.util.spec_from_file_location(request.param, EXAMPLES / f"{request.param}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return serve(module.app)


def test_the_pages_hold_all_tasks_and_each_keeps_the_budget(client):
    seen, path = [], "/tasks?envelope=v2&page_size=5"
    while path:
        response = client.get(path)
        assert response.headers["X-Envelope-Version"] == "v2"
        validate(response.content)
        seen += [row["task_id"] for row in response.json()["results"]]
        path = response.links.get("next", {}).get("url")
    assert seen == [f"task-{number:03}" for number in range(1, 31)]


def test_what_does_not_fit_is_said_and_comes_back(client):
    reader = Client(client)
    reply = reader.call("/tasks", {"envelope": "v2"})
    assert reply.fidelity.level != "full" and reply.notices
    assert reader.whole(reply).data == client.get("/tasks").json()


def test_an_error_says_what_to_do(client):
    response = client.get("/tasks/99?envelope=v2")
    problem = read(response.content).problem
    assert (response.status_code, problem.code, problem.remediation) == (
        404,
        "NOT_FOUND",
        "GET /tasks lists the numbers",
    )


def test_legacy_callers_get_the_plain_list(client):
    response = client.get("/tasks/7")
    assert response.headers["X-Envelope-Version"] == "v1" and response.json()["task_id"] == "task-007"
