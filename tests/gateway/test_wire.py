"""The wire itself: what no client of a library would send, and nothing that this program knows."""

from __future__ import annotations

import json
import os
import re
import subprocess

import pytest

from gateway.conftest import behind
from programs import start_program


class Wire:
    """A client that writes lines."""

    def __init__(self, era, *options, server=None, words=None):
        words = words or ["wrap", *options, "--", *(behind(era) if server is None else server)]
        self.process = start_program(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def send(self, **message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def read(self):
        return json.loads(self.process.stdout.readline())

    def ask(self, number, method, **params):
        self.send(id=number, method=method, params=params)
        return self.read()

    def greet(self):
        told = {"name": "wire", "version": "1"}
        found = self.ask(0, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=told)
        self.send(method="notifications/initialized")
        return found

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(20)
        self.errors = self.process.stderr.read().decode()
        self.process.stdout.close()
        self.process.stderr.close()
        return code


@pytest.fixture(scope="module")
def wire():
    wire = Wire("legacy")
    wire.greeting = wire.greet()
    yield wire
    assert wire.end() == 0


def test_the_version_is_the_one_that_the_server_agreed_on(wire):
    assert wire.greeting["result"]["protocolVersion"] == "2025-06-18"
    assert wire.greeting["result"]["serverInfo"]["name"] == "behind"


def test_requests_that_nobody_knows_pass(wire):
    assert wire.ask(1, "com.example/unknown", word="hello")["result"] == {"heard": "hello"}
    assert wire.ask("two", "com.example/nowhere")["error"]["code"] == -32601


def test_notifications_that_nobody_knows_pass_both_ways(wire):
    wire.send(method="notifications/com.example/hello")
    assert wire.ask(3, "ping")["result"] == {}
    wire.send(id=4, method="tools/call", params={"name": "unsaid"})
    messages = [wire.read(), wire.read()]
    assert {"jsonrpc": "2.0", "method": "notifications/com.example/unknown", "params": {"a": 1}} in messages
    (answer,) = [one for one in messages if "id" in one]
    assert json.loads(answer["result"]["content"][0]["text"]) == ["notifications/com.example/hello"]
    assert "resultType" not in answer["result"]


def test_nothing_is_asked_before_the_handshake():
    wire = Wire("legacy")
    assert wire.ask(1, "tools/list")["error"]["code"] == -32602
    assert wire.ask(2, "ping")["result"] == {}
    assert wire.end() == 0


def test_only_variables_that_are_named_reach_the_server(monkeypatch):
    monkeypatch.setenv("FOR_THE_SERVER", "1")
    monkeypatch.setenv("NOT_FOR_THE_SERVER", "1")
    wire = Wire("legacy", "--env", "FOR_THE_SERVER")
    wire.greet()
    found = json.loads(wire.ask(1, "tools/call", name="environment")["result"]["content"][0]["text"])
    assert wire.end() == 0
    assert "FOR_THE_SERVER" in found and "NOT_FOR_THE_SERVER" not in found and "PATH" in found
    assert "NOT_FOR_THE_SERVER" in os.environ


def test_a_call_has_a_line_and_all_of_them_a_sum():
    wire = Wire("legacy", "--budget", "2000")
    wire.greet()
    rows = wire.ask(1, "tools/call", name="rows")["result"]
    wire.ask(2, "tools/call", name="fail")
    digest = rows["_meta"]["dev.aerogram/fidelity"]["archive_hashes"]["data"]
    wire.ask(3, "tools/call", name="retrieve", arguments={"hash": digest})
    assert wire.end() == 0
    first, second, third, total = wire.errors.splitlines()
    assert first.startswith("rows  300 rows  18,") and " → 1," in first and "sha256:" in first and first.endswith(" ms")
    assert second.startswith("fail  ") and second.endswith(" ms")
    assert third.startswith("retrieve  1,")  # what comes back is read, and was sent already
    sent, read = map(number, re.findall(r"[0-9,]+ → [0-9,]+", total)[0].split(" → "))
    assert total.startswith("aerogram: 3 calls, 1 failed, 18,")
    assert sent < 19_000 and read > 3_500


def number(text):
    return int(text.replace(",", ""))


def test_what_a_limit_of_characters_cuts_off_is_counted_in_tokens():
    wire = Wire("legacy", "--budget", "cline")
    wire.greet()
    wire.ask(1, "tools/call", name="rows")
    assert wire.end() == 0
    assert re.match(r"rows  300 rows  18,\d+ → \d,\d+ tokens", wire.errors), wire.errors
