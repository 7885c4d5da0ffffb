"""Cleaning: JSON that a framework answers by itself, read and made clean before anybody else sees it.

What an envelope says is clean already. This is for the rest: bare payloads of legacy callers, routes that are not
migrated, responses that a handler made itself, failures in the framework's own words.

    an answer of ours               passes, it is clean
    JSON that has a length          is held, read, made clean; the same bytes go on if it was clean
    JSON that was compressed        likewise, and is sent as it is if it has to be changed
    JSON that others can read       likewise: repeated members, NaN, lone surrogates
    what nobody can read as JSON    is not sent, because nothing can be taken out of it; nor what cannot be unpacked,
                                    or has more than a value may have
    anything else                   passes unread: streams, other formats, unknown encodings

A stream that was compressed on its way looks like an answer that was. So a mark is put innermost, where nothing has
compressed it yet.

What is asked for in ranges is sent as a whole: a part of a file cannot be read as JSON, and may hold what is taken out
of the whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from aerogram._http import responses as fields
from aerogram._http.exchange import BODY, EXCHANGE, START, App, Exchange, Message, Receive, Scope, Send
from aerogram._http.responses import unpack
from aerogram.answer.aside import run_by_size
from aerogram.content.jsontext import dumps_loosely, loads_loosely
from aerogram.errors import ContractError
from aerogram.reply import Reply

__all__ = ["SanitizingMiddleware", "StreamMarkMiddleware"]

Clean: TypeAlias = Callable[[Reply[Any]], Reply[Any]]
_FAILURES: Final = 400
_UNSENT: Final = "an answer in JSON is not sent, because it cannot be made clean"
_OF_RANGES: Final = frozenset({b"range", b"if-range"})
_OF_BYTES: Final = frozenset({b"content-length", b"content-encoding", b"etag", b"content-md5", b"digest"})


class SanitizingMiddleware:
    """An application whose JSON is made clean; it stands right inside of the layer."""

    def __init__(self, app: App, clean: Clean, longest: int) -> None:
        self._app = app
        self._clean = clean
        self._longest = longest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application answer, and read what it says."""
        if scope["type"] == "http":
            scope["headers"] = [pair for pair in scope["headers"] if pair[0] not in _OF_RANGES]
            send = _SanitizingSend(scope, send, self._clean, self._longest)
        await self._app(scope, receive, send)


class StreamMarkMiddleware:
    """An application whose exchanges know that an answer has begun of which nobody knows the end."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application answer, and look at how it begins."""
        exchange: Exchange | None = scope.get(EXCHANGE)

        async def mark(message: Message) -> None:
            if message["type"] == START and exchange is not None:
                exchange.is_stream = not _has_end(list(message.get("headers") or ()))
            await send(message)

        await self.app(scope, receive, send if exchange is None else mark)


def _has_end(given: fields.Fields) -> bool:
    """Whether an answer has all of itself at hand when it begins, or something on its way had it."""
    return bool(fields.find(given, b"content-length") or fields.find(given, b"content-encoding"))


class _SanitizingSend:
    """Holds an answer that is JSON until it is whole, and sends it without what may not be said."""

    def __init__(self, scope: Scope, send: Send, clean: Clean, longest: int) -> None:
        self._scope = scope
        self._send = send
        self._clean = clean
        self._longest = longest
        self._start: Message | None = None
        self._content = bytearray()

    async def __call__(self, message: Message) -> None:
        if message["type"] == START and self._reads(message):
            self._start = message
        elif self._start is None:
            await self._send(message)
        elif message["type"] != BODY:
            await self._send_unchanged(message)
        else:
            self._content += message.get("body", b"")
            if len(self._content) > self._longest:
                self._start, self._content = None, bytearray()
                raise ContractError(f"{_UNSENT}: it has more than {self._longest:,} bytes")
            if not message.get("more_body", False):
                await self._finish(self._start)

    def _reads(self, start: Message) -> bool:
        exchange: Exchange | None = self._scope.get(EXCHANGE)
        if exchange is None or exchange.ours is not None or (exchange.terms is not None and exchange.terms.is_manual):
            return False
        given = start["headers"] = list(start.get("headers") or ())
        if exchange.is_stream and not fields.find(given, b"content-length"):
            return False
        return _has_end(given) and fields.announce_json(given)

    async def _send_unchanged(self, message: Message) -> None:
        """Something comes that is no body: a file that the server sends by itself."""
        assert self._start is not None
        await self._send(self._start)
        self._start = None
        await self._send(message)

    async def _finish(self, start: Message) -> None:
        self._start = None
        content = bytes(self._content)
        encoding = fields.find(start["headers"], b"content-encoding")
        size = math.inf if encoding else len(content)
        cleaned = await run_by_size("clean", size, self._clean_json, start["status"], content, encoding)
        if cleaned is not None:
            content = cleaned
            kept = [pair for pair in start["headers"] if pair[0] not in _OF_BYTES]
            start = {**start, "headers": [*kept, (b"content-length", b"%d" % len(content))]}
        await self._send(start)
        await self._send({"type": BODY, "body": content})

    def _clean_json(self, status: int, content: bytes, encoding: bytes) -> bytes | None:
        """The JSON without what may not be said; None where nothing is to be taken out, or it is packed oddly."""
        try:
            unpacked = unpack(content, encoding, self._longest)
            if unpacked is None or not unpacked.strip():  # there is nothing, as in the answer to a HEAD
                return None
            said, is_whole = loads_loosely(unpacked)
            clean = self._clean_value(status, said)
            return None if clean is said and is_whole else dumps_loosely(clean)
        except (ContractError, RecursionError) as error:
            raise ContractError(f"{_UNSENT}: {error}") from None

    def _clean_value(self, status: int, said: Any) -> Any:
        if status >= _FAILURES:  # what failed has no data, so that nothing in it is a stranger's
            return (self._clean(Reply(extra={"said": said})).extra or {})["said"]
        return self._clean(Reply(said)).data
