"""Recordings: what clients receive from the servers of the documents, asked once and kept.

A process is started when something is first asked of its framework; it has all servers of that framework. Every call
that a document's handlers list is made over one connection.
"""

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator, Mapping
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import mcp_types

from aerogram._mcp.negotiation import EXTENSION
from programs import quick_command
from tool_servers import Talk, talk
from wire import knowledge_v1_handlers, normalization_handlers, response_v2_handlers, standard_v2_handlers

PROGRAM = Path(__file__).with_name("servers.py")
DOCUMENTS: dict[str, ModuleType] = {
    module.DIALECT: module for module in (response_v2_handlers, standard_v2_handlers, knowledge_v1_handlers)
}
TOOLS = ("fastmcp", "sdk")
ROUTES = ("starlette", "fastapi")
ERAS = {"legacy": "2025-11-25", "auto": "2026-07-28"}
"""How a client is told to speak, and the version that it then speaks."""
ALIKE = ("code ", "type ", "warning ", "severity ", "level ", "fail ", "empty ")
"""How calls begin that differ from each other in a word alone: only the usual servers are asked all of them."""
V2 = "application/vnd.jpcite.v2+json"


class Recordings:
    """What was received, by framework, server and era."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._addresses: dict[str, dict[str, str]] = {}
        self._kept: dict[tuple[str, ...], dict[str, Any]] = {}

    def address(self, framework: str, server: str) -> str:
        """Where a server of a framework listens."""
        for one in TOOLS if framework in TOOLS else ROUTES:  # both at once, since loading a framework takes longest
            if one not in self._processes:
                environment = {**os.environ, "AEROGRAM_STATE": str(self._state / one)}
                command = quick_command(str(PROGRAM), one)
                self._processes[one] = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        if framework not in self._addresses:
            self._addresses[framework] = json.loads(self._processes[framework].stdout.readline())
        return self._addresses[framework][server]

    def tools(self, framework: str, document: str, kind: str = "usual", era: str = "auto") -> dict[str, Any]:
        """The result of every call of a document's handlers, as tools; those of `asked` want the old shape."""
        server = f"{document} {'offering' if kind == 'asked' else kind}"
        return self._keep(
            (framework, document, kind, era),
            lambda: asyncio.run(
                _ask_tools(framework, f"{self.address(framework, server)}/mcp", era, DOCUMENTS[document], kind)
            ),
        )

    def normalised(self, framework: str, era: str = "auto") -> dict[str, Any]:
        """The result of every tool of the document on normalisation, and of every resource under its address."""
        address = self.address(framework, "bare usual")
        return self._keep(
            (framework, "bare", era), lambda: asyncio.run(_ask_normalised(framework, f"{address}/mcp", era))
        )

    def routes(self, framework: str, document: str, kind: str = "usual", shape: str = "v2") -> dict[str, Any]:
        """The response to every call of a document's handlers, as routes, in the shape v1, v2 or by Accept."""
        address = self.address(framework, f"{document} {kind}")
        return self._keep(
            (framework, document, kind, shape), lambda: _ask_routes(address, DOCUMENTS[document], kind, shape)
        )

    def _keep(self, key: tuple[str, ...], ask: Any) -> dict[str, Any]:
        if key not in self._kept:
            self._kept[key] = ask()
        return self._kept[key]

    def close(self) -> None:
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            process.wait(60)
            process.stdout.close()


class Result:
    """The result of a tool as it stands on the wire."""

    def __init__(self, received: Any, listed: Any = None) -> None:
        self.is_error: bool = received.is_error
        self.body: Any = received.structured_content
        self.blocks: list[dict[str, Any]] = [_plain(block) for block in received.content]
        self.meta: Mapping[str, Any] = received.meta or {}
        self.listed = listed

    @property
    def text(self) -> str:
        return "\n".join(block["text"] for block in self.blocks)

    @cached_property
    def notices(self) -> list[dict[str, Any]]:
        """What stands beside a payload that is alone."""
        return list(self.meta.get("dev.aerogram/notices", ()))


def calls_of(document: ModuleType, kind: str) -> dict[str, Any]:
    """What is asked of one kind of server."""
    return {name: call for name, call in document.CALLS.items() if kind == "usual" or not name.startswith(ALIKE)}


def _plain(part: Any) -> Any:
    return part.model_dump(mode="json", by_alias=True, exclude_none=True)


async def _ask_tools(framework: str, url: str, era: str, document: ModuleType, kind: str) -> dict[str, Any]:
    meta = {EXTENSION: {"dialect": "bare"}} if kind == "asked" else None
    async with talk(framework, url, era) as client:
        listed = await client.tools()
        asked = calls_of(document, kind)
        received = await asyncio.gather(*(client.call(one.__name__, given, meta) for one, given in asked.values()))
        found: dict[str, Any] = {"": listed}
        for (name, (handler, _)), result in zip(asked.items(), received, strict=True):
            found[name] = Result(result, listed[handler.__name__])
        await _ask_more(client, found, document)
    return found


async def _ask_more(client: Talk, found: dict[str, Any], document: ModuleType) -> None:
    """What is negotiated, and the pages after a first one."""
    if "server" in found[""]:
        asked = {"action": "capability-negotiate", "client_capabilities": {"response_contract": "v2"}}
        found["negotiation"] = Result(await client.call("server", asked))
    if "page" in found and found["page"].body:
        found["pages"] = [body async for body in _walk(client, found["page"].body, *document.CALLS["page"])]


async def _walk(client: Talk, body: Any, handler: Any, arguments: dict[str, Any]) -> AsyncIterator[Any]:
    while True:
        yield body
        page = body.get("pagination") or body.get("meta", {}).get("pagination") or {}
        if not page.get("has_more"):
            return
        result = await client.call(handler.__name__, {**arguments, "cursor": page["cursor"]})
        body = result.structured_content


async def _ask_normalised(framework: str, url: str, era: str) -> dict[str, Any]:
    async with talk(framework, url, era) as client:
        listed = await client.tools()
        found: dict[str, Any] = {}
        for name in normalization_handlers.VALUES:
            found[name] = Result(await client.call(name), listed[name])
        for shown in normalization_handlers.SHOWN:
            if shown.form == "tool-result":
                name = normalization_handlers.name_of(shown)
                found[name] = Result(await client.call(name, normalization_handlers.arguments_of(shown)), listed[name])
        for uri in _addresses():
            found[uri] = await _read(client, uri)
    return found


def _addresses() -> list[str]:
    code = normalization_handlers.Code()
    for shown in normalization_handlers.SHOWN:
        code.run(shown)
    return [f"wire://{name}" for name in normalization_handlers.PAYLOADS] + [uri for uri, _ in code.resources.values()]


async def _read(client: Talk, uri: str) -> Any:
    try:
        _, result = await client.read(uri)
    except Exception as failure:  # noqa: BLE001 - each framework has its own
        return failure
    assert isinstance(result, mcp_types.ReadResourceResult)
    return [_plain(one) for one in result.contents]


def _ask_routes(address: str, document: ModuleType, kind: str, shape: str) -> dict[str, Any]:
    headers = {"Accept": V2} if shape == "accept" else {}
    chosen = {"envelope": "v2"} if shape == "v2" else {}
    found = {}
    with httpx.Client(base_url=address, timeout=20, headers={"X-Request-Id": "order-7", **headers}) as client:
        for name, (handler, arguments) in calls_of(document, kind).items():
            if handler not in getattr(document, "FOR_TOOLS", ()):
                found[name] = client.get(f"/{handler.__name__}", params={**arguments, **chosen})
    return found
