"""Texts, bytes and files as resources: clean where a contract says so, and explained where they cannot be read."""

from __future__ import annotations

import fastmcp
import fastmcp.resources
import mcp.server.mcpserver.resources
import pytest
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError

import aerogram.fastmcp
import aerogram.mcp
from aerogram.sanitize import Redaction
from tool_servers import talk

SECRET = "key AKIAIOSFODNN7EXAMPLE"
DOORS = [(framework, era) for framework in ("fastmcp", "sdk") for era in ("auto", "legacy")]


@pytest.fixture(params=DOORS, ids=["-".join(door) for door in DOORS])
def reading(request, tmp_path):
    framework, era = request.param
    is_fastmcp = framework == "fastmcp"
    kinds = fastmcp.resources if is_fastmcp else mcp.server.mcpserver.resources
    (tmp_path / "there.txt").write_text(SECRET)
    (tmp_path / "latin.txt").write_bytes(b"\xff\xfe\xfa")

    def open_with(**settings):
        made = fastmcp.FastMCP("files") if is_fastmcp else MCPServer("files", log_level="CRITICAL")
        (aerogram.fastmcp if is_fastmcp else aerogram.mcp).install(made, **settings)
        made.add_resource(kinds.TextResource(uri="data://text", text=SECRET, name="text"))
        made.add_resource(kinds.BinaryResource(uri="data://bytes", data=b"\x00\x01", name="bytes"))
        for name in ("there", "none", "latin"):
            made.add_resource(kinds.FileResource(uri=f"data://{name}", path=tmp_path / f"{name}.txt", name=name))
        return talk(framework, made, era)

    return open_with


async def test_texts_and_files_are_redacted(reading):
    async with reading(sanitizers=(Redaction(),)) as client:
        texts = [(await client.read(f"data://{name}"))[0].text for name in ("text", "there")]
        bytes_, _ = await client.read("data://bytes")
    assert all(text.startswith("key ") and "AKIA" not in text for text in texts)
    assert bytes_.blob == "AAE="


async def test_without_sanitizers_they_are_read_as_they_are(reading):
    async with reading() as client:
        assert [(await client.read(f"data://{name}"))[0].text for name in ("text", "there")] == [SECRET, SECRET]
        assert (await client.read("data://bytes"))[0].blob == "AAE="


@pytest.mark.parametrize(("name", "code"), [("none", "NOT_FOUND"), ("latin", "INTERNAL_ERROR")])
async def test_a_file_that_cannot_be_read_is_explained_without_its_path(reading, tmp_path, name, code):
    async with reading() as client:
        with pytest.raises(MCPError) as raised:
            await client.read(f"data://{name}")
    error = raised.value.error
    assert error.data["code"] == code and error.data["remediation"] and error.data["uri"] == f"data://{name}"
    assert str(tmp_path) not in str(error)
