"""What handlers answer: the routes of the document, other formats, and every kind of value."""

from urllib.parse import urljoin

import httpx
import pytest
from small_api import CSV, HEALTH, ROWS, SOURCE, UNWELL, fastapi_app, starlette_app
from starlette.applications import Starlette
from starlette.authentication import AuthCredentials, AuthenticationBackend, SimpleUser
from starlette.endpoints import HTTPEndpoint
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from aerogram import Reply, fastapi, read, starlette, validate
from aerogram.contract import Contract
from aerogram.errors import InvalidReply
from aerogram.starlette import Versions, shapes
from web_servers import running

APPS = {"starlette": (starlette, starlette_app), "fastapi": (fastapi, fastapi_app)}


@pytest.fixture(scope="module", params=APPS)
def client(request, serve):
    module, make = APPS[request.param]
    app = make()
    module.install(app, versions=Versions(vendor="acme"))
    return serve(app)


def test_a_search_route_has_both_shapes(client):
    legacy, newer = client.get("/search?limit=7"), client.get("/search?limit=7&envelope=v2")
    assert legacy.json() == {"total": 23, "limit": 7, "offset": 0, "results": ROWS[:7]}
    body = newer.json()
    validate(body)
    assert (body["status"], body["results"]) == ("rich", ROWS[:7])
    assert body["query_echo"]["applied_filters"] == {"limit": 7, "offset": 0}
    page = read(body).page
    assert (page.total, page.page_size, page.has_more) == (23, 7, True)


def test_a_reply_says_how_its_request_was_understood(client):
    """Successes and failures name the parameters of path and query, but for those that choose the envelope."""
    found = client.get("/search", params={"q": "IT導入", "limit": 7, "envelope": "v2"}).json()["query_echo"]
    assert (found["normalized_input"], found["applied_filters"]) == ({"q": "IT導入"}, {"limit": 7, "offset": 0})
    narrowed = client.get("/search?q=IT&tier=S&tier=A&area=east&limit=7&envelope=v2").json()["query_echo"]
    assert narrowed["normalized_input"] == {"q": "IT"}
    assert narrowed["applied_filters"] == {"tier": ["S", "A"], "area": "east", "limit": 7, "offset": 0}
    lookup = client.get("/company/123?envelope=v2").json()["query_echo"]
    assert lookup["normalized_input"] == {next(iter(lookup["normalized_input"])): "123"}
    failed = client.get("/search?limit=many&envelope=v2").json()
    assert (failed["status"], failed["query_echo"]["normalized_input"]) == ("error", {"limit": "many"})
    long = client.get("/search", params={"q": "x" * 600, "envelope": "v2"}).json()
    assert long["query_echo"]["normalized_input"] == {}  # what is long is not sent back


@pytest.mark.parametrize(("limit", "status"), [(5, "rich"), (4, "sparse"), (1, "sparse"), (0, "empty")])
def test_the_status_follows_from_the_rows(client, limit, status):
    body = client.get(f"/search?limit={limit}&envelope=v2").json()
    assert body["status"] == status and ("empty_reason" in body) == (status == "empty")


def test_a_lookup_gives_one_record_in_a_list_of_one_with_citations(client):
    assert client.get("/company/123").json() == {"number": "123", "name": "株式会社"}
    body = client.get("/company/123?envelope=v2").json()
    validate(body)
    assert (body["status"], body["results"]) == ("rich", [{"number": "123", "name": "株式会社"}])
    assert body["citations"] == [
        {"source_id": "src-1", "source_url": "https://example.org/1", "field_paths": ["/results/0/name"]}
    ]


def test_a_health_route_is_rich_when_all_is_well_and_else_partial(client):
    assert client.get("/health").json() == HEALTH
    well, unwell = client.get("/health?envelope=v2").json(), client.get("/health?envelope=v2&unwell=true").json()
    validate(well)
    validate(unwell)
    assert (well["status"], well["results"], well["warnings"]) == ("rich", [HEALTH], [])
    assert (unwell["status"], unwell["results"]) == ("partial", [UNWELL])
    assert unwell["warnings"][0]["message"] == "The service is degraded: queue"


def test_nothing_found_says_why(client):
    body = client.get("/none?envelope=v2").json()
    assert (body["status"], body["empty_reason"], body["results"]) == ("empty", "no_match", [])


@pytest.mark.parametrize("query", ["", "?envelope=v2"])
def test_other_formats_files_and_streams_pass_untouched(client, query):
    export, file, stream = (client.get(path + query) for path in ("/export", "/file", "/stream"))
    assert export.text == CSV and export.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert file.content == SOURCE and file.headers["ETag"]
    assert stream.json() == {"a": 1} and stream.headers["Content-Type"] == "application/json"
    assert client.get("/file" + query, headers={"Range": "bytes=0-9"}).content == SOURCE[:10]
    for response in (export, file):
        assert "X-Envelope-Version" not in response.headers


def test_an_answer_without_a_body_stays_without(client):
    method = "GET" if client.get("/nothing").status_code == 204 else "DELETE"
    response = client.request(method, "/nothing?envelope=v2")
    assert (response.status_code, response.content) == (204, b"")


def test_a_status_of_the_handler_is_kept(client):
    response = client.post("/created?envelope=v2", json={"id": "new", "title": "t"})
    assert response.status_code == 201 and response.json()["results"][0]["id"] == "new"


def app_of(*routes, contract=None, **settings):
    app = Starlette(routes=list(routes))
    starlette.install(app, contract, Versions(vendor="acme", **settings))
    return app


def test_a_reply_can_be_said_in_the_shape_that_legacy_callers_know(serve):
    @shapes(legacy=lambda reply: {"total": reply.page.total if reply.page else len(reply.data), "items": reply.data})
    async def listed(request):
        return Reply.ok(ROWS[:6])

    client = serve(app_of(Route("/listed", listed)))
    assert client.get("/listed").json() == {"total": 6, "items": ROWS[:6]}
    assert client.get("/listed?envelope=v2").json()["results"] == ROWS[:6]


def test_endpoint_classes_and_wrapped_functions_are_handlers_too(serve):
    class Tasks(HTTPEndpoint):
        def get(self, _):
            return ROWS[:2]

        async def post(self, _):
            raise ValueError("not the body's fault")

    client = serve(app_of(Route("/tasks", Tasks)))
    assert client.get("/tasks?envelope=v2").json()["results"] == ROWS[:2]
    assert client.get("/tasks").json() == ROWS[:2]
    assert client.post("/tasks?envelope=v2").status_code == 500
    assert client.delete("/tasks?envelope=v2").status_code == 405


def test_a_more_specific_route_keeps_its_own_terms(serve):
    """A request for a route that is not migrated is not taken for its migrated neighbour's."""
    routes = [Route("/tasks/all", lambda _: JSONResponse(ROWS)), Route("/tasks/{id}", lambda _: {"id": "x"})]
    client = serve(app_of(*routes, migrated=["/tasks/{id}"]))
    assert client.get("/tasks/all?envelope=v2").json() == ROWS
    assert client.get("/tasks/7?envelope=v2").json()["status"] == "rich"


def test_the_envelopes_may_be_other_dialects(serve):
    client = serve(app_of(Route("/rows", lambda _: ROWS), legacy="knowledge-1.0", current="response-v2"))
    assert validate(client.get("/rows").content).name == "knowledge-1.0"
    assert validate(client.get("/rows?envelope=v2").content).name == "response-v2"


def test_the_legacy_envelope_of_a_fastapi_application_may_be_another_dialect_too(serve):
    app = fastapi_app()
    fastapi.install(app, versions=Versions(vendor="acme", legacy="knowledge-1.0"))
    client = serve(app)
    for path in ("/rows", "/company/1", "/declared/missing", "/raises/404", "/nowhere"):
        response = client.get(path)
        assert validate(response.content).name == "knowledge-1.0"
        assert response.headers["X-Envelope-Version"] == "v1"


class Names(AuthenticationBackend):
    """Whoever gives a name is that person."""

    async def authenticate(self, conn):
        return (AuthCredentials(["known"]), SimpleUser(conn.headers["X-Name"])) if "X-Name" in conn.headers else None


def test_a_cursor_is_good_for_its_own_caller_only(serve):
    app = Starlette(
        routes=[Route("/rows", lambda _: ROWS)], middleware=[Middleware(AuthenticationMiddleware, backend=Names())]
    )
    starlette.install(app, versions=Versions(vendor="acme", controls=True))
    client = serve(app)
    path = client.get("/rows?envelope=v2&page_size=2", headers={"X-Name": "ann"}).links["next"]["url"]
    assert client.get(path, headers={"X-Name": "ann"}).status_code == 200
    for other in ({"X-Name": "bob"}, {}):
        assert client.get(path, headers=other).status_code == 400


@pytest.mark.parametrize(
    "path", ["//elsewhere.example/rows", "//", "/%2e%2e/rows", "/a/%2E/rows", "/a/..%2f..", "/.a/b.."]
)
def test_a_link_leads_to_the_path_that_was_asked_for(path):
    """Two slashes are the beginning of a host in a link, and dots lead upwards in one."""
    app = Starlette(routes=[Route("/{path:path}", lambda request: [request.url.path] * 5)])
    starlette.install(app, versions=Versions(vendor="acme", default="v2", controls=True))
    with running(app) as base, httpx.Client(timeout=60) as connection:
        first = connection.get(f"{base}{path}?page_size=2")
        address = urljoin(str(first.url), first.links["next"]["url"])
        second = connection.get(address)
    assert address.startswith(base + "/")
    assert (second.status_code, second.json()["results"]) == (200, first.json()["results"])


@pytest.mark.parametrize("root", ["", "/proxy"])
def test_a_link_has_path_and_query_as_they_were_sent(root):
    """What stands before a server may tell a quoted slash from one, and a handler may read bytes that are no text."""
    app = Starlette(routes=[Route("/{path:path}", lambda _: ROWS)])
    starlette.install(app, versions=Versions(vendor="acme", default="v2", controls=True))
    client = TestClient(app, root_path=root)
    sent = "/group%2Fproject/%FF?name=%E9t%E9%2C&a=b%2Fc+d&empty=&page_size=2"
    first = client.get(sent).links["next"]["url"]
    assert first.startswith(f"{root}{sent}&cursor=")
    second = client.get(first).links["next"]["url"]
    assert second.startswith(f"{root}{sent}&cursor=") and second.count("cursor=") == 1 and second != first


def test_callers_shape_replies_where_controls_are_on(serve):
    client = serve(app_of(Route("/rows", lambda _: ROWS), controls=True))
    seen, path = [], "/rows?envelope=v2&page_size=10"
    while path:
        response = client.get(path)
        seen += response.json()["results"]
        path = response.links.get("next", {}).get("url")
    assert seen == ROWS
    fields = client.get("/rows?envelope=v2&fields=id&page_size=2").json()["results"]
    assert fields == [{"id": row["id"]} for row in ROWS[:2]]


def test_a_cursor_is_good_for_its_own_query_only(serve):
    client = serve(app_of(Route("/rows", lambda _: ROWS), controls=True))
    cursor = read(client.get("/rows?page_size=2&q=a&envelope=v2").content).page.cursor
    assert client.get("/rows", params={"cursor": cursor, "q": "a", "envelope": "v2"}).status_code == 200
    other = client.get("/rows", params={"cursor": cursor, "q": "b", "envelope": "v2"})
    assert other.status_code == 400 and read(other.content).problem.code == "INVALID_CURSOR"


def test_a_budget_holds_over_http(serve):
    app = app_of(Route("/rows", lambda _: ROWS * 4), contract=Contract(budget="3000 bytes"))
    response = serve(app).get("/rows?envelope=v2")
    assert len(response.content) <= 3000
    assert read(response.content).fidelity.level != "full"


def test_parameters_of_the_application_are_left_to_it_where_controls_are_off(client):
    assert client.get("/search?envelope=v2&fields=default&page_size=x&cursor=%00").status_code == 200


def test_single_controls_can_be_named(serve):
    """For one handler, or for all of them; the others are parameters like any other."""

    async def some(request):
        return ROWS

    @shapes(controls=("fields",))
    async def own(request):
        return ROWS

    app = Starlette(routes=[Route("/some", some), Route("/own", own)])
    starlette.install(app, Contract(), Versions(default="v2", controls=("page_size", "cursor")))
    client = serve(app)
    asked = {"page_size": 2, "fields": "id"}
    assert client.get("/some", params=asked).json()["results"] == ROWS[:2]
    assert client.get("/own", params=asked).json()["results"] == [{"id": row["id"]} for row in ROWS]


def test_a_control_that_there_is_not_is_noticed_where_it_is_named():
    with pytest.raises(InvalidReply, match="there is no control 'page'"):
        shapes(controls=("page",))
