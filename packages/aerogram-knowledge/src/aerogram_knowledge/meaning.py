"""Meaning: the vector that a chunk is found by.

A passage rarely repeats what it is about: the headings above it and the rest of its document say so. So the vector of
a chunk leans towards both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from aerogram_knowledge.chunks import Chunk
from aerogram_knowledge.embed import Embedder, quantise

if TYPE_CHECKING:
    from aerogram_knowledge.embed import Matrix

__all__ = ["vectors_of"]

# tuned on the first half of the questions in bench/data/knowledge
HEADINGS: Final = 0.5
DOCUMENT: Final = 0.2


def vectors_of(embedder: Embedder, documents: Sequence[Sequence[Chunk]]) -> list[list[bytes]]:
    """The vectors of the chunks of some documents."""
    chunks = [chunk for document in documents for chunk in document]
    if not chunks:
        return [[] for _ in documents]
    own = embedder.embed([chunk.text for chunk in chunks])
    headers = list(dict.fromkeys(chunk.header for chunk in chunks))
    places = {header: place for place, header in enumerate(headers)}
    above = embedder.embed(headers)[[places[chunk.header] for chunk in chunks]]
    leaning = _unit(own + HEADINGS * above)
    found, start = [], 0
    for document in documents:
        part = leaning[start : start + len(document)]
        whole = _unit(part.sum(axis=0, keepdims=True))
        found.append([row.tobytes() for row in quantise(part + DOCUMENT * whole)])
        start += len(document)
    return found


def _unit(rows: Matrix) -> Matrix:
    import numpy as np

    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Matrix = (rows / np.where(lengths == 0, 1, lengths)).astype(np.float32)
    return unit
