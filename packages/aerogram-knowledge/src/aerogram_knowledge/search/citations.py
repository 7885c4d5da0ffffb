"""Citations: where results come from, and whether the source still says so.

A source is verified when the file has the bytes that were read, or, if it has changed, when the cited words still
stand in it. What was found is remembered for as long as the file is not touched. On a machine that does not have the
folder of a source, nothing is known about it: it is unverified.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from aerogram.digest.limits import ReadLimits, UnreadableSource
from aerogram.digest.reader import ReaderFailed
from aerogram.reply import Citation
from aerogram_knowledge.contents import read_contents
from aerogram_knowledge.documents.document import File
from aerogram_knowledge.documents.files import read_bytes
from aerogram_knowledge.store import StoredChunk

__all__ = ["Status", "citations_of", "verify"]

Status: TypeAlias = Literal["missing", "changed", "unverified", "verified"]
LARGEST: Final = 64 * 1024 * 1024


def verify(chunk: StoredChunk, path: Path, root: Path) -> Status:
    """Whether the file at a path below a root still has the words of a chunk."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return "missing"
    seen = (found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    if _checksum(path, root, seen) == chunk.checksum:
        return "verified"
    return "verified" if chunk.text in _words(path, root, seen, chunk.file).get(chunk.path, "") else "changed"


def citations_of(chunks: Sequence[StoredChunk], statuses: Sequence[Status]) -> tuple[Citation, ...]:
    """One citation for each document among the results, which names the results that it is the source of."""
    paths: dict[str, list[int]] = {}
    for place, chunk in enumerate(chunks):
        paths.setdefault(chunk.path, []).append(place)
    return tuple(_citation(chunks, statuses, places) for places in paths.values())


def _citation(chunks: Sequence[StoredChunk], statuses: Sequence[Status], places: Sequence[int]) -> Citation:
    chunk = chunks[places[0]]
    said = {statuses[place] for place in places}
    return Citation(
        source_id=chunk.path,
        source_url=chunk.url,
        publisher=chunk.publisher,
        title=chunk.title,
        fetched_at=chunk.fetched_at,
        checksum=chunk.text_hash,
        license=chunk.license,
        field_paths=tuple(f"/results/{place}" for place in places),
        verification_status=next(status for status in get_args(Status) if status in said),
        extra={"locators": [f"char:{chunks[place].start}-{chunks[place].end}" for place in places]},
    )


@lru_cache(maxsize=4096)
def _checksum(path: Path, root: Path, seen: tuple[int, int, int]) -> str:
    """The sha256 of a file as it was when it had this size and these times."""
    try:
        return read_bytes(path, File("", seen[0], seen[1]), LARGEST, root=root).checksum
    except UnreadableSource:
        return ""


@lru_cache(maxsize=64)
def _words(path: Path, root: Path, seen: tuple[int, int, int], name: str) -> dict[str, str]:
    """The text of each document in a file that has changed."""
    try:
        file = read_bytes(path, File(name, seen[0], seen[1]), LARGEST, root=root)
        documents = read_contents(file, ReadLimits()).documents
    except (ReaderFailed, UnreadableSource):
        return {}
    return {document.path: document.source.text for document in documents}
