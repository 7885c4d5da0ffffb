"""Real servers: uvicorn on a port of its own, in a thread, for as long as a module needs it."""

import contextlib
import sys
from pathlib import Path

import pytest

from web_servers import client_of

# the folder is named as a module of the standard library is, so it cannot be imported from by its name
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="module")
def serve():
    """Serve applications until the module is done: `client = serve(app)`."""
    servers = []
    with contextlib.ExitStack() as stack:
        yield lambda app: stack.enter_context(client_of(app, among=servers, log_level="critical"))
        for one in servers:  # each takes a tenth of a second to end, and all of them together no longer
            one.end()
