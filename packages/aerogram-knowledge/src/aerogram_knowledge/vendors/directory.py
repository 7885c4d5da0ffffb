"""The directory: who is who, from the vendor graph and from what the documents mention.

A vendor's graph is the vendor itself, the entities that belong to it or that a relationship ties to it, and the
relationships among all of these. A name may be partial; one that could mean several vendors is a conflict that names
them, and one that means none comes with the nearest names.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Self

from aerogram.digest.terms import fold
from aerogram.errors import SLIP, Conflict, NotFound, ValidationFailed, nearest
from aerogram.reply import Notice
from aerogram.shape.modes import Mode
from aerogram_knowledge.filters import Filters
from aerogram_knowledge.licences import LicenseFilter
from aerogram_knowledge.store import Graph, Store
from aerogram_knowledge.vendors.graph import VENDOR_TYPES, name_id

__all__ = ["LicensedDirectory", "Mentions", "VendorDirectory", "cut_notice", "find_mentions", "find_renamed"]

LONGEST_NAME: Final = 200
MOST_CANDIDATES: Final = 10
MOST_PLACES: Final = 10
MOST_NEAR: Final = 5
MOST_LISTED: Final = 12
BY_NAME: Final = "Ask for one of the entities by its name, to see those around it"
TELLING: Final = 4
"""Letters of a word that tells a vendor from others; shorter ones are mostly legal forms."""
_WORD: Final = re.compile(r"[^\W_]+")

Record = Mapping[str, Any]
Mentions = Mapping[str, Sequence[tuple[int, int]]]
"""For each entity, the chunks that name it and how often each does."""


@dataclass
class VendorDirectory:
    """All entities and relationships, and where the documents mention them."""

    graph: Graph
    mentions: Mentions = field(default_factory=dict)

    def __post_init__(self) -> None:
        merged = _merge(self.graph.entities)
        self._entities, self._known_as = merged.entities, merged.known_as
        self._by_name: dict[str, list[str]] = {}
        for identity, names in merged.names.items():
            for name in names:
                self._by_name.setdefault(_key(name), []).append(identity)
        self._relationships = [_resolve_ends(one, self._by_name, self._entities) for one in self.graph.relationships]

    def vendors(self) -> list[str]:
        """The names of all vendors."""
        return sorted(str(one["name"]) for one in self._entities.values() if _is_vendor(one))

    def vendor(self, name: str) -> dict[str, Any]:
        """Everything about one vendor; its lists are whole, the mode caps them."""
        return self.about(self.resolve(name))

    def has(self, name: str) -> bool:
        """Whether somebody has this very name or id."""
        return _key(name) in self._by_name or name in self._entities

    def same(self, entity: Record) -> str:
        """The id that an entity of a smaller directory has in this one, where it may have been put to another."""
        identity = str(entity["id"])
        return identity if identity in self._entities else self._known_as[_key(str(entity["name"]))]

    def about(self, identity: str) -> dict[str, Any]:
        """Everything about the vendor of an id."""
        entities = self._related_entities(identity)
        members = {str(one["id"]) for one in entities}
        ties = [one for one in self._relationships if one["source"] in members and one["target"] in members]
        said = (one.get(name) for one in (*entities, *ties) for name in ("last_updated", "updated"))
        moments = [moment for one in said if (moment := _moment(one)) is not None]
        return {
            "vendor_name": self._entities[identity]["name"],
            "entities": [self._with_mentions(one) for one in entities],
            "relationships": [dict(one) for one in ties],
            "statistics": _statistics(entities, ties),
            "last_updated": max(moments).isoformat().replace("+00:00", "Z") if moments else None,
        }

    def resolve(self, name: str) -> str:
        """The id of the vendor that a name means."""
        asked = _check_name(name)
        for found in (self._by_name.get(asked, []), self._partial(asked)):
            vendors = [one for one in dict.fromkeys(found) if _is_vendor(self._entities[one])] or list(
                dict.fromkeys(found)
            )
            if len(vendors) == 1:
                return vendors[0]
            if vendors:
                raise self._conflict(name, vendors)
        if name in self._entities:
            return name
        raise self._not_found(name, asked)

    def _partial(self, asked: str) -> list[str]:
        """The vendors with a name that has all the words that were asked for, the last one perhaps unfinished."""
        *whole, last = asked.split()
        found = []
        for name, identities in self._by_name.items():
            words = name.split()
            if all(one in words for one in whole) and any(one.startswith(last) for one in words):
                found += [one for one in identities if _is_vendor(self._entities[one])]
        return found

    def _related_entities(self, identity: str) -> list[Record]:
        """The vendor, then what belongs to it, the most often mentioned first."""
        name = _key(str(self._entities[identity]["name"]))
        pairs = [(one["source"], one["target"]) for one in self._relationships]
        near = {target if source == identity else source for source, target in pairs if identity in (source, target)}
        near |= {
            key
            for key, one in self._entities.items()
            if one.get("vendor_id") == identity or _key(str(one.get("vendor") or "")) == name
        }
        near.discard(identity)
        others = sorted(
            (key for key in near if key in self._entities),
            key=lambda key: (-self._count(key), str(self._entities[key]["name"])),
        )
        return [self._entities[key] for key in (identity, *others)]

    def _count(self, identity: str) -> int:
        return sum(count for _, count in self.mentions.get(identity, ()))

    def _with_mentions(self, entity: Record) -> dict[str, Any]:
        places = self.mentions.get(str(entity["id"]), ())
        said = {name: value for name, value in entity.items() if name != "chunk_ids"}  # a file knows of no chunks
        said["mentions"] = self._count(str(entity["id"]))
        if places:
            said["chunk_ids"] = [one for one, _ in places[:MOST_PLACES]]
        return said

    def _conflict(self, name: str, found: Sequence[str]) -> Conflict:
        names = sorted(str(self._entities[one]["name"]) for one in found)
        return Conflict(
            f"{name!r} could mean {len(names)} vendors: {', '.join(names[:MOST_CANDIDATES])}",
            remediation="Ask again with one of the candidates' full names or ids",
            details={
                "candidates": [
                    {"id": one, "name": self._entities[one]["name"], "type": self._entities[one]["type"]}
                    for one in found[:MOST_CANDIDATES]
                ]
            },
        )

    def _not_found(self, name: str, asked: str) -> NotFound:
        meant, every = self._similar_names(asked), self.vendors()
        hint = f"; did you mean {' or '.join(meant[:3])}?" if meant else ""
        return NotFound(
            f"No vendor is called {name!r}{hint}",
            remediation=f"Use one of these names: {', '.join(meant)}" if meant else _name_hint(every),
            details={"did_you_mean": meant, "vendor_count": len(every)},
        )

    def _similar_names(self, asked: str) -> list[str]:
        """The vendors with a name, or a word in it, that somebody may have mistyped."""
        spelt: dict[str, list[str]] = {}
        for key, identities in self._by_name.items():
            names = [str(one["name"]) for one in map(self._entities.__getitem__, identities) if _is_vendor(one)]
            for part in {key, *(word for word in key.split() if len(word) >= TELLING)}:
                spelt.setdefault(part, []).extend(names)
        near = nearest(asked, spelt, MOST_NEAR, least=SLIP)
        return list(dict.fromkeys(name for part in near for name in spelt[part]))[:MOST_NEAR]


def cut_notice(counts: Mapping[str, int], mode: Mode) -> Notice:
    """What is said of lists that a mode does not show to their end."""
    message = f"Only the first {' and '.join(counts)} are shown in {mode} mode"
    more = BY_NAME if mode == "full" else "Use full mode for more of them"
    return Notice.of("PARTIAL_RESULTS", message, suggestion=more, total_counts=dict(counts))


def find_mentions(graph: Graph, texts: Iterable[tuple[int, str]]) -> dict[str, list[tuple[int, int]]]:
    """For each entity, the chunks that name it and how often each does."""
    names = _NameStep()
    for identity, known_by in _merge(graph.entities).names.items():
        for name in known_by:
            words = _WORD.findall(fold(name))
            if words and (len(words) > 1 or len(words[0]) > 2):  # noqa: PLR2004  # two letters are in every text
                names.add(words, identity)
    found: dict[str, list[tuple[int, int]]] = {}
    for chunk, text in texts if names.later else ():
        for identity, count in _count_names(names, _WORD.findall(fold(text))).items():
            found.setdefault(identity, []).append((chunk, count))
    return found


def find_renamed(whole: Graph, part: Graph) -> set[str]:
    """The entities of a graph that a part of it lacks, or knows by other names."""
    known = _merge(part.entities).names
    return {one for one, names in _merge(whole.entities).names.items() if known.get(one, {}).keys() != names.keys()}


@dataclass(slots=True)
class _NameStep:
    """Names by their words: how they go on after some of them, and who is called so if none follows."""

    later: dict[str, _NameStep] = field(default_factory=dict)
    identity: str | None = None

    def add(self, words: Sequence[str], identity: str) -> None:
        """Take in a name; of several who have it, the first one counts."""
        step = self
        for word in words:
            step = step.later.setdefault(word, _NameStep())
        step.identity = step.identity or identity

    def longest(self, words: Sequence[str], place: int) -> tuple[str | None, int]:
        """Who has the longest name that begins at a place, and where that ends."""
        step, found, end = self, None, place + 1
        for at in range(place, len(words)):
            later = step.later.get(words[at])
            if later is None:
                break
            step = later
            if step.identity is not None:
                found, end = step.identity, at + 1
        return found, end


def _count_names(names: _NameStep, words: Sequence[str]) -> Counter[str]:
    """Who is named in a text, the longest name first, so that a part of it is not counted again."""
    found: Counter[str] = Counter()
    place = 0
    while place < len(words):
        identity, place = names.longest(words, place)
        if identity is not None:
            found[identity] += 1
    return found


class _Merged(NamedTuple):
    """Entities by id, all names that somebody gave each of them, and who was first to have a name."""

    entities: dict[str, dict[str, Any]]
    names: dict[str, dict[str, None]]
    known_as: dict[str, str]


def _merge(entities: Iterable[Record]) -> _Merged:
    """Entities by id; what several files say about one is put together, the later ones winning.

    One that was only named somewhere is the one of that name that has an id.
    """
    found = _Merged({}, {}, {})
    by_id = sorted(entities, key=lambda one: one["id"] == name_id(str(one["name"])))
    for entity in by_id:
        identity = str(entity["id"])
        if identity == name_id(str(entity["name"])):
            identity = found.known_as.get(_key(str(entity["name"])), identity)
        known = found.entities.setdefault(identity, {})
        known.update({**entity, **known} if known and identity != entity["id"] else entity)
        for name in _names(entity):
            found.names.setdefault(identity, {})[name] = None
            found.known_as.setdefault(_key(name), identity)
    return found


def _names(entity: Record) -> list[str]:
    """The name and the aliases, of which a file may say anything: those that are texts or numbers count."""
    others = entity.get("aliases")
    several = others if isinstance(others, (list, tuple)) else [others]
    aliases = (str(one) for one in several if isinstance(one, (str, int)) and not isinstance(one, bool) and one != "")
    return [str(entity["name"]), *aliases]


def _name_hint(names: Sequence[str]) -> str:
    """How to come by the name of a vendor when none is near."""
    if not names:
        return "Search the documents: the index knows of no vendor, because no file or front matter names one"
    more = ", and others that a search finds" if len(names) > MOST_LISTED else ""
    return f"Use the name of one of the {len(names)} vendors: {', '.join(names[:MOST_LISTED])}{more}"


def _key(name: str) -> str:
    return " ".join(_WORD.findall(fold(name)))


def _moment(said: object) -> dt.datetime | None:
    """The moment that a graph means by a date or a time; those without a zone are in UTC."""
    try:
        found = dt.datetime.fromisoformat(str(said))
    except ValueError:
        return None
    try:
        return found.replace(tzinfo=dt.UTC) if found.tzinfo is None else found.astimezone(dt.UTC)
    except OverflowError:  # one that is the first or the last there is somewhere, and not in UTC
        return found.replace(tzinfo=dt.UTC)


def _is_vendor(entity: Record) -> bool:
    return entity["type"] in VENDOR_TYPES


def _resolve_ends(tie: Record, by_name: Mapping[str, Sequence[str]], entities: Mapping[str, Any]) -> dict[str, Any]:
    """A relationship whose ends are ids, although a file may have given names."""
    ends = {}
    for end in ("source", "target"):
        said = str(tie[end])
        known = [] if said in entities else by_name.get(_key(said), [])
        ends[end] = known[0] if len(known) == 1 else said
    return {**tie, **ends}


def _statistics(entities: Sequence[Record], ties: Sequence[Record]) -> dict[str, Any]:
    return {
        "entity_count": len(entities),
        "relationship_count": len(ties),
        "entity_type_distribution": dict(Counter(str(one["type"]) for one in entities).most_common()),
        "relationship_type_distribution": dict(Counter(str(one["type"]) for one in ties).most_common()),
    }


def _check_name(name: str) -> str:
    asked = _key(name) if isinstance(name, str) and len(name) <= LONGEST_NAME else ""
    if not asked:
        raise ValidationFailed(
            f"A vendor's name has 1 to {LONGEST_NAME} characters, and a letter or digit among them",
            remediation="Send such a name, or a part of one",
            details={"field": "vendor_name"},
        )
    return asked


READ_AT_ONCE: Final = 500
"""Chunks that are read at once, to look again for names in them."""


@dataclass(frozen=True, slots=True)
class LicensedDirectory:
    """The directory that may be told, and the whole one, which are the same where nothing is withheld."""

    gate: LicenseFilter
    told: VendorDirectory
    whole: VendorDirectory

    @classmethod
    def of(cls, store: Store, gate: LicenseFilter) -> Self:
        """The register of an index behind a gate."""
        graph = store.graph()
        if not gate.withheld:
            directory = VendorDirectory(graph, store.mentions())
            return cls(gate, directory, directory)
        spellings = gate.spellings()
        told = _filter_graph(graph, gate, store.names_under(spellings) if spellings else frozenset())
        return cls(gate, VendorDirectory(told, _mentions(store, gate, graph, told)), VendorDirectory(graph))

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


def _filter_graph(graph: Graph, gate: LicenseFilter, documents: frozenset[str]) -> Graph:
    """What is said by documents that may be shown, in records that may be as well."""

    def filter_records(records: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        return [one for one in records if one["source_file"] not in documents and not gate.bars(one)]

    return Graph(filter_records(graph.entities), filter_records(graph.relationships))


def _mentions(store: Store, gate: LicenseFilter, whole: Graph, told: Graph) -> Mentions:
    """Where documents that may be shown name those who may be told.

    What is stored was found under all names. Where one counted that may not be told, or that hid a shorter one, the
    chunk is looked through again.
    """
    stored = store.mentions(gate.narrow(Filters()))
    again = {chunk for entity in find_renamed(whole, told) for chunk, _ in stored.get(entity, ())}
    found = {entity: [one for one in places if one[0] not in again] for entity, places in stored.items()}
    for entity, places in find_mentions(told, _texts(store, sorted(again))).items():
        found.setdefault(entity, []).extend(places)
    return {entity: sorted(places, key=lambda one: (-one[1], one[0])) for entity, places in found.items()}


def _texts(store: Store, chunks: Sequence[int]) -> Iterator[tuple[int, str]]:
    for start in range(0, len(chunks), READ_AT_ONCE):
        yield from ((one.id, one.text) for one in store.chunks(chunks[start : start + READ_AT_ONCE]))
