"""A fleet: several real server processes that can be killed, paused and started again at once.

A nursery has loaded everything that a server needs and forks a process for each that is wanted, which then runs the
program's own command line. So a server starts in a fraction of a second and is still a process like any other.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from balancer import wait_for
from servers import find_free_port
from serving import clean_environment

NURSERY = """
import json, os, signal, sys, threading
import fastmcp, fastapi, uvicorn, numpy, tantivy, opentelemetry.sdk.metrics
import aerogram.cli, aerogram.server.serve, aerogram.server.routes, aerogram.server.tools, aerogram.knowledge.embed
from aerogram.cli import main
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("ready", flush=True)
for line in sys.stdin:
    wanted = json.loads(line)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        os.environ.update(wanted["environment"])
        log = os.open(wanted["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0), os.dup2(log, 1), os.dup2(log, 2)
        sys.argv = ["aerogram", *wanted["arguments"]]
        status = 1
        try:
            main()
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        finally:
            sys.stdout.flush()
            os._exit(status or 0)
    print(child, flush=True)
"""


@dataclass
class Member:
    """One server of a fleet: its process can end, its address stays."""

    fleet: Fleet
    arguments: list[str]
    log: Path
    port: int = field(default_factory=find_free_port)
    pid: int = 0
    prefix: list[str] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, *, wait: bool = True) -> None:
        self.pid = self.fleet.fork(["serve", *self.arguments, "--port", str(self.port)], self.log)
        if wait:
            self.wait_until_well()

    def wait_until_well(self) -> None:
        wait_for(self.is_well)

    def is_well(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/v1/health")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    @property
    def is_running(self) -> bool:
        try:
            return Path(f"/proc/{self.pid}/stat").read_text().split()[2] != "Z"
        except FileNotFoundError:
            return False

    def send(self, what: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, what)

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        wait_for(lambda: not self.is_running)

    def end(self) -> None:
        """As an orderly shutdown does."""
        self.send(signal.SIGTERM)
        wait_for(lambda: not self.is_running)


class Fleet:
    """Several servers, and where they come from."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.members: list[Member] = []
        self._nursery = subprocess.Popen(
            [sys.executable, "-c", NURSERY],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=folder,
            env=clean_environment(folder / "index"),
            text=True,
        )
        assert self._nursery.stdout.readline() == "ready\n"

    def fork(self, arguments: Sequence[str], log: Path, environment: dict[str, str] | None = None) -> int:
        wanted = {"arguments": list(arguments), "log": str(log), "environment": environment or {}}
        self._nursery.stdin.write(json.dumps(wanted) + "\n")
        self._nursery.stdin.flush()
        return int(self._nursery.stdout.readline())

    def add(self, *arguments: str, count: int = 1) -> list[Member]:
        """So many servers with these arguments; they start together."""
        added = [
            Member(self, list(arguments), self.folder / f"server-{len(self.members) + number}.log")
            for number in range(count)
        ]
        self.members += added
        for one in added:
            one.start(wait=False)
        for one in added:
            one.wait_until_well()
        return added

    @property
    def addresses(self) -> list[str]:
        return [one.address for one in self.members]

    @property
    def logs(self) -> str:
        return "".join(one.log.read_text() for one in self.members if one.log.exists())

    def close(self) -> None:
        for one in self.members:
            if one.pid and one.is_running:
                one.send(signal.SIGCONT)
                one.send(signal.SIGKILL)
        self._nursery.stdin.close()
        self._nursery.wait(10)
        self._nursery.stdout.close()


@contextmanager
def fleet_in(folder: Path) -> Iterator[Fleet]:
    """A fleet without servers yet."""
    fleet = Fleet(folder)
    try:
        yield fleet
    finally:
        fleet.close()
