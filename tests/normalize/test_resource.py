"""Resource results: what the caller of `normalize_resource_payload` can rely on."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from mcp.types import BlobResourceContents, ReadResourceResult, TextResourceContents
from PIL import Image
from pydantic import AnyUrl, BaseModel

from aerogram.errors import ContractError, Forbidden, NotFound, ReplyError, TokenLimitExceeded
from aerogram.normalize import Block, Policy, ResourceResult, normalize_resource_payload

URI = "data://thing"
PNG = b"\x89PNG\r\n\x1a\n"


def read(value: Any, mime_type: str | None = None, uri: Any = URI, **settings: Any) -> dict[str, Any]:
    """The one content that a payload gives."""
    (content,) = normalize_resource_payload(uri, mime_type, value, **settings).contents
    return content


@dataclass
class Config:
    version: str


class Model(BaseModel):
    a: int


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Hello", "Hello"),
        ({"a": 1}, '{"a": 1}'),
        ([1, "b"], '[1, "b"]'),
        (42, "42"),
        (True, "true"),
        (None, "null"),
        (Config("1"), '{"version": "1"}'),
        (Model(a=1), '{"a": 1}'),
        ({"text": 3}, '{"text": 3}'),
        ({"blob": "%"}, '{"blob": "%"}'),
    ],
    ids=str,
)
def test_data_becomes_text(value: Any, text: str):
    """JSON text for what JSON can say; without a declared type it is text/plain."""
    assert read(value) == {"uri": URI, "mimeType": "text/plain", "text": text}
    assert read(value, "application/json")["mimeType"] == "application/json"


@pytest.mark.parametrize("value", [PNG, bytearray(PNG), memoryview(PNG)], ids=["bytes", "bytearray", "memoryview"])
def test_binary_becomes_a_blob(value: Any):
    assert read(value) == {"uri": URI, "mimeType": "application/octet-stream", "blob": "iVBORw0KGgo="}
    assert read(value, "image/png")["mimeType"] == "image/png"


def test_types_are_inferred_on_request_only():
    assert read(PNG, infer=True)["mimeType"] == "image/png"
    assert read("a,b", uri="file:///t.csv", infer=True)["mimeType"] == "text/csv"
    assert read({"a": 1}, infer=True)["mimeType"] == "application/json"
    assert read("a,b", uri="file:///t.csv")["mimeType"] == "text/plain"
    assert read(PNG, "x/y", infer=True)["mimeType"] == "x/y"


def test_dictionary_that_is_a_content_but_for_its_uri_becomes_it():
    assert read({"text": "a"}) == {"uri": URI, "mimeType": "text/plain", "text": "a"}
    assert read({"blob": "eA==", "_meta": {"k": 1}}) == {
        "uri": URI,
        "mimeType": "application/octet-stream",
        "blob": "eA==",
        "_meta": {"k": 1},
    }
    assert read({"text": "a", "other": 1})["text"] == '{"text": "a", "other": 1}'


def test_several_contents_keep_their_own_uris_and_meta():
    contents = [
        TextResourceContents(uri="a://1", text="First", _meta={"k": 1}),
        BlobResourceContents(uri="a://2", mimeType="image/png", blob="eA=="),
        {"uri": "a://3", "text": "Third"},
    ]
    sent = normalize_resource_payload(URI, None, contents).contents
    assert sent == [
        {"uri": "a://1", "mimeType": "text/plain", "text": "First", "_meta": {"k": 1}},
        {"uri": "a://2", "mimeType": "image/png", "blob": "eA=="},
        {"uri": "a://3", "mimeType": "text/plain", "text": "Third"},
    ]
    assert normalize_resource_payload(URI, None, {"contents": contents}).contents == sent


def test_contents_without_a_mime_type_get_the_declared_one():
    """One object, a list of them, or dictionaries; what says its own type keeps it."""
    silent, other = TextResourceContents(uri="a://1", text="a"), {"uri": "a://2", "mimeType": "x/y", "text": "b"}
    first = {"uri": "a://1", "mimeType": "text/csv", "text": "a"}
    assert read(silent, "text/csv") == first
    assert normalize_resource_payload(URI, "text/csv", [silent, other]).contents == [first, other]
    assert normalize_resource_payload(URI, "text/csv", {"contents": [other, silent]}).contents == [other, first]


def test_contents_without_a_mime_type_get_the_one_of_what_they_hold():
    """Objects as dictionaries as payloads; on request the URI of each says more."""
    text, blob = TextResourceContents(uri="a://1.csv", text="a"), BlobResourceContents(uri="a://2", blob="eA==")
    assert read(text)["mimeType"] == "text/plain" and read(blob)["mimeType"] == "application/octet-stream"
    assert [one["mimeType"] for one in normalize_resource_payload(URI, None, [blob, text], infer=True).contents] == [
        "application/octet-stream",
        "text/csv",
    ]


def test_dictionary_may_have_the_names_of_the_fields_of_the_sdk():
    """As they would be accepted by its classes; with both names of one it is data."""
    assert read({"mime_type": "x/y", "text": "a", "meta": {"k": 1}}) == {
        "uri": URI,
        "mimeType": "x/y",
        "text": "a",
        "_meta": {"k": 1},
    }
    assert read({"mime_type": "x/y", "mimeType": "a/b", "text": "a"})["mimeType"] == "text/plain"


def test_media_become_blobs_of_their_own_type():
    assert read(Image.new("RGB", (1, 1)))["mimeType"] == "image/png"
    assert read(Block.audio(b"x", "audio/wav")) == {"uri": URI, "mimeType": "audio/wav", "blob": "eA=="}
    assert read(Block.resource("a://b", "t")) == {"uri": "a://b", "mimeType": "text/plain", "text": "t"}


def test_file_is_text_when_it_is_text(tmp_path: Path):
    (tmp_path / "a.md").write_text("# A")
    (tmp_path / "b.png").write_bytes(PNG + b"\xff")
    assert read(tmp_path / "a.md") == {"uri": URI, "mimeType": "text/plain", "text": "# A"}
    assert read(tmp_path / "a.md", infer=True)["mimeType"] == "text/markdown"
    assert read(tmp_path / "b.png")["mimeType"] == "application/octet-stream"
    assert read(tmp_path / "b.png", infer=True)["mimeType"] == "image/png"
    assert read(io.BytesIO(b"a\0b"))["blob"] == "YQBi"
    assert read(io.StringIO("text"))["text"] == "text"


def test_file_that_is_not_there_is_not_found(tmp_path: Path):
    with pytest.raises(NotFound):
        read(tmp_path / "none")


BARRED = "of-somebody-else"


def _open_what_is_ours(path: Any, *flags: Any, opened: Any = os.open) -> int:
    if str(path).endswith(BARRED):
        raise PermissionError(13, "Permission denied", str(path))
    return int(opened(path, *flags))


def _paths(folder: Path) -> list[Path]:
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "plain").write_text("a")
    return [folder / BARRED, folder, folder / "loop", folder / ("x" * 300), folder / "plain" / "b", folder / "nul\0"]


def test_file_that_cannot_be_read_does_not_say_where_it_is(tmp_path: Path, caplog, monkeypatch):
    """The path is the server's own business; its log has it."""
    monkeypatch.setattr(os, "open", _open_what_is_ours)  # whoever runs this may be allowed to read everything
    for path in _paths(tmp_path):
        caplog.clear()
        with pytest.raises((NotFound, Forbidden)) as raised:
            read(path)
        assert str(tmp_path) not in str(raised.value) and URI in str(raised.value)
        assert raised.value.__cause__ is None and caplog.records[0].exc_info
        assert isinstance(raised.value, Forbidden) is (path.name == BARRED)


def _next_descriptor() -> int:
    """The number that the next file gets which is opened: the lowest that is free."""
    descriptor = os.open(os.devnull, os.O_RDONLY)
    os.close(descriptor)
    return descriptor


def test_what_is_no_file_leaves_nothing_open(tmp_path: Path):
    """Whoever may name a folder could use up all that a server can open."""
    os.mkfifo(tmp_path / "pipe")
    before = _next_descriptor()
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "none") * 20:
        with pytest.raises(NotFound):
            read(path)
    assert _next_descriptor() <= before


def test_payload_over_the_limit_is_refused_before_it_is_read_whole(tmp_path: Path):
    class Endless(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            return b"x" * size

    small = Policy(max_bytes=2_000_000)
    for value in (Endless(), "x" * 3_000_000, b"x" * 3_000_000, {"a": "x" * 3_000_000}):
        with pytest.raises(TokenLimitExceeded):
            read(value, policy=small)


def test_failure_is_raised_because_reading_has_no_error_result():
    with pytest.raises(NotFound):
        read(NotFound("gone"))


def test_text_that_utf8_cannot_carry_is_mended():
    assert read("a\ud800")["text"] == "a\ufffd"
    assert read("a", uri="x://\ud800")["uri"] == "x://\ufffd"
    assert read("a", uri=AnyUrl("http://a/"))["uri"] == "http://a/"


def test_explicit_result_is_checked_and_passes():
    result = ResourceResult([{"uri": URI, "blob": "eA=="}], ttl_ms=5, cache_scope="public")
    assert normalize_resource_payload(URI, None, result) is result
    for broken in ({"uri": URI, "blob": "%"}, {"uri": URI}, {"text": "a"}, {"uri": URI, "text": "a", "blob": "eA=="}):
        with pytest.raises(ContractError):
            ResourceResult([broken])


def test_modern_results_say_how_long_they_hold():
    result = normalize_resource_payload(URI, None, "a", ttl_ms=5, cache_scope="public")
    assert result.to_wire("2025-11-25") == {"contents": result.contents}
    modern = orjson.loads(result.to_bytes(1, "2026-07-28"))
    assert modern == {"jsonrpc": "2.0", "id": 1, "result": result.to_wire("2026-07-28")}
    assert modern["result"]["ttlMs"] == 5 and modern["result"]["cacheScope"] == "public"
    assert isinstance(result.to_mcp(), ReadResourceResult) and result.to_mcp().ttl_ms == 5


def test_payload_that_raises_no_exception_at_all_is_refused_with_one():
    """A reader of bytes from another language may panic, which must not end the server."""

    class Panic(BaseException): ...

    class Panicking(io.RawIOBase):
        def read(self, _: int = -1) -> bytes:
            raise Panic

    with pytest.raises(ReplyError, match=URI):
        read(Panicking())
