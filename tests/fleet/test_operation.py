"""Servers in operation: leaving unnoticed, health of every part, and metrics."""

from __future__ import annotations

import http.server
import re
import signal
import threading

import httpx
import pytest

from aerogram import read
from balancer import wait_for
from servers import find_free_port

SEARCH = {"q": "token", "envelope": "v2"}


def test_servers_are_replaced_one_by_one_and_no_request_fails(fleet, index, redis, balanced):
    """Each is told to end while callers go on asking; its health says so first, and the balancer takes it out."""
    fleet.add("--index", str(index), "--redis", redis.url, "--drain", "2", count=2)
    client, balancer = balanced(fleet)
    stop = threading.Event()
    statuses = []

    def keep_asking():
        while not stop.is_set():
            statuses.append(client.get("/v1/search", params=SEARCH).status_code)

    callers = [threading.Thread(target=keep_asking) for _ in range(3)]
    for one in callers:
        one.start()
    for one in fleet.members:
        one.end()
        one.start()
        wait_for(lambda one=one: one.address in balancer.well)
    stop.set()
    for one in callers:
        one.join()
    assert set(statuses) == {200}
    assert (balancer.repeated, balancer.failed) == (0, 0)


def test_a_server_that_is_about_to_end_says_so_and_still_answers(fleet, index):
    (server,) = fleet.add("--index", str(index), "--drain", "30")
    with httpx.Client(base_url=server.address, timeout=60) as client:
        assert client.get("/v1/health").status_code == 200
        server.send(signal.SIGTERM)
        wait_for(lambda: client.get("/v1/health").status_code == 503)
        told = read(client.get("/v1/health", params={"envelope": "v2"}).json()).problem
        assert (told.code, told.retryable) == ("UNAVAILABLE", True)
        assert told.retry_after > 0
        answered = client.get("/v1/search", params=SEARCH)
        assert answered.status_code == 200
        assert answered.headers["connection"] == "close"
        server.end()  # a second signal does not wait


@pytest.mark.parametrize("how", ["folder", "postgres"])
def test_deep_health_tries_every_part(fleet, redis, request, how):
    store = ("--index", str(request.getfixturevalue("index")))
    if how == "postgres":
        store = ("--store", request.getfixturevalue("copied_database"))
    (server,) = fleet.add(*store, "--redis", redis.url, "--limits", "100000/day")
    found = httpx.get(f"{server.address}/v1/health/deep", timeout=30).json()
    assert found["status"] == "ok"
    assert {name: check["status"] for name, check in found["checks"].items()} == dict.fromkeys(
        ("store", "embedder", "archive", "redis", "disk"), "ok"
    )
    redis.stop()
    found = httpx.get(f"{server.address}/v1/health/deep", timeout=30).json()
    assert found["status"] == "degraded"
    assert {name for name, check in found["checks"].items() if check["status"] != "ok"} == {"archive", "redis"}
    redis.start()
    wait_for(lambda: httpx.get(f"{server.address}/v1/health/deep", timeout=30).json()["status"] == "ok")


def test_prometheus_finds_what_was_answered(fleet, index):
    port = find_free_port()
    (server,) = fleet.add("--index", str(index), "--metrics", f"127.0.0.1:{port}")
    for _ in range(3):
        httpx.get(f"{server.address}/v1/search", params=SEARCH, timeout=60)
    httpx.get(f"{server.address}/v1/chunks/999999", timeout=60)

    def told_of_all():
        """What it tells, once it has counted the last request, which it does when the answer is out."""
        told = httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=60).text
        return told if re.search(r'aerogram_requests_total\{[^}]*status="404"[^}]*\} 1', told) else None

    told = wait_for(told_of_all)
    assert 'service_name="aerogram"' in told
    searches = re.findall(r'aerogram_replies_total\{[^}]*operation="semantic_search"[^}]*\} (\d+)', told)
    assert sum(map(int, searches)) == 3
    assert re.search(r'aerogram_replies_total\{[^}]*error_type="NOT_FOUND"', told)
    assert "aerogram_reply_duration_seconds_bucket{" in told
    assert re.search(r"aerogram_server_draining\S* 0", told)
    assert httpx.get(f"{server.address}/metrics", timeout=60).status_code == 404


def test_metrics_are_sent_to_a_collector(fleet, index):
    """What arrives is the protocol's own message, with the instruments in it."""
    received = []

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            received.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            """Nobody reads it."""

    collector = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=collector.serve_forever, daemon=True).start()
    fleet.environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://127.0.0.1:{collector.server_address[1]}"
    fleet.environment["OTEL_METRIC_EXPORT_INTERVAL"] = "200"
    fleet.environment["OTEL_EXPORTER_OTLP_COMPRESSION"] = "none"
    try:
        (server,) = fleet.add("--index", str(index))
        httpx.get(f"{server.address}/v1/search", params=SEARCH, timeout=60)
        wait_for(lambda: any(b"aerogram.replies" in body for _, body in received))
        assert {path for path, _ in received} == {"/v1/metrics"}
        server.end()
    finally:
        collector.shutdown()
        collector.server_close()
