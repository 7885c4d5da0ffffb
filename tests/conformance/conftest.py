"""The official conformance suite: from the local cache, or fetched into it once; skipped, visibly, without it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from node_packages import node_and_package
from programs import quick_command

FOLDER = "conformance"
"""Its own folder: npm removes from a folder what it was not just asked for."""
PACKAGE = "@modelcontextprotocol/conformance"
VERSION = "0.2.0-alpha.12"
SERVER = Path(__file__).with_name("server.py")
Outcomes = dict[str, dict[str, str]]
STAMP = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z$")


@dataclass
class Suite:
    """The suite as a program."""

    command: list[str]
    running: ExitStack
    addresses: dict[tuple[str, str], str] = field(default_factory=dict)
    """Where servers are, by framework and state, once they run."""
    without: dict[tuple[str, str], Outcomes] = field(default_factory=dict)
    """What was found with Aerogram off, by framework and revision, once it is known."""

    def required(self, revision: str) -> set[str]:
        """The server scenarios that a revision of the specification requires."""
        listed = subprocess.run(
            [*self.command, "list", "--requirements", revision], capture_output=True, text=True, check=True, timeout=60
        ).stdout
        servers = listed.partition("Server scenarios")[2].partition("Client scenarios")[0]
        return set(re.findall(r"^\s+- (\S+)", servers, re.MULTILINE))

    def address(self, framework: str, state: str) -> str:
        """Where a server with Aerogram `off` or `on` is, or a gateway `before` one; each is started once."""
        if (framework, state) not in self.addresses:
            if state == "before":
                before = ["--quiet", "--listen", "0", self.address(framework, "off")]
                started = _started(quick_command("-m", "aerogram", "wrap", *before), "stderr")
            else:
                started = _started(quick_command(str(SERVER), framework, state), "stdout")
            self.addresses[framework, state] = self.running.enter_context(started)
        return self.addresses[framework, state]

    def check(self, url: str, revision: str, folder: Path) -> Outcomes:
        """The outcome of every check of every scenario against what is at an address."""
        folder.mkdir()
        options = ["--url", url, "--requirements", revision, "-o", str(folder)]
        subprocess.run([*self.command, "server", *options], capture_output=True, check=False, timeout=600, cwd=folder)
        return dict(_scenario(path) for path in folder.glob("*/checks.json"))

    def compare(self, framework: str, revision: str, folder: Path, other: str = "on") -> tuple[dict, dict]:
        """The outcomes of the required scenarios with Aerogram off, and on or in front."""
        states = [other] if (framework, revision) in self.without else ["off", other]
        urls = {one: self.address(framework, one) for one in states}
        with ThreadPoolExecutor(2) as pool:
            runs = {one: pool.submit(self.check, url, revision, folder / one) for one, url in urls.items()}
        if "off" in runs:
            self.without[framework, revision] = runs["off"].result()
        required = self.required(revision)
        found = self.without[framework, revision], runs[other].result()
        off, on = ({name: checks for name, checks in one.items() if name in required} for one in found)
        return off, on


@contextmanager
def _started(words: list[str], stream: str) -> Iterator[str]:
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
def suite() -> Iterator[Suite]:
    node, modules = node_and_package(FOLDER, PACKAGE, VERSION)
    with ExitStack() as running:
        yield Suite([node, str(modules / PACKAGE / "dist" / "index.js")], running)
