"""More connections than there are places for at the port of a gateway: clients are answered all the same."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import socket
import subprocess
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp import Client

from gateway.test_distrust import ODD
from gateway.test_http import running
from programs import quick_command

pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")

SHARE = 250
FEW_FILES = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 700))
from aerogram.__main__ import main
main()
"""
PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def port():
    """The address of a gateway."""
    with running(quick_command("-m", "aerogram", "wrap", "--listen", "0", "--", *ODD), "stderr") as url:
        yield urlsplit(url)


def held(opened, port, count, source):
    """Lines on which nothing is said, from an address of this machine."""
    for _ in range(count):
        line = opened.enter_context(socket.socket())
        line.bind((source, 0))
        line.connect((port.hostname, port.port))


async def call(url):
    async with Client(url, mode="legacy") as client:
        await client.call_tool("heard", {})


async def test_an_address_that_only_holds_connections_does_not_lock_out_the_others(port):
    with contextlib.ExitStack() as opened:
        held(opened, port, SHARE + 100, "127.0.0.2")
        asked = http.client.HTTPConnection(port.hostname, port.port, timeout=30, source_address=("127.0.0.2", 0))
        with contextlib.closing(asked):
            asked.request("POST", port.path, PING, HEADERS)
            answer = asked.getresponse()
            assert (answer.status, answer.headers["content-type"]) == (503, "application/problem+json")
            assert json.loads(answer.read())["retryable"] is True
        await call(port.geturl())


def test_connections_that_come_all_at_once_take_no_more_files_than_there_are(tmp_path):
    """Each that the system had to refuse would be a trace on standard error, and nobody else would be let in."""
    words = quick_command("-c", FEW_FILES, "wrap", "--listen", "0", "--", *ODD)
    with subprocess.Popen(words, text=True, stderr=subprocess.PIPE) as process, contextlib.ExitStack() as opened:
        url = next(line for line in process.stderr if "http://" in line).split()[-1]
        try:
            place = urlsplit(url)
            for number in range(900):
                line = opened.enter_context(socket.socket())
                line.setblocking(False)
                line.bind((f"127.0.1.{number // 450 + 1}", 0))
                line.connect_ex((place.hostname, place.port))
            asyncio.run(call(url))
        finally:
            process.terminate()
            said = process.stderr.read()
    assert "Traceback" not in said


async def test_a_key_that_a_client_sends_is_not_looked_at(port):
    async with httpx2.AsyncClient() as client:
        headers = {**HEADERS, "Authorization": "Bearer of somebody", "X-API-Key": "of somebody else"}
        answer = await client.post(port.geturl(), content=PING, headers=headers)
    assert answer.status_code == 400  # of the protocol, for there is no session
    assert "session" in answer.text.lower()


def test_a_port_that_is_taken_is_one_line_with_what_to_do(port):
    words = quick_command("-m", "aerogram", "wrap", "--listen", str(port.port), "--", "true")
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and f"--listen {port.port + 1}" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("header", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}])
async def test_nobody_is_referred_to_an_option_that_there_is_not(port, header):
    async with httpx2.AsyncClient() as client:
        refused = await client.post(port.geturl(), content=PING, headers={**HEADERS, **header})
    assert refused.status_code == 403 and "--allowed" not in refused.text
