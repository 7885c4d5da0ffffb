"""Readers: processes that read documents of strangers, so that none takes more than it may.

    run ──▶ a reader that is free ──▶ its answer                      it goes on to the next document
                    │
                    ├── the time is up, the answer is too long        it is killed, the source is refused
                    ├── the system refuses it more memory             it ends, the source is refused
                    └── somebody killed it                            another one reads the source, once

A reader is a Python of its own that knows nothing of the program that started it: it is no fork, and it does not
import the program. It gets a function by name with its arguments and sends back what the function gives, in classes
that the caller has named and no others. It ends when its pipe does, so it outlives nobody. It is in a session of its
own, so that Ctrl-C is for whoever started it.

The limit of memory is the system's and holds on Linux; those of time and of length hold everywhere.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import pickle
import struct
import sys
import threading
import traceback
import weakref
from collections.abc import Callable, Collection, Iterator
from importlib import import_module
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any, Final, cast

from aerogram.digest.limits import ReadLimits, UnreadableSource
from aerogram.errors import MissingExtra, Unavailable

if TYPE_CHECKING:
    from subprocess import Popen

__all__ = ["ReaderFailed", "run"]

STARTING: Final = 60.0
GRACE: Final = 1.0
"""Seconds for a reader to begin, and to say by itself that its time is up."""
MOST_READERS: Final = max(2, min(4, os.cpu_count() or 1))
ATTEMPTS: Final = 2
_LENGTH: Final = struct.Struct(">Q")
_READY: Final = b"ready"
_PROGRAM: Final = "import sys; sys.path[:] = sys.argv[1:]; from aerogram.digest.reader import serve; serve()"
_PLAIN: Final = {("datetime", name) for name in ("date", "datetime", "time", "timedelta", "timezone")}
# how a program ends that gets no memory and cannot do without, and how it ends when somebody wants it to
_OUT_OF_MEMORY: Final = ("SIGABRT", "SIGTRAP", "SIGILL")
_ENDED_BY_OTHERS: Final = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")


class ReaderFailed(Exception):
    """What went wrong in a reader that nobody foresaw: the name of the error, what it says, and where it was."""

    def __init__(self, name: str, message: str, where: str) -> None:
        self.name = name
        super().__init__(f"{name}: {message}")
        self.add_note(where)


def run(function: Callable[..., Any], *arguments: Any, limits: ReadLimits, size: int, returns: Collection[type]) -> Any:
    """What a function of a module gives, called in a reader; `size` is that of the source in bytes.

    `UnreadableSource` says which limit does not hold, and what the function itself finds unreadable. What it gives is
    plain data and of the classes in `returns`.
    """
    if _is_reader:
        return function(*arguments)
    seconds = limits.allowed_seconds(size)
    if seconds <= 0:
        raise limits.deadline().timeout_error()
    memory = limits.allowed_memory(size)
    request = pickle.dumps((function.__module__, function.__qualname__, arguments, seconds, memory), protocol=5)
    with _free(limits):
        return _read(_Task(request, seconds, memory, limits.allowed_answer(size)), returns)


def _read(task: _Task, returns: Collection[type]) -> Any:
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return _result(_ask(task), returns)
        except _Ended as end:
            if attempt == ATTEMPTS or end.how not in _ENDED_BY_OTHERS:
                raise end.refusal(task) from None
    raise AssertionError


def _ask(task: _Task) -> bytes:
    """The answer of a reader, which is free again; one that does not answer is gone."""
    reader = _take()
    try:
        answer = reader.ask(task)
    except BaseException:
        reader.end()
        raise
    if answer[:1] == b"+":
        _idle.append(reader)
    else:
        reader.end()
    return answer


def _result(answer: bytes, returns: Collection[type]) -> Any:
    known = {(one.__module__, one.__qualname__) for one in returns} | _PLAIN
    kind, *said = _Answer(BytesIO(memoryview(answer)[1:]), known).load()
    if kind == "unreadable":
        raise UnreadableSource(*said)
    if kind == "missing":
        raise MissingExtra(*said)
    if kind == "failed":
        raise ReaderFailed(*said)
    return said[0]


class _Answer(pickle.Unpickler):
    """What a reader sends. It read a stranger's document, so its word is good for data alone."""

    def __init__(self, file: BytesIO, known: Collection[tuple[str, str]]) -> None:
        super().__init__(file)
        self._known = known

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._known:
            raise pickle.UnpicklingError(f"{module}.{name} is not what a reader may send")
        return super().find_class(module, name)


class _Task:
    """A request, and what it may cost."""

    __slots__ = ("memory", "most", "request", "seconds")

    def __init__(self, request: bytes, seconds: float, memory: int, most: int) -> None:
        self.request = request
        self.seconds = seconds
        self.memory = memory
        self.most = most


class _Ended(Exception):
    """A reader ended before it answered; `how` is the signal that ended it, or what else did."""

    def __init__(self, how: str) -> None:
        self.how = how
        super().__init__(how)

    def refusal(self, task: _Task) -> UnreadableSource:
        """What that says of the source."""
        if self.how in ("late", "SIGXCPU"):
            return UnreadableSource("too_slow", f"the source took longer than {task.seconds:.3g} s to read")
        if self.how == "long":
            return UnreadableSource("too_large", f"what the source holds takes more than {task.most >> 20:,} MB")
        if self.how in _OUT_OF_MEMORY:
            return _too_much(task.memory)
        return UnreadableSource("broken", f"the source ends the process that reads it ({self.how})")


def _too_much(memory: int) -> UnreadableSource:
    return UnreadableSource("too_large", f"the source takes more than {memory >> 20:,} MB of memory to read")


class _Reader:
    """One process, from the side of the one who asks."""

    def __init__(self) -> None:
        self._process = _start()
        self._to, self._from = cast("IO[bytes]", self._process.stdin), cast("IO[bytes]", self._process.stdout)
        _readers.add(self)
        try:
            self._exchange(b"", STARTING, len(_READY))
        except _Ended as end:
            self.end()
            if end.how in _ENDED_BY_OTHERS:
                raise
            raise Unavailable(
                f"The process that reads documents does not start ({end.how})",
                remediation=f"See why `{sys.executable} -c 'import aerogram.digest.reader'` fails",
            ) from None
        except BaseException:
            self.end()
            raise

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, task: _Task) -> bytes:
        return self._exchange(_LENGTH.pack(len(task.request)) + task.request, task.seconds + GRACE, task.most)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):  # what was still to be sent is for nobody
            self._to.close()
        self._from.close()

    def forget(self) -> None:
        """Leave the process to the one who started it: this is a fork of that one."""
        self.close()
        self._process.returncode = 0

    def _exchange(self, request: bytes, seconds: float, most: int) -> bytes:
        """Send a request and take the answer; `_Ended` when there is none within the limits."""
        is_late = threading.Event()

        def kill() -> None:
            is_late.set()
            self._process.kill()

        alarm = threading.Timer(min(seconds, threading.TIMEOUT_MAX), kill)
        alarm.daemon = True
        alarm.start()
        try:
            if request:
                self._to.write(request)
                self._to.flush()
            answer = _receive(self._from, most)
        except OSError:  # it is gone, and so is its end of the pipe
            answer = None
        finally:
            alarm.cancel()
        if answer is None:
            raise _Ended("late" if is_late.is_set() else self._how())
        return answer

    def _how(self) -> str:
        """How the process ended."""
        import signal

        code = self._process.wait()
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _start() -> Popen[bytes]:
    import subprocess

    command = [sys.executable or "python", "-I", "-c", _PROGRAM, *map(str, sys.path)]
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, start_new_session=sys.platform != "win32")  # noqa: S603
    except OSError as error:
        raise Unavailable(f"No process can be started to read documents: {error.strerror}") from error


def _receive(pipe: IO[bytes], most: int) -> bytes | None:
    """The next message in a pipe; none when it has ended."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > most:
        raise _Ended("long")
    message = pipe.read(length)
    return message if len(message) == length else None


# -- the readers of this process

_idle: list[_Reader] = []
_readers: weakref.WeakSet[_Reader] = weakref.WeakSet()
_seats = threading.BoundedSemaphore(MOST_READERS)


@contextlib.contextmanager
def _free(limits: ReadLimits) -> Iterator[None]:
    """Wait until one reader more may be busy; waiting counts when the caller has said how long it may take."""
    seats = _seats
    if not seats.acquire(timeout=None if limits.seconds is None else min(limits.seconds, threading.TIMEOUT_MAX)):
        raise limits.deadline().timeout_error()
    try:
        yield
    finally:
        seats.release()


def _take() -> _Reader:
    """A reader with nothing to do: one that has read before, or a new one."""
    while True:
        try:
            reader = _idle.pop()
        except IndexError:
            break
        if reader.is_alive:
            return reader
        reader.end()
    return _Reader()


def _dismiss() -> None:
    """End the readers, because the program ends."""
    while _idle:
        _idle.pop().end()


def _begin_anew() -> None:
    """A fork has the pipes of readers that are not its own."""
    global _seats  # noqa: PLW0603  # whoever held a seat is not in this process
    _seats = threading.BoundedSemaphore(MOST_READERS)
    _idle.clear()
    for reader in _readers:
        reader.forget()
    _readers.clear()


atexit.register(_dismiss)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


# -- in a reader

_is_reader = False


def serve() -> None:
    """The life of a reader: it answers until its pipe ends, and ends at once when that happens."""
    import queue
    import signal

    global _is_reader  # noqa: PLW0603  # what is read here is read here
    _is_reader = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, answers = _own_pipes()
    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def listen() -> None:
        try:
            while (request := _receive(requests, sys.maxsize)) is not None:
                waiting.put(request)
        finally:
            os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    _send(answers, _READY)
    bounds = _Bounds()
    while True:
        try:
            answer = _answer(waiting.get(), bounds)
        except MemoryError:
            os.abort()  # as other libraries do
        bounds.lift()
        _send(answers, answer)


def _own_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """The pipes, where nothing that a library prints gets into them."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nothing, standard)
    os.close(nothing)
    return requests, answers


def _send(pipe: IO[bytes], message: bytes) -> None:
    pipe.write(_LENGTH.pack(len(message)))
    pipe.write(message)
    pipe.flush()


def _answer(request: bytes, bounds: _Bounds) -> bytes:
    """The answer to a request; its first byte says whether the reader can take another one."""
    memory = 0
    try:
        module, name, arguments, seconds, memory = pickle.loads(request)  # noqa: S301  # from whoever started this
        function = getattr(import_module(module), name)
        bounds.set(seconds, memory)
        answer = pickle.dumps(("done", function(*arguments)), protocol=5)
        return (b"+" if bounds.are_roomy(memory) else b"-") + answer
    except UnreadableSource as error:
        said: tuple[str, ...] = "unreadable", error.reason, str(error)
    except MissingExtra as error:
        said = "missing", error.extra, error.package
    except MemoryError:
        bounds.lift()  # what took the memory still has it
        refusal = _too_much(memory)
        return b"-" + pickle.dumps(("unreadable", refusal.reason, str(refusal)))
    except Exception as error:  # noqa: BLE001  # it is raised where the request came from
        said = "failed", type(error).__name__, str(error), traceback.format_exc()
    return b"+" + pickle.dumps(said)


class _Bounds:
    """What the system lets this process have, beyond what it had when it was ready."""

    def __init__(self) -> None:
        try:
            import resource
        except ImportError:  # Windows
            self._resource: Any = None
        else:
            self._resource = resource
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        self._baseline: int | None = None

    def set(self, seconds: float, memory: int) -> None:
        if self._resource is None:
            return
        resource = self._resource
        if math.isfinite(seconds):
            used = resource.getrusage(resource.RUSAGE_SELF)
            self._limit(resource.RLIMIT_CPU, math.ceil(used.ru_utime + used.ru_stime + seconds + 2 * GRACE))
        held = _measure_memory()
        if held is not None:
            self._baseline = self._baseline or held
            self._limit(resource.RLIMIT_DATA, self._baseline + memory)

    def lift(self) -> None:
        """Let the next request be received, however large it is."""
        if self._resource is not None:
            self._limit(self._resource.RLIMIT_DATA, sys.maxsize)

    def are_roomy(self, memory: int) -> bool:
        """Whether this process has given back most of what it took."""
        held = _measure_memory()
        return held is None or self._baseline is None or held - self._baseline < memory // 4

    def _limit(self, kind: int, most: int) -> None:
        _, highest = self._resource.getrlimit(kind)
        self._resource.setrlimit(kind, (most if highest < 0 else min(most, highest), highest))


def _measure_memory() -> int | None:
    """The bytes of memory that this process can write to and shares with nobody, where the system says."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123  # for each document: a path would cost more
            return int(file.read().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None
