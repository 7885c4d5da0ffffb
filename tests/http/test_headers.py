"""What the header fields of an answer say."""

from types import SimpleNamespace

import pytest
from fastapi import FastAPI, Request
from hypothesis import given
from hypothesis import strategies as st
from small_api import ROWS, fastapi_app, starlette_app
from starlette.applications import Starlette
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from aerogram import Notice, Page, Reply, fastapi, read, starlette
from aerogram._http.responses import entity_tag
from aerogram.starlette import Versions

APPS = {"starlette": (starlette, starlette_app), "fastapi": (fastapi, fastapi_app)}


@pytest.fixture(scope="module", params=APPS)
def client(request, serve):
    module, make = APPS[request.param]
    app = make()
    app.add_middleware(CORSMiddleware, allow_origins=["https://app.example"], expose_headers=["X-Mine", "link"])
    module.install(app, versions=Versions(vendor="acme", rate_limit_headers=True))
    return serve(app)


@pytest.mark.parametrize("path", ["/rows?envelope=v2", "/rows", "/declared/missing?envelope=v2", "/nowhere"])
def test_a_request_id_comes_back(client, path):
    response = client.get(path, headers={"X-Request-Id": "trace-42.a"})
    assert response.headers["X-Request-Id"] == "trace-42.a"
    if "v2" in path:
        assert response.json()["meta"]["request_id"] == "trace-42.a"


@pytest.mark.parametrize("unfit", ["", "a b", "x" * 129, "<script>", "é"])
def test_an_unfit_request_id_is_replaced(client, unfit):
    response = client.get("/rows?envelope=v2", headers={"X-Request-Id": unfit.encode("latin-1")})
    made = response.headers["X-Request-Id"]
    assert made.startswith("req_") and response.json()["meta"]["request_id"] == made


@pytest.mark.parametrize("path", ["/rows?envelope=v2", "/declared/missing?envelope=v2", "/rows"])
def test_a_client_tag_comes_back_in_utf_8(client, path):
    response = client.get(path, headers={"X-Client-Tag": "顧問先-001".encode()})
    assert dict(response.headers.raw)[b"x-client-tag"] == "顧問先-001".encode()
    if "v2" in path:
        assert response.json()["meta"]["client_tag"] == "顧問先-001"


@pytest.mark.parametrize("unfit", [b"\xff\xfe", b"x" * 129, "a\u200bb".encode(), "\x85".encode()])
def test_an_unfit_client_tag_is_not_taken_over(client, unfit):
    response = client.get("/rows?envelope=v2", headers={"X-Client-Tag": unfit})
    assert response.status_code == 200
    assert "X-Client-Tag" not in response.headers and "client_tag" not in response.json()["meta"]


@given(tag=st.binary(max_size=60))
def test_no_client_tag_breaks_an_answer(client, tag):
    response = client.get(
        "/rows?envelope=v2", headers={"X-Client-Tag": tag.translate(None, bytes(range(33)) + b"\x7f")}
    )
    assert response.status_code == 200 and read(response.content).data == ROWS


def test_the_state_of_a_rate_limit_is_in_the_fields(client):
    response = client.get("/limited?envelope=v2")
    assert response.headers["RateLimit-Policy"] == '"burst";q=100;w=60'
    assert response.headers["RateLimit"].startswith('"burst";r=5;t=')
    assert (response.headers["X-RateLimit-Limit"], response.headers["X-RateLimit-Remaining"]) == ("100", "5")
    assert read(response.content).rate_limit.remaining == 5


@pytest.mark.parametrize(
    "path", ["/limited?envelope=v2&q=%E6%9B%B8%20%22%3E", "/limited?q=%E6%9B%B8%20%22%3E&cursor=old"]
)
def test_the_next_page_is_a_link_that_can_be_followed(client, path):
    link = client.get(path).links["next"]["url"]
    followed = client.get(link)
    assert followed.status_code == 200
    assert dict(followed.request.url.params) == {
        **dict(client.build_request("GET", path).url.params),
        "cursor": "c2Vjb25k",
    }


@pytest.mark.parametrize("path", ["/of/a;b,c", "/of/a%3Bb", "/of/書 %25", "/of/a'b!$&()*+=~@:d"])
def test_the_address_of_the_next_page_has_no_letters_at_which_a_link_is_split(serve, path):
    app = FastAPI()
    fastapi.install(app, versions=Versions(controls=True))
    app.get("/of/{name:path}")(lambda name: [name, "second"])
    client = serve(app)
    first = client.get(path, params={"page_size": 1})
    assert not {";", ","} & set(first.headers["Link"].partition(">")[0])
    second = client.get(first.links["next"]["url"])
    assert (len(first.json()), second.json()) == (1, ["second"])


def test_each_shape_has_a_tag_of_its_own_and_is_not_sent_twice(client):
    tags = {}
    for path in ("/rows", "/rows?envelope=v2"):
        first, second = client.get(path), client.get(path)
        tags[path] = first.headers["ETag"]
        assert second.headers["ETag"] == tags[path]
        again = client.get(path, headers={"If-None-Match": f'"other", {tags[path]}'})
        assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", tags[path])
        assert again.headers["Vary"] == first.headers["Vary"] == "Origin, Accept, X-Envelope-Version"
        assert again.headers["X-Envelope-Version"] == first.headers["X-Envelope-Version"]
    assert len(set(tags.values())) == 2
    crossed = client.get("/rows?envelope=v2", headers={"If-None-Match": tags["/rows"]})
    assert crossed.status_code == 200


def test_the_vendor_type_is_a_representation_of_its_own(client):
    plain, named = (
        client.get("/rows?envelope=v2", headers={"Accept": accept}).headers["ETag"]
        for accept in ("*/*", "application/vnd.acme.v2+json")
    )
    assert plain != named


def test_another_answer_has_another_tag(client):
    assert (
        client.get("/search?envelope=v2&limit=5").headers["ETag"] != client.get("/search?envelope=v2").headers["ETag"]
    )


def test_when_a_cursor_ends_is_no_part_of_the_tag():
    first, later = (entity_tag(Reply.ok([1], page=Page(cursor=cursor, has_more=True)), "v2") for cursor in "ab")
    assert first == later != entity_tag(Reply.ok([1], page=Page(has_more=False)), "v2")


@pytest.mark.parametrize("path", ["/rows?page_size=2", "/rows?fields=id", "/said?", "/said?page_size=1"])
def test_integers_of_any_size_have_a_tag(serve, path):
    """In the data that is shaped, and in everything that is said besides."""
    app = FastAPI()
    fastapi.install(app, versions=Versions(default="v2", controls=True))
    large = 2**70
    app.get("/rows")(lambda: [{"id": large + number, "n": number} for number in range(3)])
    notice = Notice.of("PARTIAL_FAILURE", "Some", count=large)
    said = Reply.ok([1], notices=[notice], page=Page(total=large, has_more=False), extra={"count": large})
    app.get("/said")(lambda: said)
    client = serve(app)
    first = client.get(path)
    again = client.get(path, headers={"If-None-Match": first.headers["ETag"]})
    assert (first.status_code, again.status_code) == (200, 304)
    assert str(large) in first.text


def test_what_changes_something_is_never_not_modified(client):
    response = client.post("/created?envelope=v2", json={"id": "x"}, headers={"If-None-Match": "*"})
    assert response.status_code == 201 and "ETag" not in response.headers


def test_a_handler_s_own_tag_and_headers_are_kept(serve):
    app = starlette_app()
    starlette.install(app, versions=Versions(vendor="acme"))
    client = serve(app)
    legacy, newer = client.get("/old-search"), client.get("/old-search?envelope=v2")
    assert (legacy.headers["ETag"], newer.headers["ETag"]) == ('"own"', 'W/"own-v2-application/json"')
    assert legacy.headers["Cache-Control"] == newer.headers["Cache-Control"] == "max-age=60"
    named = client.get("/old-search", headers={"Accept": "application/vnd.acme.v2+json"})
    assert named.headers["ETag"] not in ("", newer.headers["ETag"])
    unchanged = client.get("/old-search?envelope=v2", headers={"If-None-Match": newer.headers["ETag"]})
    assert unchanged.status_code == 304
    assert client.get("/old-search", headers={"If-None-Match": '"own"'}).status_code == 304


@pytest.mark.parametrize("query", ["", "?envelope=v2", "?fields=id"])
def test_compressed_answers_have_a_tag_that_stays_the_same(serve, monkeypatch, query):
    """Whenever they are compressed."""
    app = FastAPI()
    app.get("/rows")(lambda: [{"id": number} for number in range(90)])
    app.add_middleware(GZipMiddleware, minimum_size=100)
    fastapi.install(app, versions=Versions(controls=True))
    client = serve(app)
    first = client.get(f"/rows{query}")
    monkeypatch.setattr("gzip.time", SimpleNamespace(time=lambda: 4_000_000))
    again, known = (
        client.get(f"/rows{query}", headers=headers) for headers in ({}, {"If-None-Match": first.headers["ETag"]})
    )
    assert first.headers["Content-Encoding"] == "gzip" and again.headers["ETag"] == first.headers["ETag"]
    assert (known.status_code, known.content, "Content-Encoding" in known.headers) == (304, b"", False)


def test_a_head_request_has_the_same_fields_and_no_body(serve):
    app = starlette_app()
    starlette.install(app, versions=Versions(vendor="acme"))
    client = serve(app)
    for path in ("/rows", "/rows?envelope=v2", "/declared/missing?envelope=v2"):
        head = client.head(path)
        assert head.content == b"" and head.headers["X-Envelope-Version"] == ("v2" if "v2" in path else "v1")
        assert head.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("path", ["/rows", "/rows?envelope=v2", "/declared/missing?envelope=v2"])
def test_browsers_of_other_origins_may_read_the_fields(client, path):
    response = client.get(path, headers={"Origin": "https://app.example"})
    exposed = [one.strip() for one in response.headers["Access-Control-Expose-Headers"].split(",")]
    assert exposed[:2] == ["X-Mine", "link"]
    assert {"X-Envelope-Version", "Vary", "X-Request-Id", "Retry-After", "RateLimit"} <= set(exposed)
    assert len({one.lower() for one in exposed}) == len(exposed)
    assert response.headers["Vary"] == "Origin, Accept, X-Envelope-Version"


def test_without_another_origin_nothing_is_exposed(client):
    assert "Access-Control-Expose-Headers" not in client.get("/rows?envelope=v2").headers


@pytest.mark.parametrize("migrated", ["all", ()])
def test_no_answer_lets_a_browser_guess_at_its_type(serve, migrated, tmp_path):
    (tmp_path / "page.txt").write_text("<script>")
    answers = {
        "/value": lambda _: {"a": 1},
        "/own": lambda _: JSONResponse({"a": 1}),
        "/text": lambda _: PlainTextResponse("a"),
        "/set": lambda _: PlainTextResponse("a", headers={"X-Content-Type-Options": "nosniff"}),
        "/file": lambda _: FileResponse(tmp_path / "page.txt"),
        "/stream": lambda _: StreamingResponse(iter(["a", "b"])),
        "/crash": lambda _: 1 / 0,
    }
    routes = [Route(path, answer) for path, answer in answers.items()]
    app = Starlette(routes=[*routes, Mount("/there", StaticFiles(directory=tmp_path))])
    starlette.install(app, versions=Versions(migrated=migrated))
    client = serve(app)
    for path in (*answers, "/there/page.txt", "/nothing"):
        for envelope in ("v1", "v2"):
            answer = client.get(path, params={"envelope": envelope})
            assert answer.headers.get_list("x-content-type-options") == ["nosniff"], path


async def pass_on(request, call_next):
    return await call_next(request)


def app_that_packs_a_stream(framework):
    """Middleware makes a stream of every answer, and what is compressed then has no length."""
    rows = [{"id": number} for number in range(100)]
    if framework == "fastapi":
        app = FastAPI()
        app.get("/value")(lambda: rows)
        app.post("/value")(lambda: rows)
    else:
        app = Starlette()

    async def response(request: Request):
        return JSONResponse(rows)

    app.add_route("/response", response, methods=["GET", "POST"])
    app.add_middleware(BaseHTTPMiddleware, dispatch=pass_on)
    app.add_middleware(GZipMiddleware, minimum_size=10)
    (fastapi if framework == "fastapi" else starlette).install(app, versions=Versions(vendor="acme"))
    return app


@pytest.mark.parametrize(
    ("framework", "path"), [("fastapi", "/value"), ("fastapi", "/response"), ("starlette", "/response")]
)
def test_an_answer_that_is_compressed_as_a_stream_has_the_fields_of_any_other(serve, framework, path):
    client = serve(app_that_packs_a_stream(framework))
    packed, plain = (client.get(path, headers={"Accept-Encoding": one}) for one in ("gzip", "identity"))
    assert packed.headers["Content-Encoding"] == "gzip" and packed.json() == plain.json()
    for response in (packed, plain, client.post(path)):
        assert response.headers["X-Envelope-Version"] == "v1" and response.headers["X-Request-Id"]
    asked = {"Accept-Encoding": "gzip", "If-None-Match": packed.headers["ETag"]}
    assert client.get(path, headers=asked).status_code == 304
    assert client.get(f"{path}?envelope=v2").headers["X-Envelope-Version"] == "v2"


@pytest.mark.parametrize("query", ["", "?envelope=v2"])
def test_if_none_match_names_any_tag_by_a_star_alone_and_others_in_quotes(serve, query):
    """RFC 9110, section 13.1.2: a star is no member of a list, and a comma may stand in a tag."""
    app = FastAPI()
    app.get("/rows")(lambda: JSONResponse([1], headers={"ETag": '"a,b"'}))
    fastapi.install(app, versions=Versions(vendor="acme"))
    client = serve(app)
    tag = client.get(f"/rows{query}").headers["ETag"]
    known, others = ("*", tag, f'"x", {tag}'), ('"x", *', '"*"', '"x,*"')
    for asked in (*known, *others):
        status = client.get(f"/rows{query}", headers={"If-None-Match": asked}).status_code
        assert status == (304 if asked in known else 200), asked
