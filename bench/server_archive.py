"""Fifty callers whose answers leave something out, so that each call writes to the archive: how long they wait.

`BENCH_SECONDS=10 python bench server_archive` makes the minute shorter.
"""

import asyncio
import itertools
import os
import statistics
import time

import httpx

from server_process import place_for_index, serving
from server_tokens import QUESTIONS

SECONDS = float(os.environ.get("BENCH_SECONDS", "60"))
CALLERS = 50


async def call(client, number, ends, times, failures):
    for turn in itertools.count():
        if time.perf_counter() >= ends:
            return
        question = f"{[*QUESTIONS][(number + turn) % len(QUESTIONS)]} {number}-{turn}"
        asked = {"q": question, "response_mode": "full", "page_size": 20, "max_tokens": 1_200}
        begun = time.perf_counter()
        answer = await client.get("/v1/search", params=asked)
        times.append(time.perf_counter() - begun)
        if answer.status_code != 200:
            failures.append(f"{answer.status_code} {answer.text[:100]}")


async def load(address):
    times, failures, ends = [], [], time.perf_counter() + SECONDS
    async with httpx.AsyncClient(base_url=address, timeout=60, limits=httpx.Limits(max_connections=CALLERS)) as client:
        await asyncio.gather(*(call(client, number, ends, times, failures) for number in range(CALLERS)))
    return times, failures


def main():
    with place_for_index() as index, serving(index) as server:
        times, failures = asyncio.run(load(server.address))
    cuts = statistics.quantiles(times, n=100)
    print(f"{CALLERS} callers, {SECONDS:g} s: {len(times):,} calls that write, {len(times) / SECONDS:.0f}/s")
    print(f"half within {cuts[49] * 1000:.0f} ms, 99 % within {cuts[98] * 1000:.0f} ms; {len(failures)} failed")
    if failures:
        raise SystemExit(1)
