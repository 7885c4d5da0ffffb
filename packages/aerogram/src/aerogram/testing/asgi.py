"""ASGI: requests to an application in this process, over no socket; with its start and its end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlencode

__all__ = ["Response", "running", "send"]

_START: Final = "http.response.start"
_HOST: Final = "sweep.invalid"


@dataclass
class Response:
    """An answer; `error` is the exception that came out of the application, `is_complete` whether the body ended."""

    status_code: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    content: bytes = b""
    error: BaseException | None = None
    is_complete: bool = False

    @property
    def media_type(self) -> str:
        """The media type without its parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def is_json(self) -> bool:
        """Whether the body says that it is JSON."""
        return self.media_type == "application/json" or self.media_type.endswith("+json")

    @property
    def is_whole(self) -> bool:
        """Whether the body was known before it was sent, as that of a stream is not."""
        return "content-length" in self.headers and "content-encoding" not in self.headers

    @property
    def text(self) -> str:
        """The body as text."""
        return self.content.decode("utf-8", "replace")

    async def receive(self, message: Mapping[str, Any]) -> None:
        """Take a message of the application."""
        if message["type"] == _START:
            self.status_code = message["status"]
            for name, value in message.get("headers", ()):
                key, said = name.decode("latin-1").lower(), value.decode("latin-1")
                self.headers[key] = f"{self.headers[key]}, {said}" if key in self.headers else said
        else:
            self.content += message.get("body", b"")
            self.is_complete = not message.get("more_body", False)


async def send(
    app: Any,
    method: str,
    path: str,
    *,
    query: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    state: Mapping[str, Any] | None = None,
    patience: float = 10.0,
) -> Response:
    """One request and its answer; `state` is what the start of the application left for its requests."""
    response, answered = Response(), asyncio.Event()
    given = [(b"host", _HOST.encode())]
    given += [(name.lower().encode("latin-1"), value.encode("utf-8")) for name, value in (headers or {}).items()]
    if body:
        given.append((b"content-length", b"%d" % len(body)))
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": quote(path).encode(),
        "root_path": "",
        "query_string": urlencode(query or {}, doseq=True).encode(),
        "headers": given,
        "client": ("127.0.0.1", 1),
        "server": (_HOST, 80),
        "state": dict(state or {}),
    }
    asked = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> dict[str, Any]:
        message = next(asked, None)
        if message is None:
            await answered.wait()
        return message or {"type": "http.disconnect"}

    async def take(message: Mapping[str, Any]) -> None:
        await response.receive(message)
        if response.is_complete:
            answered.set()

    try:
        async with asyncio.timeout(patience):
            await app(scope, receive, take)
    except Exception as error:  # noqa: BLE001 - what comes out of an application is evidence
        response.error = error
    return response


@contextlib.asynccontextmanager
async def running(app: Any) -> AsyncIterator[dict[str, Any]]:
    """The application between its start and its end, as servers run it, with the state that its start leaves."""
    inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    outbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    state: dict[str, Any] = {}
    scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": state}
    life = asyncio.create_task(app(scope, inbox.get, outbox.put))
    await _step("startup", life, inbox, outbox)
    try:
        yield state
    finally:
        await _step("shutdown", life, inbox, outbox)
        await asyncio.wait([life])
        life.exception()  # one that knows nothing of lifespans may raise, and that is nobody's business


async def _step(name: str, life: asyncio.Task[None], inbox: Any, outbox: Any) -> None:
    """Start or end; an application that knows nothing of it has ended its task, and is served all the same."""
    await inbox.put({"type": f"lifespan.{name}"})
    heard = asyncio.create_task(outbox.get())
    await asyncio.wait([life, heard], return_when=asyncio.FIRST_COMPLETED)
    if not heard.done():
        heard.cancel()
        return
    if heard.result()["type"].endswith("failed"):
        raise RuntimeError(f"the application does not {name}: {heard.result().get('message', '')}")
