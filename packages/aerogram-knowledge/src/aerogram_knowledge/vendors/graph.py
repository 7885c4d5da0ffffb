"""The vendor graph as files say it: entities and relationships from JSON, CSV or front matter.

JSON: `{"entities": […], "relationships": […]}`, also `vendors` for entities of that type. A JSON list or a CSV table: a
row with a name is an entity, one with a source and a target is a relationship. Front matter: `entities`,
`relationships`, or `vendor: Name` for the vendor that a document is about. Every record gets an id, a name and a type;
whatever else it says is kept. A licence that a JSON object states is that of each of its records that states none.

Most data has names, and is searched as text. So a file is a graph only if it holds nothing else and says so: by the
names of its lists, or by the types of its rows.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from aerogram.content import read_json
from aerogram.content.jsontext import loads
from aerogram.digest.limits import ReadLimits, UnreadableSource
from aerogram.digest.sources import encoding
from aerogram.digest.terms import fold
from aerogram.errors import ContractError
from aerogram.normalize import Policy
from aerogram.normalize.values import encode
from aerogram_knowledge.documents.document import Document, File, suffix_of, text_of_record
from aerogram_knowledge.documents.front import UNKNOWN_LICENSE, in_lower_case, license_of, stated_licenses
from aerogram_knowledge.store import Graph

__all__ = ["SUFFIXES", "VENDOR_TYPES", "graph_of_documents", "graph_of_file", "name_id"]

SUFFIXES: Final = (".json", ".csv")
DEFAULT_TYPE: Final = "ENTITY"
VENDOR: Final = "VENDOR"
VENDOR_TYPES: Final = frozenset({VENDOR, "COMPANY", "ORGANIZATION", "ORGANISATION", "ORG", "SUPPLIER"})
_SOURCES: Final = ("source", "source_id", "from", "from_id", "subject", "head")
_TARGETS: Final = ("target", "target_id", "to", "to_id", "object", "tail")
_TYPES: Final = ("type", "entity_type", "relationship_type", "relation", "kind", "predicate", "label")
_NAMES: Final = ("name", "vendor_name", "entity_name", "title")
_IDS: Final = ("id", "entity_id", "relationship_id", "key")
_LISTS: Final = ("entities", "vendors", "relationships", "edges")
_NOT_A_GRAPH: Final = "it is no table of vendors or relationships with their types, and no other tables are read"
_FORMS: Final = Policy()
_NOT_A_LETTER: Final = re.compile(r"[^\w]+")


def graph_of_file(file: File, limits: ReadLimits) -> Graph:
    """The graph in a JSON or CSV file, packed or not; `UnreadableSource` when it is none."""
    text, _ = encoding.decode(file.unpack(limits).content)
    said = _csv(text) if suffix_of(file.path) == ".csv" else _json(text)
    graph = _of_data(said) if _is_graph(said) else Graph()
    if not graph.entities and not graph.relationships:
        raise UnreadableSource("unknown_kind", _NOT_A_GRAPH)
    return graph


def graph_of_documents(documents: Iterable[Document]) -> Graph:
    """What the front matter of some documents says about who is who."""
    entities: list[dict[str, Any]] = []
    relationships: list[dict[str, Any]] = []
    for document in documents:
        said, source = document.said, {"source_file": document.path}
        named = _entities(said.get("entities"), DEFAULT_TYPE) + _entities(said.get("vendors"), VENDOR)
        named += _entities([said["vendor"]] if "vendor" in said else None, VENDOR)
        entities += [one | source for one in named]
        relationships += [one | source for one in _relationships(said.get("relationships"))]
    return Graph(entities, relationships)


def name_id(name: str) -> str:
    """The id of an entity that has only a name."""
    return "e_" + _NOT_A_LETTER.sub("_", fold(name)).strip("_")


def _json(text: str) -> Any:
    try:
        return loads(text)
    except ContractError as error:
        raise UnreadableSource("broken", f"it is not JSON: {error.rule.removeprefix('not JSON: ')}") from error


def _csv(text: str) -> list[dict[str, Any]]:
    try:
        dialect = csv.Sniffer().sniff(text[:4096], ",;\t")
    except csv.Error:
        dialect = csv.excel
    try:
        rows = csv.reader(io.StringIO(text), dialect=dialect, strict=True)
        names = [name.strip() for name in next((row for row in rows if row), [])]
        return [record for row in rows if (record := _csv_record(names, row))]
    except csv.Error as error:
        raise UnreadableSource("broken", f"it is not CSV: {error}") from error


def _csv_record(names: list[str], row: list[str]) -> dict[str, Any]:
    """A row by the names of its columns, of which several may have one name.

    Of a row with more cells than there are columns nobody knows which of them is its licence.
    """
    said = [{name: value} for name, value in zip(names, row, strict=False) if name and value]
    if any(row[len(names) :]):
        said += [{name: UNKNOWN_LICENSE} for name in stated_licenses(dict.fromkeys(names, True))]
    return in_lower_case(*said)


def _is_graph(said: Any) -> bool:
    """Whether data is of entities and relationships alone, and says so."""
    if isinstance(said, list):
        return all(map(_is_record, said)) and any(map(_has_telling_type, said))
    if not isinstance(said, dict):
        return False
    rows = [row for name in _LISTS if isinstance(said.get(name), list) for row in said[name]]
    others = {name: value for name, value in said.items() if name not in _LISTS}
    if text_of_record(others) is not None or any(isinstance(value, list) for value in others.values()):
        return False
    is_named = bool(said.get("vendors") or (said.get("entities") and said.get("relationships")))
    records = [row for row in rows if not isinstance(row, str)]
    return all(map(_is_record, records)) and (is_named or any(_first(row, _TYPES) for row in records))


def _is_record(row: Any) -> bool:
    """Whether a row can be an entity or a relationship; one with a text of its own is a document."""
    return isinstance(row, dict) and text_of_record(row) is None and bool(_first(row, _NAMES) or _has_ends(row))


def _has_telling_type(row: Mapping[str, Any]) -> bool:
    """Whether a row is of a type that graphs alone have: that of a vendor, or of what ties a source to a target."""
    kind = _first(row, _TYPES)
    is_tie = any(
        {source, target} <= row.keys() for source, target in (("source", "target"), ("source_id", "target_id"))
    )
    return kind is not None and (is_tie or kind.upper() in VENDOR_TYPES)


def _has_ends(row: Mapping[str, Any]) -> bool:
    return _first(row, _SOURCES) is not None and _first(row, _TARGETS) is not None


def _of_data(said: Any) -> Graph:
    if isinstance(said, list):
        return _of_rows(said)
    entities = _entities(said.get("entities"), DEFAULT_TYPE) + _entities(said.get("vendors"), VENDOR)
    relationships = _relationships(said.get("relationships") or said.get("edges"))
    stated = license_of(in_lower_case(said))
    return Graph(_under_license(stated, entities), _under_license(stated, relationships))


def _under_license(stated: str | None, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records, each of which states a licence if the object that they stand in does."""
    if stated is None:
        return records
    return [one if license_of(in_lower_case(one)) else one | {"license": stated} for one in records]


def _of_rows(rows: list[dict[str, Any]]) -> Graph:
    linked, named = [], []
    for row in rows:
        if _has_ends(row):
            linked.append(row)
        elif _first(row, _NAMES):
            named.append(row)
    return Graph(_entities(named, DEFAULT_TYPE), _relationships(linked))


def _entities(given: Any, type_: str) -> list[dict[str, Any]]:
    found = []
    for one in given if isinstance(given, (list, tuple)) else ():
        record = {"name": one} if isinstance(one, str) else one
        name = _first(record, _NAMES) if isinstance(record, Mapping) else None
        if name:
            identity = _first(record, _IDS) or name_id(name)
            kind = (_first(record, _TYPES) or type_).upper()
            found.append({**_plain(record, (*_IDS, *_NAMES, *_TYPES)), "id": identity, "name": name, "type": kind})
    return found


def _relationships(given: Any) -> list[dict[str, Any]]:
    found = []
    for one in given if isinstance(given, (list, tuple)) else ():
        if not isinstance(one, Mapping):
            continue
        source, target = _first(one, _SOURCES), _first(one, _TARGETS)
        if source and target:
            kind = (_first(one, _TYPES) or "RELATED").upper()
            identity = _first(one, _IDS) or f"r_{name_id(source)[2:]}_{kind.lower()}_{name_id(target)[2:]}"
            rest = _plain(one, (*_IDS, *_SOURCES, *_TARGETS, *_TYPES))
            found.append({**rest, "id": identity, "source": source, "target": target, "type": kind})
    return found


def _first(record: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    for name in names:
        value = record.get(name)
        if isinstance(value, (str, int)) and not isinstance(value, bool) and str(value).strip():
            return str(value).strip()[:300].replace("\0", "\ufffd")  # which no database takes
    return None


def _plain(record: Mapping[str, Any], without: tuple[str, ...]) -> dict[str, Any]:
    """What a record says besides its id, name and type, as JSON can hold it."""
    kept = {name: value for name, value in record.items() if name not in without}
    return kept if _is_json(kept) else read_json(encode(kept, _FORMS).body)


def _is_json(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_json, value))
    if isinstance(value, dict):
        return all(isinstance(name, str) and _is_json(one) for name, one in value.items())
    return value is None or isinstance(value, (str, int, float, bool))
