"""Login: a server elsewhere wants OAuth; its user logs in once, in a browser, and the gateway keeps what it got."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import socket
import stat
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from gateway.test_wire import Wire

INFO = {"name": "guarded", "version": "1"}
ANSWERS = {
    "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": INFO},
    "tools/list": {"tools": [{"name": "one", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "come in"}]},
}


class Guarded(BaseHTTPRequestHandler):
    """A server, and the one that gives leave to use it."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        base = f"http://127.0.0.1:{self.server.server_port}"
        asked = urlsplit(self.path)
        if asked.path.startswith("/.well-known/oauth-protected-resource"):
            self.answer(200, {"resource": f"{base}/mcp", "authorization_servers": [base]})
        elif asked.path == "/.well-known/oauth-authorization-server":
            names = ("authorization_endpoint", "token_endpoint", "registration_endpoint")
            places = dict(zip(names, (f"{base}/authorize", f"{base}/given", f"{base}/register"), strict=True))
            supported = {"response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"]}
            self.answer(200, {"issuer": base, **places, **supported})
        elif asked.path == "/authorize":
            given = {name: values[0] for name, values in parse_qs(asked.query).items()}
            self.server.challenges.append(given["code_challenge"])
            back = urlencode({"code": "some-code", "state": given["state"]})
            self.answer(302, {}, location=f"{given['redirect_uri']}?{back}")
        else:
            self.answer(401 if asked.path == "/mcp" and not self.has_leave() else 405, {})

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/register":
            registered = {**json.loads(body), "client_id": "gateway"}
            self.answer(*((201, registered) if self.server.registers else (400, {"error": "invalid_redirect_uri"})))
        elif self.path == "/given":
            given = parse_qs(body.decode())
            if "refresh_token" in given and not self.server.renew(given["refresh_token"][0]):
                self.answer(400, {"error": "invalid_grant"})
                return
            if "code_verifier" in given:
                digest = hashlib.sha256(given["code_verifier"][0].encode()).digest()
                assert base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == self.server.challenges[-1]
            self.answer(200, {**self.server.give(), "token_type": "Bearer", "expires_in": self.server.life})
        elif not self.has_leave():
            self.answer(401, {})
        else:
            message = json.loads(body)
            if "id" in message:
                self.answer(200, {"jsonrpc": "2.0", "id": message["id"], "result": ANSWERS[message["method"]]})
            else:
                self.answer(202, None)

    def has_leave(self):
        token = (self.headers["authorization"] or "").removeprefix("Bearer ")
        return self.server.ends.get(token, 0) > time.time()

    def answer(self, status, value, **headers):
        body = b"" if value is None else json.dumps(value).encode()
        if status == 401:
            where = f"http://127.0.0.1:{self.server.server_port}/.well-known/oauth-protected-resource"
            headers["www-authenticate"] = f'Bearer resource_metadata="{where}"'
        self.send_response(status)
        for name, text in {"content-type": "application/json", "content-length": str(len(body)), **headers}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Nothing: the test looks at what comes of it."""


class Guard(ThreadingHTTPServer):
    """What it knows: who was sent to log in, and which leave it has given until when."""

    life = 3600
    registers = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Guarded)
        self.challenges, self.ends, self.renewable, self.renewed = [], {}, set(), 0

    def give(self):
        number = len(self.ends)
        self.ends[f"leave-{number}"] = time.time() + self.life
        self.renewable.add(f"more-{number}")
        return {"access_token": f"leave-{number}", "refresh_token": f"more-{number}"}

    def renew(self, token):
        """Each is good for one time."""
        is_known = token in self.renewable
        self.renewable.discard(token)
        self.renewed += is_known
        return is_known


@pytest.fixture
def guarded():
    server = Guard()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


FOLLOW = """
import html, re, socket, sys, urllib.request
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit
door = Path(urlsplit(sys.argv[1]).path)  # what others on the machine can read names a file that only this user can
assert sys.argv[1].startswith("file:///") and door.stat().st_mode & 0o77 == 0
sys.argv[1] = html.unescape(re.search('url=([^"]+)', door.read_text())[1])
"""
AGREES = "urllib.request.urlopen(sys.argv[1]).read()"
REFUSES = """
asked = {name: values[0] for name, values in parse_qs(urlsplit(sys.argv[1]).query).items()}
back = urlencode({"error": "access_denied", "error_description": "No\\x1b[2J way", "state": asked["state"]})
print(urllib.request.urlopen(f"{asked['redirect_uri']}?{back}").read())
"""
IS_RUDE = """
asked = parse_qs(urlsplit(sys.argv[1]).query)
place = urlsplit(asked["redirect_uri"][0])
idle, loud = (socket.create_connection((place.hostname, place.port)) for _ in range(2))
loud.sendall(b"GET /" + b"a" * 100_000 + b" HTTP/1.1\\r\\n\\r\\n")
urllib.request.urlopen(sys.argv[1]).read()
idle.settimeout(15)
Path(sys.argv[0]).with_suffix(".seen").write_text(f"{place.port} {idle.recv(1)}")
"""


@pytest.fixture
def browse(tmp_path, monkeypatch):
    """The browser is a program that does something with the address, as a person would; where it writes what it saw."""

    def browse(what):
        program = tmp_path / "browser.py"
        program.write_text(FOLLOW + what)
        monkeypatch.setenv("BROWSER", f"{sys.executable} {program} %s &")
        return program.with_suffix(".seen")

    return browse


def call(wire, number=1):
    return wire.ask(number, "tools/call", name="one")["result"]["content"][0]["text"]


def test_a_login_is_asked_for_once_and_kept_for_its_user_alone(guarded, browse):
    browse(AGREES)
    url = f"http://127.0.0.1:{guarded.server_port}/mcp"
    for _ in range(2):
        wire = Wire("", "--login", server=[url])
        assert wire.greet()["result"]["serverInfo"]["name"] == "guarded"
        assert call(wire) == "come in"
        assert wire.end() == 0
    assert len(guarded.challenges) == 1
    (kept,) = (Path(os.environ["AEROGRAM_STATE"]) / "logins").iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert not list((Path(os.environ["AEROGRAM_STATE"]) / "pages").iterdir())


def test_a_login_that_is_kept_is_renewed_where_it_was_given(guarded, browse):
    """By the next gateway, too, and by two at a time: of what one has had renewed the other takes no more than that."""
    browse(AGREES)
    url, guarded.life = f"http://127.0.0.1:{guarded.server_port}/mcp", 2
    wire = Wire("", "--login", server=[url])
    wire.greet()
    assert wire.end() == 0
    time.sleep(2.1)
    first, second = (Wire("", "--login", server=[url]) for _ in range(2))
    first.greet()
    second.greet()
    for number in range(1, 4):
        assert [call(first, number), call(second, number)] == ["come in", "come in"]
        time.sleep(2.1)
    assert (first.end(), second.end()) == (0, 0)
    assert len(guarded.challenges) == 1
    assert guarded.renewed >= 3


def test_who_refuses_to_log_in_is_taken_at_their_word(guarded, browse):
    browse(REFUSES)
    wire = Wire("", "--login", server=[f"http://127.0.0.1:{guarded.server_port}/mcp"])
    error = wire.greet()["error"]
    assert (error["data"]["code"], error["data"]["retryable"]) == ("UNAUTHORIZED", False)
    assert error["message"].startswith("The login was refused: access_denied: No")
    assert "\x1b" not in error["message"]
    wire.end()
    assert "Traceback" not in wire.errors


def test_nobody_keeps_the_port_open_to_which_a_login_comes_back(guarded, browse):
    """A browser opens connections in advance, which it leaves without a word."""
    seen = browse(IS_RUDE)
    wire = Wire("", "--login", server=[f"http://127.0.0.1:{guarded.server_port}/mcp"])
    wire.greet()
    assert call(wire) == "come in"
    until = time.monotonic() + 20
    while not seen.exists() and time.monotonic() < until:
        time.sleep(0.1)
    port, last = seen.read_text().split()
    assert last == "b''"
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", int(port))):
        pass
    assert wire.end() == 0
    assert "Traceback" not in wire.errors


def test_a_login_for_which_nobody_is_registered_is_told_as_such(guarded):
    guarded.registers = False
    wire = Wire("", "--login", server=[f"http://127.0.0.1:{guarded.server_port}/mcp"])
    error = wire.greet()["error"]
    wire.end()
    assert error["data"]["code"] == "UNAUTHORIZED" and "--login --check" in error["data"]["remediation"]
    assert error["message"].startswith("The login at the server behind failed: Registration failed: 400")
