"""Advice: what a reply over HTTP says about its size can be done, in the parameters of its route."""

from __future__ import annotations

from typing import Annotated, Any

import httpx
import pytest
from fastapi import FastAPI, Query
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.routing import Route

from aerogram import Archive, Contract, Reply, read
from aerogram._http.negotiation import Versions
from aerogram.fastapi import install as install_fastapi
from aerogram.starlette import install as install_starlette

ROWS = [{"id": f"row-{number:03}", "title": f"Title {number}", "text": "words " * 60} for number in range(40)]
V2 = {"envelope": "v2"}


async def ask(app: Any, path: str, **asked: Any) -> Reply[Any]:
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://server") as client:
        return read((await client.get(path, params={**V2, **asked})).json())


async def warned(app: Any, path: str, **asked: Any) -> str:
    """What a reply suggests whose whole data fits, but only just."""
    whole, low, high = (await ask(app, path, **asked)).data, 100, 20_000
    while high - low > 20:
        middle = (low + high) // 2
        is_whole = (await ask(app, path, max_tokens=middle, **asked)).data == whole
        low, high = (low, middle) if is_whole else (middle, high)
    # a little more, so that there is room for the warning and its suggestion
    replies = [await ask(app, path, max_tokens=high + more, **asked) for more in range(0, 200, 10)]
    notices = [one for reply in replies for one in reply.notices if one.code == "TOKEN_LIMIT_WARNING"]
    (suggestion,) = {one.suggestion for one in notices} - {None}
    return suggestion


async def rows(request: Any = None) -> list[dict[str, Any]]:
    return ROWS


async def wordy(request: Any) -> list[dict[str, Any]]:
    """Rows of which a small budget does not hold one, because names are not shortened."""
    return [{"words " * 400: 1}]


def starlette_app(**settings: Any) -> Starlette:
    app = Starlette(routes=[Route("/rows", rows), Route("/wordy", wordy)])
    contract = Contract(archive=Archive.in_memory(), budget=settings.pop("budget", None))
    install_starlette(app, contract, Versions(vendor="acme", migrated="all", **settings))
    return app


def remedy(reply: Reply[Any]) -> str:
    assert reply.problem is not None and reply.problem.code == "TOKEN_LIMIT_EXCEEDED"
    return reply.problem.remediation or ""


async def test_a_route_without_controls_has_nothing_to_ask_for() -> None:
    said = remedy(await ask(starlette_app(budget=300), "/wordy"))
    assert "Nothing in this call" in said and "max_tokens" not in said


async def test_a_budget_that_the_caller_chose_can_be_chosen_larger() -> None:
    app = starlette_app(controls=True)
    said = remedy(await ask(app, "/rows", max_tokens=40))
    enough = int(said.rpartition(" ")[2])
    assert "max_tokens of at least" in said
    assert (await ask(app, "/rows", max_tokens=enough)).problem is None


async def test_only_controls_of_the_route_are_named() -> None:
    said = remedy(await ask(starlette_app(controls=("max_tokens",)), "/rows", max_tokens=40))
    assert "mode" not in said and "page_size" not in said and "max_tokens" in said


@pytest.mark.parametrize("asked", [{}, {"response_mode": "full"}, {"response_mode": "metadata"}])
async def test_a_reply_near_its_limit_names_what_shows_less_than_it_does(asked: dict[str, str]) -> None:
    app = starlette_app(controls=("response_mode", "max_tokens"))
    expected = "ids_only" if asked.get("response_mode") == "metadata" else "metadata"
    assert f"se {expected} mode" in await warned(app, "/rows", **asked)


class Shown(BaseModel):
    page_size: int = 40
    response_mode: str = "metadata"


def fastapi_app() -> FastAPI:
    app = FastAPI()

    @app.get("/own")
    async def own(response_mode: str = "metadata") -> list[dict[str, Any]]:
        return ROWS

    @app.get("/modelled")
    async def modelled(shown: Annotated[Shown, Query()]) -> list[dict[str, Any]]:
        return ROWS[: shown.page_size]

    install_fastapi(app, Contract(archive=Archive.in_memory()), Versions(vendor="acme", migrated="all", controls=True))
    return app


async def test_the_default_of_a_parameter_of_the_handler_is_what_it_shows() -> None:
    assert "se ids_only mode" in await warned(fastapi_app(), "/own")


async def test_members_of_a_model_of_the_query_are_the_handler_s() -> None:
    reply = await ask(fastapi_app(), "/modelled", page_size=3, response_mode="ids_only")
    assert reply.data == ROWS[:3] and not reply.notices
