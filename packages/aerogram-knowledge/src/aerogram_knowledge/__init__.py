"""The knowledge index: folders of documents that an agent can search, page through, digest and cite.

Knowledge       the index: ingest, search, chunks, vendor, digest
Embedder        what turns texts into vectors; `StaticEmbedder` is the one that ships
Store           what keeps chunks, vectors and the vendor graph; `EmbeddedStore` is a folder, `PostgresStore` a database
Filters         which documents a search looks at
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aerogram_knowledge.embedders import Embedder, NoEmbedder, StaticEmbedder
    from aerogram_knowledge.filters import Filters
    from aerogram_knowledge.ingest.ingest import IngestResult
    from aerogram_knowledge.knowledge import Knowledge
    from aerogram_knowledge.store import Store
    from aerogram_knowledge.store.embedded import EmbeddedStore
    from aerogram_knowledge.store.postgres.store import PostgresStore

__all__ = [
    "EmbeddedStore",
    "Embedder",
    "Filters",
    "IngestResult",
    "Knowledge",
    "NoEmbedder",
    "PostgresStore",
    "StaticEmbedder",
    "Store",
]

# the verbs of the command line live in this package too, and must not wait for its libraries
_LATER = {
    "EmbeddedStore": "aerogram_knowledge.store.embedded",
    "Embedder": "aerogram_knowledge.embedders",
    "Filters": "aerogram_knowledge.filters",
    "IngestResult": "aerogram_knowledge.ingest.ingest",
    "Knowledge": "aerogram_knowledge.knowledge",
    "NoEmbedder": "aerogram_knowledge.embedders",
    "PostgresStore": "aerogram_knowledge.store.postgres.store",
    "StaticEmbedder": "aerogram_knowledge.embedders",
    "Store": "aerogram_knowledge.store",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'aerogram_knowledge' has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
