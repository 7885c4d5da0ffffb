"""Problems: what an exception means to the caller.

An exception is looked up by its classes, nearest first. What nobody has declared to be
the caller's business is masked: the caller gets INTERNAL_ERROR and a request id, the
log gets the trace under that id. A model that refuses its values blames the caller, who may
have sent them; one that answers are made of does not, nor any other once a framework has checked the input.

A call that breaks off in the middle may have changed something. Unless it is known that it may be repeated, or somebody
has declared what its exception means, its caller is told to look at the state first.
"""

from __future__ import annotations

import logging
import math
import sys
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from aerogram.codes import TABLE
from aerogram.content.jsontext import pointer_of
from aerogram.errors import ReplyError
from aerogram.reply import Problem, new_request_id
from aerogram.sanitize import may_be_secret

log = logging.getLogger("aerogram")

LOOK_FIRST: Final = "The call may have been carried out: look at the state before you repeat it"
"""The advice where nobody knows whether something was done, or it was and cannot be told."""


class BrokenOff(ReplyError):
    """What is known of a failure in the middle of a call that nobody has declared.

    Its code may promise that the call can be repeated; whether that holds, the call itself decides.
    """


MASK = "***"
MOST_FAULTS = 5
"""So many faults of one call are explained."""
MOST_DETAILED = 100
"""So many are told one by one."""
_LONGEST_RECEIVED = 200


@dataclass(frozen=True, slots=True)
class _Rule:
    code: str
    tell: bool


_USUAL: dict[type, _Rule] = {
    TimeoutError: _Rule("UNAVAILABLE", tell=False),
    ConnectionError: _Rule("UNAVAILABLE", tell=False),
}
_RULES: dict[type, _Rule] = dict(_USUAL)


def register_exception(exception: type[BaseException], code: str, *, tell: bool = True) -> None:
    """Answer with `code` when a handler raises `exception` or a subclass of it.

    With `tell` the exception's own text is the message; without it the caller sees
    only the table's words for the code.
    """
    _RULES[exception] = _Rule(TABLE[code].name, tell)


def is_declared(exception: BaseException) -> bool:
    """Whether somebody has said what an exception means to a caller: by its class, or with a registered one."""
    if isinstance(exception, ReplyError):
        return True
    classes = type(exception).__mro__
    if blames_answer(exception):
        return False
    return any(_is_pydantic(cls) or _RULES.get(cls) is not _USUAL.get(cls) for cls in classes)


def problem_of(exception: BaseException, *, request_id: str | None = None, may_repeat: bool = True) -> Problem:
    """The problem an exception stands for; an unknown one is masked and logged under the request id.

    `may_repeat`: the call that it has ended can be made again without harm, whatever has been done already.
    """
    problem = _problem_of(exception, request_id)
    is_meant = is_declared(exception) and not isinstance(exception, BrokenOff)
    return problem if may_repeat or is_meant else look_first(problem)


def look_first(problem: Problem) -> Problem:
    """The problem of a call that may have been carried out, and is not to be repeated unseen.

    Whoever sets a limit refuses before anything is done.
    """
    if problem.retry != "yes" or problem.kind == "rate_limit":
        return problem
    return replace(problem, retry="check", remediation=LOOK_FIRST)


def _problem_of(exception: BaseException, request_id: str | None) -> Problem:
    if isinstance(exception, ReplyError):
        return _declared_problem(exception)
    for cls in type(exception).__mro__:
        if cls in _RULES:
            rule = _RULES[cls]
            if not rule.tell:
                log_failure(exception, request_id)
            return Problem.of(rule.code, str(exception) or None if rule.tell else None)
        if cls.__name__ == "ValidationError" and _is_pydantic(cls) and not blames_answer(exception):
            return invalid_input(exception.errors(include_url=False))  # type: ignore[attr-defined]  # pydantic's
    request_id = request_id or new_request_id()
    log_failure(exception, request_id)
    return Problem.of("INTERNAL_ERROR", hidden_words(request_id))


def hidden_words(request_id: str) -> str:
    """What is said of a failure that is told to the log alone."""
    return f"Internal error; the log has it under {request_id}"


def blames_answer(exception: BaseException) -> bool:
    """Whether a part of an answer could not be made, because its author contradicts its document."""
    if not _is_pydantic(type(exception)) or exception.__traceback__ is None:
        return False
    from aerogram.dialects.protocol import Part  # which loads pydantic

    *_, (frame, _) = traceback.walk_tb(exception.__traceback__)
    model = frame.f_locals.get("cls") or type(frame.f_locals.get("self"))  # whose `__init__` or class method this is
    return isinstance(model, type) and issubclass(model, Part)


def blame_handler(exception: Exception) -> Exception:
    """An exception as it is to be told once the input was checked: a model that refuses is the handler's mistake."""
    if not _is_pydantic(type(exception)):
        return exception
    mistake = RuntimeError("a handler made something that is not valid")
    mistake.__cause__ = exception
    return mistake


def _declared_problem(error: ReplyError) -> Problem:
    known = ("remediation", "details", "retry_after", "user_message", "documentation", "retry")
    said = {name: getattr(error, name) for name in known if getattr(error, name) is not None}
    if error.error_code in TABLE.rows:
        return Problem.of(error.error_code, error.message, **said)
    # a code of the handler's own takes after the code of the class that was raised
    codes = (getattr(cls, "code", "") for cls in type(error).__mro__)
    row = next(TABLE[code] for code in codes if code in TABLE)
    usual = {"retry": row.retry, "remediation": row.remediation}
    return Problem(error.error_code, error.message, row.kind, **{**usual, **said})


def log_failure(exception: BaseException, request_id: str | None = None) -> None:
    """Tell the log of an exception, with its trace, under the id of its request."""
    request_id = request_id or new_request_id()
    trace = (type(exception), exception, exception.__traceback__)
    log.error("request %s failed", request_id, exc_info=trace, extra={"request_id": request_id})


def _is_pydantic(cls: type) -> bool:
    """Pydantic is recognised only when it is loaded; it is never loaded for this."""
    core = sys.modules.get("pydantic_core")
    return core is not None and cls is core.ValidationError


def invalid_input(errors: Iterable[Mapping[str, Any]]) -> Problem:
    """Pydantic's errors as field, constraint and received value of each fault, never a secret."""
    errors = list(errors)
    code = _code_of({one["type"] for one in errors})
    faults = [_fault(one) for one in errors[:MOST_DETAILED]]
    told = "; ".join(f"{one['field']}: {one['detail']}" for one in faults[:MOST_FAULTS])
    more = "" if len(errors) <= MOST_DETAILED else "more than "
    others = f" (and {more}{len(faults) - MOST_FAULTS} more)" if len(faults) > MOST_FAULTS else ""
    details = {**faults[0]} if len(faults) == 1 else {**faults[0], "errors": faults}
    return Problem.of(code, f"Validation failed: {told}{others}", remediation=_remedy_of(faults), details=details)


def _remedy_of(faults: list[dict[str, Any]]) -> str:
    """What to do about each of a few faults; what is wrong with each is said by the message."""
    fields: dict[str, list[str]] = {"correct": [], "leave out": [], "provide": []}
    for one in faults[:MOST_FAULTS]:
        fields[_REMEDIES.get(one["constraint"], "correct")].append(one["field"])
    said = " and ".join(f"{verb} {', '.join(names)}" for verb, names in fields.items() if names)
    return said[0].upper() + said[1:]


def _code_of(kinds: set[str]) -> str:
    """The code of faults of one sort; those of several sorts are invalid input, and no more can be said."""
    if kinds <= _MISSING:
        return "MISSING_REQUIRED"
    return "INVALID_FORMAT" if all(map(_is_malformed, kinds)) else "VALIDATION_ERROR"


def _is_malformed(kind: str) -> bool:
    """Whether a value is of another type, or not written as its type is; a value out of bounds is neither."""
    return kind in _MALFORMED or kind.endswith(("_type", "_parsing"))


def _fault(error: Mapping[str, Any]) -> dict[str, Any]:
    if error["type"] == "json_invalid" and error["loc"] and error["input"] == {}:
        error = _fault_of_body(error)
    steps = [str(step) for step in error["loc"]]
    fault = {
        "field": ".".join(steps) or "input",
        "pointer": pointer_of(steps),
        "constraint": _CONSTRAINTS.get(error["type"], error["type"]),
        "detail": error["msg"].removeprefix("Value error, "),
        "received": None if error["type"] in _MISSING else _show_value(error["input"], steps),
    }
    limits = {name: value for name, value in (error.get("ctx") or {}).items() if name in _LIMITS}
    return {**fault, **limits}


def _fault_of_body(error: Mapping[str, Any]) -> dict[str, Any]:
    """FastAPI's word of a body that is no JSON, which has the place in the text where a member would be named."""
    *steps, place = error["loc"]
    why = (error.get("ctx") or {}).get("error")
    told = f"{error['msg']} at character {place}" + (f": {why}" if isinstance(why, str) else "")
    return {**error, "loc": steps, "msg": told, "input": None}


_MISSING = frozenset(
    {"missing", "missing_argument", "missing_keyword_only_argument", "missing_positional_only_argument"}
)
_MALFORMED = frozenset(
    {
        "bytes_invalid_encoding",
        "date_from_datetime_inexact",
        "datetime_object_invalid",
        "int_from_float",
        "is_instance_of",
        "json_invalid",
        "none_required",
        "string_unicode",
        "url_syntax_violation",
    }
)
"""Pydantic's sorts of wrong types and bad texts whose names do not end like those of the others."""
_CONSTRAINTS = {
    **dict.fromkeys(_MISSING, "required"),
    "string_pattern_mismatch": "pattern",
    "extra_forbidden": "unknown_field",
    "unexpected_keyword_argument": "unknown_field",
}
_REMEDIES = {"required": "provide", "unknown_field": "leave out"}
_LIMITS = frozenset({"pattern", "min_length", "max_length", "ge", "gt", "le", "lt", "expected", "multiple_of"})


def _show_value(value: Any, path: list[str]) -> Any:
    """What was received, if showing it is safe and short."""
    if any(may_be_secret(step) for step in path):
        return MASK
    if value is None or isinstance(value, (bool, int, float)):
        return value if not isinstance(value, float) or math.isfinite(value) else str(value)
    if isinstance(value, str):
        text = value.encode("utf-8", "replace").decode()
        return text if len(text) <= _LONGEST_RECEIVED else text[:_LONGEST_RECEIVED] + "…"
    # an object may hold secrets at any depth: its type says enough to mend the call
    return f"<{type(value).__name__}>"
