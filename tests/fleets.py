"""A fleet: several real server processes that can be killed, paused and started again at once."""

from __future__ import annotations

import asyncio
import http.client
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from fastmcp import Client

from aerogram import client
from balancer import wait_for
from programs import nursery, run_program
from servers import find_free_port
from serving import SAMPLES, clean_environment


def ingest_samples(store: str, folder: Path) -> None:
    """Read the samples into a store, with the state of whoever works in the folder."""
    words = ["ingest", str(SAMPLES), "--store", store]
    run_program(words, check=True, cwd=folder, env=clean_environment(folder / "index"))


def leave_out_rows(address: str, ids: Sequence[int]) -> str:
    """Ask a server for more passages than there is room for: the hash of all of them."""

    async def ask() -> str:
        asked = {"chunk_ids": list(ids), "response_mode": "full", "max_tokens": 600}
        async with Client(f"{address}/mcp") as server:
            reply = client.read(await server.call_tool("get_chunks", asked))
        assert 0 < len(reply.data) < len(ids)
        assert reply.fidelity is not None and reply.fidelity.archive_hashes is not None
        return reply.fidelity.archive_hashes["data"]

    return asyncio.run(ask())


def _is_dead(pid: int) -> bool:
    """Whether a process has ended with all of its threads: until then it has its port, though its first one is gone."""
    try:
        is_over = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        return is_over and len([*Path(f"/proc/{pid}/task").iterdir()]) <= 1
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


class Fleet:
    """Several servers in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.members: list[Member] = []
        self.environment = {"AEROGRAM_STATE": str(folder / "state")}

    def fork(self, arguments: Sequence[str], log: Path) -> int:
        """The id of a process that runs the program, in a session of its own; what it says goes into a log."""
        environment = clean_environment(self.folder / "index") | self.environment
        with log.open("ab") as said, Path(os.devnull).open("rb") as nothing:
            streams = [one.fileno() for one in (nothing, said, said)]
            pid, end = nursery().fork(arguments, streams, self.folder, environment, session=True)
        os.close(end)
        return pid

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
def fleet_in(folder: Path) -> Iterator[Fleet]:
    """A fleet without servers yet."""
    fleet = Fleet(folder)
    try:
        yield fleet
    finally:
        fleet.close()
