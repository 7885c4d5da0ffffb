"""Which envelope an answer comes in, over a real server."""

import contextlib
import http.client

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_api import ROWS, fastapi_app, starlette_app

from aerogram import fastapi, read, starlette, validate
from aerogram.errors import InvalidReply
from aerogram.starlette import Versions

V1, V2 = "application/vnd.acme.v1+json", "application/vnd.acme.v2+json"
JSON, PROBLEM = "application/json", "application/problem+json"
VERSIONS = Versions(
    vendor="acme", migrated=["/rows", "GET /search", "/export", "/echo", "/declared/{name}", "/created"]
)


@pytest.fixture(scope="module", params=["starlette", "fastapi"])
def client(request, serve):
    module, app = {"starlette": (starlette, starlette_app()), "fastapi": (fastapi, fastapi_app())}[request.param]
    module.install(app, versions=VERSIONS)
    return serve(app)


@pytest.fixture(scope="module")
def newer_by_default(serve):
    app = starlette_app()
    starlette.install(app, versions=Versions(vendor="acme", default="v2"))
    return serve(app)


def get(client, path, accept=None, **settings):
    headers = {**settings.pop("headers", {}), **({} if accept is None else {"Accept": accept})}
    if accept is None:
        headers["Accept"] = ""  # httpx would send */* by itself
    return client.get(path, headers=headers, **settings)


def served(response):
    """What the header says was served, once the body has been found to be that."""
    version = response.headers.get("X-Envelope-Version")
    if version == "v2":
        assert validate(response.content).name == "standard-v2"
    elif version == "v1":
        assert response.json() == ROWS or set(response.json()) >= {"detail"} or "total" in response.json()
    return version


def test_without_opting_in_the_legacy_shape_is_served(client, newer_by_default):
    response = get(client, "/rows")
    assert (response.status_code, response.json(), served(response)) == (200, ROWS, "v1")
    assert served(get(newer_by_default, "/rows")) == "v2"


def test_the_query_parameter_opts_in(client):
    response = get(client, "/rows?envelope=v2")
    assert served(response) == "v2" and response.json()["results"] == ROWS
    assert response.headers["Content-Type"] == JSON


def test_the_vendor_type_in_accept_opts_in_and_comes_back_as_the_content_type(client):
    response = get(client, "/rows", V2)
    assert served(response) == "v2" and response.headers["Content-Type"] == V2


def test_the_query_parameter_goes_before_the_header(client):
    assert served(get(client, "/rows?envelope=v1", V2)) == "v1"
    assert served(get(client, "/rows?envelope=v2", f"{V1}, {JSON};q=0.5")) == "v2"
    assert get(client, "/rows?envelope=v2", "text/html").status_code == 200


@pytest.mark.parametrize(
    ("accept", "version"),
    [
        ("*/*", "v1"),
        ("application/*", "v1"),
        (JSON, "v1"),
        (f"{JSON}; charset=utf-8", "v1"),
        (V1, "v1"),
        (V2.upper(), "v2"),
        (f"{JSON}, {V2}", "v2"),
        (f"{V2}, {JSON}", "v2"),
        (f"{JSON};q=0.9, {V2}", "v2"),
        (f"{JSON}, {V2};q=0.9", "v1"),
        (f"{V1}, {V2}", "v2"),
        (f"{V1};q=0.2, {V2};q=0.1", "v1"),
        (f"{V2};q=0, */*", "v1"),
        (f"{JSON};q=0, {V2};q=0.001", "v2"),
        (f"text/html, {V2};q=0.5, */*;q=0.1", "v2"),
        ("text/html, application/xhtml+xml, */*;q=0.8", "v1"),
        (f"{V2};q=7", "v1"),
        (f"{V2};q=nan, {JSON}", "v1"),
        (f"{V2};q=-1", "v1"),
        (f"{V2} ; Q=1.000", "v2"),
        ("application/vnd.acme.v3+json, */*;q=0.1", "v1"),
        ("", "v1"),
        (",,,;;;===", "v1"),
        ("*/json", "v1"),
    ],
)
def test_accept_is_read_with_its_q_values(client, accept, version):
    assert served(get(client, "/rows", accept)) == version


def test_several_accept_headers_are_one(client):
    response = client.get("/rows", headers=[("Accept", f"{JSON};q=0.1"), ("Accept", V2)])
    assert served(response) == "v2"


def test_caches_are_told_what_the_answer_varies_by(client):
    for path in ("/rows", "/rows?envelope=v2", "/declared/missing", "/declared/missing?envelope=v2"):
        assert get(client, path).headers["Vary"] == "Accept, X-Envelope-Version"


@pytest.mark.parametrize("asked", ["?envelope=v2", "?envelope=v1", "?envelope=v9&envelope=v2"])
def test_a_route_that_is_not_migrated_answers_in_the_legacy_shape_whatever_is_asked(client, asked):
    response = get(client, f"/none{asked}", f"{V2}, {PROBLEM}")
    assert (response.status_code, response.headers["X-Envelope-Version"], response.json()) == (200, "v1", [])
    failed = get(client, f"/raises/418{asked}", f"{V2}, {PROBLEM}")
    assert failed.headers["X-Envelope-Version"] == "v1" and failed.headers["X-Own"] == "kept"
    assert failed.text in ("as the app says", '{"detail":"as the app says"}')


def test_a_route_may_be_named_with_its_method(client):
    assert served(get(client, "/search?envelope=v2")) == "v2"


def test_failures_take_the_negotiated_shape(client):
    legacy, newer = get(client, "/declared/missing"), get(client, "/declared/missing", V2)
    assert (legacy.status_code, newer.status_code) == (404, 404)
    assert legacy.json() == {"detail": "there is no such task", "error": "NOT_FOUND"}
    assert (served(newer), read(newer.content).problem.remediation) == ("v2", "List the tasks")


@pytest.mark.parametrize(
    "accept", [PROBLEM, f"{JSON}, {PROBLEM}", f"{V2}, {PROBLEM}", f"{JSON};q=0.5, {PROBLEM};q=0.6"]
)
def test_problem_details_are_for_those_who_name_them(client, accept):
    response = get(client, "/declared/missing", accept)
    assert response.headers["Content-Type"] == PROBLEM
    assert "X-Envelope-Version" not in response.headers  # they are no envelope
    assert validate(response.content).name == "problem"
    assert response.json()["status"] == response.status_code == 404


@pytest.mark.parametrize("accept", ["*/*", "application/*", f"{V2}, {PROBLEM};q=0.5", f"{JSON}, {PROBLEM};q=0"])
def test_problem_details_are_not_for_the_others(client, accept):
    assert get(client, "/declared/missing", accept).headers["Content-Type"] != PROBLEM


def test_who_takes_only_problem_details_still_gets_a_success(client):
    assert served(get(client, "/rows", PROBLEM)) == "v1"


@pytest.mark.parametrize("accept", ["text/html", "application/xml, image/*", f"{JSON};q=0, application/*;q=0"])
def test_what_cannot_be_had_is_a_406_with_the_list(client, accept):
    response = get(client, "/rows", accept)
    assert response.status_code == 406
    assert all(one in response.json()["detail"] for one in (JSON, V1, V2, PROBLEM))


def test_the_list_is_there_for_programs_too(newer_by_default):
    problem = read(get(newer_by_default, "/rows", "text/html").content).problem
    assert problem.details["available"] == [JSON, V2, V1, PROBLEM]


def test_nothing_is_done_for_someone_who_cannot_take_the_answer(client):
    """What changes something is refused before its handler runs; the body would otherwise have been refused first."""
    response = client.post("/echo", json={"id": "task-1"}, headers={"Accept": "text/html"})
    assert response.status_code == 406


def test_another_format_needs_no_declaration_on_a_safe_route(client):
    response = get(client, "/export?envelope=v2", "text/csv")
    assert response.status_code == 200 and response.headers["Content-Type"].startswith("text/csv")
    assert "X-Envelope-Version" not in response.headers
    assert response.headers["Vary"] == "Accept, X-Envelope-Version"  # the same path has envelopes too


@pytest.mark.parametrize(
    ("accept", "query"),
    [
        (V1, ""),
        (V1, "?envelope=v1"),
        (f"{V1}, {V2};q=0.5", ""),
        (f"{JSON};q=0, */*", ""),
        (f"{JSON};q=0, {V1};q=0.1", ""),
    ],
)
@pytest.mark.parametrize("path", ["/rows", "/declared/missing", "/search"])
def test_the_legacy_shape_has_a_type_of_its_own_for_those_who_ask_for_it(client, path, accept, query):
    """Its body is the same; a failure in the framework's words is of that type too."""
    plain, named = get(client, path), get(client, path + query, accept)
    assert (plain.headers["Content-Type"], named.headers["Content-Type"]) == (JSON, V1)
    assert (named.content, served(named), named.status_code) == (plain.content, "v1", plain.status_code)


def test_the_legacy_type_is_not_that_of_other_formats(client):
    csv = get(client, "/export", f"{V1}, text/csv")
    assert csv.headers["Content-Type"].startswith("text/csv")


@pytest.mark.parametrize("query", ["envelope=v1&envelope=v2", "envelope=v9", "envelope=", "envelope=v2&envelope="])
def test_a_choice_that_is_not_clear_is_refused(client, query):
    response = get(client, f"/rows?{query}")
    assert response.status_code == 400 and response.json()["error"] == "VALIDATION_ERROR"


def test_the_same_choice_twice_is_clear(client):
    assert served(get(client, "/rows?envelope=v2&envelope=v2")) == "v2"


@pytest.mark.parametrize("path", ["/nowhere?envelope=v2", "/inside/nowhere?envelope=v2", "/rows/?envelope=v2&x=%ff"])
def test_a_path_that_no_route_has_answers_as_it_was_negotiated(newer_by_default, path):
    response = newer_by_default.get(path)
    assert (response.status_code in (404, 307)) and (response.status_code == 307 or served(response) == "v2")


def test_a_default_may_be_set_without_a_schedule(newer_by_default):
    assert served(get(newer_by_default, "/rows")) == "v2"
    assert served(get(newer_by_default, "/inside/rows")) == "v2"
    assert served(get(newer_by_default, "/rows?envelope=v1")) == "v1"


def send_raw(client, accept):
    """The answer to a header that a well-behaved client would not send."""
    connection = http.client.HTTPConnection(client.base_url.host, client.base_url.port, timeout=20)
    with contextlib.closing(connection):
        connection.request("GET", "/rows", headers={"Accept": accept.encode("latin-1", "replace")})
        found = connection.getresponse()
        return httpx.Response(found.status, headers=found.getheaders(), content=found.read())


@given(accept=st.text(alphabet='application/vndcme.2+json;q=10,*/ \t"\\%()<>@[]{}é\x01', max_size=300))
def test_no_accept_header_is_too_hostile_for_an_answer(newer_by_default, accept):
    """One well-formed answer: the rows, or that they cannot be had; or the server itself refuses the request line."""
    response = send_raw(newer_by_default, accept)
    if "X-Envelope-Version" in response.headers:
        assert response.status_code in (200, 406)
        assert served(response) == "v2"
    else:
        assert (response.status_code, response.content) == (400, b"Invalid HTTP request received.")


@pytest.mark.parametrize(
    "accept", [f"{V2}, " * 800, "a/b;" * 4000, "*/*;q=" + "1" * 5000, f"{JSON};" + "x=y;" * 3000 + "q=1"]
)
def test_a_long_accept_header_is_read_to_its_end(newer_by_default, accept):
    response = send_raw(newer_by_default, accept)
    assert response.status_code in (200, 406) and served(response) == "v2"


@pytest.mark.parametrize(
    "settings", [{"vendor": "Acme Inc"}, {"vendor": ""}, {"migrated": "/rows"}, {"default": "v3"}], ids=str
)
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(InvalidReply):
        Versions(**settings)


def test_installing_twice_or_too_late_is_refused(serve):
    app = starlette_app()
    starlette.install(app)
    with pytest.raises(InvalidReply, match="once"):
        starlette.install(app)
    running = starlette_app()
    assert isinstance(serve(running).get("/health"), httpx.Response)
    with pytest.raises(InvalidReply, match="before"):
        starlette.install(running)
