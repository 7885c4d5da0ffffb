"""Contents: what a file holds, documents and a part of the vendor graph, read by a process that may fail.

Whoever sends a file decides what is in it, so nothing of it is taken apart here: front matter, markup, pages and tables
are read within the limits of a reader. A file that does not keep them is unreadable, like one that is broken.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from aerogram.digest import reader
from aerogram.digest.limits import ReadLimits, UnreadableSource
from aerogram.digest.text import CanonicalText
from aerogram.errors import ValidationFailed
from aerogram_knowledge.documents.document import SUFFIXES as DOCUMENT_SUFFIXES
from aerogram_knowledge.documents.document import Document, File, read_file, suffix_of
from aerogram_knowledge.documents.sections import Section
from aerogram_knowledge.store import Graph, check_graph
from aerogram_knowledge.vendors.graph import SUFFIXES, graph_of_documents, graph_of_file

__all__ = ["Contents", "read_contents"]


class Contents(NamedTuple):
    """The documents of a file, and what it says about who is who."""

    documents: list[Document]
    graph: Graph | None

    @property
    def weight(self) -> int:
        """About how many bytes it takes, however small the file is that it was packed in."""
        records = self.graph.records if self.graph is not None else 0
        return sum(len(one.source.text) for one in self.documents) + records * RECORD


RECORD: Final = 500
"""Bytes of a record of a graph, about."""
_RETURNED: Final = (CanonicalText, Contents, Document, Graph, Section)


def read_contents(file: File, limits: ReadLimits) -> Contents:
    """What a file holds; `UnreadableSource` says why that cannot be told."""
    limits.check_bytes(file.size, file.path)
    found: Contents = reader.run(_contents, file, limits, limits=limits, size=len(file.content), returns=_RETURNED)
    return found


def _contents(file: File, limits: ReadLimits) -> Contents:
    found = _take_apart(file, limits)
    if found.graph is not None:
        try:
            check_graph(found.graph.records)
        except ValidationFailed as error:
            raise UnreadableSource("too_large", error.message) from error
    return found


def _take_apart(file: File, limits: ReadLimits) -> Contents:
    if suffix_of(file.path) in SUFFIXES:
        try:
            return Contents([], graph_of_file(file, limits))
        except UnreadableSource as error:
            # JSON that is no graph is a document like any other; a table is none
            if error.reason != "unknown_kind" or suffix_of(file.path) not in DOCUMENT_SUFFIXES:
                raise
    documents = read_file(file, limits)
    graph = graph_of_documents(documents)
    return Contents(documents, graph if graph.entities or graph.relationships else None)
