"""What it costs that a cut reply's rest is in the files before the reply is sent: with archives in files and in memory.

A FastMCP tool whose rows do not fit, and whose rest is new each time, is called in this process by one caller and by
fifty: how long a call takes, how much of the processor, and how many calls there are. The two kinds take turns.

`BENCH_CALLS=20 python bench archive_writes` makes fewer calls of each.
"""

import asyncio
import itertools
import os
import statistics
import tempfile
import time

from fastmcp import Client, FastMCP

from aerogram import Archive
from aerogram.fastmcp import install

CALLS = int(os.environ.get("BENCH_CALLS", "100"))
ROUNDS = 5
CALLERS = (1, 50)


def make_server(archive):
    server, numbers = FastMCP("bench"), itertools.count()

    @server.tool
    def rows() -> list[dict]:
        number = next(numbers)
        return [{"id": f"{number}-{at}", "title": "A row of some words", "note": "words " * 10} for at in range(60)]

    install(server, budget=1_000, archive=archive)
    return server


async def call(client, count, times):
    for _ in range(count):
        begun = time.perf_counter()
        result = await client.call_tool("rows", {})
        times.append(time.perf_counter() - begun)
        assert "retrieve(hash=" in result.content[0].text


async def measure(server, callers):
    """The times of so many calls, and what each took of the processor."""
    times = []
    async with Client(server) as client:
        await call(client, 2, [])
        begun = time.process_time()
        await asyncio.gather(*(call(client, max(CALLS // callers, 2), times) for _ in range(callers)))
        return times, (time.process_time() - begun) / len(times)


def main():
    with tempfile.TemporaryDirectory() as place:
        servers = {"files": make_server(Archive.at(place)), "memory": make_server(Archive.in_memory())}
        for callers in CALLERS:
            found = {kind: ([], []) for kind in servers}
            for _, (kind, server) in itertools.product(range(ROUNDS), servers.items()):
                times, cost = asyncio.run(measure(server, callers))
                found[kind][0].extend(times)
                found[kind][1].append(cost)
            said = {kind: [statistics.median(one) * 1000 for one in both] for kind, both in found.items()}
            for kind, (median, cost) in said.items():
                print(f"{callers:3} callers, {kind:6}: {median:6.2f} ms for a reply, {cost:5.2f} ms of processor time")
            longer, dearer = (one / other for one, other in zip(said["files"], said["memory"], strict=True))
            print(f"{callers:3} callers: {longer:.1f} times as long in files, {dearer:.1f} times the processor time")


if __name__ == "__main__":
    main()
