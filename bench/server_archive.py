"""Fifty callers whose answers leave something out, so that each call writes to the archive: how long they wait.

Each call asks for twenty passages drawn by lot, so that what is left out is new each time. A search would write
nothing: its next page is a search again.

`BENCH_SECONDS=10 python bench server_archive` makes the minute shorter.
"""

import asyncio
import os
import random
import statistics
import time

import httpx

from server_process import place_for_index, serving

SECONDS = float(os.environ.get("BENCH_SECONDS", "60"))
CALLERS = 50
PASSAGES, ASKED = 200, 20
ACCEPT = {"accept": "application/json, text/event-stream"}


def request(chance):
    """A call whose reply cannot hold what it asks for."""
    asked = {"chunk_ids": chance.sample(range(1, PASSAGES + 1), ASKED), "max_tokens": 1_200}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_chunks", "arguments": asked}}


async def call(client, number, ends, times, failures):
    chance = random.Random(number)
    async with client:
        while time.perf_counter() < ends:
            begun = time.perf_counter()
            answer = await client.post("/mcp", json=request(chance), headers=ACCEPT)
            times.append(time.perf_counter() - begun)
            if "retrieve(hash=" not in answer.text:
                failures.append(f"{answer.status_code} {answer.text[:100]}")


async def load(address):
    # each has a connection of its own: in one pool, callers would wait for each other as well
    context = httpx.create_ssl_context()
    clients = [httpx.AsyncClient(base_url=address, timeout=60, verify=context) for _ in range(CALLERS)]
    times, failures, ends = [], [], time.perf_counter() + SECONDS
    await asyncio.gather(*(call(client, number, ends, times, failures) for number, client in enumerate(clients)))
    return times, failures


def main():
    with place_for_index() as index, serving(index) as server:
        times, failures = asyncio.run(load(server.address))
    cuts = statistics.quantiles(times, n=100)
    print(f"{CALLERS} callers, {SECONDS:g} s: {len(times):,} calls that write, {len(times) / SECONDS:.0f}/s")
    print(f"half within {cuts[49] * 1000:.0f} ms, 99 % within {cuts[98] * 1000:.0f} ms; {len(failures)} failed")
    if failures:
        raise SystemExit(failures[0])
