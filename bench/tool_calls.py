"""Tool calls: the same in-memory call of FastMCP and of the MCP SDK with Aerogram on, as a multiple of it off."""

import asyncio
import random
import statistics
import time
from dataclasses import dataclass

import mcp
from fastmcp import Client, FastMCP
from mcp.server.mcpserver import MCPServer

from aerogram._mcp.results import to_sdk
from aerogram._mcp.service import Caller, Service
from aerogram.contract import Contract
from aerogram.fastmcp import install as install_fastmcp
from aerogram.mcp import install as install_sdk

ROUNDS = 100
CALLS = (
    ("record", "record", {"task_id": "x"}, 20),
    ("untyped dict", "untyped", {"task_id": "x"}, 20),
    ("1,000 rows", "rows", {}, 1),
)
ROWS = [
    {"id": f"task-{number:05}", "title": "Implement the login page", "score": 0.87, "tags": ["auth", "ui"]}
    for number in range(1000)
]


@dataclass
class Task:
    task_id: str
    status: str
    title: str


async def record(task_id: str) -> Task:
    return Task(task_id, "pending", "Implement the login page")


async def untyped(task_id: str) -> dict:
    return {"task_id": task_id, "status": "pending", "title": "Implement the login page"}


async def rows() -> list[dict]:
    return ROWS


def fastmcp_server(*, on):
    server = FastMCP("bench")
    for handler in (record, untyped, rows):
        server.tool(handler)
    if on:
        install_fastmcp(server, dialect="response-v2")
    return Client(server)


def sdk_server(*, on):
    server = MCPServer("bench", log_level="CRITICAL")
    for handler in (record, untyped, rows):
        server.add_tool(handler)
    if on:
        install_sdk(server, dialect="response-v2")
    return mcp.Client(server)


async def _once(client, name, arguments, count):
    start = time.process_time()
    for _ in range(count):
        await client.call_tool(name, arguments)
    return (time.process_time() - start) / count


async def compare(make, name, arguments, count):
    """The CPU time of a call with Aerogram off and on, below which a quarter of the rounds stay.

    The rounds are interleaved, in another order each time.
    """
    times, chance = ([], []), random.Random(1)
    async with make(on=False) as off, make(on=True) as on:
        order = [(off, times[0]), (on, times[1])]
        for _ in range(ROUNDS):
            chance.shuffle(order)
            for client, taken in order:
                taken.append(await _once(client, name, arguments, count))
    return [statistics.quantiles(taken, n=4)[0] for taken in times]


async def measure():
    print(f"{'in-memory call':<24}{'off':>10}{'on':>10}{'ratio':>8}")
    for framework, make in (("FastMCP", fastmcp_server), ("MCP SDK", sdk_server)):
        for title, name, arguments, count in CALLS:
            off, on = await compare(make, name, arguments, count)
            print(f"{framework + ' ' + title:<24}{off * 1e6:>8.0f}us{on * 1e6:>8.0f}us{on / off:>7.2f}x")
    print(f"of which in the server  {await server_side() * 1e6:>18.0f}us")


async def server_side():
    """What Aerogram itself takes for a small reply; the rest is the client, which validates the listed schema."""
    service = Service(Contract(dialect="response-v2"))
    profile = service.listing.profile("untyped", inputs={})
    value = await untyped("x")
    fastest = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(200):
            to_sdk(await service.answer(service.open(profile, {"task_id": "x"}, Caller()), profile, value))
        fastest = min(fastest, (time.process_time() - start) / 200)
    return fastest


def main():
    asyncio.run(measure())


if __name__ == "__main__":
    main()
