"""Normalising: a value to the finished JSON-RPC bytes of its tool result.

In one run, interleaved: the floor (one pass of orjson, spliced into the response, the
same bytes), Aerogram in its one-block form and in the documented per-item form, and the
conversion and serialisation of FastMCP and of the mcp SDK. Then the whole way through a
server and a client of each, with their own conversion and with ours.
"""

import asyncio
import dataclasses
import statistics
import time

import fastmcp
import mcp
import orjson
import pydantic
from fastmcp.tools.function_tool import FunctionTool
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, JSONRPCResponse

from aerogram.normalize import Output, Policy, normalize_tool_result
from timing import best

ONE = Policy(blocks="one", spelling="compact")
EACH = Policy(spelling="compact")


class Person(pydantic.BaseModel):
    name: str
    age: int
    email: str


@dataclasses.dataclass
class Row:
    id: int
    name: str
    price: float
    in_stock: bool
    colour: str
    note: str


@dataclasses.dataclass
class Report:
    title: str
    rows: list[Row]


def rows(**more):
    fixed = {"colour": "blue", "note": "a few words about it"}
    return [
        {"id": n, "name": f"item number {n}", "price": n * 1.25, "in_stock": n % 2 == 0, **fixed, **more}
        for n in range(1000)
    ]


# name, value, annotation, and whether the targets are about it
WORKLOADS = (
    ("small pydantic model", Person(name="Alice", age=30, email="alice@example.com"), Person, True),
    ("dataclass of 1,000 rows", Report("Stock", [Row(**row) for row in rows()]), Report, True),
    ("dict of 10,000 items", {f"key {n}": n * 3 for n in range(10_000)}, dict[str, int], True),
    ("list of 1,000 dicts", rows(), list[dict[str, object]], True),
    ("string of 20 kB", "A line of plain text, as a tool returns it.\n" * 460, str, True),
    ("short string", "Hello, Alice!", str, False),
    ("1,000 dicts with nulls", rows(discount=None), list[dict[str, object]], False),
    ("1,000 dicts with lists", rows(tags=["new", "blue"]), list[dict[str, object]], False),
)


def splice(body, text, is_object):
    before = b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":'
    if is_object:
        return b"".join((before, text, b'}],"structuredContent":', body, b"}}"))
    return b"".join((before, text, b'}],"structuredContent":{"result":', body, b"}}}"))


def plainer(model):
    return model.model_dump(mode="json")


def floor(value):
    """The least that can be done: serialise once, escape once, join."""
    body = orjson.dumps(value, default=plainer)
    text = body if body.startswith(b'"') else orjson.dumps(body.decode())
    return splice(body, text, body.startswith(b"{"))


def one_block(value):
    return normalize_tool_result(value, policy=ONE).to_bytes(1)


def per_item(value):
    return normalize_tool_result(value, policy=EACH).to_bytes(1)


def response(result):
    if isinstance(result, tuple):  # FastMCP: content and structured content, for its server to put together
        result = CallToolResult(content=result[0], structured_content=result[1])
    wire = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return JSONRPCResponse(jsonrpc="2.0", id=1, result=wire).model_dump_json(by_alias=True, exclude_none=True).encode()


def handler(value, annotation):
    def show():
        return value

    show.__annotations__["return"] = annotation
    return show


def peers(value, annotation):
    fast = FunctionTool.from_function(handler(value, annotation))
    sdk = Tool.from_function(handler(value, annotation))
    return (
        lambda: response(fast.convert_result(value).to_mcp_result()),
        lambda: response(sdk.fn_metadata.convert_result(value)),
    )


def measure(name, value, annotation, is_target):
    assert one_block(value) == floor(value), name
    through_fastmcp, through_sdk = peers(value, annotation)
    ways = (floor, one_block, per_item)
    contenders = [lambda way=way: way(value) for way in ways]
    low, ours, each, fast, sdk = best(*contenders, through_fastmcp, through_sdk, rounds=60, budget=0.005)
    figures = " ".join(f"{figure * 1e6:>10,.1f}" for figure in (low, ours, each, fast, sdk))
    mark = "" if is_target else "  (no target)"
    print(f"{name:<24} {figures} {ours / low:>8.2f}x {min(fast, sdk) / ours:>7.1f}x{mark}", flush=True)


def own_and_ours(server, value, annotation):
    """One server with two tools: the framework's own conversion, and a handler that returns our result."""
    server.tool(name="own")(handler(value, annotation))
    output = Output.of(annotation)

    def ours() -> CallToolResult:
        return normalize_tool_result(value, policy=ONE, returns=output).to_mcp()

    server.tool(name="ours")(ours)
    return server


async def calls(client, rounds=15):
    """The middle time of a call of each tool, interleaved."""
    taken = {"own": [], "ours": []}
    for _ in range(rounds):
        for name, times in taken.items():
            start = time.perf_counter()
            await client.call_tool(name, {})
            times.append(time.perf_counter() - start)
    return [statistics.median(times) for times in taken.values()]


async def whole_way(name, value, annotation):
    figures = []
    async with fastmcp.Client(own_and_ours(fastmcp.FastMCP("bench"), value, annotation)) as client:
        figures += await calls(client)
    async with mcp.Client(own_and_ours(MCPServer("bench"), value, annotation)) as client:
        figures += await calls(client)
    print(f"{name:<24} " + " ".join(f"{figure * 1e6:>14,.0f}" for figure in figures), flush=True)


def main():
    heads = ("floor", "one block", "per item", "FastMCP", "mcp SDK")
    print("value to bytes, in microseconds")
    print(" " * 25 + " ".join(f"{head:>10}" for head in heads) + "  to floor  to peer")
    for workload in WORKLOADS:
        measure(*workload)
    print("\nThe floor writes the same bytes; `to peer` is the faster of the others. Targets: 2x the floor, 5x a peer.")
    print("\nwhole way, client and server in one process, microseconds (own conversion, then ours)")
    print(" " * 25 + " ".join(f"{head:>14}" for head in ("FastMCP", "+ Aerogram", "mcp SDK", "+ Aerogram")))
    for name, value, annotation, is_target in WORKLOADS:
        if is_target:
            asyncio.run(whole_way(name, value, annotation))


if __name__ == "__main__":
    main()
