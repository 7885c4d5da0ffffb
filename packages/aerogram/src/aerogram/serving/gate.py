"""The gate: who may call the server, by the Host, the Origin and the API key of a request. It knows no protocol.

A web page can make a browser call a server on its own machine, and by changing what its name resolves to it can even
make that look like a call to itself. So a request must name the server by an address, as localhost, or by a name that
is listed: of those, a page can claim none. And it must come from no page, from the server's own, or from a listed one.
"""

from __future__ import annotations

import ipaddress
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol
from urllib.parse import urlsplit

from aerogram.errors import AerogramError, Forbidden, ReplyError, Unauthenticated, Unavailable

__all__ = [
    "Access",
    "AccessCheck",
    "AccessKey",
    "AccessKeys",
    "AuthenticatedCaller",
    "ExposedServer",
    "is_loopback",
    "needs_keys",
    "refuse_exposure",
]

log = logging.getLogger("aerogram.server")

Headers = Mapping[bytes, Sequence[bytes]]

_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/@\[\]]+)(?::([0-9]{1,5}))?")
_PORTS: Final = {"http": 80, "https": 443}
_BEARER: Final = "bearer "


class Access(Protocol):
    """Who may call a server, as its settings say."""

    @property
    def host(self) -> str:
        """The address that it listens on."""

    @property
    def transport(self) -> str:
        """How it is reached: `http`, or standard streams."""

    @property
    def auth(self) -> str:
        """Who needs a key: `none`, `keys` for everybody, `auto` for callers from elsewhere."""

    @property
    def allowed_hosts(self) -> Sequence[str] | None:
        """The names that it is known by; None where none can be listed."""

    @property
    def allowed_origins(self) -> Sequence[str] | None:
        """The pages of others that may call it, in the same way."""


class AccessKey(Protocol):
    """An API key that was recognised."""

    @property
    def name(self) -> str:
        """What its owner calls it."""

    @property
    def principal(self) -> str:
        """Whom it stands for."""


class AccessKeys(Protocol):
    """The API keys of a server."""

    @property
    def has_active(self) -> bool:
        """Whether there is a key that is good."""

    def check(self, secret: str) -> AccessKey:
        """The key that a secret belongs to; `Unauthenticated` when it is wrong, or good no longer."""


class ExposedServer(AerogramError):
    """The server would be open to everybody who can reach it, and nobody has said that this is meant."""


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    name = host.strip("[]").lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    address = _address(name)
    return address is not None and address.is_loopback


def needs_keys(settings: Access) -> bool:
    """Whether every caller must have a key."""
    if settings.auth == "auto":
        return not is_loopback(settings.host)
    return settings.auth == "keys"


def refuse_exposure(settings: Access, keys: AccessKeys) -> None:
    """Raise `ExposedServer` rather than listen where others can reach it without a key that anybody could have."""
    if settings.transport == "http" and needs_keys(settings) and not keys.has_active:
        raise ExposedServer(
            f"{settings.host} can be reached from elsewhere and there is no API key: make one with "
            "'aerogram keys create NAME', or say --auth none to let everybody in"
        )


@dataclass(frozen=True, slots=True)
class AuthenticatedCaller:
    """Who a request is from, in the words in which Starlette's authentication says it."""

    key: AccessKey

    is_authenticated = True

    @property
    def identity(self) -> str:
        """The principal."""
        return self.key.principal

    @property
    def display_name(self) -> str:
        """The name of the key."""
        return self.key.name


class _HostPort(NamedTuple):
    """A host and its port, if one is named."""

    name: str
    port: int | None


class AccessCheck:
    """Lets requests in or refuses them."""

    def __init__(self, settings: Access, keys: AccessKeys | None) -> None:
        """`keys` is None where nobody has one: what somebody sends as one is not looked at."""
        self._needs_key = needs_keys(settings)
        self._keys = keys
        self._own = settings.host.strip("[]").lower()
        self._hosts = settings.allowed_hosts
        self._origins = settings.allowed_origins

    def admit(self, headers: Headers, *, is_open: bool = False) -> AuthenticatedCaller | None:
        """Who asks, or None for somebody who need not say; a refusal is a `ReplyError`."""
        host = self._check_host(headers)
        self._check_origin(headers, host)
        return self._identify(headers, is_open=is_open)

    def _check_host(self, headers: Headers) -> _HostPort:
        given = headers.get(b"host", ())
        parts = _HOST.fullmatch(given[0].decode("latin-1")) if len(given) == 1 else None
        if parts is None:
            raise Forbidden("The request does not name its host", remediation="Send one Host header")
        name = parts[1].strip("[]").lower().rstrip(".")
        if not (_address(name) or is_loopback(name) or name == self._own or _is_listed(name, self._hosts or ())):
            raise Forbidden(
                f"This server is not known as {name[:100]!r}",
                remediation="Call it by its address"
                + ("" if self._hosts is None else f", or list the name: --allowed-hosts {name[:100]}"),
            )
        return _HostPort(name, int(parts[2]) if parts[2] else None)

    def _check_origin(self, headers: Headers, host: _HostPort) -> None:
        for raw in headers.get(b"origin", ()):
            origin = raw.decode("latin-1").lower()
            if not ({"*", origin}.intersection(self._origins or ()) or _is_own(origin, host)):
                raise Forbidden(
                    f"Pages of {origin[:100]!r} may not call this server",
                    remediation=None if self._origins is None else f"List the origin: --allowed-origins {origin[:100]}",
                )

    def _identify(self, headers: Headers, *, is_open: bool) -> AuthenticatedCaller | None:
        if self._keys is not None and (secret := _secret(headers)) is not None:
            return AuthenticatedCaller(_check_key(self._keys, secret))
        if self._needs_key and not is_open:
            raise Unauthenticated(
                "An API key is needed", remediation="Send a key in the X-API-Key header, or as a Bearer token"
            )
        return None


def _check_key(keys: AccessKeys, secret: str) -> AccessKey:
    try:
        return keys.check(secret)
    except ReplyError:
        raise
    except (AerogramError, OSError) as error:
        log.error("API keys cannot be read: %s", error)  # noqa: TRY400 - the message has it all
        raise Unavailable("API keys cannot be checked at the moment") from error


def _secret(headers: Headers) -> str | None:
    """The key of a request; in two places at once it must be the same."""
    found = {value.decode("latin-1").strip() for value in headers.get(b"x-api-key", ())}
    for value in headers.get(b"authorization", ()):
        text = value.decode("latin-1").strip()
        if text[: len(_BEARER)].lower() == _BEARER:
            found.add(text[len(_BEARER) :].strip())
    if len(found) > 1:
        raise Unauthenticated("The request has several API keys", remediation="Send one key")
    return found.pop() if found else None


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _is_listed(name: str, listed: Sequence[str]) -> bool:
    return any(one in ("*", name) or (one.startswith("*.") and name.endswith(one[1:])) for one in listed)


def _is_own(origin: str, host: _HostPort) -> bool:
    """Whether a page is the server's own; on one machine, pages of all its ports count as such."""
    try:
        parts = urlsplit(origin)
        name, port = parts.hostname or "", parts.port
    except ValueError:
        return False
    if parts.scheme not in _PORTS:
        return False
    usual = _PORTS[parts.scheme]
    is_same = name == host.name and (port or usual) == (host.port or usual)
    return is_same or (is_loopback(name) and is_loopback(host.name))
