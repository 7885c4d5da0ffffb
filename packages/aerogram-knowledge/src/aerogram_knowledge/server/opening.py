"""Opening: the index and the API keys of a server, as its settings name them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from aerogram.cursor import CursorKeys
from aerogram.errors import Unavailable
from aerogram_knowledge.access.keys import Keys
from aerogram_knowledge.access.shared_documents import SharedDocuments, StoreDocument
from aerogram_knowledge.embedders import embedder_of
from aerogram_knowledge.hosting.addresses import is_url
from aerogram_knowledge.hosting.settings import Settings
from aerogram_knowledge.server.library import Library
from aerogram_knowledge.store import Store
from aerogram_knowledge.store.address import open_store
from aerogram_knowledge.store.cursor_keys import StoreCursorKeys

__all__ = ["open_cursor_keys", "open_documents", "open_keys", "open_library"]

log = logging.getLogger("aerogram.server")

PAUSE: Final = 2.0
"""Seconds between two attempts to reach a store that is not there yet."""
API_KEYS: Final = "keys/api"
CURSOR_KEYS: Final = "cursor-keys.json"


def open_library(settings: Settings, clock: Callable[[], float] = time.time) -> Library:
    """The index; a server that starts before its database waits for it."""
    while True:
        try:
            return Library(
                settings.where,
                embedder=settings.embedder,
                replicas=settings.replicas,
                withheld_licenses=settings.withheld_licenses,
                clock=clock,
            )
        except Unavailable as error:
            log.warning("the store cannot be reached, and is tried again: %s", error)
            time.sleep(PAUSE)


def open_keys(
    settings: Settings, documents: SharedDocuments | None = None, clock: Callable[[], float] = time.time
) -> Keys:
    """The API keys: in their file, or among the documents of a store."""
    if documents is None or not settings.has_shared_keys:
        return Keys(settings.keys, clock=clock)
    document = StoreDocument(documents, API_KEYS)
    document.refresh()  # from now on they are at hand, whatever becomes of the store
    return Keys(document=document, clock=clock)


def open_documents(settings: Settings) -> Store:
    """What the servers share in their store, for one who changes it and asks nothing else."""
    return open_store(settings.where, embedder_of(settings.embedder).dimensions)


def open_cursor_keys(settings: Settings) -> CursorKeys:
    """The keys that sign the cursors of an index."""
    return (
        StoreCursorKeys(open_documents(settings))
        if is_url(settings.where)
        else CursorKeys.at(settings.folder / CURSOR_KEYS)
    )
