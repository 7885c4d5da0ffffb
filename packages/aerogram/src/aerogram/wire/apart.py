"""Apart: what tells the requests of two callers apart, so that nobody gets an answer that was made for another.

A request says who asks in its credentials, and in what else the handler is known to read. Whoever keeps answers
keeps them by a digest of that; the secrets themselves stay where they are.
"""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import hashlib
import re
import uuid
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any, Final

from pydantic import BaseModel

from aerogram.content import canonical_json
from aerogram.secrecy import may_be_secret

__all__ = ["names_caller", "told_apart"]

_WHO: Final = (
    "account",
    "actor",
    "assertion",
    "auth",
    "cert",
    "credential",
    "customer",
    "email",
    "group",
    "identity",
    "impersonate",
    "jwt",
    "login",
    "member",
    "oidc",
    "org",
    "owner",
    "principal",
    "role",
    "saml",
    "session",
    "sso",
    "subject",
    "tenant",
    "token",
    "user",
    "workspace",
)
"""What a word of a header's name begins or ends with that says who asks: `userid` and `accesstoken` are such words."""
_AGENT: Final = "user-agent"
_WORDS: Final = re.compile(r"[a-z0-9]+")
_SPELT: Final = (uuid.UUID, dt.date, dt.time, dt.timedelta, decimal.Decimal, enum.Enum)
"""Values that a text tells apart, together with their type."""
_PLAIN: Final = (str, int, float, bool, type(None))


@lru_cache(maxsize=1024)
def names_caller(header: bytes) -> bool:
    """Whether a header of this lower-case name may say who asks: credentials, or what a proxy knows of the caller."""
    name = header.decode("latin-1")
    return name != _AGENT and (may_be_secret(name) or any(map(_says_who, _WORDS.findall(name))))


def _says_who(word: str) -> bool:
    return word.startswith(_WHO) or word.endswith(_WHO)


def told_apart(
    headers: Mapping[bytes, bytes], reads: Collection[bytes], values: Mapping[str, Any], *, anyone: bool
) -> str | None:
    """A digest of what tells a request from those of others, or "" when there is nothing; None if it cannot be told.

    `reads` are the headers that the handler is known to read, `values` what was found out for it before it runs.
    `anyone`: nobody has found out who asks, so that the credentials have to tell.
    """
    told = {
        name.decode("latin-1"): value.decode("latin-1")
        for name, value in headers.items()
        if name in reads or (anyone and names_caller(name))
    }
    if not told and not values:
        return ""
    try:
        return hashlib.sha256(canonical_json([told, _plain(dict(values))])).hexdigest()
    except (TypeError, ValueError, RecursionError):
        return None


def _plain(value: Any) -> Any:
    """A value as JSON in which no two values are the same; what may hide something from it is a TypeError."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, _SPELT):
        return [type(value).__qualname__, str(value)]
    if type(value) is dict:
        return {"dict": [[_plain(name), _plain(held)] for name, held in value.items()]}
    if type(value) in (list, tuple):
        return [type(value).__name__, [_plain(one) for one in value]]
    if isinstance(value, BaseModel) and not value.__pydantic_private__:
        return [type(value).__qualname__, [[name, _plain(held)] for name, held in value]]
    raise TypeError(f"{type(value).__qualname__} cannot be told apart")
