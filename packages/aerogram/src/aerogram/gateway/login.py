"""Login: how a gateway gets leave from a server elsewhere that wants OAuth: its user is asked in a browser, once.

What the server gives out is kept in the user's state directory, where nobody else can read it, and renewed from there.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, OAuthFlowError
from mcp.client.auth.oauth2 import OAuthContext
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from aerogram.errors import Unauthenticated
from aerogram.gateway.browser import open_browser
from aerogram.state import private_directory, state_directory

__all__ = ["failed_login", "log_in", "logging_in"]

log = logging.getLogger("aerogram.gateway")

PATIENCE: Final = 300.0
"""Seconds that somebody has to log in."""
LONGEST_VISIT: Final = 5.0
"""Seconds for the request of whoever comes; browsers open connections in advance, and leave them without a word."""
LONGEST_REASON: Final = 200
_HOST: Final = "127.0.0.1"
_FIRST_PORT, _PORTS = 20_000, 20_000
_MOST_PORTS: Final = 20
"""Ports that are tried one after the other."""
_PAUSE: Final = 0.5
_ASK: Final = "Log in with `aerogram wrap URL --login --check`"
_Model = TypeVar("_Model", bound=BaseModel)


@asynccontextmanager
async def logging_in(url: str) -> AsyncIterator[OAuthClientProvider]:
    """What shows a server who asks, and has its user log in where nobody has yet."""
    port = _choose_port(url)
    visitor = _Visitor(port)
    metadata = OAuthClientMetadata(client_name="Aerogram", redirect_uris=[AnyUrl(f"http://{_HOST}:{port}/callback")])
    kept = _KeptLogin(url, port)
    provider = OAuthClientProvider(url, metadata, kept, visitor.send, visitor.wait)
    known = kept.context = provider.context = _Context(**{**vars(provider.context), "kept": kept})
    kept.fill(known)
    try:
        yield provider
    except Exception as error:
        failure: BaseException = error
        while isinstance(failure, BaseExceptionGroup):
            failure = failure.exceptions[0]
        if not isinstance(failure, OAuthFlowError):
            raise
        raise failed_login(failure) from error
    finally:
        visitor.close()


def failed_login(error: OAuthFlowError) -> Unauthenticated:
    """What to tell whoever waits for a login."""
    return Unauthenticated(f"The login at the server behind failed: {_show(error)}", remediation=_ASK)


def _show(words: object) -> str:
    """What somebody else says, on one line that steers no terminal."""
    return "".join(filter(str.isprintable, str(words)[:LONGEST_REASON]))


async def log_in(url: str) -> None:
    """Have the user log in now, where nobody has yet."""
    async with logging_in(url) as auth, httpx2.AsyncClient(auth=auth, timeout=30) as client:
        await client.get(url, headers={"Accept": "text/event-stream"})


def _choose_port(url: str) -> int:
    """A port to come back to: the same for a server each time, because servers remember it."""
    own = int(hashlib.sha256(url.encode()).hexdigest()[:8], 16)
    for number in range(_MOST_PORTS):
        port = _FIRST_PORT + (own + number) % _PORTS
        with contextlib.suppress(OSError), socket.create_server((_HOST, port)):
            return port
    raise Unauthenticated("There is no port to which a login could come back", remediation="Try again in a while")


class _Visitor:
    """Whoever is sent to log in, until they are back; the port is open for as long as they are away."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._back: asyncio.Future[AuthorizationCodeResult] | None = None
        self._state: str | None = None
        self._listener: asyncio.Server | None = None
        self._door: Path | None = None

    async def send(self, address: str) -> None:
        """Show where to log in."""
        self._back = asyncio.get_running_loop().create_future()
        self._state = _parameter(address, "state")
        await self._listen()
        log.warning("log in at %s", address)
        self._door = open_browser(address)

    async def _listen(self) -> None:
        """Open the port, once another gateway that has sent somebody to the same server has them back."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self._listener = await asyncio.start_server(self._take, _HOST, self._port)
            except OSError as error:
                if time.monotonic() > until:
                    words = f"Port {self._port}, to which a login comes back, is in use"
                    raise Unauthenticated(words, remediation=_ASK) from error
                await asyncio.sleep(_PAUSE)
            else:
                return

    async def wait(self) -> AuthorizationCodeResult:
        """What they bring back."""
        assert self._back is not None
        try:
            return await asyncio.wait_for(self._back, PATIENCE)
        except TimeoutError:
            raise Unauthenticated("Nobody has logged in", remediation=_ASK) from None
        finally:
            self.close()

    def close(self) -> None:
        """Close the port. Nobody waits for the connections that are open there: each has an end of its own."""
        if self._door is not None:
            self._door.unlink(missing_ok=True)
        if self._listener is not None:
            self._listener.close()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Somebody comes; what they ask for is read to its end, or their browser would not read what it is told."""
        try:
            async with asyncio.timeout(LONGEST_VISIT):
                asked = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                writer.write(_page(*self._welcome(asked.split(" ", 2)[1])))
                await writer.drain()
        except (TimeoutError, OSError, EOFError, IndexError, asyncio.LimitOverrunError) as error:
            log.debug("somebody came without a request: %s", error)
        finally:
            writer.close()

    def _welcome(self, address: str) -> tuple[str, str]:
        """Who comes is the one who was sent if they know the word that was sent along; what they are told."""
        state, reason = _parameter(address, "state"), _parameter(address, "error")
        if self._back is None or self._back.done() or state is None or state != self._state:
            return "404 Not Found", "Nobody is expected here."
        if reason is not None:
            words = ": ".join(filter(None, (reason, _parameter(address, "error_description"))))
            self._back.set_exception(Unauthenticated(f"The login was refused: {_show(words)}", remediation=_ASK))
            return "200 OK", "The login was refused. This window can be closed."
        code, issuer = _parameter(address, "code") or "", _parameter(address, "iss")
        self._back.set_result(AuthorizationCodeResult(code=code, state=state, iss=issuer))
        return "200 OK", "This window can be closed."


def _page(status: str, words: str) -> bytes:
    fields = "Content-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\nConnection: close"
    return f"HTTP/1.1 {status}\r\n{fields}\r\n\r\n{words}\n".encode()


def _parameter(address: str, name: str) -> str | None:
    try:
        return parse_qs(urlsplit(address).query).get(name, [None])[0]
    except ValueError:
        return None


class _KeptLogin:
    """What a server has given out, in a file, with what is to be known of it to have it renewed."""

    context: OAuthContext | None = None
    """What is known of it now."""

    def __init__(self, url: str, port: int) -> None:
        name = hashlib.sha256(url.encode()).hexdigest()[:32]
        self._path = private_directory(state_directory() / "logins") / f"{name}.json"
        self._port = port

    def _read(self) -> dict[str, Any]:
        try:
            found = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return {}
        if not isinstance(found, dict):
            return {}
        # a registration for another port is of no use
        return found if found.get("port") == self._port else {**found, "client": None}

    def _find(self, name: str, model: type[_Model]) -> _Model | None:
        """A part of it; one that is damaged is not there."""
        try:
            return model.model_validate(self._read().get(name))
        except ValidationError:
            return None

    def _write(self, **parts: Any) -> None:
        path: Path = self._path.with_suffix(f".{os.getpid()}.new")
        path.touch(0o600)
        path.write_text(json.dumps({**self._read(), **parts, "port": self._port}))
        path.replace(self._path)

    async def get_tokens(self) -> OAuthToken | None:
        """What shows who asks."""
        return self._find("tokens", OAuthToken)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep it, with the moment of its end, and where it is renewed."""
        known = self.context
        server, resource = (known.oauth_metadata, known.protected_resource_metadata) if known else (None, None)
        self._write(
            tokens=_dump(tokens),
            expires=None if tokens.expires_in is None else time.time() + tokens.expires_in,
            server=_dump(server),
            resource=_dump(resource),
        )

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """As whom the gateway is known there."""
        return self._find("client", OAuthClientInformationFull)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep that."""
        self._write(client=_dump(client_info))

    def fill(self, known: OAuthContext) -> None:
        """Tell what is kept: when it ends, and where it is renewed."""
        tokens, expires = self._find("tokens", OAuthToken), self._read().get("expires")
        if tokens is None:
            return
        known.current_tokens = tokens
        known.token_expiry_time = expires if isinstance(expires, (int, float)) else None
        if known.oauth_metadata is None:
            known.oauth_metadata = self._find("server", OAuthMetadata)
            known.protected_resource_metadata = self._find("resource", ProtectedResourceMetadata)


def _dump(model: BaseModel | None) -> dict[str, Any] | None:
    return None if model is None else model.model_dump(mode="json", exclude_none=True)


@dataclass
class _Context(OAuthContext):
    """What the SDK knows of a login; what is kept of it may be newer, for another gateway may have had it renewed."""

    kept: _KeptLogin | None = None

    def is_token_valid(self) -> bool:
        """Whether there is leave that has not ended. The SDK takes what is kept for such that has no end."""
        if self.kept is not None and (self.token_expiry_time is None or not super().is_token_valid()):
            self.kept.fill(self)
        return super().is_token_valid()
