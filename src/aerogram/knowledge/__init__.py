"""The knowledge index: folders of documents that an agent can search, page through, digest and cite.

Knowledge       the index: ingest, search, chunks, vendor, digest
Embedder        what turns texts into vectors; `StaticEmbedder` is the one that ships
Store           what keeps chunks, vectors and the vendor graph; `EmbeddedStore` is a folder
Filters         which documents a search looks at
"""

from aerogram.knowledge.embed import Embedder, NoEmbedder, StaticEmbedder
from aerogram.knowledge.filters import Filters
from aerogram.knowledge.ingest import Ingested
from aerogram.knowledge.knowledge import Knowledge
from aerogram.knowledge.store import Store
from aerogram.knowledge.store.embedded import EmbeddedStore

__all__ = ["EmbeddedStore", "Embedder", "Filters", "Ingested", "Knowledge", "NoEmbedder", "StaticEmbedder", "Store"]
