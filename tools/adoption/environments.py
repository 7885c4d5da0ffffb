"""Environments: one for each server, with the versions that are written down, made once and kept in `.cache`."""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache" / "adoption"
SERVERS = Path(__file__).with_name("servers.toml")
PATIENCE = 600


class UnavailableError(RuntimeError):
    """A server cannot be had here: no network, or no Node."""


@dataclass(frozen=True)
class Server:
    """A server: where it comes from, how it is started, and what it is asked."""

    name: str
    kind: str
    needs: tuple[str, ...]
    command: tuple[str, ...]
    small: dict[str, Any]
    big: dict[str, Any]
    failure: dict[str, Any]
    before: tuple[dict[str, Any], ...] = ()
    more: tuple[dict[str, Any], ...] = ()
    """Further calls with right answers, each so many `times`, with the number of the time in the place of {n}."""
    env: dict[str, str] = field(default_factory=dict)
    is_stateful: bool = False
    """Whether the same call gives another answer each time."""

    @property
    def folder(self) -> Path:
        """Where its environment is."""
        return CACHE / "-".join(self.needs).replace("/", "-").replace("@", "").replace("=", "")

    @property
    def is_node(self) -> bool:
        """Whether it is a program of Node."""
        return self.kind == "npm"

    def place(self, work: Path, given: Any) -> Any:
        """What was written down, with the folders of this machine in it."""
        if isinstance(given, str):
            told = given.replace("{work}", str(work)).replace("{env}", str(self.folder))
            return told.replace("{report}", _report()) if "{report}" in told else told
        if isinstance(given, dict):
            return {name: self.place(work, one) for name, one in given.items()}
        return [self.place(work, one) for one in given] if isinstance(given, (list, tuple)) else given


def servers() -> dict[str, Server]:
    """All servers, by name."""
    listed = tomllib.loads(SERVERS.read_text(encoding="utf-8"))
    return {name: Server(name, **{**said, "needs": tuple(said["needs"])}) for name, said in listed.items()}


def install(server: Server) -> Server:
    """The server with its environment, fetched if it is not there; by whichever process comes first."""
    server.folder.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{server.folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        mark = server.folder / ".ready"
        if not mark.exists():
            for step in _npm(server) if server.is_node else _pip(server):
                _run(step)
            mark.touch()
    return server


def _pip(server: Server) -> list[list[str]]:
    python = str(server.folder / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    return [
        [sys.executable, "-m", "venv", "--without-pip", str(server.folder)],
        [*pip, "install", "--quiet", "--no-compile", *server.needs],
    ]


def _npm(server: Server) -> list[list[str]]:
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise UnavailableError("node and npm are not installed")
    return [[npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(server.folder), *server.needs]]


def _run(step: list[str]) -> None:
    try:
        subprocess.run(step, check=True, capture_output=True, text=True, timeout=PATIENCE)  # noqa: S603 - written down here
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"{step[-1]} cannot be fetched: {str(error.stderr or error)[-200:]}") from error


def furnish(work: Path) -> Path:
    """A folder with what the servers are asked about: files, a repository, a database."""
    work.mkdir(parents=True, exist_ok=True)
    (work / "report.txt").write_text(_report(), encoding="utf-8")
    (work / "small.txt").write_text("A short note.\nIn two lines.\n", encoding="utf-8")
    (work / "server.log").write_text(_log(), encoding="utf-8")
    (work / "states.json").write_text(_states(), encoding="utf-8")
    for number in range(200):
        folder = work / "tree" / f"part-{number % 10}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"file-{number:03}.md").write_text(f"# File {number}\n", encoding="utf-8")
    _repository(work / "repository")
    _database(work / "rows.db")
    (work / "orders.csv").write_text(
        "id,customer,note\n" + "".join(f"{n},customer {n % 40},note {n} and some words\n" for n in range(400)),
        encoding="utf-8",
    )
    entities = (
        f'{{"type":"entity","name":"entity {n}","entityType":"thing","observations":["seen {n} times"]}}'
        for n in range(300)
    )
    (work / "memory.jsonl").write_text("\n".join(entities), encoding="utf-8")
    return work


def _report() -> str:
    return "\n\n".join(f"Section {n}\n\n" + f"In part {n} we measured {n * 7} samples. " * 12 for n in range(120))


def _log() -> str:
    """What a server has written down, errors among it."""
    lines = (f"2026-01-01T00:00:{n:02} {'ERROR disk is full' if n % 7 == 0 else 'INFO done'}" for n in range(60))
    return "\n".join(lines)


def _states() -> str:
    """How some jobs went; none of that is an answer that failed."""
    return json.dumps([{"job": n, "status": 500 if n % 5 == 0 else 200, "error": None} for n in range(20)])


def _repository(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    if (folder / ".git").exists():
        return

    def git(*words: str, given: str = "") -> None:
        command = [shutil.which("git") or "git", *words]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, input=given.encode())  # noqa: S603 - git

    git("init", "-q", "-b", "main")
    git("fast-import", "--quiet", given="".join(map(_commit, range(120))))
    git("reset", "-q", "--hard")


def _commit(number: int) -> str:
    """A commit as git reads many at once; all are made in the first second of 2026."""
    message = f"Change line {number} of the notes, because it was wrong\n"
    notes = f"# Notes\n\nLine {number}\n"
    return (
        "commit refs/heads/main\n"
        "committer Ann <ann@example.org> 1767225600 +0000\n"
        f"data {len(message)}\n{message}"
        f"M 100644 inline notes.md\ndata {len(notes)}\n{notes}\n"
    )


def _database(path: Path) -> None:
    import sqlite3

    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as database:
        database.execute("create table orders (id integer primary key, customer text, total real, note text)")
        rows = [(n, f"customer {n % 40}", n * 1.25, f"note {n} " + "and some words " * 6) for n in range(1, 601)]
        database.executemany("insert into orders values (?, ?, ?, ?)", rows)
