"""Watching: an index that follows its folders.

Changes are told by the system where it can, and gathered for a moment, so that saving many files is one run.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, Final

from aerogram.errors import MissingExtra, NotFound
from aerogram_knowledge.ingest.ingest import IngestResult
from aerogram_knowledge.knowledge import Knowledge, knows

__all__ = ["keep_watching", "watch"]

PAUSE_MS: Final = 400
LOOK_AGAIN_MS: Final = 1_000
"""So often it is looked whether a root is still what is watched: the system follows one that was moved away."""
PAUSE: Final = 5.0
"""Seconds until it is tried again, where an index cannot be brought up to date at the moment."""


def keep_watching(
    find: Callable[[], Knowledge],
    told: Callable[[IngestResult], None],
    warn: Callable[[Exception], None],
    stop: threading.Event | None = None,
    *,
    paths: Sequence[Path] = (),
) -> None:
    """Watch the index that is found, and go on after whatever stands in the way for a while, such as a full disk."""
    stop, is_due = stop or threading.Event(), False
    while not stop.is_set():
        try:
            watch(find(), told, stop, paths=paths, is_due=is_due)
        except MissingExtra:
            raise
        except Exception as error:  # noqa: BLE001 - the index may be gone, and may come back
            warn(error)
            is_due = True  # what had changed before was not read
            stop.wait(PAUSE)


def watch(
    knowledge: Knowledge,
    told: Callable[[IngestResult], None],
    stop: threading.Event | None = None,
    *,
    paths: Sequence[Path] = (),
    is_due: bool = False,
) -> None:
    """Bring the index up to date whenever something below its roots changes, until `stop` is set.

    If it `is_due`, as where an earlier watch failed, that is done first, whether anything changes or not.

    With `paths` nothing else is read than these, and none that the index has forgotten meanwhile. What takes the place
    of a root is read and watched from then on.
    """
    stop = stop or threading.Event()
    own = knowledge.folder.resolve() if knowledge.folder is not None else None
    roots = list(knowledge.roots().values())
    while not stop.is_set():
        places = [_place(one) for one in roots]
        there = [root for root, place in zip(roots, places, strict=True) if place is not None]
        with contextlib.closing(_changes(there, stop)) as found:
            for changes in found:
                if is_due or any(own is None or not Path(name).is_relative_to(own) for _, name in changes):
                    is_due = False
                    _update(knowledge, told, paths)
                if [_place(one) for one in roots] != places:
                    break
        is_due = True  # when it is watched again, so that nothing falls between


def _place(root: Path) -> tuple[int, int] | None:
    """What stands at a path now, if anything does."""
    try:
        found = root.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _changes(roots: Sequence[Path], stop: threading.Event) -> Generator[set[tuple[Any, str]], None, None]:
    """What changes below some roots, and now and then nothing."""
    try:
        import watchfiles
    except ImportError as error:
        raise MissingExtra("knowledge", "watchfiles") from error
    if roots:
        options: dict[str, Any] = {"debounce": PAUSE_MS, "rust_timeout": LOOK_AGAIN_MS, "yield_on_timeout": True}
        with contextlib.suppress(FileNotFoundError):  # one has just gone
            yield from watchfiles.watch(*roots, stop_event=stop, raise_interrupt=True, **options)
            return
    while not stop.wait(LOOK_AGAIN_MS / 1000):
        yield set()


def _update(knowledge: Knowledge, told: Callable[[IngestResult], None], paths: Sequence[Path]) -> None:
    known = [one for one in paths if one.exists() and knows(knowledge, one)]
    try:
        done = knowledge.ingest(*known) if known or not paths else IngestResult()
    except NotFound:  # all of them are away, or one has just gone: when they are back, they are read
        return
    if done.has_changed or done.problems:
        told(done)
