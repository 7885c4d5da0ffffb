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


class Serving:
    """Applications over real sockets, which all end together: each takes a moment to notice that it is to end."""

    def __init__(self):
        self._opened = contextlib.ExitStack()
        self._running = []

    def start(self, app):
        """A client whose requests go to the application."""
        # TCP said outright, or the server leaves Nagle's algorithm on and every answer takes 40 ms
        listening = self._opened.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP))
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.001)
        self._running.append((server, thread))
        # a connection for each request: uvicorn closes one over which it has answered a crash
        address, single = f"http://127.0.0.1:{listening.getsockname()[1]}", httpx.Limits(max_keepalive_connections=0)
        return self._opened.enter_context(httpx.Client(base_url=address, timeout=20, limits=single))

    def end(self):
        for server, _ in self._running:
            server.should_exit = True
        for _, thread in self._running:
            thread.join()
        self._opened.close()


@pytest.fixture(scope="module")
def serve():
    """Serve applications until the module is done: `client = serve(app)`."""
    serving = Serving()
    yield serving.start
    serving.end()
