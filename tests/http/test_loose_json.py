"""Sanitizers over HTTP when a handler writes JSON that is only just JSON: nothing switches them off."""

import gzip
import json
import time
import zlib

import pytest
from fastapi import FastAPI
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from aerogram import Contract, fastapi, starlette
from aerogram.sanitize import Redaction
from aerogram.starlette import Versions

SECRET = b'{"password": "hunter2", "note": "AKIAIOSFODNN7EXAMPLE", "more": %s}'
LOOSE = {
    "a lone surrogate": SECRET % rb'"\ud800"',
    "too large a number": SECRET % b"1e400",
    "many digits": SECRET % (b"1" * 5_000),
    "not a number": SECRET % b"NaN",
    "a control character": SECRET % b'"\x01"',
    "other bytes than UTF-8": SECRET % b'"\xe9"',
    "UTF-16": (SECRET % b"1").decode().encode("utf-16"),
    "a mark at its beginning": b"\xef\xbb\xbf" + SECRET % b"NaN",
    "depth": SECRET % (b"[" * 300 + b"]" * 300),
    "a repeated member": b'{"password": "x", "a": 1, "password": "hunter2", "a": "AKIAIOSFODNN7EXAMPLE"}',
    "a repeated member that hides one": b'{"note": "AKIAIOSFODNN7EXAMPLE", "note": "hidden", "a": {"password": 1}}',
}
UNREADABLE = {
    "great depth": SECRET % (b"[" * 100_000 + b"]" * 100_000),
    "no JSON": b'{"password": "hunter2",}',
    "two values": b'{"password": "hunter2"} {"note": "AKIAIOSFODNN7EXAMPLE"}',
}


def client_of(content, **options):
    async def made(_request):
        return Response(content, media_type="application/json", **options)

    app = Starlette(routes=[Route("/made", made), Route("/left", made)])
    starlette.install(app, Contract(sanitizers=(Redaction(),)), Versions(migrated=["/made"]))
    return TestClient(app, raise_server_exceptions=False)


def is_clean(answer):
    return "hunter2" not in answer.text and "AKIAIOSFODNN7EXAMPLE" not in answer.text


@pytest.mark.parametrize("path", ["/made?envelope=v1", "/made?envelope=v2", "/left"])
@pytest.mark.parametrize("content", LOOSE.values(), ids=LOOSE)
def test_json_that_others_can_read_is_made_clean(content, path):
    answer = client_of(content).get(path)
    assert answer.status_code == 200 and is_clean(answer)
    assert "[redacted:" in answer.text or "hidden" in answer.text
    json.loads(answer.content)


@pytest.mark.parametrize("status", [200, 409])
@pytest.mark.parametrize("path", ["/made?envelope=v1", "/made?envelope=v2", "/left"])
@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE)
def test_what_nobody_can_read_is_not_sent(content, path, status):
    answer = client_of(content, status_code=status).get(path)
    assert answer.status_code == 500 and is_clean(answer)


def test_compressed_json_is_read_as_loosely():
    packed = gzip.compress(LOOSE["not a number"])
    answer = client_of(packed, headers={"Content-Encoding": "gzip"}).get("/left")
    assert "[redacted:" in answer.text and is_clean(answer)


PLAIN = SECRET % b"1"
RAW = zlib.compressobj(wbits=-15)
PACKED = {
    "deflate": zlib.compress(PLAIN),
    "Deflate": RAW.compress(PLAIN) + RAW.flush(),
    "x-gzip": gzip.compress(PLAIN),
    "identity, gzip": gzip.compress(PLAIN),
    "gzip, gzip": gzip.compress(gzip.compress(PLAIN)),
    "gzip": gzip.compress(PLAIN[:10]) + gzip.compress(PLAIN[10:]),
}


@pytest.mark.parametrize("encoding", PACKED)
def test_json_is_read_however_it_was_compressed(encoding):
    answer = client_of(PACKED[encoding], headers={"Content-Encoding": encoding}).get("/left")
    assert answer.status_code == 200 and "[redacted:" in answer.text and is_clean(answer)


def test_what_was_packed_in_very_many_pieces_is_read_once():
    """The work grows with their number and no faster."""

    def work(count):
        content = gzip.compress(PLAIN[:10]) + gzip.compress(b"") * count + gzip.compress(PLAIN[10:])
        client, begun = client_of(content, headers={"Content-Encoding": "gzip"}), time.process_time()
        answer = client.get("/left")
        assert answer.status_code == 200 and is_clean(answer)
        return time.process_time() - begun

    assert work(80_000) < 8 * work(20_000)


@pytest.mark.parametrize(
    "content",
    [PLAIN, gzip.compress(PLAIN)[:-9], gzip.compress(b'"' + b"a" * 20_000_000 + b'"')],
    ids=["plain", "half", "too large"],
)
def test_what_cannot_be_unpacked_within_a_limit_is_not_sent(content):
    answer = client_of(content, headers={"Content-Encoding": "gzip"}).get("/left")
    assert answer.status_code == 500 and is_clean(answer) and "aaa" not in answer.text


@pytest.mark.parametrize("content", [b'{"a": NaN, "b": "\\ud800"}', b'{"a": 1e400}', b""], ids=repr)
def test_what_has_nothing_to_hide_is_sent_byte_for_byte(content):
    assert client_of(content).get("/left").content == content


class Login(BaseModel):
    name: str
    password: int


@pytest.mark.parametrize("envelope", ["v1", "v2"])
def test_a_wrong_secret_is_not_repeated_in_the_words_of_the_framework(envelope):
    app = FastAPI()

    @app.post("/login")
    def login(given: Login):
        return given.name

    fastapi.install(app, Contract(sanitizers=(Redaction(),)), Versions())
    answer = TestClient(app).post("/login", params={"envelope": envelope}, json={"name": 7, "password": "hunter2"})
    assert answer.status_code in (400, 422) and "hunter2" not in answer.text
    assert '"input":7' in answer.text or envelope == "v2"
