"""Stores: where chunks, their vectors and the vendor graph live. Peers behind one protocol.

embedded    a folder: SQLite for the rows, tantivy for words, a matrix of bytes for meaning
postgres    a database that many servers share: tables for everything, pgvector for meaning
address     which of them a setting means
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from aerogram.digest.text import CanonicalText
from aerogram.errors import ValidationFailed
from aerogram_knowledge.documents.chunks import Chunk
from aerogram_knowledge.documents.document import Document
from aerogram_knowledge.filters import Filters
from aerogram_knowledge.lexicon import QueryTerm

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers: TypeAlias = NDArray[np.float32]
    Ids: TypeAlias = NDArray[np.int64]

__all__ = [
    "OF_THE_STORE",
    "SAME_NAME",
    "SETTLED",
    "Candidates",
    "DocumentEntry",
    "FileState",
    "Graph",
    "Identity",
    "MetaChange",
    "Moment",
    "Store",
    "StoreHealth",
    "StoredChunk",
    "check_graph",
    "with_source",
]

SAME_NAME: Final = "another file has a document of the same name"
"""Such as a file `a.jsonl#b` and the record `b` of `a.jsonl`."""

MOST_RECORDS: Final = 250_000
MOST_OF_GRAPH: Final = 64 * 1024 * 1024
"""Records of the vendor graph of an index, and characters of them as JSON: a server has all of it in its memory."""

OF_THE_STORE: Final[Mapping[str, Any]] = {"store": "index"}
"""The details of an error about the store itself, which callers of a server can do nothing about."""

SETTLED: Final = "settled"
"""What a store remembers as long as all that follows from its documents is there: it is forgotten with each change."""

MetaChange: TypeAlias = Callable[[Mapping[str, str]], Mapping[str, str]]
"""What a store is to remember of itself from now on, by what it remembers in the same step."""


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it was when it was last read; `problem` says why it could not be, `note` what of it could not.

    `reader` is the version of whatever read it: what another one has read is read again.
    """

    path: str
    size: int
    changed_ns: int
    checksum: str
    problem: str | None = None
    note: str | None = None
    reader: str = ""


@dataclass(frozen=True, slots=True)
class Identity:
    """An id that was given to the words of a document, for ever."""

    id: int
    path: str
    digest: str
    occurrence: int


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """A document ready to be stored: its chunks, their terms, and their vectors; `fetched_at` if not just now."""

    document: Document
    chunks: Sequence[Chunk]
    terms: Sequence[Sequence[str]]
    head_terms: Sequence[Sequence[str]]
    vectors: Sequence[bytes]
    fetched_at: str | None = None


@dataclass(frozen=True, slots=True)
class Graph:
    """What one file says about who is who."""

    entities: Sequence[Mapping[str, Any]] = ()
    relationships: Sequence[Mapping[str, Any]] = ()

    @property
    def records(self) -> int:
        """How many there are."""
        return len(self.entities) + len(self.relationships)


def check_graph(records: int, characters: int = 0) -> None:
    """Refuse a vendor graph that is larger than one may be."""
    for count, most, what in ((records, MOST_RECORDS, "records"), (characters, MOST_OF_GRAPH, "characters")):
        if count > most:
            raise ValidationFailed(f"the vendor graph would have {count:,} {what}; the limit is {most:,}")


def with_source(file: str, record: Mapping[str, Any]) -> dict[str, Any]:
    """A record of a graph with the document that says so: that of a line, if the record names one of this file."""
    named = str(record.get("source_file", ""))
    return {**record, "source_file": named if named.startswith(f"{file}#") else file}


@dataclass(frozen=True, slots=True)
class Candidates:
    """The chunks that may answer a query, in the order of their ids, each with its words and its meaning.

    Both are numbers from 0 to 1 that depend on the query and the chunk alone: `words` is 1 - exp(-x) for a BM25 that is
    x times what finding every term once would earn, `meaning` is the cosine. `unknown` are the terms that no chunk has,
    `worth` is what finding each term once would earn, and `coverage` the share of it that the known ones make up.
    """

    ids: Ids
    words: Numbers
    meaning: Numbers
    unknown: tuple[str, ...] = ()
    coverage: float = 0.0
    worth: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A stored chunk with what its document says about itself."""

    id: int
    index: int
    total: int
    header: str
    text: str
    start: int
    end: int
    tokens: int
    path: str
    file: str
    kind: str
    title: str
    category: str | None
    publisher: str | None
    license: str | None
    dated: str | None
    url: str | None
    language: str
    text_hash: str
    extractor: str
    checksum: str
    fetched_at: str


@dataclass(frozen=True, slots=True)
class StoreHealth:
    """Whether a store is sound, and how large it is; `problems` are sentences for a person."""

    problems: tuple[str, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


class Moment(Protocol):
    """The index at one moment, for all that one search asks of it."""

    # ruff: noqa: D102  # the names say it; what they do not say stands beside them

    @property
    def version(self) -> Hashable:
        """What tells it from others: where it is the same, so is what is found."""
        ...

    @property
    def languages(self) -> frozenset[str]:
        """The languages of the documents."""
        ...

    def candidates(
        self, terms: Sequence[QueryTerm], vector: bytes | None, filters: Filters, by_words: int, by_meaning: int
    ) -> Candidates: ...
    def rarities(self, forms: Sequence[str]) -> Sequence[float]:
        """What finding each of some terms, as texts have them, is worth."""
        ...


class Store(Protocol):
    """What an index needs of its store. Every method may be called from any thread."""

    @property
    def generation(self) -> int:
        """A number that changes whenever the content does."""
        ...

    def meta(self) -> Mapping[str, str]: ...
    def set_meta(self, **values: str) -> None: ...
    def change_meta(self, change: MetaChange) -> None:
        """Remember what follows from what is remembered, in one step: nobody else changes it in between."""
        ...

    def get_shared(self, name: str) -> tuple[bytes, int] | None:
        """A small document that all who use this store share, and its version."""
        ...

    def set_shared(self, name: str, value: bytes, version: int) -> bool:
        """Write a shared document if it still has this version (0: there is none yet); whether it was written."""
        ...

    def shared_names(self) -> Sequence[str]:
        """The names of the shared documents there are."""
        ...

    def files(self) -> Mapping[str, FileState]: ...
    def put(self, states: Sequence[FileState], entries: Sequence[DocumentEntry], graphs: Mapping[str, Graph]) -> None:
        """Replace everything that these files held, in one step that happens wholly or not at all.

        It and `remove` forget `SETTLED`.
        """
        ...

    def touch(self, states: Sequence[FileState]) -> None:
        """Remember that these files were seen again, with the content that is known."""
        ...

    def remove(self, paths: Sequence[str], change: MetaChange | None = None) -> None:
        """Forget files and everything they held, and change the meta in the same step; no id is given to others."""
        ...

    def entries(self, files: Sequence[str]) -> tuple[list[DocumentEntry], dict[str, Graph]]:
        """What some files hold, as it can be put into another store."""
        ...

    def identities(self, after: int, limit: int) -> list[Identity]:
        """The ids that were ever given, those above `after` in ascending order."""
        ...

    def reserve(self, identities: Sequence[Identity]) -> None:
        """Take over ids that another store has given; whatever is put later has them, and new ones are larger."""
        ...

    def moment(self) -> Moment:
        """The index as it is now."""
        ...

    def chunks(self, ids: Iterable[int]) -> list[StoredChunk]:
        """The chunks of these ids that exist, in the order of the ids."""
        ...

    def chunks_of(self, path: str) -> list[StoredChunk]:
        """The chunks of one document in order."""
        ...

    def source(self, path: str) -> CanonicalText | None:
        """The whole text of a document; None when the store does not keep texts, because the files are at hand."""
        ...

    def similar(self, ids: Sequence[int]) -> Mapping[int, Sequence[tuple[int, float]]]:
        """Near-duplicates of each of these chunks, with how alike they are."""
        ...

    def copies(self) -> Sequence[tuple[int, int]]:
        """Pairs of chunks that have the same words, which connect all that do."""
        ...

    def paths(self, filters: Filters) -> list[str]:
        """The documents that pass these filters and can be read, in order."""
        ...

    def count(self, filters: Filters) -> int:
        """How many chunks pass these filters."""
        ...

    def values(self, name: str, filters: Filters | None = None) -> Mapping[str, int]:
        """The categories, licences or languages of the documents that pass, each with its number of documents."""
        ...

    def names_under(self, licenses: Sequence[str]) -> frozenset[str]:
        """The names of all documents under these licences, and of the files that they are in."""
        ...

    def graph(self) -> Graph:
        """Everything that is known about who is who; each record has the `source_file` that says so."""
        ...

    def texts(self) -> Iterator[tuple[int, str]]:
        """The id and the text of every chunk."""
        ...

    def mentions(self, filters: Filters | None = None) -> Mapping[str, Sequence[tuple[int, int]]]:
        """For each entity, the chunks that name it and pass, and how often each does."""
        ...

    def set_mentions(self, found: Mapping[str, Sequence[tuple[int, int]]]) -> None: ...
    def settle(self) -> None:
        """Do what is better done once after many changes than at each of them."""
        ...

    def ping(self) -> Mapping[str, Any]:
        """What the engine says of itself, in a moment; Unavailable when it does not answer."""
        ...

    def check(self) -> StoreHealth: ...
    def rebuild(self) -> None:
        """Make everything again that follows from the rows."""
        ...

    def close(self) -> None: ...
