"""Trial: one server, asked three things without Aerogram and with it, by the same client."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy

from adoption.environments import Server
from aerogram import Archive
from aerogram.client import AsyncClient
from aerogram.datatext import read_data
from aerogram.fastmcp import install
from aerogram.jsontext import dumps
from aerogram.tokens import best_counter

BUDGET = 2_000
SMALL_TIMES, BIG_TIMES = 15, 5
CALLS = ("small", "big", "failure")
_COUNT = best_counter().count


@dataclass
class Side:
    """What a client saw of a server: what is listed, and what three calls came to."""

    listed: int
    tools: int
    results: dict[str, Any]
    seconds: dict[str, float]
    whole: Any = None
    tokens: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tokens = {name: tokens_of(result) for name, result in self.results.items()}


async def run(server: Server, work: Path) -> tuple[Side, Side]:
    """What a client sees without Aerogram, and with it."""
    async with _started(server, work, plain=True) as client:
        for call in server.before:
            await _call(client, server, work, call)
        before = await _see(client, server, work)
    async with _started(server, work, plain=False) as client:
        after = await _see(client, server, work)
        asked = AsyncClient(client, on_notice=lambda *_: None)
        tool, arguments = _split(server.place(work, server.big))
        if not server.is_stateful:
            after.whole = (await asked.whole(await asked.call(tool, arguments))).data
    return before, after


@asynccontextmanager
async def _started(server: Server, work: Path, *, plain: bool) -> AsyncIterator[Client[Any]]:
    """A client of a proxy of the server, so that both sides take the same way."""
    command, *words = server.place(work, list(server.command))
    env = {**os.environ, **server.place(work, server.env)}
    log = work / f"{server.name}.log"
    async with Client(StdioTransport(command, words, env=env, cwd=str(work), log_file=log)) as inner:
        proxy = create_proxy(inner)
        if not plain:
            install(proxy, dialect="bare", budget=BUDGET, negotiate=None, archive=Archive.in_memory())
        async with Client(proxy) as client:
            yield client


async def _see(client: Client[Any], server: Server, work: Path) -> Side:
    tools = await client.list_tools()
    listed = sum(_COUNT(one.model_dump_json(by_alias=True, exclude_none=True)) for one in tools)
    results, seconds = {}, {}
    for name in CALLS:
        results[name] = await _call(client, server, work, getattr(server, name))
        times = []
        for _ in range({"small": SMALL_TIMES, "big": BIG_TIMES}.get(name, 0)):
            began = time.perf_counter()
            await _call(client, server, work, getattr(server, name))
            times.append(time.perf_counter() - began)
        seconds[name] = median(times) if times else 0.0
    return Side(listed, len(tools), results, seconds)


async def _call(client: Client[Any], server: Server, work: Path, call: dict[str, Any]) -> Any:
    tool, arguments = _split(server.place(work, call))
    return await client.call_tool(tool, arguments, raise_on_error=False)


def _split(call: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return call["tool"], {name: value for name, value in call.items() if name != "tool"}


def text_of(result: Any) -> str:
    """All texts of a result."""
    return "\n".join(block.text for block in result.content if block.type == "text")


def tokens_of(result: Any) -> int:
    """What a model reads: the larger of the two channels."""
    structured = "" if result.structured_content is None else dumps(result.structured_content).decode()
    return max(_COUNT(text_of(result)), _COUNT(structured))


def findings(before: Side, after: Side) -> dict[str, bool]:
    """What has to hold of a server that has adopted Aerogram."""
    small, failure = (before.results[name] for name in ("small", "failure"))
    return {
        "listing": after.listed <= before.listed + 300 + 30 * before.tools,
        "small call unchanged": _is_same(small, after.results["small"]),
        "within the budget": after.tokens["big"] <= BUDGET
        and after.results["big"].is_error == before.results["big"].is_error,
        "had back whole": _is_whole(before.results["big"], after.whole),
        "failure keeps its words": _keeps_words(failure, after.results["failure"]),
    }


def _is_same(one: Any, other: Any) -> bool:
    return (one.content, one.structured_content, one.is_error) == (
        other.content,
        other.structured_content,
        other.is_error,
    )


def _is_whole(result: Any, whole: Any) -> bool:
    """Whether what was had back is all that the server had said."""
    texts = [block.text for block in result.content if block.type == "text"]
    structured = result.structured_content
    inner = structured.get("result") if isinstance(structured, dict) and structured.keys() == {"result"} else structured
    held = read_data(texts)
    known = [structured, inner, *texts[:1], texts, held.value if held else None]
    return not texts or whole is None or any(whole == one for one in known if one is not None)


def _keeps_words(before: Any, after: Any) -> bool:
    is_told = after.is_error == before.is_error and text_of(after).startswith(text_of(before))
    return is_told and (not after.is_error or "dev.aerogram/problem" in (after.meta or {}))
