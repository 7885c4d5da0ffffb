"""What the gateway costs over an empty proxy of the same SDK on the same transports.

    client ── proxy ── server      a small call, p50 and p95; a result of 5 MB; on standard streams and over HTTP
    50 clients at once             for BENCH_SECONDS, ten by default: calls, errors
    memory                         of one gateway after that, and of one with ten servers

It fails where a call did, or where ten servers take more than 200 MB.

[BENCH_SECONDS=60] python bench wrap
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import psutil

HERE = Path(__file__).resolve()
ROUNDS = 40
CALLS = 10
LARGE = 5_000_000
CLIENTS = 50
MOST_MEGABYTES = 200


# The server behind, and the empty proxy


def serve(server, transport):
    """Run a low-level server on standard streams, or on a port that is printed."""
    import socket

    import anyio
    import uvicorn
    from mcp.server.stdio import stdio_server

    async def streams():
        async with stdio_server() as (received, sent):
            await server.run(received, sent, server.create_initialization_options())

    if transport == "stdio":
        anyio.run(streams)
        return
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
    uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="critical")).run([listener])


def behind(transport):
    import mcp_types as types
    from mcp.server.lowlevel import Server

    large = "word " * (LARGE // 5)

    async def list_tools(_, __):
        tools = [types.Tool(name=name, input_schema={"type": "object"}) for name in ("small", "large")]
        return types.ListToolsResult(tools=tools, ttl_ms=0, cache_scope="private")

    async def call_tool(_, params):
        words = "a few words" if params.name == "small" else large
        return types.CallToolResult(content=[types.TextContent(type="text", text=words)])

    serve(Server("behind", on_list_tools=list_tools, on_call_tool=call_tool), transport)


def proxy(transport, *target):
    """The least that can stand in between: two sessions of the SDK, and a handler that asks one for the other."""
    from mcp import Client, StdioServerParameters
    from mcp.server.lowlevel import Server

    client = None

    async def list_tools(_, params):
        return await client.list_tools(cursor=params.cursor if params else None)

    async def call_tool(_, params):
        return await client.call_tool(params.name, params.arguments)

    from contextlib import asynccontextmanager

    @asynccontextmanager
    async def lifespan(_):
        nonlocal client
        where = target[0] if transport == "http" else StdioServerParameters(command=target[0], args=list(target[1:]))
        async with Client(where) as client:
            yield {}

    serve(Server("proxy", on_list_tools=list_tools, on_call_tool=call_tool, lifespan=lifespan), transport)


# Measuring


@contextmanager
def listening(words):
    """A process that prints its address on its standard error."""
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    try:
        yield next(line for line in process.stderr if "http://" in line).split()[-1], process.pid
    finally:
        process.terminate()
        process.wait(30)
        process.stderr.close()


def own(*words):
    return [sys.executable, str(HERE), *words]


def gateway(*words):
    # a budget that nothing here exceeds: what is measured is the way, and not the fitting
    return [sys.executable, "-m", "aerogram", "wrap", "--quiet", "--budget", "100000000", *words]


async def time_calls(clients):
    """Milliseconds of small calls by the name of the client, the clients taking turns."""
    found = {name: [] for name in clients}
    for _ in range(ROUNDS):
        for name, client in clients.items():
            for _ in range(CALLS):
                began = time.perf_counter()
                await client.call_tool("small", {})
                found[name].append((time.perf_counter() - began) * 1000)
    return found


async def time_large(clients):
    found = {name: [] for name in clients}
    for _ in range(7):
        for name, client in clients.items():
            began = time.perf_counter()
            result = await client.call_tool("large", {})
            found[name].append((time.perf_counter() - began) * 1000)
            assert len(result.content[0].text) == LARGE
    return {name: statistics.median(times) for name, times in found.items()}


async def compare(targets):
    from mcp import Client

    async with AsyncExitStack() as stack:
        clients = {name: await stack.enter_async_context(Client(where)) for name, where in targets.items()}
        for client in clients.values():
            for _ in range(20):
                await client.call_tool("small", {})
        return await time_calls(clients), await time_large(clients)


def show(title, small, large):
    print(title)
    for name, times in small.items():
        times.sort()
        p50, p95 = statistics.median(times), times[int(len(times) * 0.95)]
        print(f"  {name:<8} small call p50 {p50:6.2f} ms  p95 {p95:6.2f} ms   5 MB {large[name]:7.1f} ms")
    extra = statistics.median(small["gateway"]) - statistics.median(small["proxy"])
    print(
        f"  the gateway costs {extra:+.2f} ms a call more; 5 MB: {large['gateway'] / large['proxy']:.2f} x", flush=True
    )


def compare_streams():
    from mcp import StdioServerParameters

    server = own("behind", "stdio")
    ways = {"direct": server, "proxy": own("proxy", "stdio", *server), "gateway": gateway("--", *server)}
    targets = {name: StdioServerParameters(command=words[0], args=words[1:]) for name, words in ways.items()}
    show("standard streams", *asyncio.run(compare(targets)))


async def crowd(url, seconds):
    """Many clients that call as fast as they are answered: calls and errors."""
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    calls = errors = 0

    async def one(client, until):
        nonlocal calls, errors
        while time.monotonic() < until:
            result = await client.call_tool("small", {})
            calls += 1
            errors += result.is_error or result.content[0].text != "a few words"

    async with AsyncExitStack() as stack:
        clients = []
        for _ in range(CLIENTS):  # none needs certificates, which take long to read
            http = await stack.enter_async_context(httpx2.AsyncClient(verify=False, timeout=60))
            transport = streamable_http_client(url, http_client=http)
            clients.append(await stack.enter_async_context(Client(transport)))
        until = time.monotonic() + seconds
        outcomes = await asyncio.gather(*(one(client, until) for client in clients), return_exceptions=True)
    return calls, errors + sum(isinstance(one, BaseException) for one in outcomes)


def compare_http(seconds):
    with (
        listening(own("behind", "http")) as (behind_url, _),
        listening(own("proxy", "http", behind_url)) as (proxy_url, _),
        listening(gateway("--listen", "0", behind_url)) as (gateway_url, pid),
    ):
        targets = {"direct": behind_url, "proxy": proxy_url, "gateway": gateway_url}
        show("HTTP", *asyncio.run(compare(targets)))
        calls, errors = asyncio.run(crowd(gateway_url, seconds))
        print(f"{CLIENTS} clients for {seconds:g} s: {calls:,} calls, {errors} errors")
        print(f"one gateway holds {psutil.Process(pid).memory_info().rss / 1e6:.0f} MB after that")
    return errors


def weigh_ten():
    """The memory of one gateway with ten servers behind it, each of which has answered."""
    import tempfile

    from mcp import Client

    async def ask_all(url):
        for number in range(10):
            async with Client(url.replace("server-0", f"server-{number}")) as client:
                await client.call_tool("small", {})

    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        command = json.dumps(own("behind", "stdio"))
        file.write("".join(f"[servers.server-{number}]\ncommand = {command}\n" for number in range(10)))
        file.flush()
        words = [sys.executable, "-m", "aerogram", "wrap", "--quiet", "--settings", file.name, "--listen", "0"]
        with listening(words) as (url, pid):
            asyncio.run(ask_all(url))
            megabytes = psutil.Process(pid).memory_info().rss / 1e6
            print(f"one gateway with ten servers holds {megabytes:.0f} MB")
            return megabytes


def main():
    compare_streams()
    errors = compare_http(float(os.environ.get("BENCH_SECONDS", "10")))
    if errors or weigh_ten() > MOST_MEGABYTES:
        raise SystemExit(1)


if __name__ == "__main__":
    {"behind": behind, "proxy": proxy}[sys.argv[1]](*sys.argv[2:])
