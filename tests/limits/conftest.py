"""Limits in memory and in a real Redis."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
import pytest_asyncio

from aerogram.limits import Limits
from servers import redis_url

__all__ = ["redis_url"]

OpenLimits = Callable[..., Limits]


@pytest_asyncio.fixture(params=["memory", "redis"])
async def open_limits(request: pytest.FixtureRequest) -> AsyncIterator[OpenLimits]:
    """A function that opens limits with a plan and options."""
    url = request.getfixturevalue("redis_url") if request.param == "redis" else ""
    async with AsyncExitStack() as opened:

        def open_one(plan: Any, **options: Any) -> Limits:
            limits = Limits.in_redis(url, plan, **options) if url else Limits.in_memory(plan, **options)
            opened.push_async_callback(limits.close)
            return limits

        yield open_one


@pytest.fixture
def ada() -> str:
    """A caller that no other test knows, because the Redis is shared."""
    return f"ada-{uuid.uuid4()}"
