"""Files that are replaced as a whole: whoever reads one sees the old content or the new, never a half."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

__all__ = ["PRIVATE", "replace_file"]

PRIVATE = 0o600


def replace_file(path: Path, content: bytes, mode: int = PRIVATE) -> None:
    """Write a file whole; a link stays a link, and what it leads to is replaced."""
    target = path.resolve()
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.chmod(mode)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
