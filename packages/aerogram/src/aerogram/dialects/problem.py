"""problem: RFC 9457 problem details (`application/problem+json`), for failures only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from aerogram.codes import KIND_RULES, TABLE, Kind
from aerogram.dialects.protocol import Dialect, Extension, read_retry, unnamed_members, without_nothing
from aerogram.errors import InvalidReply
from aerogram.reply import Problem, Reply

NAME = "problem"
TYPES = "urn:aerogram:problem:"
_REGISTRY = "https://iana.org/assignments/http-problem-types#"
REGISTERED: Mapping[str, str] = {
    "RATE_LIMIT_EXCEEDED": _REGISTRY + "quota-exceeded",
    "RATE_LIMITED": _REGISTRY + "quota-exceeded",
    "QUOTA_EXCEEDED": _REGISTRY + "quota-exceeded",
}


class ProblemItem(BaseModel):
    """One of several faults of the same type, and where it is."""

    model_config = ConfigDict(extra="allow")
    detail: str | None = None
    pointer: str | None = Field(default=None, description="JSON Pointer into the input")


class ProblemDetails(BaseModel):
    """A problem: the registered members, then Aerogram's."""

    model_config = ConfigDict(extra="allow")
    type: str = Field(default="about:blank", description="An absolute URI that names the class of problem")
    title: str
    status: int = Field(ge=400, le=599)
    detail: str | None = None
    instance: str | None = None
    code: str | None = None
    kind: Kind | None = None
    retryable: bool | None = None
    retry_after: int | float | None = Field(default=None, ge=0)
    remediation: str | None = None
    user_message: str | None = None
    documentation: str | None = None
    errors: list[ProblemItem] | None = None
    details: dict[str, Any] | None = None
    request_id: str | None = None
    aerogram: Extension | None = None  # type: ignore[valid-type]  # built at run time


_MEMBERS = frozenset(ProblemDetails.model_fields) - {"instance"}
_FOREIGN = frozenset({"type", "status"})
"""What another server's problem may say in its own words; it is kept among the reply's extra members."""


@dataclass(frozen=True)
class ProblemDialect(Dialect):
    """`application/problem+json` bodies; a type is `types` + the code in lower case, unless it is registered."""

    types: str = TYPES

    name: ClassVar[str] = NAME
    media_type: ClassVar[str] = "application/problem+json"
    body: ClassVar[type[BaseModel]] = ProblemDetails
    members: ClassVar[frozenset[str]] = frozenset({"type", "title", "status", "detail", "code", "kind"})
    vocabularies: ClassVar[frozenset[str]] = frozenset({"/kind"})
    slim: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "code": {"type": "string"},
        },
        "required": ["type", "title", "status"],
    }

    def recognises(self, body: Mapping[str, Any]) -> bool:
        kind = body.get("type")
        has_type = isinstance(kind, str) and ":" in kind
        return isinstance(body.get("title"), str) and (has_type or _is_error_status(body.get("status")))

    def skeleton(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return {"title": "", "status": 500}

    def write(self, reply: Reply[Any]) -> dict[str, Any]:
        problem = reply.problem
        if problem is None:
            raise InvalidReply("problem details say failures only; this reply did not fail")
        body = without_nothing(
            type=self._type(problem),
            title=problem.heading,
            status=problem.status,
            detail=problem.message,
            code=problem.code,
            kind=problem.kind,
            retryable=problem.retryable,
            retry_after=problem.retry_after,
            remediation=problem.remediation,
            user_message=problem.user_message,
            documentation=problem.documentation,
            **_write_details(problem.details),
            request_id=reply.request_id,
        )
        return {**body, **reply.extra} if reply.extra and _can_join(reply.extra) else body

    def read(self, body: Mapping[str, Any]) -> dict[str, Any]:
        problem = self._read_problem(body)
        heard: dict[str, Any] = {"data": None, "status": "error", "problem": problem}
        if body.get("request_id") is not None:
            heard["request_id"] = body["request_id"]
        ours = {"type": self._type(problem), "status": problem.status}
        foreign = {name: body[name] for name in ours if name in body and body[name] != ours[name]}
        extra = {**foreign, **(unnamed_members(body, _MEMBERS) or {})}
        if extra:
            heard["extra"] = extra
        return heard

    def _type(self, problem: Problem) -> str:
        return REGISTERED.get(problem.code) or self.types + problem.code.lower().replace("_", "-")

    def _read_problem(self, body: Mapping[str, Any]) -> Problem:
        kind, details = body.get("kind"), {**(body.get("details") or {}), **without_nothing(errors=body.get("errors"))}
        if kind is not None and kind not in KIND_RULES:  # one that was added later
            kind, details = None, {**details, "kind": kind}
        problem = Problem(
            body.get("code") or self._code(body),
            next(one for one in (body.get("detail"), body.get("title"), "") if one is not None),
            kind=kind,  # type: ignore[arg-type]  # None is settled from the table
            retry=read_retry(body),
            user_message=body.get("user_message"),
            remediation=body.get("remediation"),
            details=details,
            retry_after=body.get("retry_after"),
            documentation=body.get("documentation"),
        )
        title = body.get("title")
        return problem if title in (None, problem.heading) else replace(problem, title=title)

    def _code(self, body: Mapping[str, Any]) -> str:
        """The code of a foreign problem: by its type if that is ours, else by its status."""
        named = body.get("type", "").removeprefix(self.types).replace("-", "_").upper()
        if named in TABLE:
            return str(named)
        return TABLE.of_status(body.get("status") or 500)


def _is_error_status(status: Any) -> bool:
    return type(status) is int and 400 <= status <= 599  # noqa: PLR2004 - what HTTP calls an error


def _can_join(extra: Mapping[str, Any]) -> bool:
    """Whether extra members may stand in a body: none takes the place of ours, and what replaces a word is one."""
    return (
        (_MEMBERS - _FOREIGN).isdisjoint(extra)
        and isinstance(extra.get("instance", ""), str)
        and isinstance(extra.get("type", ""), str)
        and ("status" not in extra or _is_error_status(extra["status"]))
    )


def _write_details(details: Mapping[str, Any] | None) -> dict[str, Any]:
    """Several faults have their own member; whatever else is known stands under `details`."""
    if not details:
        return {}
    faults = details.get("errors")
    if not isinstance(faults, list) or not all(_is_item(one) for one in faults) or not faults:
        return {"details": details}
    return {"errors": faults, "details": {name: value for name, value in details.items() if name != "errors"} or None}


def _is_item(fault: Any) -> bool:
    return isinstance(fault, dict) and all(isinstance(fault.get(name, ""), str) for name in ("detail", "pointer"))


DIALECT = ProblemDialect()
