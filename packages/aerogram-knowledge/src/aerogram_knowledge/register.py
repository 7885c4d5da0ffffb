"""Registers: everyone the index knows of, and what of it may be told.

What a document under a withheld licence says about who is who is as if it had not been said, and so are the names that
it alone gives to somebody. Where records are missing for that reason, their number is told, as a search does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from aerogram.errors import NotFound
from aerogram_knowledge.filters import Filters
from aerogram_knowledge.licences import Gate
from aerogram_knowledge.store import Graph, Store
from aerogram_knowledge.vendors import Directory, Mentions, find_mentions, renamed

__all__ = ["Register"]

READ_AT_ONCE: Final = 500
"""Chunks that are read at once, to look again for names in them."""


@dataclass(frozen=True, slots=True)
class Register:
    """The directory that may be told, and the whole one, which are the same where nothing is withheld."""

    gate: Gate
    told: Directory
    whole: Directory

    @classmethod
    def of(cls, store: Store, gate: Gate) -> Self:
        """The register of an index behind a gate."""
        graph = store.graph()
        if not gate.withheld:
            directory = Directory(graph, store.mentions())
            return cls(gate, directory, directory)
        told = _passed(graph, gate, store.names_under(gate.withheld))
        return cls(gate, Directory(told, _mentions(store, gate, graph, told)), Directory(graph))

    def vendor(self, name: str) -> tuple[dict[str, Any], int]:
        """What may be told about a vendor, and how many entities and relationships may not."""
        try:
            found = self.told.vendor(name)
        except NotFound:
            if self.whole.has(name):
                raise self.gate.refusal(1) from None
            raise
        return found, self._withheld(found)

    def _withheld(self, found: Mapping[str, Any]) -> int:
        if self.whole is self.told:
            return 0
        whole = self.whole.about(self.whole.same(found["entities"][0]))
        return max(0, _size(whole) - _size(found))


def _size(found: Mapping[str, Any]) -> int:
    return len(found["entities"]) + len(found["relationships"])


def _passed(graph: Graph, gate: Gate, documents: frozenset[str]) -> Graph:
    """What is said by documents that may be shown, in records that may be as well."""

    def shown(records: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        return [one for one in records if one["source_file"] not in documents and not gate.bars(one)]

    return Graph(shown(graph.entities), shown(graph.relationships))


def _mentions(store: Store, gate: Gate, whole: Graph, told: Graph) -> Mentions:
    """Where documents that may be shown name those who may be told.

    What is stored was found under all names. Where one counted that may not be told, or that hid a shorter one, the
    chunk is looked through again.
    """
    stored = store.mentions(gate.narrowed(Filters()))
    again = {chunk for entity in renamed(whole, told) for chunk, _ in stored.get(entity, ())}
    found = {entity: [one for one in places if one[0] not in again] for entity, places in stored.items()}
    for entity, places in find_mentions(told, _texts(store, sorted(again))).items():
        found.setdefault(entity, []).extend(places)
    return {entity: sorted(places, key=lambda one: (-one[1], one[0])) for entity, places in found.items()}


def _texts(store: Store, chunks: Sequence[int]) -> Iterator[tuple[int, str]]:
    for start in range(0, len(chunks), READ_AT_ONCE):
        yield from ((one.id, one.text) for one in store.chunks(chunks[start : start + READ_AT_ONCE]))
