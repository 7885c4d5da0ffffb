"""Inspection: the page over one reply, on a port of this machine, until the person who looks at it has seen enough."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from aerogram.page.host import standing_alone
from aerogram.page.opening import Opened
from aerogram.page.routes import page_app
from aerogram.server.drain import Drain
from aerogram.server.guard import protect
from aerogram.server.keys import Keys
from aerogram.server.serve import _answer, _server, listening
from aerogram.server.settings import Settings

__all__ = ["inspect"]

HERE: Final = "127.0.0.1"
GRACE: Final = 1.0


def inspect(opened: Opened | None = None, *, port: int = 0, ready: Callable[[str], object] | None = None) -> None:
    """Show a reply, or a page to paste one into, until the process is told to end; `ready` hears the address."""
    settings = Settings(host=HERE, port=port, grace=GRACE)
    with listening(HERE, port) as listener:
        host = standing_alone()
        host.opened = opened
        app = page_app(host)
        protect(app, settings, Keys())
        logging.getLogger("aerogram").addHandler(logging.NullHandler())
        server = _server(app, settings)
        if ready is not None:
            ready(f"http://{HERE}:{listener.getsockname()[1]}/")  # whoever connects now waits in the socket's queue
        asyncio.run(_answer(server, listener, Drain(), 0))
