"""Secrecy: which members are called like a secret, so that their values are never repeated."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

__all__ = ["SECRET_NAMES", "is_secret_name", "may_be_secret"]

LONGEST_NAME: Final = 100
SECRET_NAMES: Final = (
    "passwd",
    "password",
    "passphrase",
    "secret",
    "secrets",
    "credential",
    "credentials",
    "authorization",
    "cookie",
    "apikey",
    "api_key",
    "secret_key",
    "private_key",
    "signing_key",
    "encryption_key",
    "access_token",
    "refresh_token",
    "auth_token",
    "id_token",
    "bearer_token",
    "session_token",
    "csrf_token",
    "client_secret",
    "connection_string",
    "access_key",
)
"""What is never sent, whole words at the end of a name."""
DOUBTFUL_NAMES: Final = ("pass", "pwd", "pin", "otp", "cvv", "jwt", "token", "auth", "session", "signature", "private")
"""What a caller's own input is not repeated for, although data may well be called so."""

_WORD_ENDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[-. ]")
_SECRET: Final = re.compile(rf"(?:.*_)?(?:{'|'.join(SECRET_NAMES)})")
_DOUBTFUL: Final = re.compile(rf"(?:.*_)?(?:{'|'.join((*SECRET_NAMES, *DOUBTFUL_NAMES))})")


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether a member of this name holds a secret."""
    return len(name) <= LONGEST_NAME and name.isascii() and _SECRET.fullmatch(_spelled(name)) is not None


def may_be_secret(name: str) -> bool:
    """Whether a member of this name might hold a secret; a name too long to tell might."""
    return len(name) > LONGEST_NAME or _DOUBTFUL.fullmatch(_spelled(name)) is not None


def _spelled(name: str) -> str:
    """A name in small letters, its words joined by underscores."""
    return _WORD_ENDS.sub("_", name).lower()
