"""A balancer for tests: it passes each request to the next server that is well, and on to another when one dies.

It does what the balancers of organisations do, and no more: it asks every server for its health, takes those out that
do not say 200, and repeats a request that changes nothing when a connection breaks before the answer has begun.
"""

from __future__ import annotations

import http.client
import itertools
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "host", "content-length"}


class Balancer:
    """Where it listens, whom it knows, and what it had to repeat."""

    def __init__(self, servers: Sequence[str], every: float = 0.1, patience: float = 60.0) -> None:
        self.servers = list(servers)
        self.well = set(self.servers)
        self.every = every
        self.patience = patience
        self.repeated = 0
        self.failed = 0
        self._turn = itertools.count()
        self._stop = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        threading.Thread(target=self._watch, daemon=True).start()

    def stop(self) -> None:
        self._stop.set()
        self._server.shutdown()
        self._server.server_close()

    def order(self) -> list[str]:
        """All servers, beginning with the one whose turn it is, those that are well first."""
        start = next(self._turn) % len(self.servers)
        turned = self.servers[start:] + self.servers[:start]
        return sorted(turned, key=lambda one: one not in self.well)

    def ask(self, server: str, method: str, path: str, body: bytes, headers: dict[str, str]):
        """What one server answers: status, headers, body."""
        place = urlsplit(server)
        connection = http.client.HTTPConnection(place.hostname, place.port, timeout=self.patience)
        try:
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            connection.close()

    def _watch(self) -> None:
        while not self._stop.wait(self.every):
            for one in self.servers:
                try:
                    is_well = self.ask(one, "GET", "/v1/health", b"", {})[0] == 200
                except (OSError, http.client.HTTPException):
                    is_well = False
                (self.well.add if is_well else self.well.discard)(one)

    def _handler(balancer):  # noqa: N805 - the handler below has the self
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def pass_on(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
                for server in balancer.order():
                    try:
                        status, given, content = balancer.ask(server, self.command, self.path, body, headers)
                    except (OSError, http.client.HTTPException):
                        balancer.repeated += 1
                        continue
                    self.answer(status, [*given, ("X-Served-By", server)], content)
                    return
                balancer.failed += 1
                self.answer(502, [], b"no server is there")

            def answer(self, status, headers, content) -> None:
                self.send_response_only(status)
                for name, value in headers:
                    if name.lower() not in HOP_BY_HOP:
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = pass_on  # noqa: N815 - the names of http.server

            def log_message(self, *_: object) -> None:
                """Nobody reads it."""

        return Handler


@contextmanager
def balancing(servers: Sequence[str], **options: float) -> Iterator[Balancer]:
    """A balancer before these servers."""
    balancer = Balancer(servers, **options)
    balancer.start()
    try:
        yield balancer
    finally:
        balancer.stop()


def wait_for(condition, seconds: float = 120.0, pause: float = 0.05):
    """What a condition gives as soon as it gives something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(pause)
    raise AssertionError("it did not happen")
