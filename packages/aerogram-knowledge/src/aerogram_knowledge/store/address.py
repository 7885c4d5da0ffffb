"""An address: where a store is. A folder for the embedded one, a URL for PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from aerogram.errors import ValidationFailed
from aerogram_knowledge.store import Store
from aerogram_knowledge.store.embedded import EmbeddedStore

__all__ = ["is_url", "open_store"]

SCHEMES: Final = ("postgresql", "postgres")


def is_url(where: str | os.PathLike[str]) -> bool:
    """Whether a store is behind a URL; one of an unknown kind is refused."""
    scheme, separator, _ = os.fspath(where).partition("://")
    if not separator:
        return False
    if scheme.lower() not in SCHEMES:
        raise ValidationFailed(
            f"There is no store for {scheme}://", remediation="Name a folder, or postgresql://user@host/database"
        )
    return True


def open_store(where: str | os.PathLike[str], dimensions: int, *, replicas: Sequence[str] = ()) -> Store:
    """The store at an address, made when absent; `replicas` are URLs of copies of a PostgreSQL that may be read."""
    if is_url(where):
        from aerogram_knowledge.store.postgres.store import PostgresStore

        return PostgresStore(os.fspath(where), dimensions, replicas=replicas)
    if replicas:
        raise ValidationFailed("A folder has no replicas", remediation="Leave them out, or use postgresql://…")
    return EmbeddedStore(Path(where), dimensions)
