"""Why there is nothing is the handler's to say, whichever page of it is asked for."""

import pytest
from fastapi import FastAPI

from aerogram import Reply
from aerogram.fastapi import Versions, install


@pytest.fixture(scope="module")
def client(serve):
    app = FastAPI()
    install(app, versions=Versions(vendor="acme", default="v2", controls=True))

    @app.get("/empty/{reason}")
    def empty(reason: str) -> Reply[list[int]]:
        return Reply.empty(reason, retry_with={"tier": "S"})

    @app.get("/nothing")
    def nothing() -> list[int]:
        return []

    return serve(app)


@pytest.mark.parametrize("reason", ["no_match", "filters_too_narrow", "source_unavailable", "license_blocked"])
@pytest.mark.parametrize("query", ["", "?page_size=2", "?page_size=2&fields=id"])
def test_a_page_of_nothing_is_empty_for_the_same_reason(client, reason, query):
    body = client.get(f"/empty/{reason}{query}").json()
    assert (body["status"], body["empty_reason"], body["retry_with"]) == ("empty", reason, {"tier": "S"})


def test_a_page_of_no_rows_is_empty(client):
    body = client.get("/nothing?page_size=2").json()
    assert (body["status"], body["empty_reason"]) == ("empty", "no_match")
