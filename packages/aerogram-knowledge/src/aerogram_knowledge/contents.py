"""Contents: what a file holds, documents and a part of the vendor graph, read by a process that may fail.

Whoever sends a file decides what is in it, so nothing of it is taken apart here: front matter, markup, pages and tables
are read within the limits of a reader. A file that does not keep them is unreadable, like one that is broken.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from aerogram.digest import reader
from aerogram.digest.limits import ReadLimits, UnreadableSource
from aerogram.digest.text import CanonicalText
from aerogram_knowledge.documents.document import SUFFIXES as DOCUMENT_SUFFIXES
from aerogram_knowledge.documents.document import Document, File, read_file, suffix_of
from aerogram_knowledge.documents.sections import Section
from aerogram_knowledge.store import Graph
from aerogram_knowledge.vendors.graph import SUFFIXES, graph_of_documents, graph_of_file

__all__ = ["Contents", "read_contents"]


class Contents(NamedTuple):
    """The documents of a file, and what it says about who is who."""

    documents: list[Document]
    graph: Graph | None


_RETURNED: Final = (CanonicalText, Contents, Document, Graph, Section)


def read_contents(file: File, limits: ReadLimits) -> Contents:
    """What a file holds; `UnreadableSource` says why that cannot be told."""
    limits.check_bytes(file.size, file.path)
    found: Contents = reader.run(_contents, file, limits, limits=limits, size=len(file.content), returns=_RETURNED)
    return found


def _contents(file: File, limits: ReadLimits) -> Contents:
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
