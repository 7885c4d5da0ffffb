"""An HTTP server that answers under a contract, in a thread of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from web_servers import running


@pytest.fixture
def serve() -> Iterator[Callable[[Any], str]]:
    """A function that starts an application and gives its address."""
    with ExitStack() as started:
        yield lambda app: started.enter_context(running(app, log_level="error"))
