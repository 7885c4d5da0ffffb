"""Installing on an application: what cannot work is refused at once, and names that nothing has are told."""

import logging

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.applications import Starlette

from aerogram import Archive, Contract, fastapi, starlette, validate
from aerogram.contract.cache import Cache
from aerogram.contract.deprecation import Deprecations
from aerogram.errors import AerogramError, InvalidReply
from aerogram.shape.modes import RecordType
from aerogram.starlette import Versions
from hosts import HOSTS

INSTALLS = {Starlette: starlette.install, FastAPI: fastapi.install}
KIND = RecordType(["id"], ["id"], ["id"])


@pytest.fixture(params=INSTALLS, ids=lambda framework: framework.__name__)
def framework(request):
    return request.param


def search(request=None):
    return []


def library(framework, *settings):
    """An application that gets its route after Aerogram."""
    app = framework()
    INSTALLS[framework](app, *settings)
    app.add_route("/books", search, name="search", include_in_schema=True)
    return app


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: [Contract(channels="x")], "channels is one of mirror, summary, compact, text, not 'x'"),
        (lambda: [Contract(dialect="v9")], "unknown dialect 'v9'"),
        (lambda: [Contract(budget="plenty")], "'plenty' is not a budget"),
        (lambda: [Contract(cached="search")], "cached is a list of operations"),
        (lambda: [Contract(kinds={"search": 1})], "kinds['search'] is a RecordType, not int"),
        (lambda: [None, Versions(current="v9")], "unknown dialect 'v9'"),
        (lambda: [None, Versions(legacy="v9")], "unknown dialect 'v9'"),
        (lambda: [None, Versions(problem="v9")], "unknown dialect 'v9'"),
        (lambda: [None, Versions(controls=["max_tokns"])], "there is no control 'max_tokns'; there are response_mode"),
    ],
)
def test_a_setting_that_cannot_work_is_refused_when_it_is_made(framework, make, said):
    with pytest.raises(AerogramError) as refused:
        library(framework, *make())
    assert said in str(refused.value)


def test_the_newer_envelope_is_the_dialect_of_the_contract_unless_the_versions_say(framework, caplog):
    """A dialect that nobody would be served is told of in the log."""
    app = library(framework, Contract(dialect="response-v2"))
    assert validate(TestClient(app).get("/books?envelope=v2").json()).name == "response-v2"
    app = library(framework, Contract(dialect="response-v2"), Versions())
    assert validate(TestClient(app).get("/books?envelope=v2").json()).name == "standard-v2"
    assert "nobody is served the contract's dialect response-v2: Versions(current='response-v2') would" in caplog.text


def test_a_second_install_says_that_it_is_the_second(framework):
    app = library(framework)
    with pytest.raises(InvalidReply, match="this application has Aerogram already"):
        INSTALLS[framework](app)


def test_an_application_that_has_started_is_too_late(framework):
    app = framework()
    TestClient(app).get("/")
    with pytest.raises(InvalidReply, match="install before the application has started"):
        INSTALLS[framework](app)


@pytest.mark.parametrize(("wanted", "given"), [(one, other) for one in INSTALLS for other in HOSTS if one is not other])
def test_a_server_of_another_kind_is_sent_to_its_own_module(wanted, given):
    with pytest.raises(InvalidReply, match=f"; for {HOSTS[given]}.install"):
        INSTALLS[wanted](given())


def warnings_in(caplog):
    return [one.getMessage() for one in caplog.records if one.name == "aerogram" and one.levelno == logging.WARNING]


@pytest.mark.parametrize(
    "settings",
    [
        {"budgets": {"serach": 2_000}},
        {"kinds": {"serach": KIND}},
        {"cached": ["serach"], "cache": Cache.in_memory()},
        {"deprecations": {"serach": Deprecations()}},
    ],
    ids=", ".join,
)
def test_an_operation_that_is_not_there_is_told_at_the_start_with_the_nearest_name(framework, settings, caplog):
    client = TestClient(library(framework, Contract(**settings)))
    assert not warnings_in(caplog)  # it may still come
    for _ in range(2):
        assert client.get("/books").status_code == 200
    said = "names 'serach', and there is no such operation; did you mean 'search'?"
    assert warnings_in(caplog) == [f"{next(iter(settings))} {said}"]


@pytest.mark.parametrize("name", ["/boks", "GET /boks", "POST /books"])
def test_a_migrated_route_that_is_not_there_is_told(framework, name, caplog):
    TestClient(library(framework, None, Versions(migrated=[name]))).get("/books")
    [warning] = warnings_in(caplog)
    assert warning.startswith(f"migrated names {name!r}, and there is no such route; did you mean ")


def test_names_that_are_there_are_not_told(framework, caplog):
    contract = Contract(budgets={"search": 2_000}, archive=Archive.in_memory())
    TestClient(library(framework, contract, Versions(migrated=["GET /books", "/books"]))).get("/books")
    assert not warnings_in(caplog)
