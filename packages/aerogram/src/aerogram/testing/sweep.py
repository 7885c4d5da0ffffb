"""Sweep: a visit to everything that a server has, with everything that can go wrong, checked against the contract."""

from __future__ import annotations

import asyncio
from typing import Any

from aerogram.testing.leaks import without_logging
from aerogram.testing.report import Report
from aerogram.testing.settings import SweepSettings

__all__ = ["sweep", "sweep_async"]


def sweep(target: Any, **settings: Any) -> Report:
    """Visit every route of an application, or every tool and resource of a server, and report broken promises.

    `target` is a Starlette or FastAPI application, a FastMCP server, or one of the MCP SDK. It is called in this
    process, with its real handlers: give it test data. All settings are optional:

    `examples`   arguments by tool, resource template or route ("GET /tasks/{id}"), where they cannot be derived
    `faults`     arguments with which a handler is known to fail
    `bursts`     after how many calls at once a limit must have been met
    `secrets`    texts that no answer may contain
    `skip`       tools or routes to leave out
    `contract`   the server's own: then budgets of single tools and expired cursors are checked as well
    `dialect`    the dialect of an MCP server that does not advertise it
    `versions`   the envelopes of an application on which Aerogram is not installed
    `headers`    header fields for every request, such as those that authenticate
    `patience`   how many seconds an answer may take
    """
    if asyncio._get_running_loop() is not None:
        raise RuntimeError("an event loop is running: await sweep_async(...) instead")
    return asyncio.run(sweep_async(target, **settings))


async def sweep_async(target: Any, **settings: Any) -> Report:
    """As `sweep`, to be awaited."""
    known = SweepSettings(**settings)
    packages = {cls.__module__.partition(".")[0] for cls in type(target).__mro__}
    if hasattr(target, "middleware_stack") and hasattr(target, "routes"):
        from aerogram.testing.routes import sweep_app

        with without_logging():
            return await sweep_app(target, known)
    if packages & {"fastmcp", "mcp"}:
        from aerogram.testing.tools import sweep_server

        with without_logging():
            return await sweep_server(target, known)
    raise TypeError(f"a {type(target).__name__} is neither an application of Starlette or FastAPI nor an MCP server")
