"""Login: a server elsewhere wants OAuth; its user logs in once, in a browser, and the gateway keeps what it got."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
import sys
import threading
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
            places = dict(zip(names, (f"{base}/authorize", f"{base}/token", f"{base}/register"), strict=True))
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
            self.answer(201, {**json.loads(body), "client_id": "gateway"})
        elif self.path == "/token":
            given = parse_qs(body.decode())
            digest = hashlib.sha256(given["code_verifier"][0].encode()).digest()
            assert base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == self.server.challenges[-1]
            self.answer(200, {"access_token": "leave", "token_type": "Bearer", "expires_in": 3600})
        elif not self.has_leave():
            self.answer(401, {})
        else:
            message = json.loads(body)
            if "id" in message:
                self.answer(200, {"jsonrpc": "2.0", "id": message["id"], "result": ANSWERS[message["method"]]})
            else:
                self.answer(202, None)

    def has_leave(self):
        return self.headers["authorization"] == "Bearer leave"

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


@pytest.fixture
def guarded():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Guarded)
    server.challenges = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_a_login_is_asked_for_once_and_kept_for_its_user_alone(guarded, tmp_path, monkeypatch):
    """The browser is a program that follows the address, as a person who agrees to everything would."""
    browser = tmp_path / "browser.py"
    browser.write_text("import sys, urllib.request; urllib.request.urlopen(sys.argv[1]).read()")
    monkeypatch.setenv("BROWSER", f"{sys.executable} {browser} %s")
    url = f"http://127.0.0.1:{guarded.server_port}/mcp"
    for _ in range(2):
        wire = Wire("", "--login", server=[url])
        assert wire.greet()["result"]["serverInfo"]["name"] == "guarded"
        assert wire.ask(1, "tools/call", name="one")["result"]["content"][0]["text"] == "come in"
        assert wire.end() == 0
    assert len(guarded.challenges) == 1
    (kept,) = (Path(os.environ["AEROGRAM_STATE"]) / "logins").iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
