"""Address: a server behind that runs elsewhere and is spoken to over HTTP, streamable or as server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from aerogram.gateway.process import LARGEST

__all__ = ["Address"]


@dataclass(frozen=True)
class Address:
    """Where a server listens, and which headers it wants."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    transport: Literal["http", "sse"] = "http"
    largest: int = LARGEST

    def __str__(self) -> str:
        return self.url

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Any]:
        """The server's streams."""
        if self.transport == "sse":
            async with sse_client(self.url, headers=dict(self.headers)) as streams:
                yield streams
            return
        async with (
            httpx2.AsyncClient(headers=dict(self.headers), timeout=httpx2.Timeout(30, read=None)) as client,
            streamable_http_client(self.url, http_client=client, max_sse_event_size=self.largest) as streams,
        ):
            yield streams
