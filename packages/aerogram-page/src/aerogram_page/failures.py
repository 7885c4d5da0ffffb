"""Failures: how each error code is made to happen, by what really raises it wherever there is such a thing."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, NoReturn

from pydantic import BaseModel, Field

from aerogram._http.negotiation import CURRENT
from aerogram._mcp.results import tool_result
from aerogram._mcp.service import Caller, Service
from aerogram.archive import Archive
from aerogram.channels import channels_of
from aerogram.client.reading import read
from aerogram.codes import KIND_RULES, TABLE, Kind, Retry
from aerogram.content.jsontext import loads
from aerogram.contract import Contract
from aerogram.cursor import Cursors
from aerogram.dialects import NAMES, dialect
from aerogram.documents.explanation import explain, explain_all
from aerogram.errors import ContractError, MissingExtra, ReplyError
from aerogram.limits import Limits, Plan
from aerogram.reply import Problem, Reply
from aerogram.shape.modes import RecordType, select
from aerogram.shape.pages import Pager
from aerogram.starlette import Versions, install
from aerogram.testing.asgi import Response, send
from aerogram_page.members import MCP

__all__ = ["Recipe", "every_failure", "one_failure", "provoke", "recipe_for", "tool_name"]

Both = Mapping[str, str]


def _describe(en: str, ja: str) -> Both:
    return {"en": en, "ja": ja}


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a handler does to fail, or which request fails before any handler; and that in words.

    `times`: so many calls it takes. A recipe without a handler is one that only HTTP knows.
    """

    how: Both
    handler: Callable[[], Any] | None = None
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    times: int = 1


def tool_name(code: str) -> str:
    """What a tool is called that fails with a code."""
    return code.lower()


def recipe_for(code: str) -> Recipe:
    """How a code is made to happen; for most, as in any handler: by raising it."""
    return _RECIPES.get(code) or Recipe(
        {
            "en": f"A handler raises ReplyError(…, code={code!r}).",
            "ja": f"ハンドラーが ReplyError(…, code={code!r}) を送出します。",
        },
        lambda: _raise(code),
    )


def _raise(code: str) -> NoReturn:
    raise ReplyError(TABLE[code].title, code=code)


class _Form(BaseModel):
    """What the handler of the forms takes."""

    name: str
    size: Annotated[int, Field(le=50)] = 1


_KIND: Final = RecordType(ids_only=("id",), metadata=("id", "name"), preview=("id", "name"))


def _unreadable_locator() -> Any:
    from aerogram.digest.text import Locator

    return Locator.parse("char:9-")


async def _nothing_there() -> Any:
    from aerogram.archive import Archive

    return await Archive.in_memory().get("sha256:" + "0" * 64)


def _changed_document() -> Any:
    from aerogram.digest import digest_text, read, verify

    payload = digest_text(read("The notice period is ninety days."), "How long is the notice period?")
    return verify(payload, "The notice period is thirty days.").require()


def _silence() -> Any:
    raise TimeoutError("the database did not answer")


def _anything() -> Any:
    return {"fine": True}


_RECIPES: Final[Mapping[str, Recipe]] = {
    "VALIDATION_ERROR": Recipe(
        _describe(
            "A number is 900 where at most 50 is allowed.",
            "50 までの数に 900 を渡します。",
        ),
        lambda: _Form.model_validate({"name": "one", "size": 900}),
    ),
    "MISSING_REQUIRED": Recipe(
        _describe(
            "A required argument is left out.",
            "必須の引数を省きます。",
        ),
        lambda: _Form.model_validate({"size": 3}),
    ),
    "INVALID_FORMAT": Recipe(
        _describe(
            "A locator is written as 'char:9-'.",
            "位置指定を 'char:9-' と書きます。",
        ),
        _unreadable_locator,
    ),
    "INVALID_FIELDS": Recipe(
        _describe(
            "A field is asked for that no record has.",
            "存在しないフィールドを要求します。",
        ),
        lambda: select([{"id": 1, "name": "one"}], ("nonsense",), mode="metadata", kind=_KIND),
    ),
    "INVALID_CURSOR": Recipe(
        _describe(
            "A cursor is made up.",
            "でたらめなカーソルを渡します。",
        ),
        lambda: Pager(Cursors(), "example", {}, "full", None).window("a cursor from yesterday", None),
    ),
    "TOKEN_LIMIT_EXCEEDED": Recipe(
        _describe(
            "A record whose names alone are longer than a budget of 400 tokens.",
            "項目名だけで 400 トークンの予算を超えるレコード。",
        ),
        lambda: [{"words " * 500: 1}],  # a name is never cut
    ),
    "METHOD_NOT_ALLOWED": Recipe(
        _describe(
            "DELETE where only GET is known.",
            "GET しかない場所への DELETE。",
        ),
        method="DELETE",
    ),
    "NOT_ACCEPTABLE": Recipe(
        _describe(
            "Only pictures are accepted.",
            "画像だけを受け付けるという要求。",
        ),
        headers={"accept": "image/png"},
    ),
    "CONTENT_TOO_LARGE": Recipe(
        _describe(
            "A body of 4,000 bytes where 1,000 are allowed.",
            "1,000 バイトまでの場所に 4,000 バイトの本文。",
        ),
        method="POST",
        headers={"content-type": "application/json"},
        body=b'"' + b"x" * 4_000 + b'"',
    ),
    "UNSUPPORTED_MEDIA_TYPE": Recipe(
        _describe(
            "A body in XML where JSON is read.",
            "JSON を読む場所に XML の本文。",
        ),
        method="POST",
        headers={"content-type": "application/xml"},
        body=b"<name/>",
    ),
    "NOT_FOUND": Recipe(
        _describe(
            "A hash that no archive has.",
            "どこにも保管されていないハッシュ。",
        ),
        _nothing_there,
    ),
    "RATE_LIMIT_EXCEEDED": Recipe(
        _describe(
            "Three calls where two a minute are allowed.",
            "毎分 2 回までの場所を 3 回呼び出します。",
        ),
        _anything,
        times=3,
    ),
    "QUOTA_EXCEEDED": Recipe(
        _describe(
            "Three calls where two a day are allowed.",
            "1 日 2 回までの場所を 3 回呼び出します。",
        ),
        _anything,
        times=3,
    ),
    "INTERNAL_ERROR": Recipe(
        {
            "en": "A handler divides by zero; nobody but the log learns that.",
            "ja": "ハンドラーが 0 で割ります。知るのはログだけです。",
        },
        lambda: 1 // 0,
    ),
    "INTEGRITY_ERROR": Recipe(
        {
            "en": "A digest is verified against a document that has changed.",
            "ja": "変わってしまった文書とダイジェストを照合します。",
        },
        _changed_document,
    ),
    "UNAVAILABLE": Recipe(
        _describe(
            "A database does not answer in time.",
            "データベースが時間内に応答しません。",
        ),
        _silence,
    ),
}


try:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.routing import Route
except ImportError:
    raise MissingExtra("starlette", "starlette") from None

TIGHT: Final = 400
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
        "heard": _client_view(answers[0]),
    }


def _contract(code: str) -> Contract:
    """A server's contract, with limits that are soon reached."""
    return Contract(
        dialect="knowledge-1.0",
        budgets={tool_name("TOKEN_LIMIT_EXCEEDED"): TIGHT},
        archive=Archive.in_memory(),
        limits=Limits.in_memory(lambda _: _PLAN) if recipe_for(code).times > 1 else None,
    )


async def _over_http(code: str, recipe: Recipe, envelope: str) -> dict[str, Any]:
    """The answer of a route, in one envelope."""
    app = _application(code, recipe)
    headers = {**_ENVELOPES[envelope], **recipe.headers}
    for _ in range(recipe.times):
        answer = await send(app, recipe.method, _path(code), headers=headers, body=recipe.body)
    return {"envelope": envelope, "status": answer.status_code, "headers": answer.headers, "body": _body_of(answer)}


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
    profile = service.listing.profile(tool_name(code), inputs={})

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


def _body_of(answer: Response) -> Any:
    try:
        return loads(answer.content)
    except ContractError:
        return answer.text


def _client_view(answer: dict[str, Any]) -> dict[str, Any]:
    """What a client makes of the answer."""
    problem = read(answer["body"]).problem if isinstance(answer["body"], dict) else None
    return {"code": problem.code if problem else None, "status": answer["status"]}


OPERATION: Final = "example"
_REQUEST_ID: Final = "req_01M7EYEJYJREP2NHRNZKE47WZ9"
_WIRE: Final = "knowledge-1.0"
_RETRY: Final = {
    "yes": {"en": "Yes, after a while", "ja": "はい。しばらく待ってから"},
    "no": {"en": "No: mend the call first", "ja": "いいえ。先に呼び出しを直してください"},
    "check": {"en": "Look at the state first", "ja": "先に状態を確かめてください"},
}
_NEVER_ALONE: Final[Mapping[Kind, Mapping[str, str]]] = {
    "authentication": {"en": "No: say who you are first", "ja": "いいえ。先に認証してください"},
    "authorization": {"en": "No: it takes a permission first", "ja": "いいえ。先に権限が必要です"},
    "feature_flag": {"en": "No: it has to be switched on first", "ja": "いいえ。先に有効にする必要があります"},
    "rate_limit": {"en": "Not now: wait for the reset, then again", "ja": "今は不可。枠が戻るまで待ってから"},
}
"""What has to happen before another try where that is not up to the call."""


def every_failure() -> dict[str, Any]:
    """The tables of errors, warnings and kinds."""
    known = explain_all()
    kinds = [
        {"kind": kind, "status": rule.status, "retry": rule.retry, "meaning": rule.meaning}
        for kind, rule in KIND_RULES.items()
    ]
    warnings = [{"code": one.code, **one.as_json()["warning"]} for one in known if one.warning is not None]
    return {
        "errors": [_row(one.code) for one in known if one.error is not None],
        "warnings": warnings,
        "kinds": kinds,
        "retry": _RETRY,
    }


def _row(code: str) -> dict[str, Any]:
    row = {"code": code, **explain(code).as_json()["error"]}
    return {**row, "retry_word": _retry_word(row["kind"], row["retry"]), "provoked_by": recipe_for(code).how}


def _retry_word(kind: Kind, retry: Retry) -> Mapping[str, str]:
    """Whether to try again, in words that go with what the code asks for."""
    return _NEVER_ALONE.get(kind, _RETRY[retry]) if retry == "no" else _RETRY[retry]


def one_failure(code: str) -> dict[str, Any]:
    """One error, in every shape that it has."""
    name = TABLE[code].name
    reply = Reply.failed(Problem.of(name, TABLE[name].title), request_id=_REQUEST_ID)
    shapes = {spoken: _body(spoken, reply) for spoken in NAMES}
    wire = dialect(_WIRE)
    said = wire.complete(reply, operation=OPERATION)
    result = tool_result(said, channels_of(said, shapes[_WIRE], "mirror"), dialect=wire)
    return {**_row(name), "shapes": {**shapes, MCP: result}}


def _body(name: str, reply: Reply[Any]) -> Any:
    spoken = dialect(name)
    return spoken.encode(spoken.complete(reply, operation=OPERATION, duration_ms=1))
