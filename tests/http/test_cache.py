"""The response cache over HTTP: two callers never share what depends on who they are."""

import logging
import uuid
from typing import Annotated

import pytest
from fastapi import Cookie, Depends, FastAPI, Header, Request, Response
from fastapi.security import APIKeyCookie, APIKeyHeader, HTTPBearer
from pydantic import BaseModel, Field
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from aerogram import Contract, fastapi, read, starlette
from aerogram.contract.cache import Cache
from aerogram.contract.callers import names_caller
from aerogram.starlette import Versions, shapes


class Person(BaseModel):
    name: str
    key: str = Field(exclude=True)


class Session:
    """What no JSON can tell from another one."""


def settings(*names):
    return Contract(cache=Cache.in_memory(fresh_for=600), cached=names), Versions(default="v2")


def by_fastapi():
    app = FastAPI()

    def whole_header(authorization: Annotated[str | None, Header()] = None):
        return authorization

    def person(x_person: Annotated[str, Header()] = ""):
        return Person(name="same", key=x_person)

    def session(x_odd: Annotated[str, Header()] = ""):
        found = Session()
        found.owner = x_odd
        return found

    class Told(BaseModel):
        x_word: str = ""

    @app.get("/header")
    def header(x_word: Annotated[str | None, Header()] = None):
        return {"who": x_word}

    @app.get("/headers")
    def headers(told: Annotated[Told, Header()]):
        return {"who": told.x_word}

    @app.get("/cookie")
    def cookie(sid: Annotated[str | None, Cookie()] = None):
        return {"who": sid}

    @app.get("/inner")
    async def inner(who: Annotated[str | None, Depends(whole_header)]):
        return {"who": who}

    @app.get("/model")
    def model(who: Annotated[Person, Depends(person)]):
        return {"who": who.key}

    @app.get("/session")
    def session_of(found: Annotated[Session, Depends(session)]):
        return {"who": found.owner}

    @app.get("/bearer")
    def bearer(given: Annotated[object, Depends(HTTPBearer())]):
        return {"who": given.credentials}

    @app.get("/scheme", dependencies=[Depends(APIKeyHeader(name="X-Odd"))])
    def scheme(request: Request):
        return {"who": request.headers["x-odd"]}

    @app.get("/jar", dependencies=[Depends(APIKeyCookie(name="odd"))])
    def jar(request: Request):
        return {"who": request.cookies["odd"]}

    @app.get("/raw")
    async def raw(request: Request):
        return {"who": request.headers.get("authorization")}

    names = ["header", "headers", "cookie", "inner", "model", "session_of", "bearer", "scheme", "jar", "raw"]
    fastapi.install(app, *settings(*names))
    return app


def by_starlette():
    async def raw(request):
        return {"who": request.headers.get("authorization") or request.headers.get("x-forwarded-user")}

    @shapes(reads=("X-Word",))
    def declared(request):
        return {"who": request.headers.get("x-word")}

    app = Starlette(routes=[Route("/raw", raw), Route("/declared", declared)])
    starlette.install(app, *settings("raw", "declared"))
    return app


@pytest.fixture(scope="module")
def services(serve):
    return {"fastapi": serve(by_fastapi()), "starlette": serve(by_starlette())}


def who(answer):
    said = answer.json()
    return said["results"][0]["who"], said.get("aerogram", {}).get("telemetry", {}).get("cache_hit")


@pytest.mark.parametrize(
    ("service", "path", "field", "begin"),
    [
        ("fastapi", "/header", "X-Word", ""),
        ("fastapi", "/headers", "X-Word", ""),
        ("fastapi", "/cookie", "Cookie", "sid="),
        ("fastapi", "/inner", "Authorization", ""),
        ("fastapi", "/model", "X-Person", ""),
        ("fastapi", "/bearer", "Authorization", "Bearer "),
        ("fastapi", "/scheme", "X-Odd", ""),
        ("fastapi", "/jar", "Cookie", "odd="),
        ("fastapi", "/raw", "Authorization", ""),
        ("starlette", "/raw", "Authorization", ""),
        ("starlette", "/raw", "X-Forwarded-User", ""),
        ("starlette", "/declared", "X-Word", ""),
    ],
)
def test_callers_who_say_who_they_are_have_answers_of_their_own(services, service, path, field, begin):
    """By a declared header or cookie, a dependency, a security scheme, or credentials that the handler reads itself."""
    for name in ("ada", "bob"):
        for _ in range(2):
            answer = services[service].get(path, headers={field: begin + name})
            assert who(answer)[0] == name
        assert who(answer)[1] is True


@pytest.mark.parametrize(
    "name", ["ssl-client-s-dn", "on-behalf-of", "sub", "uid", "client-id", "team", "project", "user"]
)
def test_what_a_proxy_says_of_a_caller_tells_callers_apart(name):
    assert names_caller(f"x-{name}")
    assert not any(map(names_caller, ("user-agent", "accept", "x-subscribe", "x-guid", "x-dnt")))


@pytest.mark.parametrize("envelope", ["v1", "v2"])
def test_a_cached_answer_is_the_answer_to_the_last_digit(serve, envelope):
    """And says as much about it, once: whole numbers beyond 64 bits are exact, which not every reader can."""
    app, calls = FastAPI(), []

    @app.get("/account")
    def account():
        calls.append(1)
        return {"account": 59388324617297964561, "sums": [2**70, 1.0]}

    fastapi.install(app, *settings("account"))
    client = serve(app)
    answers = [client.get("/account", params={"envelope": envelope}) for _ in range(2)]
    assert len(calls) == 1
    for answer in answers:
        assert '{"account":59388324617297964561,"sums":[1180591620717411303424,1.0]}' in answer.text
        told = [one["message"].split()[0] for one in answer.json().get("warnings", [])]
        assert told == ([] if envelope == "v1" else ["/account", "/sums/0"])


@pytest.mark.parametrize("field", ["Host", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Prefix"])
@pytest.mark.parametrize("framework", [starlette, fastapi])
def test_who_sends_another_address_does_not_put_it_into_the_answers_of_others(serve, framework, field):
    """A handler may make links of the address under which it is asked."""

    async def links(request: Request):
        return {"who": f"{request.url_for('links')} {request.headers.get(field)}"}

    app = Starlette(routes=[Route("/links", links)]) if framework is starlette else FastAPI()
    if framework is fastapi:
        app.get("/links")(links)
    framework.install(app, *settings("links"))
    client = serve(app)
    for name in ("evil.example", "good.example"):
        for _ in range(2):
            answer = client.get("/links", headers={field: name})
            assert name in who(answer)[0]
        assert who(answer)[1] is True


def test_callers_who_show_nothing_share_an_answer(services):
    """However else their requests look."""
    first = services["fastapi"].get("/header", headers={"User-Agent": "one"})
    second = services["fastapi"].get("/header", headers={"User-Agent": "other", "X-Request-Id": str(uuid.uuid4())})
    assert (who(first)[0], who(second)) == (None, (None, True))


def test_what_depends_on_a_thing_that_is_no_json_is_not_kept(services):
    """Nobody could say for whom else the answer is."""
    for name in ("ada", "bob"):
        for _ in range(2):
            assert who(services["fastapi"].get("/session", headers={"X-Odd": name})) == (name, None)


def test_the_log_names_the_routes_that_may_not_be_kept(serve, caplog):
    """Once, when the application starts."""
    with caplog.at_level(logging.WARNING, "aerogram"):
        serve(by_fastapi())
    said = [one.getMessage() for one in caplog.records if "told apart" in one.getMessage()]
    assert [one for one in said if "answers of session_of" in one and "(found)" in one]
    assert not [one for one in said if "answers of header " in one]


def test_no_credential_is_written_into_the_store(serve, tmp_path):
    """Entries are found by a digest."""
    app = Starlette(routes=[Route("/raw", lambda _: {"a": 1}, name="raw")])
    cache = Cache.at(tmp_path / "cache")
    starlette.install(app, Contract(cache=cache, cached=["raw"]), Versions(default="v2"))
    serve(app).get("/raw", headers={"Authorization": "hunter2"})
    kept = [one for one in tmp_path.rglob("*") if one.is_file()]
    assert kept
    assert not [one for one in kept if "hunter2" in str(one) or b"hunter2" in one.read_bytes()]


@pytest.mark.parametrize("is_async", [True, False])
def test_a_status_and_headers_that_a_handler_sets_come_with_every_answer(serve, is_async):
    """Such an answer is not kept, because they would not come again."""
    app = FastAPI()

    def status(response: Response):
        response.status_code = 202
        response.headers["X-Own"] = "1"
        return {"a": 1}

    async def status_async(response: Response):
        return status(response)

    app.get("/status", name="status")(status_async if is_async else status)
    fastapi.install(app, *settings("status"))
    client = serve(app)
    for _ in range(2):
        answer = client.get("/status")
        assert (answer.status_code, answer.headers["x-own"]) == (202, "1")


SAY_WHO = [
    "X-Session-Id",
    "X-SessionId",
    "X-UserId",
    "X-TenantId",
    "X-AccountId",
    "X-Auth-Request-Email",
    "X_User_Name",
    "X-OrganizationId",
    "Cf-Access-Jwt-Assertion",
    "X-Goog-Iap-Jwt-Assertion",
    "X-Amzn-Oidc-Accesstoken",
    "X-Amzn-Oidc-Data",
    "X-MS-Client-Principal-Id",
]
SAY_NOTHING = [
    "User-Agent",
    "X-Request-Id",
    "Accept-Language",
    "Origin",
    "Traceparent",
    "If-None-Match",
    "X-Forwarded-For",
]


def by_headers():
    async def me(request):
        return {"me": sorted(request.headers.getlist(request.query_params["name"]))}

    app = Starlette(routes=[Route("/me", me, name="me")])
    starlette.install(app, *settings("me"))
    return app


@pytest.mark.parametrize("name", SAY_WHO)
def test_headers_that_say_who_asks_tell_callers_apart_however_they_are_spelt(serve, name):
    """Also where a proxy in front has found it out."""
    client = serve(by_headers())
    for caller in ("ann", "bob"):
        assert f'"me":["{caller}"]' in client.get("/me", params={"name": name}, headers={name: caller}).text


@pytest.mark.parametrize("name", SAY_NOTHING)
def test_headers_that_do_not_say_who_asks_share_an_answer(serve, name):
    """Or nothing would ever come from the cache."""
    client = serve(by_headers())
    answers = [client.get("/me", params={"name": "none"}, headers={name: value}) for value in ("ann", "bob")]
    assert '"cache_hit":true' in answers[1].text


@pytest.mark.parametrize("framework", ["fastapi", "starlette"])
def test_an_answer_to_a_body_is_not_kept(framework):
    """A handler may read it from the request; another body is another question."""

    async def search(request: Request):
        return {"heard": (await request.body()).decode()}

    contract = Contract(cache=Cache.in_memory(fresh_for=600), cached=["search"])
    if framework == "fastapi":
        app = FastAPI()
        app.get("/search")(search)
        fastapi.install(app, contract, Versions(default="v2"))
    else:
        app = Starlette(routes=[Route("/search", search)])
        starlette.install(app, contract, Versions(default="v2"))
    with TestClient(app) as client:
        for body in ("one", "two", iter([b"three"]), ""):
            said = "three" if not isinstance(body, str) else body
            assert said in client.request("GET", "/search", content=body).text
            assert f'"heard":"{said}"' in client.request("GET", "/search", content=iter([said.encode()])).text


FRAMEWORKS = (fastapi, starlette)


@pytest.fixture(params=FRAMEWORKS, ids=lambda one: one.__name__.rpartition(".")[2])
def accounts(serve, request):
    """Accounts that are kept in the cache, and rows of each in pages; those of the older route are not migrated."""

    async def answer(request: Request):
        number, asked = request.path_params["id"], request.query_params.get("id")
        return {"account": number, "asked": asked, "method": request.method, "q": request.query_params.get("q")}

    async def rows(request: Request):
        (name,) = request.path_params.values()
        return [{"id": f"{name}-{number}"} for number in range(6)]

    paths = {"/accounts/{id}": answer, "/old/{id}": answer, "/rows/{id}": rows, "/places/{cursor}": rows}
    if request.param is fastapi:
        app = FastAPI()
        for path, handler in paths.items():
            app.add_api_route(path, handler, methods=["GET", "HEAD"], response_model=None)
    else:
        app = Starlette(routes=[Route(path, handler) for path, handler in paths.items()])
    contract = Contract(cache=Cache.in_memory(fresh_for=600), cached=("answer",))
    request.param.install(app, contract, Versions(migrated=paths.keys() - {"/old/{id}"}, controls=True))
    return serve(app)


def test_nothing_in_a_query_hides_what_the_path_asks_for(accounts):
    for _ in range(2):
        for number in ("1", "2"):
            for asked in ("x", "y"):
                found = accounts.get(f"/accounts/{number}?id={asked}").json()
                assert (found["account"], found["asked"]) == (number, asked)
    echo = accounts.get("/accounts/1?id=x&envelope=v2").json()["query_echo"]
    assert echo["normalized_input"] == {"id": "1"}


@pytest.mark.parametrize(("path", "query"), [("/rows", ""), ("/rows", "id=x&"), ("/places", "")])
def test_a_cursor_of_one_path_is_none_of_another(accounts, path, query):
    page = accounts.get(f"{path}/1?{query}page_size=2&envelope=v2")
    again = page.links["next"]["url"]
    assert accounts.get(again).json()["results"][0] == {"id": "1-2"}
    refused = accounts.get(again.replace(f"{path}/1", f"{path}/2"))
    assert read(refused.json()).problem.code == "INVALID_CURSOR"


def test_questions_with_more_parameters_than_are_read_share_no_answer(accounts):
    many = "&" * 1_001
    for question in ("a", "b"):
        assert accounts.get(f"/old/1?q={question}{many}").json()["q"] == question


def test_what_was_said_to_a_head_is_not_the_answer_to_a_get(accounts):
    accounts.head("/accounts/1")
    assert accounts.get("/accounts/1").json()["method"] == "GET"
