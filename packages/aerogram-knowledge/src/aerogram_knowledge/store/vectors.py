"""Vectors: how close every chunk is in meaning to a query, from a matrix of signed bytes.

The whole matrix is scanned for each query, in about a millisecond for a hundred thousand chunks: nothing is
approximate, nothing has to be trained, and a filter is a mask. The bytes live in the rows; the matrix is a copy of
them in memory that is mended when they change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from aerogram.errors import MissingExtra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from aerogram_knowledge.store import Ids, Numbers

__all__ = ["Matrix"]


@dataclass(frozen=True)
class Matrix:
    """The vectors of all chunks in ascending order of their ids, and the document of each."""

    ids: Ids
    documents: Ids
    rows: NDArray[np.int8]
    inverse: Numbers

    @classmethod
    def of(cls, ids: Sequence[int], documents: Sequence[int], vectors: Sequence[bytes], dimensions: int) -> Matrix:
        """The matrix of some rows, in ascending order of their ids."""
        import numpy as np

        rows = np.frombuffer(b"".join(vectors), np.int8).reshape(len(ids), dimensions)
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.int32).astype(np.float32))
        # a text that says nothing is close to nothing
        inverse = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        return cls(np.array(ids, np.int64), np.array(documents, np.int64), rows, inverse)

    def with_changes(self, removed: Sequence[int], newer: Matrix) -> Matrix:
        """The matrix after a change: without what was removed or made anew, and with what is new."""
        import numpy as np

        kept = ~np.isin(self.ids, np.array([*removed, *newer.ids], np.int64))
        ids = np.concatenate([self.ids[kept], newer.ids])
        order = np.argsort(ids, kind="stable")
        return Matrix(
            ids[order],
            np.concatenate([self.documents[kept], newer.documents])[order],
            np.concatenate([self.rows[kept], newer.rows])[order],
            np.concatenate([self.inverse[kept], newer.inverse])[order],
        )

    def places(self, ids: Ids) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Where these ids stand, and which of them are there at all."""
        import numpy as np

        places = self._table[np.where(ids < len(self._table), ids, 0)]
        return places, places >= 0

    @cached_property
    def _table(self) -> NDArray[np.int32]:
        """The place of every id, -1 for none. Ids are given one after another, so the table has few gaps."""
        import numpy as np

        table = np.full(int(self.ids[-1]) + 1 if len(self.ids) else 1, -1, np.int32)
        table[self.ids] = np.arange(len(self.ids), dtype=np.int32)
        return table

    def closeness(self, vector: bytes) -> Numbers:
        """The cosine between a vector and every chunk."""
        import numpy as np

        asked = np.frombuffer(vector, np.int8)
        length = float(np.linalg.norm(asked.astype(np.float32)))
        if not length or not len(self.ids):
            return np.zeros(len(self.ids), np.float32)
        close: Numbers = np.asarray(_simd().cdist(asked[None], self.rows, "dot", out_dtype="float32"))[0]
        close *= self.inverse
        close /= length
        return close


def _simd() -> Any:
    try:
        import simsimd
    except ImportError as error:
        raise MissingExtra("knowledge", "simsimd") from error
    return simsimd
