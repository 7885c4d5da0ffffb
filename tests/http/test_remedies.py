"""What a reply advises can be done by the caller who gets it."""

import pytest
from fastapi import FastAPI

from aerogram import Archive, read
from aerogram.contract import Contract
from aerogram.fastapi import Versions, install, shapes

ROWS = [{"id": f"row-{number}", "text": "words " * 30} for number in range(30)]


@pytest.fixture(scope="module")
def client(serve):
    app = FastAPI()
    install(app, Contract(archive=Archive.in_memory()), Versions(vendor="acme", default="v2"))

    @app.get("/fields")
    @shapes(controls=("fields",))
    def by_fields():
        return ROWS

    @app.get("/pages")
    @shapes(controls=("page_size", "cursor"))
    def by_pages():
        return {"a": [1, 2], "b": [3]}

    @app.post("/rows")
    @shapes(controls=True)
    def made():
        return ROWS

    return serve(app)


def test_who_sees_every_field_already_is_not_sent_to_another_mode(client):
    problem = read(client.get("/fields?fields=unknown").content).problem
    assert problem.code == "INVALID_FIELDS" and "response_mode" not in problem.remediation


def test_a_page_size_that_was_not_used_is_to_be_left_out(client):
    [warning] = client.get("/pages?page_size=1").json()["warnings"]
    assert (warning["code"], warning["suggestion"]) == ("CONTROL_IGNORED", "Leave page_size out")


@pytest.mark.parametrize("name", ["xx", "sha256:" + "0" * 64])
def test_what_is_not_in_the_archive_is_explained_to_callers_of_any_protocol(client, name):
    answer = client.get(f"/v1/content/{name}")
    remedy = read(answer.content).problem.remediation
    assert answer.status_code == 404 and remedy
    assert "tool" not in remedy and "content_archive_hashes" not in remedy


def test_the_next_page_of_what_a_post_gave_is_no_link(client):
    answer = client.post("/rows?page_size=2")
    assert len(answer.json()["results"]) == 2 and answer.json()["aerogram"]["page"]["cursor"]
    assert "Link" not in answer.headers
