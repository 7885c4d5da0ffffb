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
import threading
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
import aerogram.cli.program, aerogram_knowledge.server.serve, aerogram_knowledge.server.routes
import aerogram_knowledge.server.tools, aerogram_knowledge.embedders
import asyncpg, redis.asyncio, obstore, throttled, aerogram.limits.counters, aerogram.archive.s3, aerogram.archive.redis
import aerogram_knowledge.store.postgres.store, aerogram.serving.connection
import aerogram.dialects.knowledge_v1, aerogram.dialects.standard_v2, aerogram.dialects.response_v2
import key_value.aio.stores.filetree, key_value.aio.stores.redis, splintr, Stemmer, simsimd, griffe, h11, tokenizers
import uvicorn.lifespan.on, uvicorn.protocols.http.h11_impl, fastmcp.server.context, cachetools
from aerogram.cli.program import main
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("ready", flush=True)
for line in sys.stdin:
    wanted = json.loads(line)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        os.chdir(wanted["folder"])
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


def _is_dead(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@dataclass(eq=False)
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
        wait_for(lambda: self.is_well() or _is_dead(self.pid))
        assert self.is_running, self.log.read_text()[-2000:]

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
        return not _is_dead(self.pid)

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


class Nursery:
    """Where processes come from that run the program."""

    def __init__(self, folder: Path) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-c", NURSERY],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=folder,
            env=clean_environment(folder / "index"),
            text=True,
        )
        assert self._process.stdout.readline() == "ready\n"

    def fork(self, folder: Path, arguments: Sequence[str], log: Path, environment: dict[str, str]) -> int:
        """The id of a new process."""
        wanted = {"folder": str(folder), "arguments": list(arguments), "log": str(log), "environment": environment}
        with self._lock:
            self._process.stdin.write(json.dumps(wanted) + "\n")
            self._process.stdin.flush()
            return int(self._process.stdout.readline())

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()


class Fleet:
    """Several servers, and where they come from."""

    def __init__(self, folder: Path, nursery: Nursery) -> None:
        self.folder = folder
        self.members: list[Member] = []
        self.environment = {"AEROGRAM_STATE": str(folder / "state")}
        self._nursery = nursery

    def fork(self, arguments: Sequence[str], log: Path) -> int:
        keys = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
        return self._nursery.fork(self.folder, arguments, log, self.environment | keys)

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

    def run(self, *arguments: str) -> str:
        """What the program says, run to its end."""
        log = self.folder / f"run-{len(list(self.folder.glob('run-*')))}.log"
        pid = self.fork(arguments, log)
        wait_for(lambda: _is_dead(pid))
        return log.read_text()

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


@contextmanager
def fleet_in(folder: Path, nursery: Nursery) -> Iterator[Fleet]:
    """A fleet without servers yet."""
    fleet = Fleet(folder, nursery)
    try:
        yield fleet
    finally:
        fleet.close()
