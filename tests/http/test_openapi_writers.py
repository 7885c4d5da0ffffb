"""The OpenAPI document leaves open what only the writer of a legacy shape knows."""

import jsonschema_rs
import pytest
from fastapi import FastAPI
from pydantic import BaseModel

from aerogram import Page, Reply
from aerogram.fastapi import Versions, install, shapes
from aerogram.testing import sweep


class Task(BaseModel):
    number: int


def service(**versions):
    app = FastAPI()
    install(app, versions=Versions(vendor="acme", **versions))

    @app.get("/tasks")
    @shapes(legacy=lambda reply: {"total": reply.page.total, "items": reply.data})
    def tasks() -> Reply[list[Task]]:
        return Reply.ok([Task(number=1)], page=Page(total=1, has_more=False))

    return app


@pytest.mark.parametrize("query", ["", "?envelope=v2"])
@pytest.mark.parametrize("versions", [{}, {"controls": True}, {"legacy": "response-v2"}])
def test_the_answer_of_a_writer_fits_the_document(serve, versions, query):
    client = serve(service(**versions))
    document, answer = client.get("/openapi.json").json(), client.get(f"/tasks{query}")
    content = document["paths"]["/tasks"]["get"]["responses"]["200"]["content"]
    schema = {**content[answer.headers["Content-Type"]]["schema"], "components": document["components"]}
    assert jsonschema_rs.Draft202012Validator(schema).is_valid(answer.json())


def test_the_sweep_finds_every_promise_kept():
    sweep(service()).raise_for_failures()
