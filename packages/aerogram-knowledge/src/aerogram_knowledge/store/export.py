"""Export: a stored document as it can be put into another store, with the words that it was found by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aerogram.digest.text import CanonicalText
from aerogram_knowledge.documents.chunks import Chunk
from aerogram_knowledge.documents.document import Document
from aerogram_knowledge.lexicon import index_terms
from aerogram_knowledge.store import DocumentEntry, StoredChunk

__all__ = ["entry_of"]


def entry_of(
    rows: Sequence[StoredChunk], vectors: Mapping[int, bytes] | None, text: tuple[str, bool] | None
) -> DocumentEntry:
    """The entry of a document from its chunks; `text` is its whole text and whether that has pages, if it is kept.

    A document without chunks has one row, which says nothing but what the document says. An index of words alone has no
    vectors.
    """
    first = rows[0]
    chunks = rows if first.total else ()
    pieces = [Chunk(one.index, one.header, one.text, one.start, one.end, one.tokens) for one in chunks]
    return DocumentEntry(
        Document(
            first.path,
            first.file,
            first.kind,
            first.title,
            _source(first, text),
            (),
            first.language,
            first.category,
            first.publisher,
            first.license,
            first.dated,
            first.url,
        ),
        pieces,
        [index_terms(one.text, first.language) for one in chunks],
        [index_terms(one.header, first.language) for one in chunks],
        [b"" if vectors is None else vectors[one.id] for one in chunks],
        first.fetched_at,
    )


def _source(first: StoredChunk, text: tuple[str, bool] | None) -> CanonicalText:
    """The document's text with the hash that it was stored with, also when its words stayed behind in a file."""
    extractor, _, version = first.extractor.rpartition("/")
    words, paged = text or ("", False)
    source = CanonicalText(words, extractor, version, paged)
    object.__setattr__(source, "hash", first.text_hash)
    return source
