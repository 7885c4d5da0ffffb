"""Embedders: texts to vectors, so that closeness in meaning can be measured.

`StaticEmbedder` ships with the package and works offline: the mean of its pieces' vectors, as signed bytes. Any other
object with the same four members takes its place by setting; its name and dimension are remembered by the index.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, runtime_checkable

from aerogram.errors import MissingExtra, ValidationFailed
from aerogram_knowledge.documents.chunks import Chunk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix: TypeAlias = NDArray[np.float32]
    Bytes: TypeAlias = NDArray[np.int8]

__all__ = ["Embedder", "NoEmbedder", "StaticEmbedder", "default_embedder", "quantise", "vectors_of"]

BATCH: Final = 512
AT_ONCE: Final = 4_096
"""So many chunks are embedded at once; of a large file there are very many."""
FEW: Final = 32
LONGEST_TEXT: Final = 20_000
"""Characters of one text that are looked at; chunks are far shorter."""
REMEMBERED: Final = 1_000_000
"""Characters of words whose pieces are remembered: most words come again and again."""

_WORD: Final = re.compile(r"[^\W_]+")


@runtime_checkable
class Embedder(Protocol):
    """Anything that turns texts into vectors of one length."""

    @property
    def name(self) -> str:
        """What it is called; an index made with another one is not searched with this one."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of its vectors; 0 for none."""
        ...

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One row of 32-bit floats for each text; a row of zeros for a text that says nothing."""
        ...

    def coverage(self, text: str) -> float:
        """The share of a text, from 0 to 1, that it has vectors for."""
        ...


class NoEmbedder:
    """For an index of words alone."""

    name = "none"
    dimensions = 0

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Rows without columns."""
        import numpy as np

        return np.zeros((len(texts), 0), np.float32)

    def coverage(self, text: str) -> float:  # noqa: ARG002  # the protocol names it
        """Nothing is known."""
        return 0.0


class StaticEmbedder:
    """The model in a folder of three files; see the README beside the shipped one."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._tokenizer, np = _libraries(folder)
        self._vectors = np.asarray(np.load(folder / "vectors.npy", mmap_mode="r"))
        self._scales = np.load(folder / "scales.npy")
        self._unknown = self._tokenizer.token_to_id("[UNK]")
        self._known: dict[str, list[int]] = {}
        self._characters = 0
        self.dimensions = int(self._vectors.shape[1])

    def embed(self, texts: Sequence[str]) -> Matrix:
        """The mean of each text's pieces, at length one."""
        import numpy as np

        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), BATCH):
            encoded = self._encode(texts[start : start + BATCH])
            for place, pieces in enumerate(encoded, start):
                if len(pieces):
                    rows[place] = self._scales[pieces] @ self._vectors[pieces]
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows /= np.where(lengths == 0, 1, lengths)
        return rows

    def coverage(self, text: str) -> float:
        """How whole the words of a text are in the vocabulary: one that falls to pieces is hardly known."""
        found = self._tokenizer.encode(text[:LONGEST_TEXT], add_special_tokens=False)
        pieces = [one for one in found.tokens if one.lstrip("#").isalnum() or one == "[UNK]"]
        known = len(_WORD.findall(text)) - found.ids.count(self._unknown)
        return min(1.0, max(0, known) / len(pieces)) if pieces else 0.0

    def _encode(self, texts: Sequence[str]) -> list[Any]:
        """The pieces of each text; no piece reaches over a blank, so each word is taken apart once."""
        import numpy as np

        if self._characters > REMEMBERED:
            self._known, self._characters = {}, 0
        known = self._known  # another thread may begin anew
        said = [text[:LONGEST_TEXT].split() for text in texts]
        new = [word for word in set(chain.from_iterable(said)) if word not in known]
        for word, found in zip(new, self._take_apart(new), strict=True):
            known[word] = [piece for piece in found.ids if piece != self._unknown]
        self._characters += sum(map(len, new))
        return [np.fromiter(chain.from_iterable(map(known.__getitem__, words)), np.int64) for words in said]

    def _take_apart(self, words: Sequence[str]) -> Any:
        """What the tokenizer makes of words; for a few, starting its threads would take longer than the work."""
        if len(words) > FEW:
            return self._tokenizer.encode_batch_fast(words, add_special_tokens=False)
        return [self._tokenizer.encode(word, add_special_tokens=False) for word in words]


def quantise(rows: Matrix) -> Bytes:
    """Each row as signed bytes that point in the same direction."""
    import numpy as np

    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0)
    return np.round(rows * (127 / np.where(largest == 0, 1, largest))).astype(np.int8)


@lru_cache(maxsize=1)
def default_embedder() -> StaticEmbedder:
    """The embedder that ships with the package."""
    return StaticEmbedder(Path(str(files("aerogram_knowledge") / "model")), "minilm-static-256")


def embedder_of(setting: str | Embedder | None) -> Embedder:
    """The embedder that a setting means: nothing for the shipped one, `none`, a folder of its form, or an object."""
    if setting is None or setting == "default":
        return default_embedder()
    if isinstance(setting, str):
        if setting == "none":
            return NoEmbedder()
        folder = Path(setting)
        if not (folder / "vectors.npy").is_file():
            raise ValidationFailed(
                f"There is no embedding model at {setting!r}",
                remediation="Name 'default', 'none', or a folder with vectors.npy, scales.npy and tokenizer.json",
            )
        return StaticEmbedder(folder, folder.name)
    return setting


def _libraries(folder: Path) -> tuple[Any, Any]:
    try:
        import numpy as np
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtra("knowledge", "tokenizers") from error
    return Tokenizer.from_file(str(folder / "tokenizer.json")), np


# tuned on the first half of the questions in bench/data/knowledge
HEADINGS: Final = 0.5
DOCUMENT: Final = 0.2


def vectors_of(embedder: Embedder, documents: Sequence[Sequence[Chunk]]) -> list[list[bytes]]:
    """The vectors of the chunks of some documents."""
    import numpy as np

    chunks = [chunk for document in documents for chunk in document]
    if not chunks:
        return [[] for _ in documents]
    headers = list(dict.fromkeys(chunk.header for chunk in chunks))
    places = {header: place for place, header in enumerate(headers)}
    above = embedder.embed(headers)
    leaning = np.empty((len(chunks), embedder.dimensions), np.float32)
    for start in range(0, len(chunks), AT_ONCE):
        some = chunks[start : start + AT_ONCE]
        own = embedder.embed([chunk.text for chunk in some])
        leaning[start : start + AT_ONCE] = _unit(own + HEADINGS * above[[places[chunk.header] for chunk in some]])
    found, first = [], 0
    for document in documents:
        part = leaning[first : first + len(document)]
        whole = DOCUMENT * _unit(part.sum(axis=0, keepdims=True))
        several = (quantise(part[start : start + AT_ONCE] + whole) for start in range(0, len(part), AT_ONCE))
        found.append([row.tobytes() for rows in several for row in rows])
        first += len(document)
    return found


def _unit(rows: Matrix) -> Matrix:
    import numpy as np

    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Matrix = (rows / np.where(lengths == 0, 1, lengths)).astype(np.float32)
    return unit
