"""Trial: one server, asked three things without Aerogram and with it, by the same client."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
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
from aerogram.content.datatext import read_data
from aerogram.content.jsontext import dumps
from aerogram.fastmcp import install
from aerogram.tokens import best_counter

BUDGET = 2_000
TIMES = {"small": 31, "big": 15}
FORM = 20
"""By how many characters one sees in what form an answer is."""
CALLS = ("small", "big", "failure")
_COUNT = best_counter().count


@dataclass
class Side:
    """What a client saw of a server: what is listed, and what three calls came to."""

    listed: int
    tools: int
    results: dict[str, Any] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    whole: Any = None

    def add(self, name: str, result: Any) -> None:
        """What a call came to."""
        self.results[name] = result
        self.tokens[name] = tokens_of(result)


async def run(server: Server, work: Path) -> tuple[Side, Side]:
    """What a client sees without Aerogram, and with it: of one process, through two proxies that are asked by turns."""
    async with _start(server, work) as (plain, fitted):
        for call in server.before:
            await call_tool(plain, server, work, call)
        before, after = await _list(plain), await _list(fitted)
        for name in CALLS:
            call = getattr(server, name)
            before.add(name, await call_tool(plain, server, work, call))
            after.add(name, await call_tool(fitted, server, work, call))
        asked = AsyncClient(fitted, on_notice=lambda *_: None)
        if not server.is_stateful:
            tool, arguments = _split(server.place(work, server.big))
            after.whole = (await asked.whole(await asked.call(tool, arguments))).data
    return before, after


async def compare_times(server: Server, work: Path) -> dict[str, tuple[float, float]]:
    """Seconds of a call without and with Aerogram, by turns, so that whatever else the machine does hits both."""
    found = {}
    async with _start(server, work) as clients:
        for name, times in TIMES.items():
            taken: tuple[list[float], list[float]] = ([], [])
            for _ in range(times):
                for client, seconds in zip(clients, taken, strict=True):
                    began = time.perf_counter()
                    await call_tool(client, server, work, getattr(server, name))
                    seconds.append(time.perf_counter() - began)
            found[name] = (median(taken[0]), median(taken[1]))
    return found


@asynccontextmanager
async def _start(server: Server, work: Path) -> AsyncIterator[tuple[Client[Any], Client[Any]]]:
    """Clients of two proxies of one server, one as it is and one with Aerogram; of two where it remembers calls."""
    async with AsyncExitStack() as stack:
        inner = await stack.enter_async_context(Client(transport(server, work)))
        again = await stack.enter_async_context(Client(transport(server, work))) if server.is_stateful else inner
        plain, fitted = create_proxy(inner), create_proxy(again)
        install(fitted, dialect="bare", budget=BUDGET, negotiate=None, archive=Archive.in_memory())
        yield await stack.enter_async_context(Client(plain)), await stack.enter_async_context(Client(fitted))


def transport(server: Server, work: Path) -> StdioTransport:
    """How to start a server and to talk with it."""
    command, *words = server.place(work, list(server.command))
    env = {**os.environ, **server.place(work, server.env)}
    return StdioTransport(command, words, env=env, cwd=str(work), log_file=work / f"{server.name}.log")


async def _list(client: Client[Any]) -> Side:
    tools = await client.list_tools()
    return Side(sum(_COUNT(one.model_dump_json(by_alias=True, exclude_none=True)) for one in tools), len(tools))


async def call_tool(client: Client[Any], server: Server, work: Path, call: dict[str, Any]) -> Any:
    """What a call comes to that is written down for a server."""
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
        "keeps its form": text_of(after.results["big"])[:FORM] == text_of(before.results["big"])[:FORM],
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
