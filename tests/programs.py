"""The program as people run it: a process of its own, with its own folder, environment and standard streams.

Its processes come from a nursery, which saves each of them the second that loading takes. Tests about how the program
starts, and about what it loads, start `PROGRAM` themselves. What somebody else starts, such as a client that is given
the command of its server, comes from there too by its `quick_command`.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any, Self

from mutants.imports import CHANGE, TRACE

PROGRAM = (sys.executable, "-m", "aerogram")
STARTER = Path(__file__).with_name("starter.py")
COLOURS = {"FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS"}


class Process:
    """A run of the program, with those parts of a `subprocess.Popen` that tests use."""

    def __init__(self, pid: int, end: int, streams: Sequence[IO[Any] | None]) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdin, self.stdout, self.stderr = streams
        self._end = open(end, "rb")  # noqa: SIM115 - until it has ended

    def poll(self) -> int | None:
        return self._wait(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._wait(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
        return code

    def _wait(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._end], [], [], timeout)[0]:
            self.returncode = int(self._end.read())
            self._end.close()
        return self.returncode

    def send_signal(self, what: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, what)

    def terminate(self) -> None:
        self.send_signal(15)

    def kill(self) -> None:
        self.send_signal(9)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        self.wait()


class Nursery:
    """Where processes come from that run the program."""

    def __init__(self, *modules: str, python: Sequence[str] = (sys.executable,), env: Mapping[str, str]) -> None:
        self._lock = threading.Lock()
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            program = [*python, "-P", str(Path(__file__).with_name("nursery.py")), str(theirs.fileno()), *modules]
            self._process = subprocess.Popen(
                program, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=env
            )
        assert self._requests.recv(100) == b"ready"

    def fork(
        self,
        arguments: Sequence[str],
        streams: Sequence[int],
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        *,
        session: bool = False,
        program: Sequence[str] = PROGRAM[1:],
    ) -> tuple[int, int]:
        """The id of a new process, and where its exit code can be read when it has one."""
        wanted = {
            "words": [*program, *arguments],
            "folder": str(folder or Path.cwd()),
            "environment": dict(os.environ if environment is None else environment),
            "session": session,
        }
        end, theirs = os.pipe()
        with self._lock:
            socket.send_fds(self._requests, [json.dumps(wanted).encode()], [*streams, theirs])
            os.close(theirs)
            return int(self._requests.recv(100)), end

    def close(self) -> None:
        self._requests.close()
        self._process.wait(60)


def _plain() -> dict[str, str]:
    """The environment without the colours that a library is told of when it is loaded, and without its threads."""
    kept = {name: value for name, value in os.environ.items() if name not in COLOURS}
    return {**kept, "OPENBLAS_NUM_THREADS": "1"}


@cache
def nursery() -> Nursery:
    """The one of this process, made when it is first needed."""
    found = Nursery(env=_plain())
    atexit.register(found.close)
    return found


def quick_command(*words: str, source: Nursery | None = None) -> list[str]:
    """The command of a Python program that starts in no time: a script, `-m` or `-c` as usual, and arguments.

    A process that is killed by force ends a moment after the one that stands for it, and is in a session of its own.
    """
    if _needs_an_interpreter(None):
        return [sys.executable, *words]
    return [sys.executable, "-IS", str(STARTER), _place_of_starters(source or nursery()), *words]


def quick_programs(folder: Path) -> str:
    """A search path on which `aerogram` starts in no time, wherever a shell is told to run it."""
    folder.mkdir(exist_ok=True)
    program = folder / "aerogram"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(quick_command("-m", "aerogram"))} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return os.pathsep.join([str(folder), str(Path(sys.executable).parent), os.environ["PATH"]])


@cache
def _place_of_starters(source: Nursery) -> str:
    """The socket at which those who stand for processes ask for them."""
    folder = tempfile.mkdtemp(prefix="aerogram-starters-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(f"{folder}/socket")
    listening.listen()
    threading.Thread(target=_serve_starters, args=[listening, source], daemon=True).start()
    return f"{folder}/socket"


def _serve_starters(listening: socket.socket, source: Nursery) -> None:
    while True:
        threading.Thread(target=_serve_starter, args=[listening.accept()[0], source], daemon=True).start()


def _serve_starter(starter: socket.socket, source: Nursery) -> None:
    """Fork the process that a starter wants; it does not outlive the starter."""
    with starter:
        message, streams, _, _ = socket.recv_fds(starter, 2**20, 3)
        if not message:
            return
        wanted = json.loads(message)
        pid, end = source.fork(
            [], streams, Path(wanted["folder"]), wanted["environment"], session=True, program=wanted["words"]
        )
        for stream in streams:
            os.close(stream)
        with os.fdopen(end, "rb"):
            with contextlib.suppress(ConnectionError):  # it has ended before it was answered
                socket.send_fds(starter, [str(pid).encode()], [end])
                starter.recv(1)
            if not select.select([end], [], [], 0)[0]:
                with contextlib.suppress(ProcessLookupError):  # it has ended just now
                    os.kill(pid, signal.SIGKILL)


def start_program(
    arguments: Sequence[str],
    *,
    program: Sequence[str] = PROGRAM[1:],
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.DEVNULL,
    stderr: int = subprocess.DEVNULL,
    text: bool = False,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    source: Nursery | None = None,
) -> Process | subprocess.Popen[Any]:
    """Start `aerogram` or another program of Python, from the usual nursery or another.

    A stream is a pipe, a file or nothing.
    """
    if source is None and _needs_an_interpreter(env):
        streams = {"stdin": stdin, "stdout": stdout, "stderr": stderr}
        return subprocess.Popen([sys.executable, *program, *arguments], **streams, text=text, cwd=cwd, env=env)
    with contextlib.ExitStack() as theirs:
        ends = [_two_ends(stream, theirs, is_input=not number) for number, stream in enumerate((stdin, stdout, stderr))]
        handed = [their for _, their in ends]
        pid, end = (source or nursery()).fork(arguments, handed, cwd, env, program=program)
    kind, encoding = ("", "utf-8") if text else ("b", None)
    ours = [our and os.fdopen(our, mode + kind, encoding=encoding) for mode, (our, _) in zip("wrr", ends, strict=True)]
    return Process(pid, end, ours)


def _needs_an_interpreter(env: Mapping[str, str] | None) -> bool:
    """Whether what it loads is changed or traced as well, or Python itself is told something."""
    told = (name for name, value in (env or {}).items() if name.startswith("PYTHON") and os.environ.get(name) != value)
    return CHANGE in os.environ or TRACE in os.environ or any(told)


def _two_ends(stream: int, closing: contextlib.ExitStack, *, is_input: bool) -> tuple[int | None, int]:
    """Our end of a stream, if we have one, and that of the process, which is closed when the process has it."""
    if stream >= 0:
        return None, stream
    if stream == subprocess.DEVNULL:
        their = os.open(os.devnull, os.O_RDWR)
        our = None
    else:
        reading, writing = os.pipe()
        our, their = (writing, reading) if is_input else (reading, writing)
    closing.callback(os.close, their)
    return our, their


def run_program(
    arguments: Sequence[str],
    *,
    input: str | bytes | None = None,
    text: bool = False,
    check: bool = False,
    timeout: float = 120,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    source: Nursery | None = None,
) -> subprocess.CompletedProcess[Any]:
    """Run `aerogram` with these arguments to its end: its exit code, and what it has written."""
    with _files(3) as (given, out, err):
        given.write(input.encode() if isinstance(input, str) else input or b"")
        given.seek(0)
        process = start_program(
            arguments, stdin=given.fileno(), stdout=out.fileno(), stderr=err.fileno(), cwd=cwd, env=env, source=source
        )
        try:
            code = process.wait(timeout)
        finally:
            process.kill()
            process.wait()
        said = [_read(one, text=text) for one in (out, err)]
    done = subprocess.CompletedProcess([*PROGRAM, *arguments], code, *said)
    if check:
        done.check_returncode()
    return done


@contextlib.contextmanager
def _files(count: int) -> Iterator[list[IO[bytes]]]:
    with contextlib.ExitStack() as opened:
        yield [opened.enter_context(tempfile.TemporaryFile()) for _ in range(count)]


def _read(file: IO[bytes], *, text: bool) -> str | bytes:
    file.seek(0)
    said = file.read()
    return said.decode() if text else said
