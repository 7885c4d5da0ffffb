"""What readers of the standard document expect of routes: marks, ids, echoes, failures, and what is documented."""

from typing import Annotated

import pytest
from fastapi import FastAPI, Query
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.routing import Route

from aerogram import Contract, fastapi, read, starlette
from aerogram.dialects.standard_v2 import StandardV2Dialect
from aerogram.documents.standard_v2 import StandardError, StandardResponse
from aerogram.starlette import Versions
from aerogram.testing import sweep


class Program(BaseModel):
    number: int


ROWS = [{"number": number} for number in range(5)]
JAPANESE = Contract(dialect=StandardV2Dialect(language="ja"))


def respond():
    return JSONResponse(StandardResponse.rich(ROWS).to_wire())


def respond_alike():
    return JSONResponse({"status": "rich", "results": [], "meta": {}})


def refuse():
    raise HTTPException(500, "trace 7f3a")


def limited():
    return StandardResponse.error(StandardError.rate_limited("3 a day"))


def limited_in_words():
    return StandardResponse.error(StandardError.rate_limited("3 a day", user_message="Wait."))


def invalid():
    return Program(number="many")


HANDLERS = (respond, respond_alike, refuse, limited, limited_in_words, invalid)


def starlette_app():
    def asked(handler):
        async def answer(request):
            return handler()

        return answer

    app = Starlette(routes=[Route(f"/{one.__name__}", asked(one)) for one in HANDLERS])
    starlette.install(app, JAPANESE, Versions(vendor="acme"))
    return app


def fastapi_app():
    app = FastAPI()
    for one in HANDLERS:
        app.get(f"/{one.__name__}")(one)

    @app.get("/search")
    def search(q: str, number: int = 3, tier: Annotated[list[str] | None, Query()] = None) -> list[Program]:
        return [Program(number=number)]

    fastapi.install(app, JAPANESE, Versions(vendor="acme"))
    return app


def typed_app(**settings):
    app = FastAPI()

    @app.get("/programs")
    def programs() -> StandardResponse[Program]:
        return StandardResponse[Program].rich([Program(**row) for row in ROWS])

    @app.get("/program")
    def program() -> StandardResponse[Program]:
        return StandardResponse[Program].rich([Program(number=1)])

    @app.get("/untyped")
    def untyped() -> StandardResponse:
        return StandardResponse.rich(ROWS)

    fastapi.install(app, Contract(**settings), versions=Versions(vendor="acme"))
    return app


@pytest.fixture(scope="module", params=[starlette_app, fastapi_app])
def client(request, serve):
    return serve(request.param())


@pytest.fixture(scope="module")
def fast(serve):
    return serve(fastapi_app())


def test_an_answer_that_a_handler_made_itself_is_marked_as_what_it_is(client):
    made = client.get("/respond")
    assert made.json()["status"] == "rich" and made.headers["X-Envelope-Version"] == "v2"
    assert client.get("/respond_alike").headers["X-Envelope-Version"] == "v1"


def test_the_words_of_a_refusal_reach_the_caller(client):
    """Of a server's failure too, where the handler has meant them."""
    response = client.get("/refuse?envelope=v2")
    assert (response.status_code, response.json()["error"]["developer_message"]) == (500, "trace 7f3a")


def test_the_user_is_told_in_the_language_of_the_server_unless_the_author_says_something(client):
    assert "レート制限" in client.get("/limited?envelope=v2").json()["error"]["user_message"]
    assert client.get("/limited_in_words?envelope=v2").json()["error"]["user_message"] == "Wait."


def test_what_a_handler_of_fastapi_gets_wrong_is_not_the_callers_mistake(fast):
    problem = read(fast.get("/invalid?envelope=v2").content).problem
    assert (problem.code, problem.status) == ("INTERNAL_ERROR", 500)
    assert "many" not in problem.message


def test_an_echo_has_the_values_as_the_framework_read_them(fast):
    echo = fast.get("/search", params={"q": "IT導入", "tier": "S", "number": "7", "envelope": "v2"}).json()[
        "query_echo"
    ]
    assert echo["normalized_input"] == {"q": "IT導入"}
    assert echo["applied_filters"] == {"tier": ["S"], "number": 7}


def test_a_latency_is_a_whole_number(client):
    latency = client.get("/limited?envelope=v2").json()["meta"]["latency_ms"]
    assert isinstance(latency, int) and latency > 0


@pytest.mark.parametrize("settings", [{}, {"budget": 2_000}])
def test_an_annotated_envelope_is_described_by_its_rows(settings):
    """In both shapes; every answer is what the document says."""
    app = typed_app(**settings)
    sweep(app, contract=Contract(**settings)).raise_for_failures()
    content = app.openapi()["paths"]["/programs"]["get"]["responses"]["200"]["content"]
    assert "StandardResponse" not in str(content)
    assert "Program" in str(content["application/vnd.acme.v2+json"])
