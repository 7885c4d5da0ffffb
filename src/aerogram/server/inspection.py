"""Inspection: the page over one reply, on a port of this machine, until the person who looks at it has seen enough."""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from aerogram.page.host import standing_alone
from aerogram.page.opening import Opened
from aerogram.page.routes import page_app
from aerogram.server.guard import protect
from aerogram.server.keys import Keys
from aerogram.server.serve import _server, _signals, answer_on, listening, run_to_the_end
from aerogram.server.settings import Settings

if TYPE_CHECKING:
    import uvicorn

__all__ = ["inspect"]

HERE: Final = "127.0.0.1"
GRACE: Final = 1.0


def inspect(opened: Opened | None = None, *, port: int = 0, ready: Callable[[str], object] | None = None) -> None:
    """Show a reply, or a page to paste one into, until the process is told to end; `ready` hears the address."""
    settings = Settings(host=HERE, port=port, grace=GRACE)
    with listening(HERE, port, None) as listener:
        host = standing_alone()
        host.opened = opened
        app = page_app(host)
        protect(app, settings, Keys())
        logging.getLogger("aerogram").addHandler(logging.NullHandler())
        server = _server(app, settings)
        run_to_the_end(_show(server, listener, ready or (lambda _: None)))


async def _show(server: uvicorn.Server, listener: socket.socket, ready: Callable[[str], object]) -> None:
    """Answer until a signal comes; a second one does not wait for what is running."""

    def end() -> None:
        server.force_exit = server.should_exit
        server.should_exit = True

    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]  # ours count
    with _signals(end):
        ready(f"http://{HERE}:{listener.getsockname()[1]}/")  # whoever connects now waits in the socket's queue
        await answer_on(server, listener)
