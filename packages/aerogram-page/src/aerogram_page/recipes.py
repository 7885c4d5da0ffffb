"""Recipes: how each error code is made to happen, by what really raises it wherever there is such a thing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, NoReturn

from pydantic import BaseModel, Field

from aerogram.codes import TABLE
from aerogram.cursor import Cursors
from aerogram.errors import ReplyError
from aerogram.shape.fields import select
from aerogram.shape.modes import RecordType
from aerogram.shape.pages import Pager

__all__ = ["LONG", "Recipe", "recipe_for", "tool_name"]

Both = Mapping[str, str]


def _said(en: str, ja: str) -> Both:
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
LONG: Final = [{"id": number, "text": "a long passage " * 20} for number in range(40)]


def _out_of_range() -> Any:
    return _Form.model_validate({"name": "one", "size": 900})


def _without_name() -> Any:
    return _Form.model_validate({"size": 3})


def _unknown_fields() -> Any:
    return select([{"id": 1, "name": "one"}], ("nonsense",), mode="metadata", kind=_KIND)


def _forged_cursor() -> Any:
    return Pager(Cursors(), "example", {}, "full", None).window("a cursor from yesterday", None)


def _unreadable_locator() -> Any:
    from aerogram.digest.locator import Locator

    return Locator.parse("char:9-")


async def _nothing_there() -> Any:
    from aerogram.archive import Archive

    return await Archive.in_memory().get("sha256:" + "0" * 64)


def _changed_document() -> Any:
    from aerogram.digest import digest_text, read, verify

    payload = digest_text(read("The notice period is ninety days."), "How long is the notice period?")
    return verify(payload, "The notice period is thirty days.").require()


def _mistake() -> Any:
    return 1 // 0


def _silence() -> Any:
    raise TimeoutError("the database did not answer")


def _anything() -> Any:
    return {"fine": True}


_RECIPES: Final[Mapping[str, Recipe]] = {
    "VALIDATION_ERROR": Recipe(
        _said(
            "A number is 900 where at most 50 is allowed.",
            "50 までの数に 900 を渡します。",
        ),
        _out_of_range,
    ),
    "MISSING_REQUIRED": Recipe(
        _said(
            "A required argument is left out.",
            "必須の引数を省きます。",
        ),
        _without_name,
    ),
    "INVALID_FORMAT": Recipe(
        _said(
            "A locator is written as 'char:9-'.",
            "位置指定を 'char:9-' と書きます。",
        ),
        _unreadable_locator,
    ),
    "INVALID_FIELDS": Recipe(
        _said(
            "A field is asked for that no record has.",
            "存在しないフィールドを要求します。",
        ),
        _unknown_fields,
    ),
    "INVALID_CURSOR": Recipe(
        _said(
            "A cursor is made up.",
            "でたらめなカーソルを渡します。",
        ),
        _forged_cursor,
    ),
    "TOKEN_LIMIT_EXCEEDED": Recipe(
        _said(
            "Forty long records, and a budget of 12 tokens.",
            "長い 40 件のレコードに、12 トークンの予算。",
        ),
        lambda: LONG,
    ),
    "METHOD_NOT_ALLOWED": Recipe(
        _said(
            "DELETE where only GET is known.",
            "GET しかない場所への DELETE。",
        ),
        method="DELETE",
    ),
    "NOT_ACCEPTABLE": Recipe(
        _said(
            "Only pictures are accepted.",
            "画像だけを受け付けるという要求。",
        ),
        headers={"accept": "image/png"},
    ),
    "CONTENT_TOO_LARGE": Recipe(
        _said(
            "A body of 4,000 bytes where 1,000 are allowed.",
            "1,000 バイトまでの場所に 4,000 バイトの本文。",
        ),
        method="POST",
        headers={"content-type": "application/json"},
        body=b'"' + b"x" * 4_000 + b'"',
    ),
    "UNSUPPORTED_MEDIA_TYPE": Recipe(
        _said(
            "A body in XML where JSON is read.",
            "JSON を読む場所に XML の本文。",
        ),
        method="POST",
        headers={"content-type": "application/xml"},
        body=b"<name/>",
    ),
    "NOT_FOUND": Recipe(
        _said(
            "A hash that no archive has.",
            "どこにも保管されていないハッシュ。",
        ),
        _nothing_there,
    ),
    "RATE_LIMIT_EXCEEDED": Recipe(
        _said(
            "Three calls where two a minute are allowed.",
            "毎分 2 回までの場所を 3 回呼び出します。",
        ),
        _anything,
        times=3,
    ),
    "QUOTA_EXCEEDED": Recipe(
        _said(
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
        _mistake,
    ),
    "INTEGRITY_ERROR": Recipe(
        {
            "en": "A digest is verified against a document that has changed.",
            "ja": "変わってしまった文書とダイジェストを照合します。",
        },
        _changed_document,
    ),
    "UNAVAILABLE": Recipe(
        _said(
            "A database does not answer in time.",
            "データベースが時間内に応答しません。",
        ),
        _silence,
    ),
}
