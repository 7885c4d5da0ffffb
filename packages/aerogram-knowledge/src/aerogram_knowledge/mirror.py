"""The mirror: an index that nobody can write to, seen through a folder in which something can be written.

Whoever opens an index takes locks, and signs cursors with a key that is kept beside it. So where the index is
read-only, all that is small is copied and may change, and all that is large is a link to where it is:

    cursor-keys.json, lists and stamps      copies
    rows.sqlite, segments of keywords       links

The mirror ends with whoever uses it.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Final

from aerogram.state import can_write

__all__ = ["Mirror"]

log = logging.getLogger("aerogram")

KEYWORDS: Final = "keywords"


class Mirror:
    """The mirror of an index in a folder."""

    def __init__(self, index: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="aerogram-mirror-"))
        self.close = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        log.warning("%s cannot be written, so it is read as it is, and a new key for cursors is not kept", index)
        _reflect(index, self.folder)
        if (index / KEYWORDS).is_dir():
            (self.folder / KEYWORDS).mkdir()
            _reflect(index / KEYWORDS, self.folder / KEYWORDS)

    @classmethod
    def if_needed(cls, index: Path) -> Mirror | None:
        """A mirror, if the index cannot be written."""
        return None if can_write(index) else cls(index)


def _reflect(source: Path, target: Path) -> None:
    for one in source.absolute().iterdir():
        if one.suffix == ".json":
            with contextlib.suppress(PermissionError):  # keys are for their owner; others make their own
                shutil.copyfile(one, target / one.name)
        elif one.is_file() and one.suffix != ".lock":
            (target / one.name).symlink_to(one)
