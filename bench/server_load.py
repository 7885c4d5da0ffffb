"""One client for a while and fifty for a minute, over HTTP and MCP: every answer is checked, and memory must stay flat.

`BENCH_SECONDS=10 python bench server_load` makes the minute shorter. Clients and server share the machine, so the
times are those of a machine that does both.
"""

import asyncio
import contextlib
import itertools
import os
import statistics
import time
from dataclasses import dataclass, field

import httpx
import mcp

from aerogram.dialects import validate
from server_process import place_for_index, serving
from server_tokens import QUESTIONS

SECONDS = float(os.environ.get("BENCH_SECONDS", "60"))
ROUNDS = ((1, SECONDS / 6), (50, SECONDS))
WARM = 0.25
"""The share of the time after which caches are full; growth is judged from there on."""
MOST_GROWTH = 1.05
DOCUMENTS = ("security/jwt-guide.md", "apis/webhooks.md", "contracts/sla-kestrelgate.md")
VENDORS = ("Kestrelgate", "Fjordbyte", "Tessaro")


@dataclass
class Load:
    """What became of the calls of all clients."""

    ends: float
    times: list = field(default_factory=list)
    memory: list = field(default_factory=list)
    failures: list = field(default_factory=list)

    @property
    def is_over(self):
        return time.perf_counter() >= self.ends


def calls(number):
    """What a client asks, round and round: mostly searches, and what follows from them."""
    questions = itertools.cycle([*QUESTIONS][number % 10 :] + [*QUESTIONS][: number % 10])
    for turn in itertools.count(number):
        question = next(questions)
        yield "semantic_search", {"query": question, "response_mode": ("metadata", "preview", "full")[turn % 3]}
        yield "semantic_search", {"query": question, "response_mode": "ids_only", "page_size": 50}
        yield "get_chunks", {"chunk_ids": [1 + turn % 200]}
        yield "find_vendor_info", {"vendor_name": VENDORS[turn % 3]}
        if turn % 5 == 0:
            yield "digest_document", {"source_file": DOCUMENTS[turn % 3], "query": question}


def request_for(tool, asked):
    """The same call as a request."""
    rest = {name: asked[name] for name in ("response_mode", "page_size") if name in asked}
    if tool == "semantic_search":
        return "GET", "/v1/search", {"q": asked["query"], **rest}, None
    if tool == "get_chunks":
        return "GET", f"/v1/chunks/{asked['chunk_ids'][0]}", {}, None
    if tool == "find_vendor_info":
        return "GET", f"/v1/vendors/{asked['vendor_name']}", {}, None
    return "POST", "/v1/digests", {}, asked


@contextlib.asynccontextmanager
async def over_http(server):
    async with httpx.AsyncClient(base_url=server.address, timeout=60) as client:

        async def call(tool, asked):
            method, path, params, body = request_for(tool, asked)
            answer = await client.request(method, path, params={**params, "envelope": "v2"}, json=body)
            return answer.json(), answer.status_code == 200

        yield call


@contextlib.asynccontextmanager
async def over_mcp(server):
    async with mcp.Client(server.mcp) as client:

        async def call(tool, asked):
            result = await client.call_tool(tool, asked)
            return result.structured_content, not result.is_error

        yield call


async def converse(number, connect, server, load):
    """One client; every answer must be well-formed and no failure."""
    async with connect(server) as call:
        for tool, asked in calls(number):
            if load.is_over:
                return
            start = time.perf_counter()
            try:
                body, is_fine = await call(tool, asked)
                load.times.append(time.perf_counter() - start)
                validate(body)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is counted and shown
                load.failures.append(f"{tool}: {type(error).__name__}: {error}")
            else:
                if not is_fine:
                    load.failures.append(f"{tool}: {body}")


async def watch_memory(server, load):
    while not load.is_over:
        load.memory.append(server.memory)
        await asyncio.sleep(min(0.5, SECONDS / 100))


async def put_under_load(connect, server, clients, seconds):
    start = time.perf_counter()
    load = Load(ends=start + seconds)
    talks = (converse(number, connect, server, load) for number in range(clients))
    await asyncio.gather(watch_memory(server, load), *talks)
    return load, time.perf_counter() - start


def growth(memory):
    """The memory in the last quarter, as a multiple of that after the warm-up."""
    quarter = max(1, int(len(memory) * WARM))
    return statistics.median(memory[-quarter:]) / statistics.median(memory[quarter : 2 * quarter])


def report(name, load, taken):
    grown = growth(load.memory)
    p50, p99 = (statistics.quantiles(load.times, n=100)[place] * 1000 for place in (49, 98))
    flat = "flat" if grown <= MOST_GROWTH else "GROWING"
    print(
        f"{name}, {taken:.0f} s: {len(load.times):,} answers, {len(load.failures)} not well-formed, "
        f"{len(load.times) / taken:.0f}/s, p50 {p50:.0f} ms, p99 {p99:.0f} ms, "
        f"memory {load.memory[-1] / 2**20:.0f} MiB, {flat} ({grown:.3f}x)"
    )
    for failure in load.failures[:5]:
        print(f"  {failure[:300]}")


def main():
    for name, connect in (("HTTP", over_http), ("MCP", over_mcp)):
        with place_for_index() as index, serving(index) as server:
            for clients, seconds in ROUNDS:
                load, taken = asyncio.run(put_under_load(connect, server, clients, seconds))
                report(f"{name}, {clients} client{'s' * (clients > 1)}", load, taken)


if __name__ == "__main__":
    main()
