"""Addresses: what a server uses elsewhere, as it is written in a setting, and as it may be shown.

    postgresql://ada:…@db.example.com/aerogram     redis://cache.example.com/0     s3://bucket/prefix     a folder

An address may hold a password. Whoever shows an address, in a listing, an error or a log, shows it without that.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from aerogram.sanitize import may_be_secret
from aerogram.state import expand_home

__all__ = ["HIDDEN", "is_url", "listener", "place", "scheme_of", "without_secrets"]

HIDDEN: Final = "***"
_MARK: Final = "://"
_ASSIGNED: Final = re.compile(r"(\w+)\s*=")
"""What has a value in words such as `host=h password=…`, as some drivers take them."""
_REDIS: Final = frozenset({"redis", "rediss"})
_DATABASE: Final = re.compile(r"(/[0-9]{0,9})?")
"""The path in an address of Redis: the number of a database, or nothing."""
_HIGHEST_PORT: Final = 65_535


def is_url(text: object) -> bool:
    """Whether a setting names something elsewhere, and no folder."""
    return isinstance(text, str) and _MARK in text


def scheme_of(address: object) -> str:
    """What kind of place an address names; nothing for a folder."""
    return address.partition(_MARK)[0].lower() if isinstance(address, str) and is_url(address) else ""


def without_secrets(text: str) -> str:
    """The address without its password and without anything in its query that is called like a secret.

    Of what cannot be read as an address nothing but the scheme is shown: a password may have ended it too early.
    """
    if not is_url(text):
        return HIDDEN if any(may_be_secret(name) for name in _ASSIGNED.findall(text)) else text
    try:
        parts = urlsplit(text)
        user, _ = quote(parts.username or ""), parts.port
    except ValueError:
        return f"{scheme_of(text)}{_MARK}{HIDDEN}"
    if parts.fragment or "@" in parts.path or "@" in parts.query.partition("=")[0]:
        return f"{scheme_of(text)}{_MARK}{HIDDEN}"
    host = parts.netloc.rpartition("@")[2]
    who = f"{user}:{HIDDEN}@" if parts.password is not None else f"{user}@" if user else ""
    asked = [
        (name, HIDDEN if may_be_secret(name) else without_secrets(value)) for name, value in parse_qsl(parts.query)
    ]
    return parts._replace(netloc=who + host, query=urlencode(asked, safe="*:/@")).geturl()


def place(*schemes: str, folder: bool = True) -> Callable[[Any], Path | str]:
    """A reader of addresses with these schemes, or of folders."""

    def read(value: Any) -> Path | str:
        if isinstance(value, Path):
            value = str(value)
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            raise ValueError("no address")
        text = value.strip()
        if not is_url(text) and folder:
            return expand_home(text)
        if scheme_of(text) not in schemes or not text.partition(_MARK)[2]:
            raise ValueError("no such address")
        if scheme_of(text) in _REDIS:
            _check_redis(text)
        return text

    return read


def _check_redis(address: str) -> None:
    """Refuse an address that its client cannot use, or of which it would pass over a part."""
    parts = urlsplit(address)
    if parts.port == 0 or parts.fragment or not _DATABASE.fullmatch(parts.path):
        raise ValueError("no address of a database")
    try:
        from redis import ConnectionPool
    except ImportError:  # whoever connects says what is missing
        return
    try:
        pool = ConnectionPool.from_url(address)
        pool.make_connection()  # which connects to nothing yet
    except Exception as error:
        raise ValueError("the client cannot use it") from error
    if pool.connection_kwargs.get("db", 0) < 0:
        raise ValueError("no number of a database")


def listener(value: Any) -> str:
    """An address to listen on, as HOST:PORT; a port alone is on this machine."""
    host, _, port = (f"127.0.0.1:{value}" if type(value) is int else str(value).strip()).rpartition(":")
    if not (port.isascii() and port.isdigit()) or int(port) > _HIGHEST_PORT or not (host or "127.0.0.1").strip("[]"):
        raise ValueError("no address")
    return f"{host or '127.0.0.1'}:{port}"
