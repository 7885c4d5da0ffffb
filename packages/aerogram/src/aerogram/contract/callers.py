"""Callers: what of a request tells one caller from another whom nobody has authenticated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Final

from aerogram.content import canonical_json
from aerogram.sanitize import may_be_secret

__all__ = ["ADDRESS", "digest_headers", "names_caller"]

ADDRESS: Final = ("host", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-port", "x-forwarded-prefix")
"""What a handler may make links of."""
_WHO: Final = (
    "account",
    "actor",
    "assertion",
    "auth",
    "behalf",
    "cert",
    "client",
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
    "project",
    "role",
    "saml",
    "session",
    "sso",
    "subject",
    "team",
    "tenant",
    "token",
    "user",
    "workspace",
)
"""What a word of a header's name begins or ends with that says who asks: `userid` and `accesstoken` are such words."""
_WHO_ALONE: Final = frozenset({"dn", "sub", "uid"})
"""Words that say so only where nothing else is with them."""
_NOBODY: Final = frozenset({"user-agent", "mcp-session-id"})
"""What a program calls itself, and the conversation that it is in: not who asks."""
_WORDS: Final = re.compile(r"[a-z0-9]+")


@lru_cache(maxsize=1024)
def names_caller(name: str) -> bool:
    """Whether a header of this lower-case name may say who asks: credentials, or what a proxy knows of the caller."""
    if name in _NOBODY:
        return False
    words = _WORDS.findall(name)
    is_named = not _WHO_ALONE.isdisjoint(words) or any(word.startswith(_WHO) or word.endswith(_WHO) for word in words)
    return is_named or may_be_secret(name)


def digest_headers(headers: Mapping[str, str], *, anyone: bool) -> str:
    """A digest of what headers say about the address that was asked, and about who asks where `anyone` may."""
    told = sorted(
        (name.lower(), value)
        for name, value in headers.items()
        if name.lower() in ADDRESS or (anyone and names_caller(name.lower()))
    )
    return sha256(canonical_json(told)).hexdigest() if told else ""
