"""More connections than there are places for, and clients that do not speak HTTP: each gets an answer in shape."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from urllib.parse import urlsplit

import httpx
import pytest

from aerogram import read
from balancer import wait_for
from serving import serving

PLACES = 3
SEARCH = "/v1/search?q=token"
NEWER = "application/vnd.aerogram.v2+json"
NO_HTTP = (b"NONSENSE", b"GET / HTTP/1.1\r\nHost: a\r\nBad Header", b"\x16\x03\x01\x02\x00")


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    """A server with three places."""
    with serving(tmp_path_factory.mktemp("room") / "index", "--max-connections", str(PLACES)) as server:
        yield server


def connect(server):
    place = urlsplit(server.address)
    return contextlib.closing(http.client.HTTPConnection(place.hostname, place.port, timeout=30))


def ask(connection, path, headers=()):
    """An answer over a connection, whole."""
    connection.request("GET", path, headers=dict(headers))
    answer = connection.getresponse()
    return httpx.Response(answer.status, headers=answer.getheaders(), content=answer.read())


@pytest.fixture
def full(crowded):
    """As many connections as there are places, each of which has been answered."""
    with contextlib.ExitStack() as opened:
        lines = [opened.enter_context(connect(crowded)) for _ in range(PLACES)]
        for line in lines:
            wait_for(lambda line=line: ask(line, "/v1/health").status_code == 200)
        yield lines


@pytest.mark.parametrize("accept", ["*/*", NEWER])
@pytest.mark.parametrize("path", [SEARCH, "/v1/health", "/v1/nothing", "/v1/content/sha256:0000000000"])
def test_a_connection_too_many_is_told_to_come_back_in_the_shape_that_it_asked_for(crowded, full, path, accept):
    with connect(crowded) as line:
        answer = ask(line, path, {"Accept": accept})
    assert answer.status_code == 503
    assert answer.headers["connection"] == "close"
    assert int(answer.headers["retry-after"]) > 0
    assert answer.headers["content-type"].partition(";")[0].endswith("json")
    if accept == NEWER:
        told = read(answer.json()).problem
        assert (told.code, told.retryable) == ("UNAVAILABLE", True)
        assert told.retry_after > 0


def test_an_mcp_client_too_many_gets_problem_details(crowded, full):
    with connect(crowded) as line:
        answer = ask(line, "/mcp")
    assert answer.status_code == 503
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["retryable"] is True


def test_whoever_has_a_place_keeps_it_and_a_place_that_is_left_can_be_taken(crowded, full):
    with connect(crowded) as line:
        assert ask(line, SEARCH).status_code == 503
    for line in full:
        assert ask(line, SEARCH).status_code == 200
    full[0].close()

    def is_answered():
        with connect(crowded) as line:
            return ask(line, SEARCH).status_code == 200

    wait_for(is_answered)


def test_a_crowd_that_comes_at_once_is_answered_to_the_last(crowded):
    """Nobody is left without an answer, and as many are let in as there are places."""
    with contextlib.ExitStack() as opened:
        lines = [opened.enter_context(connect(crowded)) for _ in range(60)]
        wait_for(lambda: ask(lines[0], "/v1/health").status_code == 200)  # those who were here before have left
        for line in lines:
            line.request("GET", f"{SEARCH}&envelope=v2")
        answers = [line.getresponse() for line in lines]
        bodies = [json.loads(answer.read()) for answer in answers]
    assert {answer.status for answer in answers} <= {200, 503}
    assert 0 < sum(answer.status == 200 for answer in answers) <= PLACES
    for answer, body in zip(answers, bodies, strict=True):
        found = read(body)
        assert (found.problem is None) == (answer.status == 200)


@pytest.mark.parametrize("said", NO_HTTP, ids=repr)
def test_what_is_no_http_is_refused_with_problem_details(crowded, said):
    place = urlsplit(crowded.address)
    with socket.create_connection((place.hostname, place.port), timeout=30) as line:
        line.sendall(said + b"\r\n\r\n")
        head, _, body = b"".join(iter(lambda: line.recv(65536), b"")).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"application/problem+json" in head
    assert json.loads(body)["code"] == "VALIDATION_ERROR"
