"""Login: how a gateway gets leave from a server elsewhere that wants OAuth: its user is asked in a browser, once.

What the server gives out is kept in the user's state directory, where nobody else can read it, and renewed from there.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from aerogram.errors import Unauthenticated
from aerogram.state import private_directory, state_directory

__all__ = ["log_in", "logging_in"]

log = logging.getLogger("aerogram.gateway")

PATIENCE: Final = 300.0
"""Seconds that somebody has to log in."""
_HOST: Final = "127.0.0.1"
_FIRST_PORT, _PORTS = 20_000, 20_000
_DONE: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nThis window can be closed.\n"


@asynccontextmanager
async def logging_in(url: str) -> AsyncIterator[OAuthClientProvider]:
    """What shows a server who asks, and has its user log in where nobody has yet."""
    visitor = _Visitor()
    async with await _listen(visitor.take, url) as listener:
        port = listener.sockets[0].getsockname()[1]
        metadata = OAuthClientMetadata(
            client_name="Aerogram", redirect_uris=[AnyUrl(f"http://{_HOST}:{port}/callback")]
        )
        yield OAuthClientProvider(url, metadata, _KeptLogin(url, port), visitor.send, visitor.wait)


async def log_in(url: str) -> None:
    """Have the user log in now, where nobody has yet."""
    async with logging_in(url) as auth, httpx2.AsyncClient(auth=auth, timeout=30) as client:
        await client.get(url, headers={"Accept": "text/event-stream"})


class _Visitor:
    """Whoever is sent to log in, until they are back."""

    def __init__(self) -> None:
        self._back: asyncio.Future[AuthorizationCodeResult] | None = None
        self._state: str | None = None

    async def send(self, address: str) -> None:
        """Show where to log in."""
        self._back = asyncio.get_running_loop().create_future()
        self._state = _first(address, "state")
        log.warning("log in at %s", address)
        nothing = subprocess.DEVNULL  # a browser must not write where the client reads
        words = [sys.executable, "-P", "-m", "webbrowser", address]
        await asyncio.create_subprocess_exec(*words, stdin=nothing, stdout=nothing, stderr=nothing)

    async def wait(self) -> AuthorizationCodeResult:
        """What they bring back."""
        assert self._back is not None
        try:
            return await asyncio.wait_for(self._back, PATIENCE)
        except TimeoutError:
            raise Unauthenticated("Nobody has logged in", remediation="Log in with `aerogram wrap --check`") from None

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Somebody comes: they are the one who was sent if they know the word that was sent along."""
        _, _, address = (await reader.readline()).decode("latin-1").partition(" ")
        address = address.partition(" ")[0]
        writer.write(_DONE)
        await writer.drain()
        writer.close()
        state = _first(address, "state")
        if self._back is not None and not self._back.done() and state is not None and state == self._state:
            code, issuer = _first(address, "code") or "", _first(address, "iss")
            self._back.set_result(AuthorizationCodeResult(code=code, state=state, iss=issuer))


def _first(address: str, name: str) -> str | None:
    return parse_qs(urlsplit(address).query).get(name, [None])[0]


async def _listen(take: Any, url: str) -> asyncio.Server:
    """A port to come back to: the same for a server each time, because servers remember it."""
    own = _FIRST_PORT + int(hashlib.sha256(url.encode()).hexdigest()[:8], 16) % _PORTS
    try:
        return await asyncio.start_server(take, _HOST, own)
    except OSError:
        return await asyncio.start_server(take, _HOST, 0)


class _KeptLogin:
    """What a server has given out, in a file."""

    def __init__(self, url: str, port: int) -> None:
        name = hashlib.sha256(url.encode()).hexdigest()[:32]
        self._path = private_directory(state_directory() / "logins") / f"{name}.json"
        self._port = port

    def _read(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return {}
        # a registration for another port is of no use
        return found if found.get("port") == self._port else {"tokens": found.get("tokens")}

    def _write(self, **parts: Any) -> None:
        path: Path = self._path.with_suffix(".new")
        path.touch(0o600)
        path.write_text(json.dumps({**self._read(), **parts, "port": self._port}))
        path.replace(self._path)

    async def get_tokens(self) -> OAuthToken | None:
        """What shows who asks."""
        found = self._read().get("tokens")
        return None if found is None else OAuthToken.model_validate(found)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep it."""
        self._write(tokens=tokens.model_dump(mode="json", exclude_none=True))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """As whom the gateway is known there."""
        found = self._read().get("client")
        return None if found is None else OAuthClientInformationFull.model_validate(found)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep that."""
        self._write(client=client_info.model_dump(mode="json", exclude_none=True))
