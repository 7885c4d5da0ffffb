"""What replies left out, over HTTP: served where the reply says, whole, and to whom it belongs."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from aerogram import Archive, Contract
from aerogram.client import Client
from aerogram.fastapi import install as install_fastapi
from aerogram.starlette import Versions
from aerogram.starlette import install as install_starlette

ROWS = [
    {"id": f"row-{number}" if number != 5 else "Doe, Jane", "text": f"the text of row {number} " * 20}
    for number in range(60)
]
RECORD = {"title": "one", "chapters": {f"chapter-{number}": "word " * 200 for number in range(20)}}
FRAMEWORKS = ["starlette", "fastapi"]


def who(scope: Any) -> str | None:
    """The caller, by a header."""
    return dict(scope["headers"]).get(b"x-user", b"").decode() or None


def application(framework: str, versions: Versions | None = None, **settings: Any) -> Any:
    """Rows and a record that are too large for the budget."""
    contract = Contract(budget=1_500, archive=Archive.in_memory())
    versions = versions or Versions(vendor="acme", default="v2", controls=True)
    if framework == "starlette":

        async def rows(_: Request) -> Any:
            return ROWS

        async def record(_: Request) -> Any:
            return RECORD

        star = Starlette(routes=[Route("/rows", rows), Route("/record", record)])
        install_starlette(star, contract, versions, **settings)
        return star
    app = FastAPI()
    app.add_api_route("/rows", lambda: ROWS, name="rows")
    app.add_api_route("/record", lambda: RECORD, name="record")
    install_fastapi(app, contract, versions, **settings)
    return app


def connected(app: Any, **options: Any) -> Any:
    """An HTTP client of an application."""
    return TestClient(app, **options)


@pytest.mark.parametrize("target", ["/rows", "/record"])
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_a_reply_left_out_is_where_it_says(framework: str, target: str) -> None:
    """The reply names the address and the hash, and everything comes back from there, checked."""
    with connected(application(framework)) as connection:
        client = Client(connection)
        reply = client.call(target)
        assert reply.fidelity is not None
        action, (notice,) = reply.actions[0], reply.notices
        assert (action.endpoint, action.tool) == ("/v1/content/{hash}", None)
        assert action.args == {"hash": (reply.fidelity.archive_hashes or {})["data"]}
        assert "retrieve" not in notice.message  # which is no tool here
        assert client.whole(reply).data == (ROWS if target == "/rows" else RECORD)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_content_is_shown_as_the_caller_wants_it(framework: str) -> None:
    """In pages, by ids, by a path, in single fields, in either envelope."""
    with connected(application(framework)) as connection:
        reply = Client(connection).call("/rows")
        assert reply.fidelity is not None and reply.fidelity.archive_hashes is not None
        address = f"/v1/content/{reply.fidelity.archive_hashes['data']}"
        page = connection.get(address, params={"fields": "id", "page_size": 2})
        assert page.json()["results"] == [{"id": "row-0"}, {"id": "row-1"}]
        assert connection.get(page.links["next"]["url"]).json()["results"][0] == {"id": "row-2"}
        assert connection.get(address, params={"ids": "row-7,row-9"}).json()["results"] == [ROWS[7], ROWS[9]]
        repeated = connection.get(address, params={"ids": ["row-7", "row-9,row-11"]}).json()["results"]
        assert repeated == [ROWS[7], ROWS[9], ROWS[11]]
        assert connection.get(address, params={"path": "/3/id", "envelope": "v1"}).json() == "row-3"


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_content_belongs_to_whom_it_was_left_out_for(framework: str) -> None:
    """Somebody else who knows the hash gets what nobody has."""
    with connected(application(framework, principal=who)) as connection:
        reply = connection.get("/rows", headers={"x-user": "ada"}).json()
        address = f"/v1/content/{reply['aerogram']['fidelity']['archive_hashes']['data']}"
        assert connection.get(address, headers={"x-user": "ada"}).status_code == 200
        refused = connection.get(address, headers={"x-user": "bob"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, "NOT_FOUND")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_address_can_be_chosen_or_left_out(framework: str) -> None:
    """Another address is named and served; without one there is no route."""
    with connected(application(framework, content="/rest/{hash}")) as connection:
        reply = Client(connection).call("/rows")
        assert reply.actions[0].endpoint == "/rest/{hash}"
        assert Client(connection).whole(reply).data == ROWS
    with connected(application(framework, content=None)) as connection:
        assert connection.get("/v1/content/sha256:" + "0" * 64).json()["error"]["developer_message"] == "Not Found"


def test_a_route_of_the_application_at_that_address_stays() -> None:
    """The application's own content is not replaced, and is what replies point at."""

    async def content(request: Request) -> Any:
        return {"mine": request.path_params["hash"]}

    async def rows(_: Request) -> Any:
        return ROWS

    app = Starlette(routes=[Route("/rows", rows), Route("/v1/content/{hash}", content)])
    install_starlette(app, Contract(budget=1_500, archive=Archive.in_memory()), Versions(default="v2"))
    with connected(app) as connection:
        assert connection.get("/v1/content/abc").json()["results"] == [{"mine": "abc"}]
        assert Client(connection).call("/rows").actions[0].endpoint == "/v1/content/{hash}"


def test_content_is_served_before_a_route_that_takes_every_path() -> None:
    """An application that is mounted at the root does not hide it."""

    async def everything(scope: Any, receive: Any, send: Any) -> None:
        await PlainTextResponse("a page")(scope, receive, send)

    app = Starlette(routes=[Mount("/", everything)])
    install_starlette(app, Contract(budget=1_500, archive=Archive.in_memory()), Versions(default="v2"))
    with connected(app) as connection:
        assert connection.get("/v1/content/sha256:" + "0" * 64).json()["error"]["code"] == "NOT_FOUND"
        assert connection.get("/other").text == "a page"


def test_without_an_archive_there_is_nothing_to_serve() -> None:
    """No archive, no route."""
    app = FastAPI()
    install_fastapi(app, Contract(budget=1_500))
    assert "/v1/content/{hash}" not in app.openapi()["paths"]


def test_the_openapi_document_has_the_content_route_with_its_parameters() -> None:
    """Path, parts, and how it is shaped."""
    described = application("fastapi").openapi()
    operation = described["paths"]["/v1/content/{hash}"]["get"]
    named = {one.get("name") or one["$ref"].rpartition("aerogram.")[2] for one in operation["parameters"]}
    assert named >= {"hash", "ids", "path", "as_text", "fields", "cursor", "page_size", "max_tokens", "response_mode"}
    assert operation["responses"]["200"]["content"].keys() >= {"application/json", "application/vnd.acme.v2+json"}


def test_a_content_route_is_migrated_where_other_routes_are_not() -> None:
    """It has no legacy callers, so it has both envelopes from the start."""

    async def rows(_: Request) -> Any:
        return ROWS

    app = Starlette(routes=[Route("/rows", rows)])
    install_starlette(app, Contract(budget=1_500, archive=Archive.in_memory()), Versions(migrated=[]))
    with connected(app) as connection:
        missing = connection.get("/v1/content/sha256:" + "0" * 64, params={"envelope": "v2"})
        assert (missing.headers["x-envelope-version"], missing.json()["status"]) == ("v2", "error")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_legacy_answers_are_never_cut(framework: str) -> None:
    """A payload alone cannot say what is missing, so nothing is; what the caller asks for is done."""
    with connected(application(framework)) as connection:
        legacy = {"envelope": "v1"}
        assert connection.get("/rows", params=legacy).json() == ROWS
        assert connection.get("/rows", params={**legacy, "max_tokens": 50}).json() == ROWS
        page: httpx2.Response = connection.get("/rows", params={**legacy, "page_size": 25, "fields": "id"})
        assert page.json() == [{"id": row["id"]} for row in ROWS[:25]]
        assert connection.get(page.links["next"]["url"]).json()[0] == {"id": "row-25"}


class Taken:
    """What a proxy does that takes a prefix away: nothing else is there, and the server does not hear of it."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            if not scope["path"].startswith("/api/"):
                return await PlainTextResponse("the proxy knows no such address", 404)(scope, receive, send)
            scope = {**scope, "path": scope["path"][4:], "raw_path": scope["raw_path"][4:]}
        return await self.app(scope, receive, send)


class Told(Taken):
    """One whose server was told the prefix, as uvicorn is with `--root-path`: the path has it again."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def told(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http":
                scope |= {"path": "/api" + scope["path"], "root_path": "/api"}
            await self.app(scope, receive, send)

        await Taken(told)(scope, receive, send)


def _behind_a_prefix(framework: str, *, is_told: bool) -> Any:
    app = application(framework)
    if is_told or framework == "starlette":  # which has no setting for it
        return Told(app)
    app.root_path = "/api"
    return Taken(app)


def _mounted_in(outer: Any, path: str, framework: str) -> Any:
    outer.mount(path, application(framework))
    return outer


PLACES = {
    "in Starlette": ("/sub", lambda framework: _mounted_in(Starlette(), "/sub", framework)),
    "in FastAPI": ("/sub", lambda framework: _mounted_in(FastAPI(), "/sub", framework)),
    "two deep": (
        "/a/b",
        lambda framework: Starlette(routes=[Mount("/a", _mounted_in(FastAPI(), "/b", framework))]),
    ),
    "by a parameter": ("/of/a b", lambda framework: _mounted_in(Starlette(), "/of/{tenant}", framework)),
    "behind a proxy": ("/api", lambda framework: _behind_a_prefix(framework, is_told=False)),
    "behind a proxy, as the server knows": ("/api", lambda framework: _behind_a_prefix(framework, is_told=True)),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_a_reply_names_is_there_wherever_the_application_stands(serve: Any, framework: str, place: str) -> None:
    """The address of what was left out, and of the next page."""
    prefix, make = PLACES[place]
    client = serve(make(framework))
    address = client.base_url.join(prefix + "/record")
    action = client.get(address).json()["suggested_actions"][0]
    content = address.join(action["endpoint"].replace("{hash}", action["args"]["hash"]))
    assert client.get(content, params={"path": "/title"}).json()["results"] == ["one"]
    page = client.get(prefix + "/rows", params={"page_size": 2})
    following = client.get(address.join(page.links["next"]["url"]))
    assert [one["id"] for one in following.json()["results"]] == ["row-2", "row-3"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize(
    ("asked", "rows"),
    [
        (["Doe, Jane"], [5]),
        (["Doe, Jane", "row-7,row-9"], [5, 7, 9]),
        (["row-9", "row-7"], [9, 7]),
        (["row-1,Doe"], [1]),
    ],
)
def test_an_item_whose_id_has_a_comma_can_be_asked_for(framework: str, asked: list[str], rows: list[int]) -> None:
    with connected(application(framework)) as connection:
        reply = Client(connection).call("/rows")
        assert reply.fidelity is not None
        assert reply.fidelity.archive_hashes is not None
        found = connection.get(f"/v1/content/{reply.fidelity.archive_hashes['data']}", params={"ids": asked})
        assert found.json()["results"] == [ROWS[number] for number in rows]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_address_that_a_reply_names_answers_in_its_envelope_and_within_its_budget(framework: str) -> None:
    """Also where those who choose nothing get the payload alone, which has no pages; who chooses it gets all of it."""
    with connected(application(framework, Versions(vendor="acme", controls=True))) as connection:
        assert connection.get("/rows").json() == ROWS
        action = connection.get("/rows", params={"envelope": "v2"}).json()["suggested_actions"][0]
        address = action["endpoint"].replace("{hash}", action["args"]["hash"])
        page, found = connection.get(address), []
        while True:
            assert page.headers["x-envelope-version"] == "v2" and len(page.content) < 8_000
            found += page.json()["results"]
            if "next" not in page.links:
                break
            page = connection.get(page.links["next"]["url"])
        assert found == ROWS
        assert connection.get(address, headers={"accept": "application/json"}).headers["x-envelope-version"] == "v2"
        assert connection.get(address, params={"envelope": "v1"}).json() == ROWS
        assert connection.get(address, headers={"accept": "application/vnd.acme.v1+json"}).json() == ROWS


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_content_is_skipped_and_asked_as_a_tool_would(framework: str) -> None:
    """What the reply repeats of the question has been heeded; what is no number is refused."""
    with connected(application(framework)) as connection:
        reply = Client(connection).call("/rows")
        assert reply.fidelity is not None
        assert reply.fidelity.archive_hashes is not None
        address = f"/v1/content/{reply.fidelity.archive_hashes['data']}"

        def ids(**asked: Any) -> list[str]:
            return [one["id"] for one in connection.get(address, params=asked).json()["results"]]

        assert ids(offset=3, page_size=2) == ["row-3", "row-4"]
        assert ids(offset=-1) == [ROWS[-1]["id"]]
        assert ids(query="[?id=='row-7']") == ["row-7"]
        refused = connection.get(address, params={"offset": "many"})
        assert refused.status_code in (400, 422) and "offset" in refused.text
        assert connection.get(address, params={"query": "[?"}).json()["error"]["code"] == "VALIDATION_ERROR"
