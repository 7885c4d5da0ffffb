"""Real servers: uvicorn on a port of its own, in a thread, for as long as a module needs it."""

import contextlib
import socket
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest
import uvicorn

# the folder is named as a module of the standard library is, so it cannot be imported from by its name
sys.path.insert(0, str(Path(__file__).parent))


@contextlib.contextmanager
def serving(app):
    """A client whose requests go to the application over a real socket."""
    # TCP said outright, or the server leaves Nagle's algorithm on and every answer takes 40 ms
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.005)
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        try:
            # a connection for each request: uvicorn closes one over which it has answered a crash
            single = httpx.Limits(max_keepalive_connections=0)
            with httpx.Client(base_url=address, timeout=20, limits=single) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def serve():
    """Serve applications until the module is done: `client = serve(app)`."""
    with contextlib.ExitStack() as stack:
        yield lambda app: stack.enter_context(serving(app))
