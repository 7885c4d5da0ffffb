"""The state directory: where cursor keys and archives live when nobody said otherwise, and a lock for it."""

from __future__ import annotations

import hashlib
import os
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from math import inf
from pathlib import Path
from types import FrameType
from typing import Final

__all__ = [
    "can_write",
    "expand_home",
    "file_lock",
    "own_directory",
    "owner_of",
    "private_directory",
    "state_directory",
]

try:
    import fcntl
except ImportError:  # Windows has no flock; there a lock holds within one process only
    fcntl = None  # type: ignore[assignment]


def expand_home(path: str | os.PathLike[str]) -> Path:
    """A path in which `~` stands for a home; whose there is none is a `ValueError`."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise ValueError(f"there is no home at {os.fspath(path)}") from None


def private_directory(path: Path) -> Path:
    """The directory, made when absent, for its owner alone; it stays the same wherever the program goes from here."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path.absolute()


def state_directory() -> Path:
    """$AEROGRAM_STATE, or the user's own state directory."""
    chosen = os.environ.get("AEROGRAM_STATE")
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return private_directory(Path(chosen) if chosen else Path(home) / "aerogram")


_NAMELESS: Final[Iterator[int]] = count()


def owner_of(name: str | None) -> str:
    """Who keeps what: a program, and the server in it that has this name.

    A program is what was started, and the files of its own that lead to whoever asks: what a launcher starts, such as
    uvicorn, are programs apart. Servers without a name (None) are told apart by their order, which is mostly the same
    in each process of a program.
    """
    if name is None:
        place = next(_NAMELESS)
        name = f"\0{place}" if place else ""
    return " ".join(dict.fromkeys([str(Path(sys.argv[0]).absolute()), *_own_files(), name]))


_LIBRARIES: Final = tuple(
    f"{sysconfig.get_path(one)}{os.sep}" for one in ("stdlib", "platstdlib", "purelib", "platlib")
)
_HERE: Final = f"{Path(__file__).parent}{os.sep}"


def _own_files() -> list[str]:
    """The files of the program that are being run, from the first on; of a library alone, the one that called us."""
    frame: FrameType | None = sys._getframe(1)
    found = []
    while frame is not None:
        place = str(frame.f_globals.get("__file__") or frame.f_code.co_filename)
        if not place.startswith((_HERE, "<frozen")):
            found.append(str(Path(place).absolute()))
        frame = frame.f_back
    return [one for one in reversed(found) if not one.startswith(_LIBRARIES)] or found[:1]


def own_directory(kind: str, owner: str) -> Path:
    """The folder of one owner among the state of a kind, apart from what others keep."""
    return state_directory() / kind / hashlib.sha256(owner.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def can_write(folder: Path) -> bool:
    """Whether something can be written into a folder, or into the nearest one in which it could be made."""
    return os.access(next(one for one in (folder, *folder.absolute().parents) if one.exists()), os.W_OK | os.X_OK)


_NEXT_LOOK: Final = 0.002
"""Seconds after which a lock that somebody has is tried again; a holder mostly has it for a few times as long."""


@contextmanager
def file_lock(path: Path, *, within: float = inf) -> Iterator[None]:
    """Hold the lock file at `path`; a `TimeoutError` when whoever has it does not let go of it in so many seconds.

    The system frees it when its holder dies. One that is stopped keeps it, for as long as that lasts.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if fcntl is not None:
            _wait_for(descriptor, path, within)
        yield
    finally:
        os.close(descriptor)


def _wait_for(descriptor: int, path: Path, within: float) -> None:
    """Take a lock. The system can wait for one only without a limit, so it is tried again and again."""
    last = time.monotonic() + within
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= last:
                raise TimeoutError(f"somebody else holds {path}") from None
            time.sleep(_NEXT_LOOK)
        else:
            return
