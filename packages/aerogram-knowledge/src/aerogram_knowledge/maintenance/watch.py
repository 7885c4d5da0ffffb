"""Watching: an index that follows its folders.

Changes are told by the system where it can, and gathered for a moment, so that saving many files is one run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from aerogram.errors import MissingExtra
from aerogram_knowledge.ingest.ingest import IngestResult
from aerogram_knowledge.knowledge import Knowledge, knows

__all__ = ["watch"]

PAUSE_MS: Final = 400


def watch(
    knowledge: Knowledge,
    told: Callable[[IngestResult], None],
    stop: threading.Event | None = None,
    *,
    paths: Sequence[Path] = (),
) -> None:
    """Bring the index up to date whenever something below its roots changes, until `stop` is set.

    With `paths` nothing else is read than these, and none that the index has forgotten meanwhile.
    """
    try:
        import watchfiles
    except ImportError as error:
        raise MissingExtra("knowledge", "watchfiles") from error
    own = knowledge.folder.resolve() if knowledge.folder is not None else None
    for changes in watchfiles.watch(
        *knowledge.roots().values(), stop_event=stop, debounce=PAUSE_MS, raise_interrupt=True, yield_on_timeout=False
    ):
        if own is None or any(not Path(name).is_relative_to(own) for _, name in changes):
            known = [one for one in paths if one.exists() and knows(knowledge, one)]
            done = knowledge.ingest(*known) if known or not paths else IngestResult()
            if done.has_changed or done.problems:
                told(done)
