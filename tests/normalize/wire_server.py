"""A raw JSON-RPC server on standard input and output: every row of the table of forms is two tools.

`plain-N` knows nothing of the value, `annotated-N` promises the row's annotation. Some
resources can be read. It speaks both eras of the protocol and sends `to_bytes` as it is.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import sys
from typing import Any

import orjson

from aerogram.normalize import Output, Policy, normalize_resource_payload, normalize_tool_result, settle
from normalize import forms_table
from normalize.forms_table import ROWS, Row

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
SERVER = {"name": "wire", "version": "1"}


def promise_of(row: Row, name: str) -> Output:
    return Output.of(row.annotation) if name.startswith("annotated") else Output(None)


def tools(version: str) -> list[dict[str, Any]]:
    return [_tool(f"{kind}-{place}", row, version) for place, row in enumerate(ROWS) for kind in ("plain", "annotated")]


def _tool(name: str, row: Row, version: str) -> dict[str, Any]:
    schema = promise_of(row, name).for_version(version)
    tool = {"name": name, "description": row.name, "inputSchema": {"type": "object"}}
    return {**tool, "outputSchema": schema} if schema else tool


async def call(params: dict[str, Any]) -> Any:
    name = params["name"]
    row = ROWS[int(name.partition("-")[2])]
    value = row.make()
    if row.needs_await or inspect.iscoroutine(value):
        value = await settle(value)
    policy = Policy(**params.get("arguments", {}))
    return normalize_tool_result(value, policy=policy, returns=promise_of(row, name))


# URI: declared MIME type and payload
RESOURCES: dict[str, tuple[str | None, Any]] = {
    "text://simple": (None, "Hello, world!"),
    "config://app": ("application/json", {"version": "1.0"}),
    "binary://image": ("image/png", b"\x89PNG\r\n\x1a\n"),
    "data://frame": ("application/json", forms_table.pd.DataFrame({"a": [1]})),
    "multi://content": (None, [{"uri": "multi://1", "text": "First"}, {"uri": "multi://2", "blob": "eA=="}]),
    "odd://text": (None, "a\ud800\0"),
}


class Session:
    """One client: the version it negotiated, unless a request says its own."""

    version = "2025-11-25"

    async def answer(self, message: dict[str, Any]) -> bytes | None:
        if "id" not in message:
            return None
        params = message.get("params", {})
        version = params.get("_meta", {}).get(VERSION_KEY, self.version)
        if message["method"] == "tools/call":
            return (await call(params)).to_bytes(message["id"], version)
        if message["method"] == "resources/read":
            declared, payload = RESOURCES[params["uri"]]
            return normalize_resource_payload(params["uri"], declared, payload).to_bytes(message["id"], version)
        result = self.result(message["method"], params, version)
        return orjson.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def result(self, method: str, params: dict[str, Any], version: str) -> dict[str, Any]:
        capabilities: dict[str, Any] = {"tools": {}, "resources": {}}
        if method == "initialize":
            self.version = params["protocolVersion"]
            return {"protocolVersion": self.version, "capabilities": capabilities, "serverInfo": SERVER}
        cache = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        if method == "server/discover":
            versions = ["2026-07-28"]
            return {"supportedVersions": versions, "capabilities": capabilities, "serverInfo": SERVER, **cache}
        listed = {"tools": tools(version)} if method == "tools/list" else {}
        return {**listed, **cache} if version >= "2026" else listed


async def main() -> None:
    session = Session()
    while line := await asyncio.to_thread(sys.stdin.buffer.readline):
        reply = await session.answer(orjson.loads(line))
        if reply is not None:
            sys.stdout.buffer.write(reply + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    logging.disable()
    asyncio.run(main())
