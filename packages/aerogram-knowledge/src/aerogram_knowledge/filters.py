"""Filters: which documents a search looks at: by category, path, date and licence."""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from aerogram.errors import ValidationFailed

__all__ = ["LONGEST_PATH", "Filters", "key_of", "steps_of"]

MOST_VALUES: Final = 50
LONGEST_VALUE: Final = 300
LONGEST_PATH: Final = 1_300
"""Bytes of a document's path: an index of PostgreSQL takes 2,704, with a record's own name of up to 300 characters."""
_NO_TEXT: Final = re.compile("[\0\ud800-\udfff]")
"""What no database takes: a NUL, and half a letter, as in a name that is no text."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What a document must be. Nothing is asked for by default; several values of one kind mean any of them.

    `path` is a folder or a file below the root; `after` and `before` are days as `YYYY-MM-DD`, both inclusive, and a
    document without a date is in no range of dates. `withheld` are licences that no document may have, each as it is
    compared; the index sets it, and no caller can.
    """

    category: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    license: tuple[str, ...] = ()
    after: str | None = None
    before: str | None = None
    withheld: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Mapping[str, Any] | Filters | None) -> Filters:
        """The filters that a caller asks for; unknown names and wrong values are refused."""
        if isinstance(given, Filters):
            return given
        known = _ASKED
        wrong = sorted(set(given or {}) - set(known))
        if wrong:
            raise ValidationFailed(
                f"There is no filter {wrong[0]!r}",
                remediation=f"Filter by {', '.join(known)}",
                details={"field": wrong[0], "allowed_filters": list(known)},
            )
        said = {name: value for name, value in (given or {}).items() if value is not None and value != ""}
        category, path, licenses = (_values(name, said.get(name, ())) for name in ("category", "path", "license"))
        after, before = (_day(name, said[name]) if name in said else None for name in ("after", "before"))
        spellings = (spelling for one in path for spelling in (one, one.replace("\\", "/")))
        below = tuple(dict.fromkeys(map(_path, spellings)))
        return cls(category, () if "" in below else below, licenses, after, before)

    @property
    def is_open(self) -> bool:
        """Whether everything passes."""
        return self == Filters()

    def as_json(self) -> dict[str, Any]:
        """What is asked for, without what is not."""
        said = {name: getattr(self, name) for name in _ASKED}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in said.items() if value}

    def without_license(self) -> Filters:
        """The same filters with any licence."""
        return replace(self, license=())


_ASKED: Final = tuple(one.name for one in fields(Filters) if one.name != "withheld")


def key_of(value: str) -> str:
    """A value as it is compared with what a caller asks for: some systems take the letters of file names apart."""
    return unicodedata.normalize("NFC", value.strip().lower())


def steps_of(path: str, file: str) -> list[str]:
    """A document's path, every folder above it and its file, as they are compared with the paths that callers name."""
    parts = key_of(path).split("/")
    steps = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    return steps if path == file else [*steps, key_of(file)]


def _values(name: str, given: Any) -> tuple[str, ...]:
    several: Sequence[Any] = (given,) if isinstance(given, str) else given
    if not isinstance(several, (list, tuple)) or not all(isinstance(one, str) for one in several):
        raise _refusal(name, "a text or a list of texts", given)
    longest = LONGEST_PATH if name == "path" else LONGEST_VALUE
    if len(several) > MOST_VALUES or any(len(one) > longest or _NO_TEXT.search(one) for one in several):
        raise _refusal(name, f"at most {MOST_VALUES} texts of {longest} characters", given)
    return tuple(one for one in several if one)


def _path(given: str) -> str:
    """A path below the root, empty for the root itself; one that leads out of it is refused."""
    steps = [step for step in given.split("/") if step not in ("", ".")]
    if ".." in steps or given.startswith(("/", "~/")):
        raise _refusal("path", "a path below the indexed folder", given)
    return "/".join(steps)


def _day(name: str, given: Any) -> str:
    try:
        return dt.date.fromisoformat(given).isoformat()
    except (TypeError, ValueError):
        raise _refusal(name, "a day as YYYY-MM-DD", given) from None


def _refusal(name: str, right: str, given: Any) -> ValidationFailed:
    return ValidationFailed(
        f"The filter {name} must be {right}",
        remediation=f"Give {name} as {right}",
        details={"field": f"filters.{name}", "received": repr(given)[:80]},
    )
