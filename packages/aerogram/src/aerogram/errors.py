"""The exceptions Aerogram raises, and the ones a handler raises to answer with a failure.

    AerogramError
    ├── MissingExtra            an optional package is not installed          (also an ImportError)
    ├── UnknownDialect          no dialect of that name                       (also a LookupError)
    ├── UnknownCode             no error code of that name                    (also a LookupError)
    ├── InvalidReply            a Reply that contradicts itself, or lacks what a dialect needs (also a ValueError)
    ├── ContractError           a body breaks its contract: rule and pointer  (also a ValueError)
    └── ReplyError              raise one in a handler: it becomes a failed reply
        ├── ValidationFailed    VALIDATION_ERROR
        │   ├── InvalidFields       INVALID_FIELDS
        │   ├── InvalidCursor       INVALID_CURSOR
        │   └── TokenLimitExceeded  TOKEN_LIMIT_EXCEEDED
        ├── Unauthenticated     UNAUTHORIZED
        ├── Forbidden           FORBIDDEN
        │   └── FeatureDisabled     FEATURE_DISABLED
        ├── NotFound            NOT_FOUND
        ├── Conflict            CONFLICT
        ├── RateLimited         RATE_LIMIT_EXCEEDED
        │   └── QuotaExceeded       QUOTA_EXCEEDED
        ├── IntegrityError      INTEGRITY_ERROR
        ├── ToolFailed          TOOL_ERROR
        └── Unavailable         UNAVAILABLE

What the caller can fix is a result; what it cannot is a protocol error.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, ClassVar, Final, Literal


class AerogramError(Exception):
    """The base of everything Aerogram raises."""


class MissingExtra(AerogramError, ImportError):
    """An optional package is missing; the message says what to install."""

    def __init__(self, extra: str, package: str) -> None:
        self.extra = extra
        self.package = package
        super().__init__(_explain_old(extra, package) or f"this needs {package}: pip install 'aerogram[{extra}]'")


_LEAST: Final = re.compile(r"([\w.-]+)\s*>=\s*([0-9.]+)")


def _explain_old(extra: str, package: str) -> str | None:
    """What to say of a package that is installed and too old; None where it is not."""
    from importlib.metadata import PackageNotFoundError, requires, version  # which take long to load, for a rare case

    try:
        found, needs = version(package), requires("aerogram") or []
    except PackageNotFoundError:
        return None
    wanted = [_LEAST.match(one) for one in needs if f"extra == '{extra}'" in one.replace('"', "'")]
    least = next((one[2] for one in wanted if one is not None and one[1] == package), None)
    if least is None or _numbers(found) >= _numbers(least):
        return None
    return (
        f"this needs {package}>={least}, and {found} is installed: pip install -U '{package}>={least}', "
        "or leave the server as it is and put `aerogram wrap` before it"
    )


def _numbers(text: str) -> list[int]:
    return [int(one) for one in re.findall(r"\d+", text)[:3]]


def require(extra: str, *packages: str) -> None:
    """Raise `MissingExtra` for the first of the packages that is not installed; none of them is loaded."""
    for name in packages:
        if find_spec(name) is None:
            raise MissingExtra(extra, name)


class UnknownDialect(AerogramError, LookupError):
    """There is no dialect of that name."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        self.name = name
        self.known = known
        super().__init__(f"unknown dialect {name!r}; known: {', '.join(known)}")


class UnknownCode(AerogramError, LookupError):
    """There is no code of that name in the table; `suggestions` are the nearest that there are."""

    def __init__(self, name: str, suggestions: Sequence[str] = ()) -> None:
        self.name = name
        self.suggestions = tuple(suggestions)
        near = (
            f"did you mean {' or '.join(suggestions)}?" if suggestions else "none is near, `aerogram explain` lists all"
        )
        super().__init__(f"unknown error code {name!r}; {near}")


class InvalidReply(AerogramError, ValueError):
    """A Reply that contradicts itself, or lacks what a dialect requires."""


class ContractError(AerogramError, ValueError):
    """A body breaks its contract: `rule` says which promise, `pointer` where (RFC 6901)."""

    def __init__(self, rule: str, pointer: str = "", dialect: str | None = None) -> None:
        self.rule = _shorten(rule)
        self.pointer = _shorten(pointer)
        self.dialect = dialect
        where = self.pointer or "the whole body"
        prefix = f"{dialect}: " if dialect else ""
        super().__init__(f"{prefix}{self.rule} (at {where})")


_LONGEST: Final = 1_000


def _shorten(text: str) -> str:
    """A text that may repeat what a stranger wrote, without its middle when it is long."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 2 :]}"


class ReplyError(AerogramError):
    """Raise this, or a subclass with its own `code`, to answer with a failure.

    The message is written for the caller and is sent as it stands. `retry` says whether the same call may be made
    again where that is not what the code says: yes, no, or check the state first.
    """

    code: ClassVar[str] = "INTERNAL_ERROR"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        remediation: str | None = None,
        details: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
        user_message: str | None = None,
        documentation: str | None = None,
        retry: Literal["yes", "no", "check"] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.error_code = code or self.code
        self.remediation = remediation
        self.details = details
        self.retry_after = retry_after
        self.user_message = user_message
        self.documentation = documentation
        self.retry = retry


class ValidationFailed(ReplyError):
    """The caller's input is wrong and the caller can mend it."""

    code = "VALIDATION_ERROR"


class InvalidFields(ValidationFailed):
    """Fields were asked for that this mode does not have."""

    code = "INVALID_FIELDS"


class InvalidCursor(ValidationFailed):
    """A cursor is forged, foreign, expired or garbled."""

    code = "INVALID_CURSOR"


class TokenLimitExceeded(ValidationFailed):
    """Not even the identifiers fit into the budget."""

    code = "TOKEN_LIMIT_EXCEEDED"


class Unauthenticated(ReplyError):
    """Credentials are missing or invalid."""

    code = "UNAUTHORIZED"


class Forbidden(ReplyError):
    """The caller is known but may not do this."""

    code = "FORBIDDEN"


class FeatureDisabled(Forbidden):
    """The feature is switched off for this caller."""

    code = "FEATURE_DISABLED"


class NotFound(ReplyError):
    """What was asked for does not exist."""

    code = "NOT_FOUND"


class Conflict(ReplyError):
    """The request does not fit the current state."""

    code = "CONFLICT"


class RateLimited(ReplyError):
    """Too many requests; say when to come back with `retry_after`."""

    code = "RATE_LIMIT_EXCEEDED"


class QuotaExceeded(RateLimited):
    """A daily or monthly allowance is used up."""

    code = "QUOTA_EXCEEDED"


class IntegrityError(ReplyError):
    """Stored or combined data does not match what it should be."""

    code = "INTEGRITY_ERROR"


class ToolFailed(ReplyError):
    """A tool could not do what it was asked for, and says itself why; the same call would fail again."""

    code = "TOOL_ERROR"


class Unavailable(ReplyError):
    """Something this needs is down for the moment."""

    code = "UNAVAILABLE"


MOST_LISTED: Final = 12
ALIKE: Final = 0.6
SLIP: Final = 0.75
"""From here on a name looks like another one, and like another one in which somebody's finger slipped (1: the same)."""


def nearest(name: str, known: Iterable[str], most: int = 1, *, least: float = ALIKE) -> list[str]:
    """The known names that look most like one, the best first; upper and lower case are alike."""
    alike = {one.casefold(): one for one in known}
    return [alike[one] for one in difflib.get_close_matches(name.casefold(), alike, n=most, cutoff=least)]


def strays(named: Mapping[str, Iterable[str]], known: Collection[str], what: str) -> Iterator[str]:
    """What is to be said of the names in some settings that nothing has: one sentence each, with the nearest name."""
    for setting, names in named.items():
        for name in names:
            if name not in known:
                yield f"{setting} names {name!r}, and there is no such {what}; {hint(name, known)}"


def names_at(schema: Mapping[str, Any], path: Sequence[str]) -> list[str]:
    """The names that a JSON Schema knows of what stands at a path; none where it does not say."""
    here: Mapping[str, Any] = schema
    for step in ("", *path):
        here = here.get("properties", {}).get(step, {}) if step else here
        ways = [_resolve_ref(schema, one) for one in here.get("anyOf", [here])]
        here = next((one for one in ways if "properties" in one), {})
    return list(here.get("properties", ()))


def _resolve_ref(schema: Mapping[str, Any], part: Mapping[str, Any]) -> Mapping[str, Any]:
    """A part of a schema, or the definition that it refers to."""
    name = str(part.get("$ref", "")).removeprefix("#/$defs/")
    return dict(schema.get("$defs", {}).get(name, {})) if name else part


def hint(name: str, known: Collection[str]) -> str:
    """What to say of a name that is not among the known ones."""
    near = nearest(name, known)
    if near:
        return f"did you mean {near[0]!r}?"
    if len(known) == 1:
        return f"there is only {next(iter(known))}"
    listed = sorted(known)[:MOST_LISTED]
    rest = ", …" if len(known) > MOST_LISTED else ""
    return f"there are {', '.join(listed)}{rest}" if listed else "there are none"
