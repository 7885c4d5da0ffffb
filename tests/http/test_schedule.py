"""How one envelope takes over from another: the dates, what callers are told, and who still asks for the old one."""

import datetime as dt
from collections import Counter
from email.utils import parsedate_to_datetime

import pytest
from small_api import ROWS, fastapi_app, starlette_app

from aerogram import fastapi, read, starlette
from aerogram.errors import InvalidReply
from aerogram.starlette import Schedule, Versions

SCHEDULE = Schedule(
    opt_in=dt.date(2026, 4, 30),
    flip=dt.date(2026, 8, 4),
    removal=dt.date(2026, 9, 3),
    documentation="https://acme.example/migration",
)
BEFORE, OPT_IN, FLIPPED, REMOVED = (
    dt.datetime.fromisoformat(moment)
    for moment in ("2026-04-29T23:59:59Z", "2026-04-30T00:00:00Z", "2026-08-04T00:00:00Z", "2026-09-04T00:00:00Z")
)


class Calendar:
    """A clock that shows the moment it is set to."""

    now = OPT_IN

    def __call__(self):
        return self.now


@pytest.fixture(scope="module", params=["starlette", "fastapi"])
def service(request, serve):
    module, app = {"starlette": (starlette, starlette_app()), "fastapi": (fastapi, fastapi_app())}[request.param]
    calendar = Calendar()
    migrated = ["/rows", "/declared/{name}", "/export"]
    versions = Versions(vendor="acme", schedule=SCHEDULE, clock=calendar, migrated=migrated)
    installed = module.install(app, versions=versions)
    return serve(app), calendar, installed.usage


def at(service, moment, path, accept="*/*"):
    client, calendar, _ = service
    calendar.now = moment
    return client.get(path, headers={"Accept": accept})


def version(response):
    return response.headers["X-Envelope-Version"]


def test_before_the_migration_there_is_only_the_legacy_shape(service):
    response = at(service, BEFORE, "/rows?envelope=v2")
    assert (version(response), response.json()) == ("v1", ROWS)
    assert "Deprecation" not in response.headers and "Sunset" not in response.headers


def test_during_the_opt_in_time_the_legacy_shape_is_the_default(service):
    assert version(at(service, OPT_IN, "/rows")) == "v1"
    assert version(at(service, OPT_IN, "/rows?envelope=v2")) == "v2"
    assert version(at(service, FLIPPED - dt.timedelta(microseconds=1), "/rows")) == "v1"


def test_on_the_day_of_the_flip_the_newer_envelope_becomes_the_default(service):
    assert version(at(service, FLIPPED, "/rows")) == "v2"
    assert version(at(service, FLIPPED, "/declared/missing")) == "v2"


def test_after_the_flip_legacy_callers_opt_out(service):
    assert version(at(service, FLIPPED, "/rows?envelope=v1")) == "v1"
    assert version(at(service, FLIPPED, "/rows", "application/vnd.acme.v1+json")) == "v1"


@pytest.mark.parametrize("moment", [OPT_IN, FLIPPED])
def test_legacy_answers_say_when_they_end_and_what_follows(service, moment):
    response = at(service, moment, "/rows?q=a%20b&envelope=v1")
    assert response.headers["Deprecation"] == f"@{int(FLIPPED.timestamp())}"
    assert parsedate_to_datetime(response.headers["Sunset"]) == REMOVED
    assert response.links["successor-version"]["url"] == "/rows?q=a+b&envelope=v2"
    assert response.links["deprecation"]["url"] == response.links["sunset"]["url"] == "https://acme.example/migration"
    assert version(at(service, moment, response.links["successor-version"]["url"])) == "v2"


def test_newer_answers_say_nothing_of_the_kind(service):
    for path in ("/rows?envelope=v2", "/declared/missing?envelope=v2"):
        assert "Deprecation" not in at(service, FLIPPED, path).headers


@pytest.mark.parametrize(("path", "accept"), [("/rows?envelope=v1", "*/*"), ("/rows", "application/vnd.acme.v1+json")])
def test_after_the_grace_the_legacy_shape_is_gone(service, path, accept):
    """The day that is named is its last one."""
    assert version(at(service, REMOVED - dt.timedelta(microseconds=1), path, accept)) == "v1"
    response = at(service, REMOVED, path, accept)
    assert (response.status_code, version(response)) == (410, "v2")
    assert read(response.content).problem.details["allowed"] == ["v2"]


def test_after_the_grace_the_others_are_served(service):
    assert version(at(service, REMOVED, "/rows")) == "v2"
    assert version(at(service, REMOVED, "/rows", "application/vnd.acme.v1+json, application/json;q=0.1")) == "v2"
    assert at(service, REMOVED, "/rows", "text/html").status_code == 406
    assert at(service, REMOVED, "/export?envelope=v2", "text/csv").status_code == 200


def test_a_route_that_was_never_migrated_is_not_removed(service):
    response = at(service, REMOVED, "/none?envelope=v1")
    assert (response.status_code, version(response), response.json()) == (200, "v1", [])


def test_the_use_of_each_version_is_counted_on_each_route(service):
    client, calendar, usage = service
    calendar.now = OPT_IN
    before, of_rows = Counter(usage.by_version), usage.by_route["/rows", "v2"]
    for path in (
        "/rows",
        "/rows?envelope=v2",
        "/rows?envelope=v2",
        "/none?envelope=v2",
        "/declared/missing?envelope=v2",
    ):
        client.get(path)
    after = usage.by_version
    assert (after["v1"] - before["v1"], after["v2"] - before["v2"]) == (2, 3)
    assert usage.by_route["/rows", "v2"] - of_rows == 2


@pytest.mark.parametrize(
    "dates",
    [
        {"opt_in": dt.date(2026, 5, 1), "flip": dt.date(2026, 4, 1), "removal": dt.date(2026, 6, 1)},
        {"opt_in": dt.date(2026, 4, 1), "flip": dt.date(2026, 6, 1), "removal": dt.date(2026, 6, 1)},
        {"opt_in": dt.date(2026, 4, 1), "flip": dt.datetime(2026, 5, 1), "removal": dt.date(2026, 6, 1)},  # noqa: DTZ001
    ],
    ids=["backwards", "no grace", "no time zone"],
)
def test_a_schedule_that_cannot_be_is_refused(dates):
    with pytest.raises(InvalidReply):
        Schedule(**dates)


def test_a_removal_may_be_a_moment():
    moment = dt.datetime(2026, 9, 3, 12, tzinfo=dt.UTC)
    schedule = Schedule(opt_in=dt.date(2026, 4, 30), flip=dt.date(2026, 8, 4), removal=moment)
    assert schedule.stage(moment - dt.timedelta(microseconds=1)) == "flipped"
    assert schedule.stage(moment) == "removed"


def test_dates_have_no_default():
    with pytest.raises(TypeError, match="flip"):
        Schedule(opt_in=dt.date(2026, 4, 30))
