"""Provocation: an error code made to happen, through the contract, over HTTP and over MCP.

Each time a small server of its own is built whose one route and whose one tool fail as the recipe says; what a client
would get is what its real layers answer.
"""

from __future__ import annotations

import inspect
from typing import Any, Final

from aerogram.archive import Archive
from aerogram.codes import TABLE
from aerogram.contract import Contract
from aerogram.errors import ContractError, MissingExtra
from aerogram.jsontext import loads
from aerogram.limits import Limits, Plan
from aerogram.reading import read
from aerogram.service import Caller, Service
from aerogram.starlette import Versions, install
from aerogram.testing.asgi import Response, send
from aerogram.wire.negotiation import CURRENT
from aerogram_page.recipes import Recipe, recipe_for, tool_name

try:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.routing import Route
except ImportError:
    raise MissingExtra("starlette", "starlette") from None

__all__ = ["provoke"]

TIGHT: Final = 12
LARGEST: Final = 1_000
_ENVELOPES: Final = {
    "problem": {"accept": "application/json, application/problem+json"},
    "v2": {"accept": "application/json"},
}
_ONLY_HTTP: Final = {
    "en": "Only HTTP knows this failure; tools are not called with methods, media types or bodies.",
    "ja": "この失敗は HTTP にしかありません。ツール呼び出しにはメソッドもメディアタイプもありません。",
}
_PLAN: Final = Plan.of(per_tool={"rate_limit_exceeded": ["2/minute"], "quota_exceeded": ["2/day"]})


async def provoke(code: str) -> dict[str, Any]:
    """Make a code happen, and tell what clients get."""
    row = TABLE[code]
    recipe = recipe_for(row.name)
    answers = [await _over_http(row.name, recipe, envelope) for envelope in _ENVELOPES]
    result = await _over_mcp(row.name, recipe)
    return {
        "code": row.name,
        "how": recipe.how,
        "request": _request(row.name, recipe),
        "http": answers,
        "mcp": result,
        "mcp_note": None if result is not None else _ONLY_HTTP,
        "heard": _heard(answers[0]),
    }


def _contract(code: str) -> Contract:
    """A server's contract, with limits that are soon reached."""
    return Contract(
        dialect="knowledge-1.0",
        budgets={tool_name("TOKEN_LIMIT_EXCEEDED"): TIGHT},
        archive=Archive.in_memory(),
        limits=_limits() if recipe_for(code).times > 1 else None,
    )


def _limits() -> Limits | None:
    return Limits.in_memory(lambda _: _PLAN)


async def _over_http(code: str, recipe: Recipe, envelope: str) -> dict[str, Any]:
    """The answer of a route, in one envelope."""
    app = _application(code, recipe)
    headers = {**_ENVELOPES[envelope], **recipe.headers}
    for _ in range(recipe.times):
        answer = await send(app, recipe.method, _path(code), headers=headers, body=recipe.body)
    return {"envelope": envelope, "status": answer.status_code, "headers": answer.headers, "body": _said(answer)}


def _application(code: str, recipe: Recipe) -> Starlette:
    async def handler(request: Request) -> Any:
        if recipe.handler is not None:
            return await _run(recipe)
        if len(await request.body()) > LARGEST:
            raise HTTPException(413)
        if recipe.body and request.headers["content-type"] != "application/json":
            raise HTTPException(415)
        return {"fine": True}

    methods = ["POST"] if recipe.method == "POST" else ["GET"]
    app = Starlette(routes=[Route(_path(code), handler, methods=methods, name=tool_name(code))])
    install(app, _contract(code), Versions(default=CURRENT))
    return app


async def _over_mcp(code: str, recipe: Recipe) -> dict[str, Any] | None:
    """The result of a tool call; None for what tools cannot run into."""
    if recipe.handler is None:
        return None
    service = Service(_contract(code))
    profile = service.profile(tool_name(code), inputs={})

    async def handler(_: dict[str, Any]) -> Any:
        return await _run(recipe)

    for _ in range(recipe.times):
        result = await service.serve(profile, {}, Caller(), handler)
    return {"tool": tool_name(code), "arguments": {}, "result": result}


async def _run(recipe: Recipe) -> Any:
    assert recipe.handler is not None
    outcome = recipe.handler()
    return await outcome if inspect.isawaitable(outcome) else outcome


def _path(code: str) -> str:
    return "/" + tool_name(code).replace("_", "-")


def _request(code: str, recipe: Recipe) -> dict[str, Any]:
    shown = recipe.body.decode()
    return {
        "method": recipe.method,
        "path": _path(code),
        "headers": dict(recipe.headers),
        "body": shown[:120] + "…" if len(shown) > 120 else shown or None,  # noqa: PLR2004 - enough to see what it is
        "times": recipe.times,
    }


def _said(answer: Response) -> Any:
    try:
        return loads(answer.content)
    except ContractError:
        return answer.text


def _heard(answer: dict[str, Any]) -> dict[str, Any]:
    """What a client makes of the answer."""
    problem = read(answer["body"]).problem if isinstance(answer["body"], dict) else None
    return {"code": problem.code if problem else None, "status": answer["status"]}
