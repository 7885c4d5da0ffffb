"""Search: from a query to its ranked results, and to the reason when there are none.

Candidates come from the store, by words and by meaning; what the best of them have in common is asked for once more
where that helps, and both are weighed against each other. A ranking depends on the query, the filters and the
generation of the index, never on the page; it is kept for a while, so that walking on is cheap.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import OrderedDict, deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_args

from aerogram.digest.terms import fold
from aerogram.errors import ValidationFailed
from aerogram.reply import EmptyReason
from aerogram.shape.pages import Window
from aerogram_knowledge.documents.language import FALLBACK, has_own_script, language_of, languages_asked_in
from aerogram_knowledge.embedders import Embedder, quantise
from aerogram_knowledge.filters import Filters
from aerogram_knowledge.lexicon import QueryTerm, find_phrases, is_word, query_terms
from aerogram_knowledge.licences import LicenseFilter
from aerogram_knowledge.search import feedback
from aerogram_knowledge.search.copies import Copies, repetitions
from aerogram_knowledge.search.fusion import Method, RankedResults, best_places, earnings, fuse, trust_in_meaning
from aerogram_knowledge.store import Candidates, Moment, Store, StoredChunk

if TYPE_CHECKING:
    from aerogram_knowledge.store import Ids, Numbers

__all__ = ["FairSemaphore", "FoundPage", "IndexSearch", "check_query"]


class FairSemaphore:
    """Lets `places` threads in at a time, in the order in which they came."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._guard = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()

    @contextmanager
    def take(self) -> Iterator[None]:
        """Wait for a place, and have it until the end of the block."""
        called = threading.Lock()
        with self._guard:
            if self._free:
                self._free -= 1
            else:
                called.acquire()
                self._waiting.append(called)
        with called:  # it is free, or released by the one who hands its place over
            try:
                yield
            finally:
                with self._guard:
                    if self._waiting:
                        self._waiting.popleft().release()
                    else:
                        self._free += 1


LONGEST_QUERY: Final = 500
LOOKED_THROUGH: Final = 200
"""So many of the best results are read for a phrase between quotation marks."""
SEEN_FIRST: Final = 10
"""So many of the best results are looked at once more for what they say again."""
LOOKED_AT_FOR_LANGUAGE: Final = 50
"""So many of the best results are looked at for the language that they are in."""
TELLING: Final = 300
"""So many signs of one tell its language, where its document is in another one."""
OTHER_SCRIPT: Final = 0.8
"""What the score of one counts that is in another script than the query."""
OTHER_LANGUAGE: Final = 0.9
"""The same for one in another language with the same letters."""
SMALL_INDEX: Final = 20_000
LISTING_TERMS: Final = 2
REMEMBERED: Final = 128
HELD: Final = 512
CALLERS: Final = 3
"""How many searches run at the same time: engines leave the interpreter to others, and more would be in its way."""
COPIES_AMONG: Final = 100
"""So many of the best by words are looked at first for those that are no copies."""


class Depth(NamedTuple):
    """How many of the best by words and of the best by meaning are results."""

    words: int
    meaning: int


WHOLE: Final = Depth(10_000, 10_000)
LISTING: Final = Depth(5_000, 3_000)
QUESTION: Final = Depth(1_000, 3_000)


class FoundPage(NamedTuple):
    """All results of a query in their order, and the chunks of those from `first` to `last`, which are on one page.

    `also_in` are the other documents that have the same words as a chunk, `withheld` is how many results may not be
    shown.
    """

    ranked: RankedResults
    first: int
    last: int
    chunks: list[StoredChunk]
    also_in: Mapping[int, Sequence[str]]
    withheld: int = 0


class IndexSearch:
    """Ranks the chunks of a store."""

    def __init__(self, store: Store, embedder: Embedder, gate: LicenseFilter | None = None) -> None:
        self.store = store
        self.embedder = embedder
        self.gate = gate or LicenseFilter()
        self._remembered: OrderedDict[Any, RankedResults] = OrderedDict()
        self._counted: tuple[Hashable, int, Copies] = (None, 0, Copies(()))
        self._held: tuple[Hashable, dict[int, StoredChunk]] = (None, {})
        self._guard = threading.Lock()
        self.turns = FairSemaphore(CALLERS)

    def page(self, query: str, filters: Filters, method: Method, window: Window) -> FoundPage:
        """What a query finds, and the page of it that a window shows."""
        ranked = self.rank(query, filters, method)
        withheld = self.withheld(query, filters, method) if self.gate.withheld else 0
        first = _page_offset(ranked, window)
        last = first + window.size
        found = self.chunks(ranked.ids[first:last].tolist())
        # a writer may be between its steps: words still lead to what a document says by now may not be shown
        chunks = [one for one in found if not self.gate.holds_back(one)]
        withheld += len(found) - len(chunks)
        return FoundPage(ranked, first, last, chunks, self.also_in(chunks), withheld)

    def rank(self, query: str, filters: Filters, method: Method = "hybrid") -> RankedResults:
        """All results of a query that may be shown, the best first."""
        narrowed = self.gate.narrow(filters)
        ranked = self._recall_or_rank(query, narrowed, method)
        if self.gate.narrow(filters) != narrowed:  # documents came in meanwhile, under a licence that was not known yet
            return self.rank(query, filters, method)
        return ranked

    def withheld(self, query: str, filters: Filters, method: Method = "hybrid") -> int:
        """How many results a query would have besides those that may be shown."""
        if not self.gate.withheld:
            return 0
        import numpy as np

        every, shown = self._recall_or_rank(query, filters, method), self.rank(query, filters, method)
        return int(np.isin(every.ids, shown.ids, invert=True).sum())

    def similar(self, ids: Sequence[int]) -> Mapping[int, Sequence[tuple[int, float]]]:
        """Near-duplicates of some chunks, those that may be shown."""
        found = self.store.similar(ids)
        if not self.gate.withheld:
            return found
        others = self.store.chunks({other for several in found.values() for other, _ in several})
        shown = {one.id for one in others if not self.gate.holds_back(one)}
        return {one: [pair for pair in several if pair[0] in shown] for one, several in found.items()}

    def chunks(self, ids: Sequence[int]) -> list[StoredChunk]:
        """The chunks of some results that exist, in that order; what the best say is looked at more than once."""
        held = self._held
        if held[0] != self._counted[0] or len(held[1]) > HELD:
            held = self._held = (self._counted[0], {})
        missing = [one for one in ids if one not in held[1]]
        if missing:
            held[1].update({one.id: one for one in self.store.chunks(missing)})
        return [held[1][one] for one in ids if one in held[1]]

    def also_in(self, chunks: Sequence[StoredChunk]) -> dict[int, list[str]]:
        """The other documents that have the same words as some chunks, those that may be shown."""
        copies = {chunk.id: same for chunk in chunks if (same := self._counted[2].of(chunk.id))}
        if not copies:
            return {}
        found = {one.id: one for one in self.store.chunks({one for several in copies.values() for one in several})}
        shown = {one: chunk.path for one, chunk in found.items() if not self.gate.holds_back(chunk)}
        named = {
            chunk.id: {shown[one] for one in copies[chunk.id] if one in shown} - {chunk.path}
            for chunk in chunks
            if chunk.id in copies
        }
        return {one: sorted(paths) for one, paths in named.items() if paths}

    def _recall_or_rank(self, query: str, filters: Filters, method: Method) -> RankedResults:
        """A ranking, remembered if it can be."""
        moment = self.store.moment()
        key = (moment.version, query, filters, method)
        with self._guard:
            known = self._remembered.get(key)
            if known is not None:
                self._remembered.move_to_end(key)
                return known
        ranked = self._rank(query, filters, method, moment)
        with self._guard:
            self._remembered[key] = ranked
            while len(self._remembered) > REMEMBERED:
                self._remembered.popitem(last=False)
        return ranked

    def _rank(self, query: str, filters: Filters, method: Method, moment: Moment) -> RankedResults:
        terms = query_terms(query, moment.languages)
        vector = None if method == "bm25" or not self.embedder.dimensions else self._vector(query)
        known = self.embedder.coverage(query) if vector is not None else 0.0
        chunks, copies = self._read_version(moment.version)
        depth = _depth(len(terms), chunks)
        found = moment.candidates(terms, vector, filters, *depth)
        said: dict[str, Any] = {}
        if method == "hybrid":
            said["words"] = self._listen(moment, terms, found, copies, filters, depth)
            # fewer than are asked for are all that the filters leave
            among = chunks if len(found.ids) >= depth.meaning else len(found.ids)
            clear = self._share_known(terms, found) if known < 1 else 1.0
            said["trust"] = trust_in_meaning(found, clear, among) if known else 0.0
        ranked = fuse(found, known, method, **said)
        held = self._holders(find_phrases(query), ranked)
        ranked = fuse(found, known, method, **said, held=held) if held else ranked
        ranked = ranked.at(copies.first_places(ranked.ids))
        if method == "hybrid":
            ranked = self._lessen_other_languages(query, moment.languages, ranked)
        return self._lower_repetitions(ranked)

    def _lessen_other_languages(self, query: str, languages: frozenset[str], ranked: RankedResults) -> RankedResults:
        """The results, of which the best ones that whoever asks can hardly read, or did not ask for, count for less.

        A name in Latin letters stands in the manuals of all languages, and in a short one it counts the most.
        """
        asked = languages_asked_in(query)
        others = {one for one in languages - asked if asked or has_own_script(one)}
        if not others or not len(ranked) or not any(map(str.isalpha, query)):
            return ranked
        best = ranked.ids[:LOOKED_AT_FOR_LANGUAGE].tolist()
        found = {one.id: one for one in self.chunks(best)}
        shares = [_share_of_language(asked, found[one]) if one in found else 1.0 for one in best]
        return ranked.lessen(shares) if len(set(shares)) > 1 else ranked

    def _lower_repetitions(self, ranked: RankedResults) -> RankedResults:
        """The results, of which the best ones that say again what others say come behind those."""
        best = ranked.ids[:SEEN_FIRST].tolist()
        texts = {one.id: one.text for one in self.chunks(best)}
        again = repetitions([texts.get(one, "") for one in best])
        return ranked.lower(again, len(best) - 1) if again else ranked

    def _listen(
        self,
        moment: Moment,
        terms: Sequence[QueryTerm],
        found: Candidates,
        copies: Copies,
        filters: Filters,
        depth: Depth,
    ) -> Numbers | None:
        """The word scores of the candidates for what the best of them have in common as well; None without that."""
        import numpy as np

        best = self._best_by_words(found, copies)
        earned = earnings(found.words[best])
        share = feedback.share_of_feedback(terms, earned)
        if not share:
            return None
        chunks = self.chunks(found.ids[best].tolist())
        if len(chunks) < len(best):
            return None  # somebody has just taken one out
        more = feedback.expand(terms, chunks, earned, share, moment.rarities)
        again = moment.candidates(more, None, filters, depth.words, 0)
        # the candidates of both are in the order of their ids
        places = np.minimum(np.searchsorted(again.ids, found.ids), max(0, len(again.ids) - 1))
        return np.where(again.ids[places] == found.ids, again.words[places], np.float32(0)) if len(again.ids) else None

    def _best_by_words(self, found: Candidates, copies: Copies) -> Ids:
        """The places of the best candidates by words that are no copies of each other."""
        import numpy as np

        having = np.flatnonzero(found.words)
        for most in (COPIES_AMONG, len(having)):  # the first are enough, unless nearly all of them are copies
            best = having[best_places(found.words[having], most)]
            best = best[copies.first_places(found.ids[best])][: feedback.CHUNKS]
            if len(best) == feedback.CHUNKS:
                break
        return best

    def _share_known(self, terms: Sequence[QueryTerm], found: Candidates) -> float:
        """The share of a query, by what its words are worth, besides what the index knows and the embedder does not."""
        unknown = frozenset(found.unknown)
        strange = sum(
            worth * (1 - self.embedder.coverage(term.written))
            for term, worth in zip(terms, found.worth, strict=True)
            if term.written not in unknown
        )
        whole = sum(found.worth)
        return 1 - strange / whole if whole else 1.0

    def _holders(self, phrases: Sequence[str], ranked: RankedResults) -> list[int]:
        """Those of the best results that have some phrases as they stand."""
        if not phrases:
            return []
        chunks = self.store.chunks(ranked.ids[:LOOKED_THROUGH].tolist())
        texts = {one.id: " ".join(fold(f"{one.header}\n{one.text}").split()) for one in chunks}
        patterns = [re.compile(_whole(phrase)) for phrase in phrases]
        return [one for one, text in texts.items() if all(pattern.search(text) for pattern in patterns)]

    def _read_version(self, version: Hashable) -> tuple[int, Copies]:
        """How many chunks there are, and which are copies of each other; looked up once for every version."""
        if self._counted[0] != version:
            self._counted = (version, self.store.count(Filters()), Copies(self.store.copies()))
        return self._counted[1:]

    def _vector(self, query: str) -> bytes | None:
        row = quantise(self.embedder.embed([query]))[0]
        return row.tobytes() if row.any() else None

    def why_empty(self, query: str, filters: Filters, method: Method) -> EmptyReason:
        """Why a query has no results."""
        if not self.store.count(Filters()):
            return "source_unavailable"
        if filters.is_open or not len(self.rank(query, Filters(), method)):
            return "no_match"
        if filters.license and len(self.rank(query, filters.without_license(), method)):
            return "license_blocked"
        return "filters_too_narrow"


def _page_offset(ranked: RankedResults, window: Window) -> int:
    """How many results stand before a page: by the last one that was shown, wherever it stands now."""
    if window.after is None:
        return window.offset
    score, identity = window.after
    return ranked.rank_of(int(identity)) or ranked.after(float(score), int(identity))


def _share_of_language(asked: frozenset[str], chunk: StoredChunk) -> float:
    """What the score of a chunk counts, by its language, for a query in one of some."""
    if chunk.language in asked:
        return 1.0
    latin = not any(map(has_own_script, asked))
    if latin and not has_own_script(chunk.language):
        return OTHER_LANGUAGE if asked and language_of(chunk.text[:TELLING]) not in asked else 1.0
    return OTHER_SCRIPT if language_of(chunk.text[:TELLING]) not in (asked or {FALLBACK}) else 1.0


def _depth(terms: int, chunks: int) -> Depth:
    """How far results go. A query of one or two terms is a listing that somebody may page through.

    Behind a longer one comes a tail of chunks with one of its words: in a small index it costs little, in a large one
    nobody wants it whole.
    """
    if chunks <= SMALL_INDEX:
        return WHOLE
    return LISTING if terms <= LISTING_TERMS else QUESTION


def _whole(phrase: str) -> str:
    """The pattern of a phrase that begins and ends where words do, in a script that has such places."""
    before = r"(?<!\w)" if is_word(phrase[0]) else ""
    return before + re.escape(phrase) + (r"(?!\w)" if is_word(phrase[-1]) else "")


def check_query(query: object) -> str:
    """A query as it is looked for: composed, without control characters, on one line."""
    if not isinstance(query, str):
        raise _refusal("query must be a text", query)
    if len(query) > LONGEST_QUERY:
        raise _refusal(f"query has {len(query)} characters; at most {LONGEST_QUERY} are allowed", query)
    composed = unicodedata.normalize("NFC", query.encode("utf-8", "replace").decode())
    plain = "".join(sign if sign.isprintable() or sign.isspace() else " " for sign in composed)
    clean = " ".join(plain.split())
    if not clean:
        raise _refusal("query must not be empty", query)
    return clean


def check_method(method: str) -> Method:
    """A method of that name; anything else is refused."""
    for known in get_args(Method):
        if method == known:
            return known  # type: ignore[no-any-return]  # it is one of the alias's own members
    raise ValidationFailed(
        f"There is no search method {str(method)[:40]!r}", remediation=f"Use one of {', '.join(get_args(Method))}"
    )


def _refusal(message: str, received: object) -> ValidationFailed:
    return ValidationFailed(
        message,
        remediation=f"Send a query of 1 to {LONGEST_QUERY} characters",
        details={"field": "query", "received": repr(received)[:80], "minimum": 1, "maximum": LONGEST_QUERY},
    )
