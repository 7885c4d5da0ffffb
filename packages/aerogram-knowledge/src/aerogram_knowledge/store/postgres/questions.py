"""Questions: what a search reads of the tables.

`ask` is whatever runs a statement and gives its rows: a pool, or a store that chooses among several. Meaning is exact
in up to 10,000 chunks, or as many as pass the filters; in more, pgvector looks around the nearest ones it finds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from aerogram.content.jsontext import loads
from aerogram_knowledge.filters import Filters, key_of
from aerogram_knowledge.lexicon import QueryTerm, rarity
from aerogram_knowledge.store import Candidates, DocumentEntry, Graph, StoredChunk
from aerogram_knowledge.store.export import entry_of
from aerogram_knowledge.store.postgres.changes import DOCUMENT
from aerogram_knowledge.store.postgres.postings import POSTING, WordScores, score_words
from aerogram_knowledge.store.similarity import COPIES

if TYPE_CHECKING:
    from aerogram_knowledge.store import Ids, Numbers

__all__ = [
    "Ask",
    "candidates",
    "chunks_by_id",
    "chunks_of",
    "condition",
    "copies",
    "count",
    "entries",
    "mentions",
    "names_under",
    "paths",
    "rarities",
    "values",
]

Ask = Callable[..., list[Any]]

EXACT: Final = 10_000
SLICE: Final = 4
"""How many times the wanted number is looked through at once, for chunks that pass a wide filter."""

# ruff: noqa: S608  # what is put into statements here are names of columns and numbers of parameters
_PLACED: Final = "aerogram_chunks c JOIN aerogram_documents d ON d.id = c.document"
_ROW: Final = 'SELECT c.id, c.idx, d.total, c.header, c.text, c.start, c."end", c.tokens, ' + ", ".join(
    f"d.{name}" for name in DOCUMENT.split(", ")
)
_FOUND: Final = f"{_ROW} FROM {_PLACED}"
_HELD: Final = f"{_ROW} FROM aerogram_documents d LEFT JOIN aerogram_chunks c ON c.document = d.id"
# as a question of its own, because the planner would read the vector from its text again for each row
_ASKED: Final = "(SELECT $1::text::halfvec)"
_CLOSE: Final = f"(1 - (v.vector <=> {_ASKED}))::float4 AS close"
_POSTINGS: Final = (
    "SELECT s.chunks, s.terms, p.term, p.block, p.places FROM aerogram_state s "
    "LEFT JOIN aerogram_postings p ON p.term = ANY($1)"
)
_COUNTS: Final = (
    "SELECT s.chunks, p.term, p.size FROM aerogram_state s LEFT JOIN (SELECT term, sum(octet_length(places))::bigint "
    "AS size FROM aerogram_postings WHERE term = ANY($1) GROUP BY term) p ON true"
)


def chunks_by_id(ask: Ask, ids: Sequence[int]) -> list[StoredChunk]:
    """The chunks of these ids that exist, in the order of the ids."""
    rows = {row[0]: StoredChunk(*row) for row in ask(f"{_FOUND} WHERE c.id = ANY($1)", list(ids))}
    return [rows[one] for one in ids if one in rows]


def chunks_of(ask: Ask, path: str) -> list[StoredChunk]:
    """The chunks of one document in order."""
    return [StoredChunk(*row) for row in ask(f"{_FOUND} WHERE d.path = $1 ORDER BY c.idx", path)]


def entries(ask: Ask, files: Sequence[str], dimensions: int) -> tuple[list[DocumentEntry], dict[str, Graph]]:
    """What some files hold: their documents with texts and vectors, and what they say about who is who."""
    documents: dict[str, list[StoredChunk]] = {}
    for row in ask(f"{_HELD} WHERE d.file = ANY($1) ORDER BY d.id, c.idx", files):
        documents.setdefault(row[8], []).append(StoredChunk(*row))
    kept = "JOIN aerogram_documents d ON d.id = x.document WHERE d.file = ANY($1)"
    texts = {
        row[0]: row[1:]
        for row in map(tuple, ask(f"SELECT d.path, x.text, x.paged FROM aerogram_sources x {kept}", files))
    }
    vectors = None
    if dimensions:
        rows = ask(f"SELECT x.id, x.vector::text FROM aerogram_vectors x {kept}", files)
        vectors = {row[0]: _bytes(row[1]) for row in rows}
    entries = [entry_of(chunks, vectors, texts.get(path)) for path, chunks in documents.items()]
    records: dict[str, dict[str, list[Any]]] = {}
    for file, kind, record in ask(
        "SELECT file, kind, record FROM aerogram_graph WHERE file = ANY($1) ORDER BY file, place", files
    ):
        records.setdefault(file, {"entity": [], "relationship": []})[kind].append(loads(record))
    return entries, {file: Graph(one["entity"], one["relationship"]) for file, one in records.items()}


def copies(ask: Ask) -> list[tuple[int, int]]:
    """Pairs of chunks that have the same words, which connect all that do."""
    return [(row[0], row[1]) for row in ask(COPIES.format("aerogram_"))]


def paths(ask: Ask, filters: Filters) -> list[str]:
    """The documents that pass some filters and have chunks, in order."""
    where, values = condition(filters)
    statement = f'SELECT path FROM aerogram_documents d WHERE total > 0 AND {where} ORDER BY path COLLATE "C"'
    return [row[0] for row in ask(statement, *values)]


def count(ask: Ask, filters: Filters) -> int:
    """How many chunks pass some filters."""
    where, values = condition(filters)
    return int(ask(f"SELECT COALESCE(SUM(total), 0) FROM aerogram_documents d WHERE {where}", *values)[0][0])


def values(ask: Ask, name: str, filters: Filters) -> dict[str, int]:
    """The values of a column of the documents that pass some filters, each with its number of documents."""
    where, given = condition(filters)
    statement = f"SELECT {name}, COUNT(*) FROM aerogram_documents d WHERE {name} IS NOT NULL AND {where}"
    return dict(map(tuple, ask(f"{statement} GROUP BY 1 ORDER BY 2 DESC, 1", *given)))


def names_under(ask: Ask, licenses: Sequence[str]) -> frozenset[str]:
    """The documents under some licences, and their files."""
    where, given = condition(Filters(license=tuple(licenses)))
    rows = ask(f"SELECT path, file FROM aerogram_documents d WHERE {where}", *given)
    return frozenset(name for row in rows for name in row)


def mentions(ask: Ask, filters: Filters) -> dict[str, list[tuple[int, int]]]:
    """For each entity, the chunks that name it and pass some filters, those that do so most often first."""
    found: dict[str, list[tuple[int, int]]] = {}
    where, given = condition(filters)
    named = f"SELECT m.entity, m.id, m.count FROM aerogram_mentions m JOIN {_PLACED} ON c.id = m.id WHERE {where}"
    for entity, one, times in ask(f"{named} ORDER BY m.count DESC, m.id", *given):
        found.setdefault(entity, []).append((one, times))
    return found


def candidates(
    ask: Ask,
    terms: Sequence[QueryTerm],
    vector: str | None,
    filters: Filters,
    by_words: int,
    by_meaning: int,
    *,
    exact: int,
    nearest: int,
) -> Candidates:
    """The best chunks by words and the best by meaning, each with both numbers."""
    import numpy as np

    rows = ask(_POSTINGS, [form for term in terms for form in term.forms])
    total, length = rows[0][:2]
    scores = score_words([tuple(row)[2:] for row in rows if row[2] is not None], terms, total, length)
    room = total if filters.is_open else count(ask, filters)
    allowed = _filter_chunks(ask, filters) if room <= exact and not filters.is_open else None
    worded = _best_by_words(ask, scores, filters, allowed, by_words)
    if vector is None:
        there = _numbers(ask("SELECT id FROM aerogram_chunks WHERE id = ANY($1)", worded.tolist()), 0, np.int64)
        ids, meaning = there, np.zeros(len(there), np.float32)
    else:
        wanted = by_meaning if room <= exact else min(by_meaning, nearest)
        near = _best_by_meaning(ask, vector, filters, allowed, wanted, exact=room <= exact)
        named = _fetch_arrays(
            ask, f"SELECT v.id, {_CLOSE} FROM aerogram_vectors v WHERE v.id = ANY($2)", vector, worded.tolist()
        )
        ids = np.concatenate([near[0], named[0]])
        # a vector of zeros is close to nothing, and its cosine is no number
        meaning = np.nan_to_num(np.maximum(np.concatenate([near[1], named[1]]), 0))
    ids, order = np.unique(ids, return_index=True)
    return Candidates(ids, scores.of(ids), meaning[order], scores.unknown, scores.coverage, scores.worth)


def rarities(ask: Ask, forms: Sequence[str]) -> list[float]:
    """What finding each of some terms is worth; a posting has the same length everywhere, so rows need not be read."""
    rows = ask(_COUNTS, list(forms))
    total, counts = rows[0][0], {row[1]: row[2] // POSTING.size for row in rows if row[1] is not None}
    return [rarity(total, counts.get(form, 0)) for form in forms]


def condition(filters: Filters, first: int = 1) -> tuple[str, list[Any]]:
    """The filters as a condition on the documents `d`, with parameters from a number on."""
    parts: list[str] = []
    values: list[Any] = []
    for test, wanted in (
        ("d.category_key = ANY({})", list(map(key_of, filters.category))),
        ("d.license_key = ANY({})", list(map(key_of, filters.license))),
        ("(d.license_key IS NULL OR d.license_key <> ALL({}))", list(filters.withheld)),
        ("d.steps && {}::text[]", list(map(key_of, filters.path))),
        ("d.dated >= {}", filters.after),
        ("d.dated <= {}", filters.before),
    ):
        if wanted:
            parts.append(test.format(f"${first + len(values)}"))
            values.append(wanted)
    return " AND ".join(parts) or "true", values


def _filter_chunks(ask: Ask, filters: Filters) -> Ids:
    """The chunks that pass narrow filters."""
    import numpy as np

    where, values = condition(filters)
    ids: Ids = _numbers(ask(f"SELECT c.id FROM {_PLACED} WHERE {where}", *values), 0, np.int64)
    return ids


def _best_by_words(ask: Ask, scores: WordScores, filters: Filters, allowed: Ids | None, wanted: int) -> Ids:
    """The best chunks by words that pass the filters."""
    import numpy as np

    if filters.is_open:
        return scores.best(wanted)
    if allowed is not None:
        earning = allowed[scores.of(allowed) > 0]
        return earning[np.argsort(-scores.of(earning), kind="stable")][:wanted]
    ranked, kept = scores.best(len(scores.scores)), np.zeros(0, np.int64)
    where, values = condition(filters, 2)
    statement = f"SELECT c.id FROM {_PLACED} WHERE c.id = ANY($1) AND {where}"
    for start in range(0, len(ranked), wanted * SLICE):
        part = ranked[start : start + wanted * SLICE]
        passed = _numbers(ask(statement, part.tolist(), *values), 0, np.int64)
        kept = np.concatenate([kept, part[np.isin(part, passed)]])
        if len(kept) >= wanted:
            break
    return kept[:wanted]


def _best_by_meaning(
    ask: Ask, vector: str, filters: Filters, allowed: Ids | None, wanted: int, *, exact: bool
) -> tuple[Ids, Numbers]:
    """The chunks closest in meaning that pass the filters, with their cosines."""
    # an index serves the bare distance only, so adding nothing to it is how to read all that are allowed
    far = f"(v.vector <=> {_ASKED})" + (" + 0" if exact else "")
    select = f"SELECT v.id, {_CLOSE} FROM aerogram_vectors v"
    order = f"ORDER BY {far} LIMIT {wanted}"
    if allowed is not None:
        return _fetch_arrays(ask, f"{select} WHERE v.id = ANY($2) {order}", vector, allowed.tolist())
    if filters.is_open:
        return _fetch_arrays(ask, f"{select} {order}", vector)
    where, values = condition(filters, 2)
    joined = f"{select} JOIN aerogram_documents d ON d.id = v.document WHERE {where} {order}"
    return _fetch_arrays(ask, joined, vector, *values)


def _fetch_arrays(ask: Ask, statement: str, *values: Any) -> tuple[Ids, Numbers]:
    """The ids and cosines that a statement finds; two arrays are read much faster than a thousand rows."""
    import numpy as np

    ids, close = ask(f"SELECT array_agg(id), array_agg(close) FROM ({statement}) AS found", *values)[0]
    return np.array(ids or (), np.int64), np.array(close or (), np.float32)


def _bytes(vector: str) -> bytes:
    """A vector as it was before pgvector had it."""
    import numpy as np

    return np.array([round(float(one)) for one in vector.strip("[]").split(",")], np.int8).tobytes()


def _numbers(rows: Sequence[Any], column: int, kind: Any) -> Any:
    import numpy as np

    return np.fromiter((row[column] for row in rows), kind, len(rows))
