"""Assertions: one answer of a server, checked against its contract, for tests of your own."""

from __future__ import annotations

from typing import Any

from aerogram.codes import TABLE
from aerogram.dialects.protocol import Dialect
from aerogram.reply import Problem, Reply
from aerogram.testing.observation import observe, read_strictly

__all__ = ["assert_problem", "assert_success"]


def assert_success(
    result: Any, *, dialect: str | Dialect | None = None, status: str | None = None, whole: bool = False
) -> Reply[Any]:
    """The reply in a tool result, a response or a body, if it succeeded and keeps every rule of its dialect.

    Without `dialect`, it may be in any of the contracts; a payload alone is "bare". `status` is ok, empty, partial or
    blocked. `whole` insists that nothing was left out.
    """
    reply = _read(result, dialect)
    if reply.problem is not None:
        raise AssertionError(f"it failed with {_describe(reply.problem)}")
    if status is not None and reply.status != status:
        raise AssertionError(f"its status is {reply.status}, not {status}")
    if whole and reply.fidelity is not None and reply.fidelity.level != "full":
        raise AssertionError(f"something was left out: its fidelity is {reply.fidelity.level}")
    if whole and reply.status == "partial" and reply.page is not None and reply.page.cursor:
        raise AssertionError("something was left out: it is one page, and others follow")
    return reply


def assert_problem(
    result: Any,
    code: str | None = None,
    *,
    kind: str | None = None,
    retryable: bool | None = None,
    field: str | None = None,
    dialect: str | Dialect | None = None,
) -> Problem:
    """The problem in a tool result, a response or a body, if it failed as it should and keeps its dialect's rules.

    `code` may be any spelling of it, or that of a code above it. `field` is the input that the problem blames.
    """
    problem = _read(result, dialect).problem
    if problem is None:
        raise AssertionError("it did not fail")
    if code is not None and not is_code(problem.code, code):
        raise AssertionError(f"it failed with {_describe(problem)}, not with {code}")
    if kind is not None and problem.kind != kind:
        raise AssertionError(f"it failed with {_describe(problem)}, whose kind is {problem.kind}, not {kind}")
    if retryable is not None and problem.retryable != retryable:
        raise AssertionError(f"{problem.code} is {'' if problem.retryable else 'not '}retryable")
    if field is not None and field not in _blamed_fields(problem):
        raise AssertionError(
            f"{_describe(problem)} blames {', '.join(_blamed_fields(problem)) or 'no field'}, not {field}"
        )
    return problem


def is_code(found: str, wanted: str) -> bool:
    """Whether a code is another one under any of its names, or one below it."""
    return found == wanted or any(wanted in (one.name, *one.spellings.values()) for one in TABLE.lineage(found))


def _read(result: Any, dialect: str | Dialect | None) -> Reply[Any]:
    if isinstance(result, Reply):
        return result
    reply, complaints = read_strictly(result, observe(result), dialect)
    if reply is None or complaints:
        raise AssertionError("; ".join(evidence for _, evidence in complaints))
    return reply


def _describe(problem: Problem) -> str:
    advice = f" ({problem.remediation})" if problem.remediation else ""
    return f"{problem.code}: {problem.message}{advice}"


def _blamed_fields(problem: Problem) -> list[str]:
    """The fields in the details of a problem, its list of errors included, by name and by last step of a pointer."""
    details = problem.details or {}
    found = []
    for one in (details, *(details.get("errors") or ())):
        found += [str(one[name]) for name in ("field", "pointer") if one.get(name)]
        found += [str(one["pointer"]).rpartition("/")[2]] if one.get("pointer") else []
    return list(dict.fromkeys(found))
