"""Codes: the one table of error codes and of standard warning codes.

Every error that any dialect can name is a row of `codes.toml`; a dialect, a client and a
document all read the same row. Your own codes join it with `register_code`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

from aerogram.errors import InvalidReply, UnknownCode, nearest

Kind = Literal[
    "validation",
    "authentication",
    "authorization",
    "not_found",
    "conflict",
    "rate_limit",
    "feature_flag",
    "internal",
    "unavailable",
]
Retry = Literal["yes", "no", "check"]
Severity = Literal["info", "warning", "error"]
KINDS: tuple[Kind, ...] = get_args(Kind)
LANGUAGES = ("en", "ja")
MOST_NEAR = 3
"""How many codes are suggested for one that is not there."""
ABOUT_SIZE = frozenset({"CONTENT_TRUNCATED", "PARTIAL_RESULTS"})
"""The warnings that something was left out."""

_CODE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")


def is_code(text: str) -> bool:
    """Whether a text is SCREAMING_SNAKE_CASE."""
    return _CODE.fullmatch(text) is not None


def respell(text: str) -> str:
    """A text as a code: `notFound` and `not-found` as NOT_FOUND; nothing when no letter is in it."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", text)
    return "_".join(words).upper().lstrip("0123456789_") if not is_code(text) else text


@dataclass(frozen=True, slots=True)
class KindRule:
    """What holds for every error of one kind unless its code says otherwise."""

    status: int
    retry: Retry
    meaning: str
    code: str


KIND_RULES: Mapping[Kind, KindRule] = MappingProxyType(
    {
        "validation": KindRule(400, "no", "Invalid input; fix it first", "VALIDATION_ERROR"),
        "authentication": KindRule(401, "no", "Credentials are missing or invalid; authenticate again", "UNAUTHORIZED"),
        "authorization": KindRule(403, "no", "Not permitted for this caller", "FORBIDDEN"),
        "not_found": KindRule(404, "no", "The thing asked for does not exist", "NOT_FOUND"),
        "conflict": KindRule(409, "check", "The current state forbids it; look at the state first", "CONFLICT"),
        "rate_limit": KindRule(429, "yes", "Too many requests; wait, then retry", "RATE_LIMIT_EXCEEDED"),
        "feature_flag": KindRule(403, "no", "Switched off for this client; look at the flag", "FEATURE_DISABLED"),
        "internal": KindRule(500, "yes", "The server failed; retry with backoff", "INTERNAL_ERROR"),
        "unavailable": KindRule(503, "yes", "Down for the moment; retry with backoff", "UNAVAILABLE"),
    }
)


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """One row of the table.

    `parent` is the code a reader may take it for; `spellings` are the words that
    particular dialects use for it; `user_text` is what to show a person.
    """

    name: str
    kind: Kind
    status: int
    retry: Retry
    title: str
    remediation: str
    parent: str | None = None
    spellings: Mapping[str, str] = field(default_factory=dict)
    user_text: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WarningCode:
    """A standard warning: how grave it is, what it means, what to do about it, and what to show a person.

    `spellings` are the standard warnings that particular dialects give in its place.
    """

    name: str
    severity: Severity
    description: str
    suggestion: str
    user_text: Mapping[str, str] = field(default_factory=dict)
    spellings: Mapping[str, str] = field(default_factory=dict)


def _error(
    name: str, kind: Kind, *, status: int | None = None, retry: Retry | None = None, **columns: Any
) -> ErrorCode:
    """A row as the table's file has it: what it does not say is its kind's."""
    rule = KIND_RULES[kind]
    return ErrorCode(name, kind, status or rule.status, retry or rule.retry, **columns)


def _warning(description: str, user_text: Mapping[str, str], **columns: Any) -> WarningCode:
    """A row as the table's file has it: in English its description is for people too."""
    return WarningCode(description=description, user_text={"en": f"{description}.", **user_text}, **columns)


_FILE = tomllib.loads(Path(__file__).with_name("codes.toml").read_text(encoding="utf-8"))

WARNINGS: Mapping[str, WarningCode] = MappingProxyType({row["name"]: _warning(**row) for row in _FILE["warnings"]})
"""The standard warnings by name."""


def spell_warning(code: str | None, severity: Severity | None, dialect: str) -> tuple[str | None, Severity | None]:
    """The word that a dialect uses for a warning, and how grave that is there unless somebody chose otherwise."""
    row = WARNINGS.get(code or "")
    word = row.spellings.get(dialect) if row else None
    if row is None or word is None:
        return code, severity
    return word, WARNINGS[word].severity if severity == row.severity else severity


_OTHER_STATUSES = {
    402: "FORBIDDEN",
    408: "UNAVAILABLE",
    412: "CONFLICT",
    423: "CONFLICT",
    425: "UNAVAILABLE",
    428: "CONFLICT",
    451: "LICENSE_GATE_BLOCKED",
    502: "UNAVAILABLE",
    504: "UNAVAILABLE",
}


class ErrorTable(Mapping[str, ErrorCode]):
    """Error codes by name; `register` adds to it, nothing is ever removed or changed."""

    def __init__(self) -> None:
        self._rows: dict[str, ErrorCode] = {row["name"]: _error(**row) for row in _FILE["errors"]}
        self.rows: Mapping[str, ErrorCode] = MappingProxyType(self._rows)
        """The same as a plain mapping, for those who ask about strangers too."""

    def __getitem__(self, name: str) -> ErrorCode:
        row = self._rows.get(name)
        if row is None:
            raise UnknownCode(name, nearest(name, self._rows, MOST_NEAR))
        return row

    def get(self, name: str, default: Any = None) -> Any:
        """The row of a code, or `default` for a stranger."""
        return self._rows.get(name, default)

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def register(
        self,
        name: str,
        *,
        parent: str,
        title: str | None = None,
        remediation: str | None = None,
        status: int | None = None,
        retry: Retry | None = None,
        user_text: Mapping[str, str] | None = None,
    ) -> ErrorCode:
        """Add a code below `parent`; what is not given is the parent's."""
        if not is_code(name):
            raise InvalidReply(f"error code {name!r} is not SCREAMING_SNAKE_CASE")
        if retry not in (None, *get_args(Retry)):
            raise InvalidReply(f"retry is one of {', '.join(get_args(Retry))}, not {retry!r}")
        if status is not None and not 400 <= status <= 599:  # noqa: PLR2004 - what HTTP calls an error
            raise InvalidReply(f"an error's HTTP status is from 400 to 599, not {status}")
        above = self[parent]
        row = ErrorCode(
            name,
            above.kind,
            status or above.status,
            retry or above.retry,
            title or above.title,
            remediation or above.remediation,
            parent,
            user_text={**above.user_text, **(user_text or {})},
        )
        if self._rows.setdefault(name, row) != row:
            raise InvalidReply(f"error code {name!r} is already in the table with other columns")
        return row

    def lineage(self, name: str) -> Iterator[ErrorCode]:
        """The code itself, then its parents, nearest first; nothing for a stranger."""
        row = self._rows.get(name)
        while row is not None:
            yield row
            row = self._rows.get(row.parent) if row.parent else None

    def spell(self, name: str, dialect: str) -> str:
        """The word that `dialect`, whose vocabulary is open, uses for a code."""
        row = self._rows.get(name)
        return row.spellings.get(dialect, name) if row else name

    def of_status(self, status: int) -> str:
        """The code that stands for an HTTP status when nothing else is known."""
        exact = next((row.name for row in self._rows.values() if row.status == status), None)
        by_class = "VALIDATION_ERROR" if status < 500 else "INTERNAL_ERROR"  # noqa: PLR2004 - HTTP's own border
        return exact or _OTHER_STATUSES.get(status, by_class)

    def user_text(self, name: str, kind: Kind, language: str) -> str:
        """What to tell the person behind the caller, in their language if the table has it."""
        row = self._rows.get(name) or self._rows[KIND_RULES[kind].code]
        return row.user_text.get(language) or row.user_text["en"]

    def nearest(self, name: str, kind: Kind, dialect: str, known: frozenset[str]) -> str:
        """The word for a code in a dialect that knows only `known`: its own, or its nearest ancestor's.

        A code the table has never seen is taken for the plain code of its kind.
        """
        start = name if name in self._rows else KIND_RULES[kind].code
        words = (row.spellings.get(dialect, row.name) for row in self.lineage(start))
        return next((word for word in words if word in known), "INTERNAL_ERROR")


TABLE = ErrorTable()


register_code = TABLE.register
"""Add your own error code to the table, below the code a stranger may take it for."""
