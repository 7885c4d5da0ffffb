"""Failures: every error code as the tables have it, and what it looks like in each dialect and on the MCP wire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from aerogram.codes import KIND_RULES, TABLE, Kind, Retry
from aerogram.dialects import NAMES, dialect
from aerogram.explain import explain, explain_all
from aerogram.reply import Problem, Reply
from aerogram.wire.channels import channels_of
from aerogram.wire.mcp import tool_result
from aerogram_page.members import MCP
from aerogram_page.recipes import recipe_for

__all__ = ["every_failure", "one_failure"]

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
