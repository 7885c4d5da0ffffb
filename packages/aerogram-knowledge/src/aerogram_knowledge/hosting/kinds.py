"""Kinds: what the value of a setting may be, and how it is read.

A flag and a variable give text, a file gives TOML values; each kind reads both. What it cannot read is a `ValueError`
or a `TypeError`.
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from aerogram.limits import ALLOWED as LIMITS_ALLOWED
from aerogram.limits import parse_plan
from aerogram.state import expand_home
from aerogram_knowledge.hosting.addresses import listener, place

__all__ = [
    "ARCHIVE",
    "BUDGET",
    "HOSTS",
    "LISTENER",
    "NAMES",
    "ORIGINS",
    "PATH",
    "PATHS",
    "PLAN",
    "REDIS",
    "SECONDS",
    "SIZE",
    "STORE",
    "STORES",
    "SWITCH",
    "TEXT",
    "Kind",
    "choice",
    "whole",
]

_WORDS: Final = {
    "true": True,
    "on": True,
    "yes": True,
    "1": True,
    "false": False,
    "off": False,
    "no": False,
    "0": False,
}
_UNITS: Final = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_SIZE: Final = re.compile(r"\s*([0-9]{1,12})\s*([a-z]*)\s*", re.IGNORECASE)
_LARGEST: Final = 2**30
_DAY: Final = 86_400.0
_HOST: Final = re.compile(r"\*|(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value: the word for it in help texts, what is allowed, and its reader."""

    word: str
    allowed: str
    read: Callable[[Any], Any]
    is_path: bool = False
    is_list: bool = False
    is_switch: bool = False


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ValueError("no text")
    return value.strip()


def _items(value: Any, read: Callable[[Any], Any]) -> tuple[Any, ...]:
    """The members of a TOML array, or of a text with commas."""
    if isinstance(value, str):
        value = [one for one in value.split(",") if one.strip()]
    if not isinstance(value, Iterable) or isinstance(value, dict):
        raise TypeError("no list")
    return tuple(read(one) for one in value)


def _switch(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    try:
        return _WORDS[_text(value).lower()]
    except KeyError:
        raise ValueError("no switch") from None


def _size(value: Any) -> int:
    found = _SIZE.fullmatch(value if isinstance(value, str) else str(value))
    if isinstance(value, bool) or found is None or found[2].lower() not in _UNITS:
        raise ValueError("no size")
    return _between(int(found[1]) * _UNITS[found[2].lower()], 1, _LARGEST)


def _seconds(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError("no number")
    seconds = float(value) if isinstance(value, (int, float, str)) else math.nan
    if not 0 <= seconds <= _DAY:
        raise ValueError("out of range")
    return seconds


def _between(number: int, low: int, high: int) -> int:
    if not low <= number <= high:
        raise ValueError("out of range")
    return number


def _path(value: Any) -> Path:
    return expand_home(_text(str(value) if isinstance(value, Path) else value))


def _host(value: Any) -> str:
    text = _text(value).lower().rstrip(".")
    if not _HOST.fullmatch(text):
        text = str(ipaddress.IPv6Address(text.removeprefix("[").removesuffix("]")))
    return text


def _origin(value: Any) -> str:
    text = _text(value).lower().rstrip("/")
    parts = urlsplit(text)
    if text not in ("*", "null") and (
        not parts.scheme or not parts.netloc or text != f"{parts.scheme}://{parts.netloc}"
    ):
        raise ValueError("no origin")
    return text


def _plan(value: Any) -> str:
    text = "" if value == "" else _text(value)
    parse_plan(text)
    return text


def _budget(value: Any) -> str:
    from aerogram.errors import ValidationFailed
    from aerogram.tokens import Budget

    text = _text(str(value) if type(value) is int else value)
    try:
        Budget.of(text)
    except ValidationFailed:
        raise ValueError("no budget") from None
    return text


def whole(low: int, high: int) -> Kind:
    """Whole numbers in a range."""

    def read(value: Any) -> int:
        if isinstance(value, str) and re.fullmatch(r"\s*[0-9]{1,12}\s*", value):
            value = int(value)
        if type(value) is not int:
            raise ValueError("no whole number")
        return _between(value, low, high)

    return Kind("NUMBER", f"a whole number from {low} to {high}", read)


def choice(*words: str) -> Kind:
    """One of some words."""

    def read(value: Any) -> str:
        if value not in words:
            raise ValueError("none of them")
        return str(value)

    return Kind("|".join(words), f"one of {', '.join(words)}", read)


TEXT: Final = Kind("TEXT", "one line of text", _text)
SWITCH: Final = Kind("", "true or false", _switch, is_switch=True)
NAMES: Final = Kind("NAME", "names, each one line of text", lambda value: _items(value, _text), is_list=True)
PATH: Final = Kind("PATH", "a path", _path, is_path=True)
PATHS: Final = Kind("PATH", "paths", lambda value: _items(value, _path), is_path=True, is_list=True)
STORE: Final = Kind(
    "ADDRESS",
    "a folder, or an address such as 'postgresql://user@host/database'",
    place("postgresql", "postgres"),
    is_path=True,
)
STORES: Final = Kind(
    "ADDRESS",
    "addresses such as 'postgresql://user@host/database'",
    lambda value: _items(value, place("postgresql", "postgres", folder=False)),
    is_list=True,
)
REDIS: Final = Kind(
    "ADDRESS", "an address such as 'redis://host:6379/0' or 'rediss://…'", place("redis", "rediss", folder=False)
)
ARCHIVE: Final = Kind(
    "ADDRESS",
    "a folder, or an address such as 'redis://host/0' or 's3://bucket/prefix?endpoint=URL&region=NAME'",
    place("redis", "rediss", "s3"),
    is_path=True,
)
LISTENER: Final = Kind("HOST:PORT", "an address to listen on, such as '127.0.0.1:9464'", listener)
SIZE: Final = Kind("SIZE", "bytes as a number, or such as '512 KiB' or '2 MB', at most 1 GiB", _size)
SECONDS: Final = Kind("SECONDS", "seconds from 0 to 86400", _seconds)
PLAN: Final = Kind("LIMITS", LIMITS_ALLOWED, _plan)
BUDGET: Final = Kind("SIZE", "a number of tokens, a size such as '10240 bytes', or the name of a client", _budget)
HOSTS: Final = Kind(
    "HOST",
    "host names without a port, such as 'search.example.com' or '*.example.com', or '*' for any",
    lambda value: _items(value, _host),
    is_list=True,
)
ORIGINS: Final = Kind(
    "ORIGIN",
    "origins such as 'https://app.example.com', or '*' for any",
    lambda value: _items(value, _origin),
    is_list=True,
)
