"""PostgreSQL over TLS: servers read and write an index through an encrypted line, and only to whom they may trust.

The PostgreSQL of the tests cannot encrypt, so a small program stands before it that takes the protocol's own request
for TLS, and passes on what it hears.
"""

from __future__ import annotations

import contextlib
import socket
import socketserver
import ssl
import threading

import httpx
import pytest

from aerogram import read
from certificates import make_certificate

SEARCH = {"q": "token", "envelope": "v2"}
WANTS_TLS = b"\x00\x00\x00\x08\x04\xd2\x16\x2f"


@pytest.fixture
def certificate(tmp_path):
    return make_certificate(tmp_path)


@pytest.fixture
def encrypting(postgres, certificate):
    """The port of a program that speaks TLS before PostgreSQL."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)

    class Line(socketserver.BaseRequestHandler):
        def handle(self):
            if self.request.recv(len(WANTS_TLS)) != WANTS_TLS:
                return  # whoever speaks plainly is not heard
            self.request.sendall(b"S")
            with contextlib.suppress(OSError), contextlib.ExitStack() as lines:
                caller = lines.enter_context(context.wrap_socket(self.request, server_side=True))
                server = lines.enter_context(socket.create_connection(("127.0.0.1", postgres.port)))
                back = threading.Thread(target=pass_on, args=(server, caller), daemon=True)
                back.start()
                pass_on(caller, server)

    class Lines(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False

    with Lines(("127.0.0.1", 0), Line) as lines:
        threading.Thread(target=lines.serve_forever, daemon=True).start()
        yield lines.server_address[1]
        lines.shutdown()


def pass_on(source, target):
    """Everything that one side says, to the other, until either has gone."""
    with contextlib.suppress(OSError):
        while said := source.recv(65536):
            target.sendall(said)
        target.shutdown(socket.SHUT_RDWR)


def test_a_server_reads_and_writes_over_tls(fleet, copied_database, encrypting, certificate, tmp_path):
    name = copied_database.rpartition("/")[2]
    trusted = f"?sslmode=verify-full&sslrootcert={certificate[0]}"
    url = f"postgresql://postgres@127.0.0.1:{encrypting}/{name}{trusted}"
    note = tmp_path / "notes" / "anchor.md"
    note.parent.mkdir()
    note.write_text("# Anchor\n\nThe anchor weighs two tons.\n", encoding="utf-8")
    assert "1 new" in fleet.run("ingest", str(note.parent), "--store", url)
    (server,) = fleet.add("--store", url)
    found = httpx.get(f"{server.address}/v1/search", params={**SEARCH, "q": "How heavy is the anchor?"}, timeout=30)
    assert read(found.json()).data[0]["source_file"].endswith("anchor.md")


def test_a_database_that_nobody_vouches_for_is_refused_and_the_reason_is_said(fleet, encrypting):
    url = f"postgresql://postgres:not-to-be-shown@127.0.0.1:{encrypting}/postgres?sslmode=verify-full"
    said = fleet.run("keys", "list", "--store", url)
    assert "certificate" in said.lower()
    assert "not-to-be-shown" not in said
    assert "Traceback" not in said


def test_a_certificate_of_somebody_else_is_refused_and_the_reason_is_said(fleet, encrypting, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    trusted = f"sslmode=verify-full&sslrootcert={make_certificate(other)[0]}"
    said = fleet.run("keys", "list", "--store", f"postgresql://postgres@127.0.0.1:{encrypting}/postgres?{trusted}")
    assert "certificate of PostgreSQL is not trusted" in said


def test_a_certificate_for_another_name_is_refused_and_the_reason_is_said(fleet, encrypting, certificate):
    trusted = f"sslmode=verify-full&sslrootcert={certificate[0]}"
    said = fleet.run("keys", "list", "--store", f"postgresql://postgres@localhost:{encrypting}/postgres?{trusted}")
    assert "certificate of PostgreSQL is not trusted" in said
    assert "localhost" in said
