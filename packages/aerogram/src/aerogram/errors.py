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
        └── Unavailable         UNAVAILABLE

What the caller can fix is a result; what it cannot is a protocol error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, ClassVar


class AerogramError(Exception):
    """The base of everything Aerogram raises."""


class MissingExtra(AerogramError, ImportError):
    """An optional package is missing; the message says what to install."""

    def __init__(self, extra: str, package: str) -> None:
        self.extra = extra
        self.package = package
        super().__init__(f"this needs {package}: pip install 'aerogram[{extra}]'")


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
        self.rule = rule
        self.pointer = pointer
        self.dialect = dialect
        where = pointer or "the whole body"
        prefix = f"{dialect}: " if dialect else ""
        super().__init__(f"{prefix}{rule} (at {where})")


class ReplyError(AerogramError):
    """Raise this, or a subclass with its own `code`, to answer with a failure.

    The message is written for the caller and is sent as it stands.
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
    ) -> None:
        super().__init__(message)
        self.message = message
        self.error_code = code or self.code
        self.remediation = remediation
        self.details = details
        self.retry_after = retry_after
        self.user_message = user_message
        self.documentation = documentation


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


class Unavailable(ReplyError):
    """Something this needs is down for the moment."""

    code = "UNAVAILABLE"
