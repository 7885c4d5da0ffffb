"""Servers that nobody here wrote, with Aerogram on them, one of Node among them; and libraries that are too old."""

import subprocess
import sys
from pathlib import Path

import pytest

from adoption.environments import ROOT, Server, UnavailableError, furnish, install, servers
from adoption.trial import findings, run

CHOSEN = {"git": "texts", "alchemy": "texts of a database", "sqlite": "results of mcp 1.x", "memory": "JSON of Node"}
OLD = Server("old", "pypi", ("mcp==1.30.0", "fastmcp==2.14.7", "orjson==3.13.0"), (), {}, {}, {})
PROGRAM = """
from mcp.types import CallToolResult, TextContent
from aerogram import normalize_tool_result
from aerogram.normalize import ToolResult

made = CallToolResult(content=[TextContent(type="text", text="gone")], isError=True)
print(ToolResult.of(normalize_tool_result(made)).to_wire())
for name in ("fastmcp", "mcp"):
    try:
        __import__(f"aerogram.{name}")
    except ImportError as error:
        print(error)
"""


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return furnish(tmp_path_factory.mktemp("adoption").resolve())


def made(server):
    try:
        return install(server)
    except UnavailableError as why:
        pytest.skip(str(why))


@pytest.mark.parametrize("name", CHOSEN)
async def test_a_server_keeps_its_answers_and_gets_a_budget(work, name):
    before, after = await run(made(servers()[name]), work)
    assert [one for one, holds in findings(before, after).items() if not holds] == []
    assert before.tokens["big"] > 2_000 >= after.tokens["big"]


def test_libraries_that_are_too_old_are_told_so_in_one_line(tmp_path):
    environment = made(OLD).folder
    python = environment / "bin" / "python"
    package = Path(ROOT, "packages", "aerogram")
    plainly = ["--no-deps", "--no-build-isolation", "--no-compile"]
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", *plainly, "--target", tmp_path, package], check=True)
    found = subprocess.run(
        [python, "-c", PROGRAM], env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    result, fastmcp, sdk = found.stdout.splitlines()
    assert "'isError': True" in result
    assert "fastmcp>=4.0.11" in fastmcp and "2.14.7 is installed" in fastmcp and "aerogram wrap" in fastmcp
    assert "mcp>=2.2" in sdk and "1.30.0 is installed" in sdk and "aerogram wrap" in sdk
