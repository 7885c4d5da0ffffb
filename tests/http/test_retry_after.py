"""When a caller may come back, as somebody else's failure says it: in seconds, or as a date."""

import datetime as dt
from email.utils import format_datetime

import pytest
from fastapi import FastAPI, HTTPException

from aerogram.client.reading import read
from aerogram.fastapi import Versions, install

IN_A_DAY = format_datetime(dt.datetime.now(dt.UTC) + dt.timedelta(days=1), usegmt=True)
LONG_AGO = "Wed, 21 Oct 2015 07:28:00 GMT"


@pytest.fixture(scope="module")
def client(serve):
    app = FastAPI()
    install(app, versions=Versions(vendor="acme"))

    @app.get("/closed")
    def closed(until: str):
        raise HTTPException(503, "closed", headers={"Retry-After": until})

    return serve(app)


@pytest.mark.parametrize(
    ("until", "least", "most"),
    [(IN_A_DAY, 80_000, 86_400), (LONG_AGO, 0, 0), ("120", 120, 120), (" 7 ", 7, 7)],
    ids=["a date to come", "a date that is past", "seconds", "seconds with blanks"],
)
@pytest.mark.parametrize("accept", ["application/vnd.acme.v2+json", "application/problem+json, application/json"])
def test_it_is_said_in_seconds(client, until, least, most, accept):
    answer = client.get("/closed", params={"until": until}, headers={"Accept": accept})
    assert answer.status_code == 503
    assert least <= int(answer.headers["Retry-After"]) <= most
    assert least <= read(answer.content).problem.retry_after <= most


@pytest.mark.parametrize("until", ["soon", "9" * 40, "Wed, 99 Oct 2037", "-5", ""])
def test_what_says_no_time_is_left_out(client, until):
    answer = client.get("/closed", params={"until": until, "envelope": "v2"})
    assert (answer.status_code, read(answer.content).problem.message) == (503, "closed")
    assert "Retry-After" not in answer.headers


def test_legacy_callers_get_it_as_it_was_said(client):
    assert client.get("/closed", params={"until": LONG_AGO}).headers["Retry-After"] == LONG_AGO
