"""The official conformance suite: from the local cache, or fetched into it once; skipped, visibly, without it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
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
        """The outcome of every check of every scenario against our server."""
        server = subprocess.Popen([sys.executable, str(SERVER), framework, state], stdout=subprocess.PIPE, text=True)
        try:
            url = server.stdout.readline().strip()
            options = ["--url", url, "--requirements", revision, "-o", str(folder)]
            subprocess.run(
                [*self.command, "server", *options], capture_output=True, check=False, timeout=600, cwd=folder
            )
        finally:
            server.terminate()
            server.wait(60)
            server.stdout.close()
        return dict(_scenario(path) for path in folder.glob("*/checks.json"))

    def compare(self, framework: str, revision: str, folder: Path) -> tuple[dict, dict]:
        """The outcomes of the required scenarios with Aerogram off and on."""
        for state in ("off", "on"):
            (folder / state).mkdir()
        with ThreadPoolExecutor(2) as pool:
            runs = [pool.submit(self.check, framework, one, revision, folder / one) for one in ("off", "on")]
            found = [run.result() for run in runs]
        required = self.required(revision)
        off, on = ({name: checks for name, checks in one.items() if name in required} for one in found)
        return off, on


def _scenario(path: Path) -> tuple[str, dict[str, str]]:
    name = STAMP.sub("", path.parent.name).removeprefix("server-")
    checks = json.loads(path.read_text(encoding="utf-8"))
    return name, {f"{index}:{check['id']}": check["status"] for index, check in enumerate(checks)}


@pytest.fixture(scope="session")
def suite() -> Suite:
    node, modules = node_and_package(FOLDER, PACKAGE, VERSION)
    return Suite([node, str(modules / PACKAGE / "dist" / "index.js")])
