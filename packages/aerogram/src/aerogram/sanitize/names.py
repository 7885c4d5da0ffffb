"""Names: what a member, a variable or a field is called whose value is a secret.

A name is read as people mean it: in any case, joined in any way, numbered, padded, in the plural, in full-width letters
or with invisible characters between them.

    secret      password, dbPassword2, API_KEYS, client-secret      its value is never sent
    doubtful    token, pass, pin, account_key                       it depends on what the value looks like
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final
from unicodedata import normalize

__all__ = [
    "ODD_LETTERS",
    "SECRET_NAMES",
    "bare_name",
    "is_plural",
    "is_secret_name",
    "may_be_secret",
    "plain_spelling",
    "test_of",
]

LONGEST_NAME: Final = 100
SECRET_NAMES: Final = (
    "passwd",
    "password",
    "passphrase",
    "passcode",
    "secret",
    "credential",
    "authorization",
    "cookie",
    "api_key",
    "secret_key",
    "private_key",
    "signing_key",
    "encryption_key",
    "access_key",
    "access_token",
    "refresh_token",
    "auth_token",
    "id_token",
    "bearer_token",
    "session_token",
    "csrf_token",
    "client_secret",
    "connection_string",
    "passwort",
    "kennwort",
    "wachtwoord",
    "mot_de_passe",
    "contraseña",
    "contrasena",
    "пароль",
    "密码",
    "パスワード",
    "비밀번호",
)
"""What is never sent, at the end of a name."""
SHORT_NAMES: Final = frozenset({"pwd", "pswd", "pw", "cred", "senha"})
"""What is never sent where it is a word of its own."""
DOUBTFUL_NAMES: Final = ("pass", "pwd", "pin", "otp", "cvv", "jwt", "token", "auth", "session", "signature", "private")
"""What a caller's own input is not repeated for, although data may well be called so."""

_INVISIBLE: Final = re.compile(
    "[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0]"
)
_SPELLED: Final = re.compile("[\uff01-\uff5e\U0001d400-\U0001d7ff]+")
"""Full-width letters, and those of formulas."""
ODD_LETTERS: Final = re.compile(f"{_INVISIBLE.pattern[:-1]}{_SPELLED.pattern[1:]}")
"""What is not what it seems, or cannot be seen."""
_WORD_ENDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\W_]+")
_GLUED: Final = tuple(name.replace("_", "") for name in SECRET_NAMES)
_QUALIFIERS_TEXT: Final = (
    "again b64 backup base base64 confirm confirmation current dev encoded encrypted hash hashed live new old "
    "plain plaintext previous primary prod production raw repeat secondary staging str string test text v val "
    "value"
)
_QUALIFIERS: Final = frozenset(_QUALIFIERS_TEXT.split())
"""What may follow the name of a secret without making it something else."""
_PLACES_TEXT: Final = (
    "bos change cls continuation continue cursor delta design eos idempotency last mask next offset pad page "
    "pagination paging prev previous resume scroll sep skip start stop sync unk"
)
_PLACES: Final = frozenset(_PLACES_TEXT.split())
"""Tokens that say where a walk goes on, or that are parts of a text."""
_KEYS_TEXT: Final = (
    "account admin app application auth consumer decryption deploy function hmac host license licence master root "
    "sas server service session shared storage subscription webhook write"
)
_KEYS: Final = frozenset(_KEYS_TEXT.split())
"""Whose key a secret may be; a primary key, a cache key or a public key is none."""


def plain_spelling(text: str) -> str:
    """The text in the letters that it seems to be written in, without those that cannot be seen."""
    if text.isascii():
        return text
    return _SPELLED.sub(lambda match: normalize("NFKC", match[0]), _INVISIBLE.sub("", text))


@lru_cache(maxsize=4096)
def _words(name: str) -> tuple[str, ...]:
    """The words of a name in small letters, without numbers and without what only qualifies it."""
    words = [word.rstrip("0123456789").lower() for word in _WORD_ENDS.split(plain_spelling(name))]
    found = [word for word in words if word]
    while len(found) > 1 and found[-1] in _QUALIFIERS and found[-2:] != ["connection", "string"]:
        found.pop()
    return tuple(found)


def _end(name: str) -> str:
    """As much of a name as tells what it means."""
    return name if len(name) <= LONGEST_NAME else name.rstrip("_-. ")[-LONGEST_NAME:]


def bare_name(name: str) -> str:
    """The name without whatever names are spelled differently by."""
    return "".join(_words(_end(name)))


def is_plural(name: str) -> bool:
    """Whether a name is that of several things, so that a number may say how many."""
    return bare_name(name).endswith("s")


def is_secret_name(name: str) -> bool:
    """Whether a member of this name holds a secret."""
    return _is_secret(_end(name))


@lru_cache(maxsize=4096)
def _is_secret(name: str) -> bool:
    words = _words(name)
    if not words:
        return False
    joined = "".join(words)
    return joined.removesuffix("s").endswith(_GLUED) or words[-1].removesuffix("s") in SHORT_NAMES


def may_be_secret(name: str) -> bool:
    """Whether a member of this name might hold a secret; a name too long to tell might."""
    return len(name) > LONGEST_NAME or is_secret_name(name) or _words(name)[-1:] in _ALONE


_ALONE: Final = frozenset((name,) for name in DOUBTFUL_NAMES)


def test_of(name: str) -> Callable[[Any], bool] | None:
    """What tells whether the value of a member with a doubtful name is a secret; none for any other name."""
    return _test_of(_end(name))


@lru_cache(maxsize=4096)
def _test_of(name: str) -> Callable[[Any], bool] | None:
    words = _words(name)
    if not words:
        return None
    last, before = words[-1].removesuffix("s") if words[-1] != "pass" else "pass", words[:-1]
    if last in ("token", "jwt", "auth", "apikey") and _PLACES.isdisjoint(before):
        return _is_random
    if last == "key" and not _KEYS.isdisjoint(before):
        return _is_long_random
    return _TESTS.get(last)


_RANDOM: Final = re.compile(r"(?=\S*?[0-9])(?=\S*?[A-Za-z])[^\s/]\S*")
_SHORTEST: Final = 8
_SHORTEST_KEY: Final = 16
_SHORTEST_PASSWORD: Final = 4
_DIGITS: Final = re.compile(r"[0-9]{3,8}")


def _is_random(value: Any) -> bool:
    """Whether a value has letters and digits, and is no word, no number and no path."""
    return isinstance(value, str) and len(value) >= _SHORTEST and _RANDOM.fullmatch(value) is not None


def _is_long_random(value: Any) -> bool:
    return isinstance(value, str) and len(value) >= _SHORTEST_KEY and _RANDOM.fullmatch(value) is not None


def is_password(value: Any) -> bool:
    """Whether a value looks like a password rather than like a word."""
    return isinstance(value, str) and len(value) >= _SHORTEST_PASSWORD and _RANDOM.fullmatch(value) is not None


def _is_code(value: Any) -> bool:
    """Whether a value is a number that one types to show who one is."""
    return type(value) in (str, int) and _DIGITS.fullmatch(str(value)) is not None


def _is_long_code(value: Any) -> bool:
    return _is_code(value) and len(str(value)) >= _SHORTEST_PASSWORD


_TESTS: Final[dict[str, Callable[[Any], bool]]] = {
    "pass": is_password,
    "pin": _is_long_code,
    "otp": _is_long_code,
    "totp": _is_long_code,
    "cvv": _is_code,
    "cvc": _is_code,
}
