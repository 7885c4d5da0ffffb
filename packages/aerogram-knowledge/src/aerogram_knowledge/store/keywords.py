"""Keywords: which chunks have the words of a query, by BM25, in tantivy.

The index is derived from the rows and says which generation of them it has seen, in a file beside it that is written
after every commit. Being killed in between is harmless: what is newer is applied again, and applying twice is the same
as once.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple

from aerogram.errors import IntegrityError, MissingExtra, Unavailable
from aerogram_knowledge.filters import Filters, key_of, steps_of
from aerogram_knowledge.lexicon import QueryTerm, rarity

if TYPE_CHECKING:
    from aerogram_knowledge.store import Ids, Numbers

__all__ = ["Keywords", "Posting", "Scores", "View"]

FORMAT: Final = 5
"""Changes whenever the fields, the terms that the lexicon makes, or the keys that are compared do."""
HEAP: Final = 64_000_000
COUNTED: Final = 20_000
"""For so many terms it is remembered how many chunks have them: most of what is asked for comes again."""
REBUILD: Final = "Run `aerogram index rebuild`"
_EVERY: Final = "\0"
"""A path that every chunk is below, and that nobody can ask for: so many were written, some of which may be gone."""
_END: Final = struct.Struct("<II")
"""How tantivy ends a file, which it writes once: the length of the footer that has its sum, and a mark."""
_MARK: Final = 1337
_BLOCK: Final = 1 << 20
_SCORE: Final = itemgetter(0)
_PLACE: Final = itemgetter(1)


class Posting(NamedTuple):
    """A chunk as the keyword index takes it."""

    id: int
    terms: Sequence[str]
    path: str
    file: str
    category: str | None
    license: str | None
    dated: str | None


class Scores(NamedTuple):
    """The best chunks by words, the terms nobody has, the share of the query that somebody has, and what terms earn."""

    ids: Ids
    words: Numbers
    unknown: tuple[str, ...]
    coverage: float
    worth: tuple[float, ...]


class Keywords:
    """The keyword index in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._tantivy = _tantivy()
        self._writer: Any = None
        self._index: Any = None

    @property
    def generation(self) -> int:
        """Which generation of the rows it has seen; -1 when there is no usable index."""
        try:
            stamp = json.loads((self.folder / "stamp.json").read_bytes())
            return int(stamp["generation"]) if stamp["format"] == FORMAT else -1
        except (OSError, ValueError, KeyError, TypeError):
            return -1

    @property
    def is_open(self) -> bool:
        """Whether it can be searched and written."""
        return self._index is not None

    def open(self) -> None:
        """Make it ready to be searched; a damaged one is told plainly."""
        with _telling_damage():
            _check_sums(self.folder)
            index = self._tantivy.Index.open(str(self.folder))
            index.config_reader("manual")
            index.reload()
        self._index = index

    def view(self) -> View:
        """What it has now, which does not change while others write."""
        with _telling_damage():
            self._index.reload()
            return View(self._index.searcher(), self._index.schema)

    def clear(self) -> None:
        """Start from nothing."""
        self.release()
        self._index = None
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self._tantivy.Index(self._schema(), path=str(self.folder))
        self.open()

    def apply(self, removed: Iterable[int], added: Iterable[Posting], generation: int) -> None:
        """Take what changed in the rows, and remember up to where."""
        with self._changing(generation) as writer:
            for one in removed:
                writer.delete_documents_by_term("id", one)
            for posting in added:
                writer.delete_documents_by_term("id", posting.id)
                writer.add_document(self._document(posting))

    def replace(self, postings: Iterable[Posting], generation: int) -> None:
        """Write all of it anew, as a whole; until that is done, it is what it was."""
        with self._changing(generation) as writer:
            writer.delete_all_documents()
            for posting in postings:
                writer.add_document(self._document(posting))

    @contextlib.contextmanager
    def _changing(self, generation: int) -> Iterator[Any]:
        """A writer for one step, which is committed and stamped at its end."""
        try:
            if self._writer is None:
                self._writer = self._index.writer(HEAP, 1)
            yield self._writer
            self._writer.commit()
            self._stamp(generation)
        except (ValueError, OSError) as error:
            self._writer = None
            raise Unavailable(
                f"The keyword index could not be written, perhaps because the disk is full: {error}",
                remediation="Free some space; what is missing is added at the next use",
            ) from error

    def release(self) -> None:
        """Let others write."""
        if self._writer is not None:
            self._writer.wait_merging_threads()
            self._writer = None

    def _document(self, posting: Posting) -> Any:
        document = self._tantivy.Document()
        document.add_integer("id", posting.id)
        document.add_text("body", " ".join(posting.terms))
        document.add_integer("dated", _day(posting.dated))
        for name, value in (("category", posting.category), ("license", posting.license)):
            if value:
                document.add_text(name, key_of(value))
        for step in (_EVERY, *steps_of(posting.path, posting.file)):
            document.add_text("path", step)
        return document

    def _schema(self) -> Any:
        builder = self._tantivy.SchemaBuilder()
        builder.add_integer_field("id", indexed=True, fast=True)
        builder.add_integer_field("dated", indexed=True, fast=True)
        builder.add_text_field("body", tokenizer_name="whitespace", index_option="freq")
        for name in ("category", "license", "path"):
            builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
        return builder.build()

    def _stamp(self, generation: int) -> None:
        draft = self.folder / f"stamp.{os.getpid()}.tmp"
        draft.write_text(json.dumps({"generation": generation, "format": FORMAT}))
        draft.replace(self.folder / "stamp.json")


class View:
    """The keyword index at one moment."""

    def __init__(self, searcher: Any, schema: Any) -> None:
        self.chunks: Final[int] = searcher.num_docs
        self.segments: Final[int] = searcher.num_segments
        self.is_sound = True
        self._searcher = searcher
        self._schema = schema
        self._tantivy = _tantivy()
        self._written = searcher.doc_freq("path", _EVERY)
        self._count = lru_cache(maxsize=COUNTED)(self._count_chunks)

    def search(self, terms: Sequence[QueryTerm], filters: Filters, limit: int) -> Scores:
        """The best chunks by words: each one's BM25 as a share of what the query could earn."""
        with self._noting_damage():
            return self._search(terms, filters, limit)

    def _search(self, terms: Sequence[QueryTerm], filters: Filters, limit: int) -> Scores:
        import numpy as np

        having = {form: self._count(form) for term in terms for form in term.forms}
        counts = [sum(having[form] for form in term.forms) for term in terms]
        worth = tuple(term.weight * rarity(self.chunks, count) for term, count in zip(terms, counts, strict=True))
        unknown = tuple(term.written for term, count in zip(terms, counts, strict=True) if not count)
        earned = sum(worth)
        known = sum(one for one, count in zip(worth, counts, strict=True) if count)
        if not known:
            return Scores(np.zeros(0, np.int64), np.zeros(0, np.float32), unknown, 0.0, worth)
        weights = [
            (form, one / rarity(self._written, self._searcher.doc_freq("body", form)))
            for term, one in zip(terms, worth, strict=True)
            for form in term.forms
            if having[form]
        ]
        hits = self._searcher.search(self._query(weights, filters), limit, count=False).hits
        ids = self._searcher.fast_field_values("id", list(map(_PLACE, hits)))
        earnings = np.fromiter(map(_SCORE, hits), np.float32, len(hits)) / np.float32(earned)
        return Scores(np.fromiter(ids, np.int64, len(ids)), 1 - np.exp(-earnings), unknown, known / earned, worth)

    def rarities(self, forms: Sequence[str]) -> list[float]:
        """What finding each of some terms is worth."""
        with self._noting_damage():
            return [rarity(self.chunks, self._count(form)) for form in forms]

    @contextlib.contextmanager
    def _noting_damage(self) -> Iterator[None]:
        try:
            with _telling_damage():
                yield
        except IntegrityError:
            self.is_sound = False
            raise

    def _count_chunks(self, form: str) -> int:
        """How many chunks have a term. Tantivy knows it, and counts those that are gone until it writes anew."""
        found: int = self._searcher.doc_freq("body", form)
        if found and self._written > self.chunks:
            asked = self._tantivy.Query.term_query(self._schema, "body", form, "freq")
            found = self._searcher.search(asked, 1, count=True).count
        return found

    def _query(self, weights: Sequence[tuple[str, float]], filters: Filters) -> Any:
        """Forms, each with what it counts beside its own rarity, among what the filters leave."""
        query, occur = self._tantivy.Query, self._tantivy.Occur
        schema = self._schema
        asked = []
        for form, weight in weights:
            one = query.term_query(schema, "body", form, "freq")
            asked.append((occur.Should, one if weight == 1 else query.boost_query(one, weight)))
        words = query.boolean_query(asked)
        held = [(occur.Must, query.const_score_query(one, 0.0)) for one in self._filter_queries(filters)]
        barred = [(occur.MustNot, query.term_query(schema, "license", one, "basic")) for one in filters.withheld]
        return query.boolean_query([(occur.Must, words), *held, *barred]) if held or barred else words

    def _filter_queries(self, filters: Filters) -> Iterable[Any]:
        """The queries that say what a document must be."""
        query, schema = self._tantivy.Query, self._schema
        for name, values in (("category", filters.category), ("license", filters.license), ("path", filters.path)):
            if values:
                wanted = [key_of(one) for one in values]
                yield query.boolean_query(
                    [(self._tantivy.Occur.Should, query.term_query(schema, name, one, "basic")) for one in wanted]
                )
        if filters.after or filters.before:
            low, high = _day(filters.after) or 1, _day(filters.before) or 99_991_231
            kind = self._tantivy.FieldType.Integer
            yield query.range_query(schema, "dated", kind, low, high, True, True)


@contextlib.contextmanager
def _telling_damage() -> Iterator[None]:
    """Damage, told plainly; tantivy panics at some of it, which is no `Exception`."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, ValueError) and type(error).__name__ != "PanicException":
            raise
        raise IntegrityError("The keyword index is damaged", remediation=REBUILD) from error


def _check_sums(folder: Path) -> None:
    """Refuse files with other bytes than were written: a writer that meets some of them ends the process."""
    for path in folder.iterdir():
        with contextlib.suppress(FileNotFoundError), path.open("rb") as file:  # others merge it into a new one
            size = file.seek(0, os.SEEK_END) - _END.size
            if size < 0:
                continue
            length, mark = _END.unpack(_read_at(file, size, _END.size))
            if mark != _MARK:
                continue  # it has no sum, or is still being written
            size = max(0, size - length)
            written, found = json.loads(_read_at(file, size, min(length, _BLOCK))).get("crc"), 0
            for start in range(0, size, _BLOCK):
                found = zlib.crc32(_read_at(file, start, min(_BLOCK, size - start)), found)
            if found != written:
                raise ValueError(f"{path.name} is not what was written")


def _read_at(file: BinaryIO, start: int, size: int) -> bytes:
    file.seek(start)
    return file.read(size)


def _day(text: str | None) -> int:
    return int(text.replace("-", "")) if text else 0


def _tantivy() -> Any:
    try:
        import tantivy
    except ImportError as error:
        raise MissingExtra("knowledge", "tantivy") from error
    return tantivy
