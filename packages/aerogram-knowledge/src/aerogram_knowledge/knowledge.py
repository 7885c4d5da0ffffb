"""Knowledge: an index over folders of documents. Ingest, search, chunks, vendors and digests, each answered by a Reply.

    knowledge = Knowledge("index")
    knowledge.ingest("docs")
    knowledge.search("How long is a token valid?")

Everything it keeps is under one folder: the store, the keys that sign its cursors, the roots that it has read. Or all
of it is in one database, which many servers share.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Self

from aerogram.cursor import CursorKeys, Cursors
from aerogram.digest import Digester, DigestPolicy, digest_many, reply_of
from aerogram.digest.limits import ReadLimits
from aerogram.digest.text import CanonicalText
from aerogram.errors import Conflict, NotFound, ValidationFailed
from aerogram.reply import Action, Notice, Page, QueryEcho, Reply, utc_timestamp
from aerogram.shape.modes import allowed_mode, select
from aerogram.shape.pages import Pager, ResumablePage
from aerogram.state import can_write, private_directory
from aerogram_knowledge.contents import read_contents
from aerogram_knowledge.documents.document import Document, File
from aerogram_knowledge.documents.files import read_bytes
from aerogram_knowledge.embedders import Embedder, embedder_of
from aerogram_knowledge.filters import Filters
from aerogram_knowledge.ingest.cluster import Cluster
from aerogram_knowledge.ingest.folder import resolve
from aerogram_knowledge.ingest.ingest import PATIENCE, Hands, Ingester, IngestResult, Progress
from aerogram_knowledge.ingest.preparation import Preparer
from aerogram_knowledge.ingest.processes import ReaderProcesses, WorkerSettings
from aerogram_knowledge.licences import LicenseFilter, other_license_notice
from aerogram_knowledge.roots import Roots, absolute
from aerogram_knowledge.search.citations import Status, citations_of, verify
from aerogram_knowledge.search.fusion import RankedResults
from aerogram_knowledge.search.results import (
    CHUNK,
    VENDOR,
    chunk_record,
    is_weak,
    kind_for,
    name_copies,
    search_records,
)
from aerogram_knowledge.search.search import SMALL_INDEX, FoundPage, IndexSearch, check_method, check_query
from aerogram_knowledge.search.suggestions import names_in, suggest
from aerogram_knowledge.store import SETTLED, Store, StoredChunk, StoreHealth
from aerogram_knowledge.store.address import is_url, open_store
from aerogram_knowledge.store.cursor_keys import StoreCursorKeys
from aerogram_knowledge.vendors.directory import LicensedDirectory, VendorDirectory, cut_notice, find_mentions

__all__ = ["Knowledge", "Mirror", "knows", "others", "places"]

log = logging.getLogger("aerogram")

KEYWORDS: Final = "keywords"


class Mirror:
    """The mirror of an index in a folder."""

    def __init__(self, index: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="aerogram-mirror-"))
        self.close = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        log.warning("%s cannot be written, so it is read as it is, and a new key for cursors is not kept", index)
        _link_files(index, self.folder)
        if (index / KEYWORDS).is_dir():
            (self.folder / KEYWORDS).mkdir()
            _link_files(index / KEYWORDS, self.folder / KEYWORDS)

    @classmethod
    def if_needed(cls, index: Path) -> Mirror | None:
        """A mirror, if the index cannot be written."""
        return None if can_write(index) else cls(index)


def _link_files(source: Path, target: Path) -> None:
    for one in source.absolute().iterdir():
        if one.suffix == ".json":
            with contextlib.suppress(PermissionError):  # keys are for their owner; others make their own
                shutil.copyfile(one, target / one.name)
        elif one.is_file() and one.suffix != ".lock":
            (target / one.name).symlink_to(one)


SEARCH_TOOL: Final = "semantic_search"
VENDOR_TOOL: Final = "find_vendor_info"
CHUNKS_TOOL: Final = "get_chunks"
DIGEST_TOOL: Final = "digest_document"
DIGESTS: Final = DigestPolicy(mode="always", quote_whole=True)
"""Whoever asks about a document gets a digest of it, however short it is."""
MOST_CHUNKS: Final = 50
SPARSE: Final = 5
FOLLOWED: Final = 3
_CITED: Final = ("preview", "full")
_FROM_SEARCH: Final = "Use chunk ids from a search"
TAKE_OUT: Final = "`aerogram index rebuild`, or the next ingest, takes them out too"


class Knowledge:
    """An index in a folder, in the PostgreSQL that a URL names, or over a store of one's own."""

    def __init__(
        self,
        where: str | os.PathLike[str] = ".aerogram",
        *,
        embedder: str | Embedder | None = None,
        store: Store | None = None,
        cursors: Cursors | None = None,
        limits: ReadLimits | None = None,
        withheld_licenses: Sequence[str] = (),
        replicas: Sequence[str] = (),
    ) -> None:
        self.folder = None if is_url(where) else private_directory(Path(where))
        self._mirror = Mirror.if_needed(self.folder) if self.folder is not None and store is None else None
        if self._mirror is not None:
            where = self.folder = self._mirror.folder
        self.embedder = embedder_of(embedder)
        self._where, self._setting = where, embedder
        self.limits = limits or ReadLimits()
        self.store: Store = store or open_store(where, self.embedder.dimensions, replicas=replicas)
        self.cursors = cursors or Cursors(self._cursor_keys())
        self._register: tuple[int, LicensedDirectory] | None = None
        self._check_embedder()
        self.gate = LicenseFilter(withheld_licenses, self.store)
        self._search = IndexSearch(self.store, self.embedder, self.gate)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the store."""
        self.store.close()
        if self._mirror is not None:
            self._mirror.close()

    # -- the documents

    def ingest(
        self,
        *paths: str | os.PathLike[str],
        progress: Progress | None = None,
        workers: int = 1,
        cluster: str | None = None,
    ) -> IngestResult:
        """Bring the index up to date with files and folders; without any, with what it has read before and is there.

        `workers` processes on this machine read side by side, or those of the Dask cluster at an address.
        """
        own = self.folder.resolve() if self.folder is not None else None
        patience = PATIENCE if own is None else 0.0
        ingester = Ingester(self.store, self._choose_readers(workers, cluster), without=own, patience=patience)
        total = IngestResult(removed=self._remove_strays())
        for root, label in self._take_in(paths) if paths else self._roots_here():
            done = ingester.run(root, label, progress, roots=self.roots())
            self._remember_unread(root, label, done.unlisted)
            _add(total, done)
        if total.has_changed or (SETTLED not in self.store.meta() and self.store.files()):
            self.settle()
        return total

    def _remember_unread(self, root: Path, label: str, found: Mapping[str, str]) -> None:
        file = None if root.is_dir() else Roots.name_file(label, root.name)

        def remember(meta: Mapping[str, str]) -> Mapping[str, str]:
            return Roots.read(meta).with_unread(found, label, file).as_json()

        if remember(now := self.store.meta()) != Roots.read(now).as_json():
            self.store.change_meta(remember)

    def settle(self) -> None:
        """Find what follows from the documents; whoever finds a change that this did not come after does it again."""
        self._find_mentions()
        self.store.settle()
        self.store.set_meta(**{SETTLED: "yes"})

    def _choose_readers(self, workers: int, cluster: str | None) -> Hands:
        """Who reads the files."""
        # a folder has one writer, who is here; a database has as many as there are
        recipe = WorkerSettings(self._setting, self.limits, None if self.folder is not None else str(self._where))
        if cluster is not None:
            return Cluster(cluster, recipe)
        if workers > 1:
            return ReaderProcesses(recipe, workers)
        return Preparer(self.embedder, limits=self.limits).batches

    def roots(self) -> Roots:
        """The folders that the index has read, by the label that their files' names begin with."""
        return Roots.of(self.store)

    def locate(self, *files: str) -> list[Path | None]:
        """Where files of the index are, or were when they were read."""
        roots = self.roots()
        return [place and place[1] for place in map(roots.place, files)]

    # -- the four questions

    def search(self, query: str, **asked: Any) -> Reply[Any]:
        """The page of results that a caller asks for; see `search_page`."""
        return self.search_page(query, **asked).reply

    def search_page(
        self,
        query: str,
        *,
        response_mode: str = "metadata",
        page_size: int | None = None,
        cursor: str | None = None,
        fields: Sequence[str] | None = None,
        filters: Mapping[str, Any] | Filters | None = None,
        method: str = "hybrid",
        about: bool | None = None,
        cite: bool | None = None,
        principal: str | None = None,
    ) -> ResumablePage:
        """A page of results, and the cursors that go on from inside it.

        `about` adds confidence, ranking and deduplication to each result (by default in full mode), `cite` the
        citations (by default in preview and full mode, unless `fields` are chosen); `method` is hybrid, vector or bm25.
        """
        narrowed = Filters.of(filters)
        where = narrowed.as_json()
        asked, way, mode = check_query(query), check_method(method), allowed_mode(response_mode)
        arguments = {"query": asked, "filters": where, "fields": list(fields or ()), "method": way}
        kind = kind_for(mode, about)
        select([], tuple(fields or ()), mode=mode, kind=kind)  # a wrong field is refused whatever is found
        pager = Pager(self.cursors, SEARCH_TOOL, arguments, mode, principal, documented=True)
        if cursor is not None:
            self.cursors.prepare(cursor)
        window = pager.window(cursor, page_size)
        with self._search.turns.take():
            found = self._search.page(asked, narrowed, way, window)
            ranked, chunks, withheld = found.ranked, found.chunks, found.withheld
            if not len(ranked.ids):
                if withheld:
                    raise self.gate.refusal(withheld)
                return ResumablePage(self._empty_reply(pager, narrowed, found))
            cites = mode in _CITED and not fields if cite is None else cite
            is_checked = cites or about or mode == "full"
            statuses: list[Status] = self._verify(chunks) if is_checked else ["verified"] * len(chunks)
            shown = range(len(ranked.ids))[found.first : found.last]
            similar = self._search.similar([chunk.id for chunk in chunks]) if "confidence" in kind.metadata else None
            records = search_records(chunks, ranked, shown, statuses, similar)
            notices: tuple[Notice, ...] = (Notice.of("LOW_QUALITY_RESULTS"),) if is_weak(ranked) else ()
            rows = select(records, tuple(fields or ()), mode=mode, kind=kind)
            if found.also_in and not fields and mode != "ids_only":
                rows = name_copies(rows, chunks, found.also_in)
            said = _reply_members(pager, found)
            if withheld:
                notices += self.gate.notices(withheld)
            if cites:
                said["citations"] = citations_of(chunks, statuses)
            reply = (Reply.partial if withheld else Reply.ok)(rows, notices=notices, **said)
            resume = lambda count: _seal(pager, ranked, found.first + count)  # noqa: E731 - most replies fit
            return ResumablePage(reply, resume, whole_rows=True, cites_unasked=not cite)

    def chunks(
        self, ids: Sequence[int], *, response_mode: str = "full", fields: Sequence[str] | None = None
    ) -> Reply[Any]:
        """Chunks by their ids, in that order."""
        mode, wanted = allowed_mode(response_mode), _check_ids(ids)
        found = self.store.chunks(wanted)
        missing = [one for one in wanted if one not in {chunk.id for chunk in found}]
        if not found:
            raise NotFound(
                f"There is no chunk {', '.join(map(str, missing[:5]))}",
                remediation=_FROM_SEARCH,
                details={"missing_ids": missing},
            )
        shown = [one for one in found if not self.gate.holds_back(one)]
        if not shown:
            raise self.gate.refusal(len(found))
        cited = citations_of(shown, self._verify(shown)) if mode in _CITED else ()
        rows = select([chunk_record(one) for one in shown], tuple(fields or ()), mode=mode, kind=CHUNK)
        notices = (*_missing_notices(missing), *self.gate.notices(len(found) - len(shown)))
        said: dict[str, Any] = {"operation": CHUNKS_TOOL, "citations": cited}
        return Reply.partial(rows, notices, **said) if notices else Reply.ok(rows, **said)

    def vendor(
        self, vendor_name: str, *, response_mode: str = "metadata", fields: Sequence[str] | None = None
    ) -> Reply[Any]:
        """What is known about a vendor."""
        mode = allowed_mode(response_mode)
        found, withheld = self._licensed_directory().vendor(vendor_name)
        data = select(found, tuple(fields or ()), mode=mode, kind=VENDOR)
        cut = [name for name in ("entities", "relationships") if len(data.get(name, found[name])) < len(found[name])]
        said: dict[str, Any] = {
            "operation": VENDOR_TOOL,
            "query_echo": QueryEcho(normalized_input={"vendor_name": found["vendor_name"]}),
            "actions": self._vendor_actions(found),
        }
        notices = self.gate.notices(withheld)
        if cut:
            notices = (cut_notice({name: len(found[name]) for name in cut}, mode), *notices)
        return (Reply.partial if withheld else Reply.ok)(data, notices=notices, **said)

    async def digest(
        self,
        source_file: str,
        query: str,
        *,
        digester: Digester | None = None,
        seconds: float | None = None,
        principal: str | None = None,
    ) -> Reply[Any]:
        """A document of the index, condensed for a question; its text goes into the principal's part of an archive."""
        asked = check_query(query)
        first, text = await asyncio.to_thread(self._read_whole, source_file)  # the store may let its callers wait
        work = digester or Digester(DIGESTS)
        batch = await digest_many(work, {source_file: text}, asked, seconds=seconds, principal=principal)
        about = {"title": first.title, "url": first.url, "fetched_at": first.fetched_at}
        known = {name: value for name, value in about.items() if value}
        return reply_of(batch, {source_file: known}).replace(operation=DIGEST_TOOL)

    def documents(self) -> list[str]:
        """The `source_file` of every document that may be shown, in order; each can be read and digested."""
        return self.store.paths(self.gate.narrow(Filters()))

    def length(self, source_file: str) -> int:
        """How many characters of a document there are in its passages; 0 where there is none."""
        return max((chunk.end for chunk in self.store.chunks_of(source_file)), default=0)

    def text(self, source_file: str) -> str:
        """The whole text of a document of the index, as its locators count it."""
        return self._read_whole(source_file)[1].text

    def directory(self) -> VendorDirectory:
        """Everyone the index may tell of."""
        return self._licensed_directory().told

    def _licensed_directory(self) -> LicensedDirectory:
        generation = self.store.generation
        if self._register is None or self._register[0] != generation:
            self._register = (generation, LicensedDirectory.of(self.store, self.gate))
        return self._register[1]

    # -- its own state

    def check(self) -> StoreHealth:
        """Whether the index is sound."""
        health = self.store.check()
        strays = self._strays() if health.is_sound else []
        if not strays:
            return health
        told = f"{len(strays)} files are left of folders that were taken out, such as {strays[0]}: {TAKE_OUT}"
        return replace(health, problems=(told,))

    def rebuild(self) -> None:
        """Make everything again that follows from what is stored, besides what is left of folders that are gone."""
        if self._remove_strays():
            self.settle()
        self.store.rebuild()

    def _strays(self) -> list[str]:
        return Roots.find_strays(self.store.meta(), self.store.files())

    def _remove_strays(self) -> int:
        """Take out what is left of folders that were taken out; how many files that were."""
        strays = self._strays()
        if strays:
            self.store.remove(strays)
        return len(strays)

    def _cursor_keys(self) -> CursorKeys:
        """The keys of the cursors: beside a folder, or in the store that servers share."""
        return StoreCursorKeys(self.store) if self.folder is None else CursorKeys.at(self.folder / "cursor-keys.json")

    def _check_embedder(self) -> None:
        """An index is searched with the embedder that it was made with, or not at all."""
        known = self.store.meta()
        mine = f"{self.embedder.name}/{self.embedder.dimensions}"
        if "embedder" not in known:
            self.store.change_meta(lambda meta: {"embedder": meta.get("embedder", mine)})
            known = self.store.meta()
        if known["embedder"] != mine:
            self.store.close()
            raise Conflict(
                f"This index was made with the embedder {known['embedder']}, not with {mine}",
                remediation="Use that embedder, or ingest again into another folder",
                details={"index": known["embedder"], "asked": mine},
            )

    def _take_in(self, paths: Sequence[str | os.PathLike[str]]) -> list[tuple[Path, str]]:
        """Files and folders that are named, each with the label of its root, which is remembered."""
        found, files = [resolve(path) for path in paths], self.store.files()

        def take_in(known: Roots) -> list[tuple[Path, str]]:
            return [
                (root, known.add(root, None, files) if root.is_dir() else known.add(root.parent, root.name, files))
                for root in found
            ]

        def remember(meta: Mapping[str, str]) -> Mapping[str, str]:
            known = Roots.read(meta)
            take_in(known)
            return known.as_json()

        now = self.store.meta()
        if remember(now) != Roots.read(now).as_json():
            self.store.change_meta(remember)  # others may take in theirs at the same time, and have been faster
        return take_in(self.roots())

    def _roots_here(self) -> list[tuple[Path, str]]:
        """The roots that are on this machine; if none of them is, the first one is refused."""
        roots = self.roots()
        here = [label for label, root in roots.items() if root.exists()]
        return [(resolve(roots[label]), label) for label in here or list(roots)[:1]]

    def _find_mentions(self) -> None:
        graph = self.store.graph()
        found = find_mentions(graph, self.store.texts()) if graph.entities else {}
        if found or self.store.mentions():
            self.store.set_mentions(found)

    def _verify(self, chunks: Sequence[StoredChunk]) -> list[Status]:
        """Whether the sources of some chunks still say so; each file is looked for once."""
        roots = self.roots()
        here = {label: root.resolve() for label, root in roots.items() if root.exists()}
        places = {file: place for file in {chunk.file for chunk in chunks} if (place := roots.place(file))}
        known = {file: (path, here[label]) for file, (label, path) in places.items() if label in here}
        return [verify(chunk, *known[chunk.file]) if chunk.file in known else "unverified" for chunk in chunks]

    def _first_of(self, source_file: str) -> StoredChunk:
        """The first chunk of a document that may be shown."""
        chunks = self.store.chunks_of(source_file)
        if not chunks:
            raise NotFound(
                f"The index has no document {source_file!r}",
                remediation="Use a source_file from a search",
                details={"field": "source_file"},
            )
        if self.gate.holds_back(chunks[0]):
            raise self.gate.refusal_of(chunks[0])
        return chunks[0]

    def _read_whole(self, source_file: str) -> tuple[StoredChunk, CanonicalText]:
        """The first chunk of a document, and its whole text: from the store if it keeps texts, else from the file."""
        first = self._first_of(source_file)
        kept = self.store.source(first.path)
        if kept is not None:
            return first, kept
        file, document = self._read_again(first)
        if file.checksum == first.checksum:
            return first, document.source
        # it says other things by now, perhaps of itself as well
        now = replace(
            first, title=document.title, url=document.url, license=document.license, fetched_at=utc_timestamp()
        )
        if self.gate.holds_back(now):
            raise self.gate.refusal_of(now)
        return now, document.source

    def _read_again(self, chunk: StoredChunk) -> tuple[File, Document]:
        """The file of a chunk as it is now, and the document in it."""
        roots = self.roots()
        label, path = roots.place(chunk.file) or ("", None)
        if path is None or not path.is_file() or not path.resolve().is_relative_to(roots[label].resolve()):
            raise NotFound(
                f"The file of {chunk.path!r} is not where it was read",
                remediation="Ask a server that runs where the documents are, or bring them back and ingest them again",
            )
        file = read_bytes(path, File(chunk.file, 0, 0), self.limits.max_bytes, root=roots[label].resolve())
        for document in read_contents(file, self.limits).documents:
            if document.path == chunk.path:
                return file, document
        raise NotFound(f"The file no longer has {chunk.path!r}")

    def _empty_reply(self, pager: Pager, filters: Filters, found: FoundPage) -> Reply[Any]:
        """The reply without results: why, and what to ask instead."""
        query = pager.arguments["query"]
        reason = self._search.why_empty(query, filters, found.ranked.method)
        retry = self._suggest(query, filters, found.ranked)
        actions = (Action(tool=SEARCH_TOOL, args=retry),) if retry else ()
        notices = (other_license_notice(),) if reason == "license_blocked" else ()
        said = _reply_members(pager, found)
        return Reply.empty(reason, retry_with=retry or None, actions=actions, notices=notices, **said)

    def _suggest(self, query: str, filters: Filters, ranked: RankedResults) -> dict[str, Any]:
        """The nearest question that has an answer."""
        method = ranked.method
        return suggest(
            query,
            filters,
            ranked.unknown,
            lambda words, fewer: bool(len(self._search.rank(words, fewer, method))),
            self._names,
        )

    def _names(self) -> frozenset[str]:
        """The words by which documents, categories and vendors are called; in a large index it would take too long."""
        if self.store.count(Filters()) > SMALL_INDEX:
            return frozenset()
        categories = self.store.values("category", self.gate.narrow(Filters()))
        return names_in(self.documents(), categories, self.directory().vendors())

    def _vendor_actions(self, found: Mapping[str, Any]) -> tuple[Action, ...]:
        places = found["entities"][0].get("chunk_ids") if found["entities"] else None
        search = Action(tool=SEARCH_TOOL, args={"query": found["vendor_name"]})
        return (Action(tool=CHUNKS_TOOL, args={"chunk_ids": places[:FOLLOWED]}), search) if places else (search,)


def _add(total: IngestResult, one: IngestResult) -> None:
    for name in ("added", "changed", "unchanged", "removed", "chunks", "seconds"):
        setattr(total, name, getattr(total, name) + getattr(one, name))
    total.problems |= one.problems
    total.notes |= one.notes
    total.unlisted |= one.unlisted
    total.passed += one.passed


def _missing_notices(ids: Sequence[int]) -> tuple[Notice, ...]:
    message = f"{len(ids)} chunks do not exist"
    return (Notice.of("PARTIAL_RESULTS", message, suggestion=_FROM_SEARCH, missing_ids=list(ids)),) if ids else ()


def _reply_members(pager: Pager, found: FoundPage) -> dict[str, Any]:
    """What a search says besides its results: where they stand, how it was understood, and what may be asked next."""
    ranked, chunks, query, where = found.ranked, found.chunks, pager.arguments["query"], pager.arguments["filters"]
    best, goes_on = [chunk.id for chunk in chunks[:FOLLOWED]], found.last < len(ranked.ids)
    said: dict[str, Any] = {
        "page": Page(
            cursor=_seal(pager, ranked, found.last) if goes_on else None,
            has_more=goes_on,
            total=len(ranked.ids),
            page_size=found.last - found.first,
        ),
        "operation": SEARCH_TOOL,
        "query_echo": QueryEcho({"query": query}, where, ranked.unknown),
    }
    if pager.mode != "full" and chunks:
        said["actions"] = (
            Action(tool=CHUNKS_TOOL, args={"chunk_ids": best}),
            Action(tool=DIGEST_TOOL, args={"source_file": chunks[0].path, "query": query}),
        )
    if 0 < len(ranked.ids) < SPARSE and where:
        said["retry_with"] = {"query": query}
    return said


def _seal(pager: Pager, ranked: RankedResults, count: int) -> str:
    after = [float(ranked.hybrid[count - 1]), int(ranked.ids[count - 1])] if count else None
    return pager.seal(count, after)


def _check_ids(ids: Any) -> list[int]:
    several = [ids] if isinstance(ids, int) else ids
    right = isinstance(several, (list, tuple)) and all(type(one) is int and 0 <= one < 2**63 for one in several)
    if not right or not 1 <= len(several) <= MOST_CHUNKS:
        raise ValidationFailed(
            f"chunk_ids must be 1 to {MOST_CHUNKS} whole numbers",
            remediation=_FROM_SEARCH,
            details={"field": "chunk_ids", "received": repr(ids)[:80]},
        )
    return list(dict.fromkeys(several))


def places(knowledge: Knowledge) -> dict[str, tuple[str, Path]]:
    """The files of an index by their names: the label of the root of each, and its place."""
    roots = knowledge.roots()
    return {name: place for name in knowledge.store.files() if (place := roots.place(name))}


def knows(knowledge: Knowledge, path: str | os.PathLike[str]) -> bool:
    """Whether an index has something from a path or from below it."""
    place = absolute(path)
    return place in knowledge.roots().values() or any(
        file.is_relative_to(place) for _, file in places(knowledge).values()
    )


def others(knowledge: Knowledge, paths: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """The roots from which an index has files that are neither at these paths nor below them."""
    named = [absolute(one) for one in paths]
    labels = {label for label, file in places(knowledge).values() if not any(file.is_relative_to(one) for one in named)}
    return [root for label, root in knowledge.roots().items() if label in labels]
