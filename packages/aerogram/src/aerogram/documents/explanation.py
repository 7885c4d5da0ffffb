"""Explanations: everything the tables say about one code, an error's and a warning's side by side.

explain("NOT_FOUND").error.remediation    what a caller should do about it
explain("not-found").codes_by_dialect     the word that each dialect has for it
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aerogram.codes import MOST_NEAR, TABLE, WARNINGS, ErrorCode, WarningCode
from aerogram.dialects import NAMES, dialect
from aerogram.errors import UnknownCode, nearest
from aerogram.reply import Reply


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a code means as an error, as a warning, or (a few are) as both."""

    code: str
    error: ErrorCode | None
    warning: WarningCode | None

    @property
    def codes_by_dialect(self) -> Mapping[str, str]:
        """For an error: the code that a client reads in each dialect which knows nothing of Aerogram."""
        return _codes_by_dialect(self.code) if self.error is not None else {}

    def as_json(self) -> dict[str, Any]:
        """The same as JSON data."""
        error = _columns(self.error, "kind", "status", "retry", "title", "remediation", "parent")
        if self.error is not None:
            error |= {"user_text": dict(self.error.user_text), "said_as": dict(self.codes_by_dialect)}
        warning = _columns(self.warning, "severity", "description", "suggestion", "user_text")
        return {"code": self.code, "error": error or None, "warning": warning or None}


def _columns(row: ErrorCode | WarningCode | None, *names: str) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names} if row is not None else {}


def explain(code: str) -> Explanation:
    """What the tables say about a code; case and dashes do not matter, and near ones are suggested."""
    name = code.strip().upper().replace("-", "_").replace(" ", "_")
    error, warning = TABLE.get(name), WARNINGS.get(name)
    if error is None and warning is None:
        raise UnknownCode(code, nearest(name, [*TABLE, *WARNINGS], MOST_NEAR))
    return Explanation(name, error, warning)


def explain_all() -> list[Explanation]:
    """Every error, then every warning that is not an error as well; in the order of the tables."""
    names = [*TABLE, *(name for name in WARNINGS if name not in TABLE)]
    return [Explanation(name, TABLE.get(name), WARNINGS.get(name)) for name in names]


def _codes_by_dialect(code: str) -> dict[str, str]:
    """What is left of the code in each dialect once the extension, which keeps the exact one, is taken away."""
    from aerogram.dialects.protocol import KEY  # it brings pydantic, which a list of codes can do without

    words = {}
    for name in NAMES:
        if name == "bare":
            continue
        spoken = dialect(name)
        body = spoken.encode(spoken.complete(Reply.failed(code), operation="explain"))
        place = spoken.place(body)
        place.pop(KEY, None)
        heard = spoken.decode(body).problem
        words[name] = heard.code if heard else ""
    return words
