"""The official conformance suite: from the local cache, or fetched into it once; skipped, visibly, without it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from node_packages import node_and_package

FOLDER = "conformance"
"""Its own folder: npm removes from a folder what it was not just asked for."""
PACKAGE = "@modelcontextprotocol/conformance"
VERSION = "0.2.0-alpha.12"
SERVER = Path(__file__).with_name("server.py")
STAMP = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z$")


@dataclass
class Suite:
    """The suite as a program."""

    command: list[str]

    def required(self, revision: str) -> set[str]:
        """The server scenarios that a revision of the specification requires."""
        listed = subprocess.run(
            [*self.command, "list", "--requirements", revision], capture_output=True, text=True, check=True, timeout=60
        ).stdout
        servers = listed.partition("Server scenarios")[2].partition("Client scenarios")[0]
        return set(re.findall(r"^\s+- (\S+)", servers, re.MULTILINE))

    def check(self, framework: str, state: str, revision: str, folder: Path) -> dict[str, dict[str, str]]:
        """The outcome of every check of every scenario against our server, or against a gateway before it."""
        with _serving(framework, state) as url:
            options = ["--url", url, "--requirements", revision, "-o", str(folder)]
            subprocess.run(
                [*self.command, "server", *options], capture_output=True, check=False, timeout=600, cwd=folder
            )
        return dict(_scenario(path) for path in folder.glob("*/checks.json"))

    def compare(self, framework: str, revision: str, folder: Path, other: str = "on") -> tuple[dict, dict]:
        """The outcomes of the required scenarios with Aerogram off, and on or in front."""
        for state in ("off", other):
            (folder / state).mkdir()
        with ThreadPoolExecutor(2) as pool:
            runs = [pool.submit(self.check, framework, one, revision, folder / one) for one in ("off", other)]
            found = [run.result() for run in runs]
        required = self.required(revision)
        off, on = ({name: checks for name, checks in one.items() if name in required} for one in found)
        return off, on


@contextmanager
def _serving(framework: str, state: str) -> Iterator[str]:
    """The address of a server with Aerogram `off` or `on`, or of a gateway `before` one."""
    words = [sys.executable, str(SERVER), framework, "off" if state == "before" else state]
    with _address(words, "stdout") as url:
        if state != "before":
            yield url
            return
        with _address([sys.executable, "-m", "aerogram", "wrap", "--quiet", "--listen", "0", url], "stderr") as own:
            yield own


@contextmanager
def _address(words: list[str], stream: str) -> Iterator[str]:
    """The address that a process prints."""
    process = subprocess.Popen(words, text=True, **{stream: subprocess.PIPE})
    out = getattr(process, stream)
    try:
        yield out.readline().split()[-1]
    finally:
        process.terminate()
        process.wait(60)
        out.close()


def _scenario(path: Path) -> tuple[str, dict[str, str]]:
    name = STAMP.sub("", path.parent.name).removeprefix("server-")
    checks = json.loads(path.read_text(encoding="utf-8"))
    return name, {f"{index}:{check['id']}": check["status"] for index, check in enumerate(checks)}


@pytest.fixture(scope="session")
def suite() -> Suite:
    node, modules = node_and_package(FOLDER, PACKAGE, VERSION)
    return Suite([node, str(modules / PACKAGE / "dist" / "index.js")])
