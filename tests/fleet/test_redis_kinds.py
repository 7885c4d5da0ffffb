"""The kinds of Redis that servers can share: over TLS with a password, and Valkey instead of it."""

from __future__ import annotations

import shutil

import httpx
import pytest

from aerogram import read
from balancer import wait_for
from certificates import make_certificate
from fleets import leave_out_rows
from servers import find_free_port, listening

SEARCH = {"q": "token", "envelope": "v2", "page_size": 3}
PASSWORD = "not-to-be-shown"


def installed(program, package):
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed (Debian: apt-get install {package})")
    return found


def running(program, folder, port, *settings):
    """A server that keeps nothing, on a port."""
    command = [program, *settings, "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    return listening(command, port)


@pytest.fixture
def certificate(tmp_path):
    return make_certificate(tmp_path)


@pytest.fixture
def encrypted(certificate, tmp_path):
    """The address of a Redis that speaks TLS alone and wants a password, without saying whom to trust."""
    port = find_free_port()
    chain = ("--tls-cert-file", certificate[0], "--tls-key-file", certificate[1], "--tls-ca-cert-file", certificate[0])
    tls = ("--port", "0", "--tls-port", str(port), "--tls-auth-clients", "no", "--requirepass", PASSWORD)
    with running(installed("redis-server", "redis-server"), tmp_path, port, *tls, *map(str, chain)):
        yield f"rediss://:{PASSWORD}@127.0.0.1:{port}/0"


@pytest.fixture
def valkey(tmp_path):
    """The address of a Valkey."""
    port = find_free_port()
    with running(installed("valkey-server", "valkey-server"), tmp_path, port, "--port", str(port)):
        yield f"redis://127.0.0.1:{port}/0"


def everything_is_shared(fleet, index, url):
    """Archive, cache and limits of two servers over one Redis; what the health of one says of it."""
    one, two = fleet.add("--index", str(index), "--redis", url, "--cache", "60", "--limits", "6/day", count=2)
    kept = leave_out_rows(one.address, range(1, 20))
    piece = httpx.get(f"{two.address}/v1/content/{kept}", params={"envelope": "v2"}, timeout=30)
    assert [row["chunk_id"] for row in read(piece.json()).data] == list(range(1, 20))
    known_as = {"Host": "127.0.0.1"}  # as behind a balancer, where all have one address
    found = [
        httpx.get(f"{(one, two)[number % 2].address}/v1/search", params=SEARCH, headers=known_as, timeout=30)
        for number in range(6)
    ]
    assert [answer.status_code for answer in found] == [200] * 4 + [429] * 2
    assert [read(answer.json()).telemetry.cache_hit for answer in found[:4]] == [False, True, True, True]
    one.end()
    (other,) = fleet.add("--index", str(index), "--redis", url)
    return httpx.get(f"{other.address}/v1/health/deep", timeout=30).json()["checks"]["redis"]


def test_servers_share_everything_over_tls_with_a_password_that_is_not_shown(fleet, index, encrypted, certificate):
    found = everything_is_shared(fleet, index, f"{encrypted}?ssl_ca_certs={certificate[0]}")
    assert found["status"] == "ok"
    assert PASSWORD not in fleet.logs
    assert "the shared clock cannot be read" not in fleet.logs


def test_a_redis_that_nobody_vouches_for_is_not_used_and_the_log_says_why(fleet, index, encrypted):
    (server,) = fleet.add("--index", str(index), "--redis", encrypted, "--limits", "6/day")
    answer = httpx.get(f"{server.address}/v1/search", params=SEARCH, timeout=30)
    told = read(answer.json()).problem
    assert (answer.status_code, told.code, told.retryable) == (503, "UNAVAILABLE", True)
    wait_for(lambda: "certificate verify failed" in server.log.read_text().lower())
    assert PASSWORD not in fleet.logs


def test_servers_share_everything_over_valkey(fleet, index, valkey):
    found = everything_is_shared(fleet, index, valkey)
    assert found["status"] == "ok"
    assert found["engine"].startswith("Valkey ")
