"""Every document's handlers on servers of one framework, each kind of server on a port of its own.

python servers.py fastmcp|sdk|starlette|fastapi      prints the addresses as one line of JSON, and serves
"""

import asyncio
import contextlib
import inspect
import json
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import uvicorn
from mcp_types import ToolAnnotations

from aerogram import Archive, Contract
from aerogram.contract.flags import RESPONSE_CONTRACT_V2, Flags
from aerogram.errors import ValidationFailed
from wire import knowledge_v1_handlers, normalization_handlers, response_v2_handlers, standard_v2_handlers

ENVELOPES = (response_v2_handlers, standard_v2_handlers, knowledge_v1_handlers)
BUDGET = 900
"""What a reply of the small servers may cost, in tokens."""


def switched_off() -> Flags:
    flags = Flags(RESPONSE_CONTRACT_V2)
    flags.switch(RESPONSE_CONTRACT_V2.name, on=False)
    return flags


TOOL_KINDS: dict[str, Callable[[], dict[str, Any]]] = {
    "usual": lambda: {"flags": Flags(RESPONSE_CONTRACT_V2)},
    "small": lambda: {"budget": BUDGET},
    "off": lambda: {"flags": switched_off()},
    "off-small": lambda: {"flags": switched_off(), "budget": BUDGET},
    "offering": lambda: {"offers": ["bare"]},
}
ROUTE_KINDS: dict[str, Callable[[], dict[str, Any]]] = {
    "usual": dict,
    "small": lambda: {"budget": BUDGET, "archive": Archive.in_memory()},
}


# --- tools -----------------------------------------------------------------------------------------------------------


def tool_servers(framework: str) -> Iterator[tuple[str, Any]]:
    """The servers of a framework for tools, each under its name."""
    for module in ENVELOPES:
        for kind, settings in TOOL_KINDS.items():
            server, install, add = new_server(framework)
            for handler in module.HANDLERS:  # they only read, so that what breaks off can be called again
                add(handler, annotations=ToolAnnotations(read_only_hint=True))
            install(server, dialect=module.DIALECT, **module.SETTINGS, **settings())
            yield f"{module.DIALECT} {kind}", as_application(framework, server)
    server, install, add = new_server(framework)
    add_normalised(server, add)
    install(server, dialect="bare", **normalization_handlers.SETTINGS)
    yield "bare usual", as_application(framework, server)


def new_server(framework: str) -> tuple[Any, Any, Any]:
    """A server, what installs a contract on it, and what adds a tool to it."""
    if framework == "fastmcp":
        from fastmcp import FastMCP

        import aerogram.fastmcp as adapter

        server: Any = FastMCP("wire")
        return server, adapter.install, server.tool
    from mcp.server.mcpserver import MCPServer

    import aerogram.mcp as adapter

    server = MCPServer("wire", log_level="CRITICAL")
    return server, adapter.install, server.add_tool


def as_application(framework: str, server: Any) -> Any:
    return server.http_app(path="/mcp") if framework == "fastmcp" else server.streamable_http_app()


def add_normalised(server: Any, add: Any) -> None:
    """The tools and resources of the document on normalisation."""
    for name, value in normalization_handlers.VALUES.items():
        add(returning(value), name=name)
    code = normalization_handlers.Code()
    for shown in normalization_handlers.SHOWN:
        handler = code.run(shown)
        if shown.form == "tool-result":
            add(handler, name=normalization_handlers.name_of(shown))
        else:
            uri, mime_type = code.resources[handler.__name__]
            server.resource(uri, mime_type=mime_type)(handler)
    for name, (mime_type, payload) in normalization_handlers.PAYLOADS.items():
        server.resource(f"wire://{name}", mime_type=mime_type)(returning(payload))


def returning(value: Callable[[], Any]) -> Callable[[], Any]:
    def handler():  # type: ignore[no-untyped-def]  # nothing is known of the value
        return value()

    return handler


# --- routes ----------------------------------------------------------------------------------------------------------


def route_servers(framework: str) -> Iterator[tuple[str, Any]]:
    """The applications of a framework for routes, each under its name."""
    for module in ENVELOPES:
        for kind, settings in ROUTE_KINDS.items():
            yield f"{module.DIALECT} {kind}", new_application(framework, module, settings())


def new_application(framework: str, module: ModuleType, settings: dict[str, Any]) -> Any:
    handlers = [one for one in module.HANDLERS if one not in getattr(module, "FOR_TOOLS", ())]
    if framework == "fastapi":
        from fastapi import FastAPI

        from aerogram.fastapi import Versions, install

        app: Any = FastAPI()
        for handler in handlers:
            app.get(f"/{handler.__name__}")(handler)
    else:
        from starlette.applications import Starlette
        from starlette.routing import Route

        from aerogram.starlette import Versions, install

        app = Starlette(routes=[Route(f"/{one.__name__}", asked(one), name=one.__name__) for one in handlers])
    contract = Contract(dialect=module.DIALECT, kinds=module.SETTINGS.get("kinds", {}), **settings)
    install(app, contract, Versions(vendor="jpcite", current=module.DIALECT, controls=True))
    return app


def asked(handler: Callable[..., Any]) -> Callable[[Any], Any]:
    """The handler as one of Starlette, which reads its query itself."""
    parameters = inspect.signature(handler).parameters.values()

    async def handle(request: Any) -> Any:
        query = request.query_params
        for one in parameters:
            if one.default is one.empty and one.name not in query:
                raise ValidationFailed(f"query.{one.name} is missing", details={"field": f"query.{one.name}"})
        return handler(**{one.name: one.annotation(query[one.name]) for one in parameters if one.name in query})

    return handle


# --- serving ---------------------------------------------------------------------------------------------------------


class Server(uvicorn.Server):
    """One of several in a process, which is told from outside when to end."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    def capture_signals(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def end(self) -> None:
        self.should_exit = True


async def serve(applications: dict[str, Any]) -> None:
    listeners = {}
    for name in applications:
        # TCP said outright, or the server leaves Nagle's algorithm on and every answer takes 40 ms
        listeners[name] = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listeners[name].bind(("127.0.0.1", 0))
    settings = {"log_config": None, "access_log": False, "ws": "none"}
    servers = {name: Server(uvicorn.Config(app, **settings)) for name, app in applications.items()}
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: [one.end() for one in servers.values()])
    running = [asyncio.create_task(server.serve([listeners[name]])) for name, server in servers.items()]
    await asyncio.gather(*(server.ready.wait() for server in servers.values()))
    print(json.dumps({name: f"http://127.0.0.1:{one.getsockname()[1]}" for name, one in listeners.items()}), flush=True)
    await asyncio.gather(*running)


def main() -> None:
    logging.disable()
    framework = sys.argv[1]
    build = tool_servers if framework in ("fastmcp", "sdk") else route_servers
    asyncio.run(serve(dict(build(framework))))


if __name__ == "__main__":
    main()
