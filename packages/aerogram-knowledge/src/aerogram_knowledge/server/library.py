"""Library: the index that a server answers from, for as long as it is there.

Questions are asked in worker threads, because a search computes. An index that goes away is UNAVAILABLE; when it is
back, or another one stands in its place, the next question is answered from that.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from anyio import to_thread

from aerogram.archive import Archive
from aerogram.content import Content
from aerogram.cursor import Cursors
from aerogram.digest import Digester
from aerogram.errors import IntegrityError, NotFound, ReplyError, Unavailable
from aerogram.reply import Reply, ResumablePage
from aerogram.state import can_write
from aerogram_knowledge.embedders import Embedder
from aerogram_knowledge.filters import Filters
from aerogram_knowledge.hosting.addresses import is_url
from aerogram_knowledge.ingest.ingest import IngestResult, Progress
from aerogram_knowledge.knowledge import DIGESTS, Knowledge
from aerogram_knowledge.store import OF_THE_STORE

__all__ = ["Library"]

log = logging.getLogger("aerogram.server")

T = TypeVar("T")

COME_BACK: Final = 5.0
"""Seconds after which it is worth asking again for an index that has gone away."""
LONG: Final = 1_000_000
"""Characters of a text that takes seconds to be digested: of such there is one at a time, and others get theirs."""
LONG_ENOUGH: Final = 12 * 3600.0
"""Seconds for which a text can be had after a digest of it has been made, at least."""


class Library:
    """An index in a folder or behind an address, shared by everything that a server does.

    `clock` is the time by which its cursors end.
    """

    def __init__(
        self,
        where: str | os.PathLike[str],
        *,
        embedder: str | None = None,
        replicas: Sequence[str] = (),
        withheld_licenses: Sequence[str] = (),
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.folder = None if is_url(where) else Path(where).absolute()
        self._where = self.folder or str(where)
        self._options: dict[str, Any] = {
            "embedder": embedder,
            "replicas": replicas,
            "withheld_licenses": withheld_licenses,
        }
        self._clock = clock
        self._guard = threading.Lock()
        self._known = self._open()
        self._file = self._file_now()
        self.cursors = self._known.cursors
        self._realm = ""
        self._generation = 0
        self._turn = asyncio.Semaphore()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the index."""
        self._known.close()

    @property
    def knowledge(self) -> Knowledge:
        """The index as it is now; a question that is already running keeps the one that it was asked of.

        Another one in its place is opened, and the one before is closed as soon as nobody has it any more.
        """
        there = self._file_now()
        if there is None:
            raise self._unavailable()
        with self._guard:
            if there != self._file:
                self._known = self._open()
                self._file = there
            return self._known

    @property
    def can_be_written(self) -> bool:
        """Whether changes of documents can be brought into the index."""
        return self.folder is None or can_write(self.folder)

    @property
    def embedder(self) -> Embedder:
        """What makes vectors of texts, with or without an index."""
        return self._known.embedder

    def _open(self) -> Knowledge:
        known = Knowledge(self._where, **self._options)
        if self._clock is not None:
            known.cursors = Cursors(known.cursors._keys, clock=self._clock)
        weakref.finalize(known, known.store.close)
        return known

    def update(self, *paths: Path, progress: Progress | None = None) -> IngestResult:
        """Bring the index up to date with folders, or with those that it knows."""
        return self.knowledge.ingest(*paths, progress=progress)

    def suggestion(self) -> str:
        """A question that has an answer: the title of a document."""
        known = self.knowledge
        shown = known.documents()
        return known.store.chunks_of(shown[0])[0].title if shown else "hello"

    # the questions

    async def search(self, query: str, **asked: Any) -> ResumablePage:
        """A page of passages, and the cursors that go on inside of it."""
        return await self.ask(lambda known: known.search_page(query, **asked))

    async def chunks(self, ids: list[int], **asked: Any) -> Reply[Any]:
        """Passages by their ids."""
        return await self.ask(lambda known: known.chunks(ids, **asked))

    async def vendor(self, name: str, **asked: Any) -> Reply[Any]:
        """Who somebody is."""
        return await self.ask(lambda known: known.vendor(name, **asked))

    async def digest(
        self, source_file: str, query: str, archive: Archive | None = None, principal: str | None = None
    ) -> Reply[Any]:
        """A document condensed for a question; its text goes into the archive, so that the digest can be checked."""
        digester = Digester(DIGESTS, archive=None if archive is None else _DigestArchive(archive))
        is_long = await self.ask(lambda known: known.length(source_file) > LONG)
        async with self._turn if is_long else contextlib.nullcontext():
            with self._present():
                return await self.knowledge.digest(source_file, query, digester=digester, principal=principal)

    async def text(self, source_file: str) -> str:
        """The whole text of a document."""
        return await self.ask(lambda known: known.text(source_file))

    async def contents(self) -> dict[str, Any]:
        """What there is to find: documents, categories, languages, licences and vendors."""
        return await self.ask(_contents)

    async def has_vendors(self) -> bool:
        """Whether there is anybody to be asked about; nobody can say while the index is away."""
        try:
            return bool(await self.ask(lambda known: known.directory().vendors()))
        except Unavailable:
            return True

    async def generation(self) -> int:
        """A number that changes whenever answers may; while the index is away, that of before."""
        with contextlib.suppress(Unavailable):
            self._generation = await self.ask(lambda known: known.store.generation)
        return self._generation

    async def realm(self) -> str:
        """What stands for all that is withheld now; while the index is away, that of before."""
        if self._options["withheld_licenses"]:
            with contextlib.suppress(Unavailable):
                self._realm = await self.ask(lambda known: known.gate.realm())
        return self._realm

    async def ask(self, question: Callable[[Knowledge], T]) -> T:
        """What a function of the index gives, from a worker thread."""

        def ask() -> T:
            with self._present():
                return question(self.knowledge)

        return await to_thread.run_sync(ask)

    @contextlib.contextmanager
    def _present(self) -> Iterator[None]:
        """Whatever goes wrong while the index goes away goes wrong because of that.

        And what is wrong with the store itself is a matter of whoever runs the server, who finds it in the log.
        """
        before = self._file_now()
        try:
            yield
        except Exception as error:
            if isinstance(error, ReplyError) and error.details == OF_THE_STORE:
                log.error("the store cannot be used: %s", error)  # noqa: TRY400 - the message has it all
                raise self._unavailable() from error
            if self._file_now() != before or before is None:
                raise self._unavailable() from error
            raise

    def _file_now(self) -> tuple[int, int] | None:
        """What the index is made of, if it is there; one behind an address says itself when it is not."""
        if self.folder is None:
            return (0, 0)
        try:
            found = (self.folder / "rows.sqlite").stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _unavailable(self) -> Unavailable:
        return Unavailable(
            "The index cannot be reached at the moment",
            remediation="Try again in a few seconds; whoever runs the server can bring the index back",
            retry_after=COME_BACK,
        )


class _DigestArchive:
    """An archive as digests use it: a text that was kept lately stays."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    async def put(self, *contents: Content, principal: str | None = None) -> object:
        """Keep contents that are not kept yet, because writers wait for each other and readers do not."""
        missing = [one for one in contents if not await self._keeps(one, principal)]
        return await self._archive.put(*missing, principal=principal) if missing else ()

    async def _keeps(self, content: Content, principal: str | None) -> bool:
        try:
            _, left = await self._archive.entry(content.hash, principal=principal)
        except (NotFound, IntegrityError):
            return False
        return left > LONG_ENOUGH

    async def get(self, hash: str, principal: str | None = None) -> Content:
        return await self._archive.get(hash, principal=principal)


def _contents(known: Knowledge) -> dict[str, Any]:
    shown = known.gate.narrow(Filters())
    return {
        "files": known.documents(),
        "categories": dict(known.store.values("category", shown)),
        "languages": dict(known.store.values("language", shown)),
        "licenses": dict(known.store.values("license", shown)),
        "vendors": known.directory().vendors(),
    }
