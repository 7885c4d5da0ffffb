"""Inspection: the page over one reply, on a port of this machine, until the person who looks at it has seen enough."""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from aerogram.serving.guard import protect
from aerogram.serving.listener import answer_on, listening, make_server, run_to_the_end, signals
from aerogram.serving.machine import OnThisMachine
from aerogram_page.host import standalone_host
from aerogram_page.opening import OpenedReply
from aerogram_page.routes import EXEMPTIONS, page_app

if TYPE_CHECKING:
    import uvicorn

__all__ = ["inspect"]


def inspect(opened: OpenedReply | None = None, *, port: int = 0, ready: Callable[[str], object] | None = None) -> None:
    """Show a reply, or a page to paste one into, until the process is told to end; `ready` hears the address."""
    rules = OnThisMachine()
    with listening(rules.host, port, ("--port ",)) as listener:
        host = standalone_host()
        host.opened = opened
        app = page_app(host)
        protect(app, rules, None, EXEMPTIONS)
        logging.getLogger("aerogram").addHandler(logging.NullHandler())
        server = make_server(app, rules)
        run_to_the_end(_show(server, listener, ready or (lambda _: None)))


async def _show(server: uvicorn.Server, listener: socket.socket, ready: Callable[[str], object]) -> None:
    """Answer until a signal comes; a second one does not wait for what is running."""

    def end() -> None:
        server.force_exit = server.should_exit
        server.should_exit = True

    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]  # ours count
    with signals(end):
        # whoever connects now waits in the queue of the socket
        ready(f"http://{OnThisMachine.host}:{listener.getsockname()[1]}/")
        await answer_on(server, listener)
