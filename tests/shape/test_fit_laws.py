"""The laws of fitting, over random replies and budgets."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from aerogram.channels import POLICIES, Sizer
from aerogram.content import Content
from aerogram.content.jsontext import dumps, loads
from aerogram.cursor import CursorKeys, Cursors
from aerogram.dialects import dialect
from aerogram.reply import Page, Reply
from aerogram.shape.fit import fit, without_archive
from aerogram.shape.pages import Pager, rows_of
from aerogram.tokens import Bytes, Characters, Vocabulary

from . import strategies

DIALECTS = ["response-v2", "standard-v2", "knowledge-1.0", "bare"]
COUNTERS = [Vocabulary(), Characters(), Bytes()]

sizers = st.builds(Sizer, st.sampled_from(DIALECTS), st.sampled_from(POLICIES), st.sampled_from(COUNTERS))
manners = st.sampled_from([{}, {"ranked": True}, {"whole_rows": True}])


@given(strategies.replies(), sizers, st.floats(0, 1.2), manners)
def test_a_fitted_reply_is_within_budget_valid_and_says_what_it_lacks(
    reply: Reply[Any], sizer: Sizer, share: float, manner: dict[str, bool]
) -> None:
    budget = max(int(sizer(reply) * share), 1)
    fitted, leftovers, _ = fit(reply, budget, measure=sizer, retrieve="retrieve", **manner)
    spoken = dialect(sizer.dialect)
    spoken.validate(loads(dumps(spoken.encode(spoken.complete(fitted)))))
    if fitted.problem is not None:
        assert fitted.problem.code == "TOKEN_LIMIT_EXCEEDED"
        return
    assert sizer(fitted) <= budget
    kept = dict(leftovers)
    hashes = dict((fitted.fidelity.archive_hashes if fitted.fidelity else None) or {})
    assert {name: content.short_hash for name, content in kept.items()} == hashes
    if fitted.data != reply.data:
        assert fitted.fidelity is not None
        assert fitted.fidelity.level != "full"
        assert fitted.status == "partial"
        assert kept["data"] == Content.of_json(reply.data)
    assert sizer(without_archive(fitted, leftovers)) <= budget


@given(strategies.replies(), st.integers(150, 4_000), manners)
def test_fitting_is_deterministic_and_what_fits_stays_as_it_is(
    reply: Reply[Any], budget: int, manner: dict[str, bool]
) -> None:
    sizer = Sizer()
    first, second = (fit(reply, budget, measure=sizer, retrieve="retrieve", **manner) for _ in range(2))
    assert first[:2] == second[:2]
    assert (first.size_before and first.size_before()) == (second.size_before and second.size_before())
    if sizer(reply) <= 0.85 * budget - 40:
        assert first.reply is reply
        assert first.leftovers == ()


def _shown(fitted: Reply[Any], every: list[Any]) -> tuple[int, int]:
    """How many rows are shown whole, before the first that is not, and how many in all."""
    rows = rows_of(fitted.data) if fitted.problem is None else None
    shown = [] if rows is None else rows.items
    whole = takewhile(lambda pair: pair[0] == pair[1], zip(shown, every, strict=False))
    return sum(1 for _ in whole), len(shown)


lengths = st.integers(0, 3_000)
lines = st.lists(st.builds(lambda words: {"line": "word " * words}, st.integers(0, 60)), max_size=60)
kinds_of_rows = (
    strategies.rows(60)
    | st.lists(strategies.long_text, min_size=2, max_size=40)
    | st.builds(lambda number: [[n, f"name {n}", n % 3] for n in range(number)], st.integers(2, 80))
    | st.builds(lambda number: list(range(number)), st.integers(2, 200))
    | st.lists(
        st.builds(lambda words, lines: {"title": "A title", "text": "word " * words, "lines": lines}, lengths, lines)
    )
)
boxes = st.builds(lambda rows, note: {"note": note, "rows": rows}, strategies.rows(40), strategies.long_text)
PAGER = Pager(Cursors(CursorKeys.from_secrets("a secret of sixteen bytes"), clock=lambda: 1e9), "list", documented=True)


@given(
    kinds_of_rows | boxes,
    strategies.words_besides,
    sizers,
    st.integers(100, 4_000),
    st.integers(1, 400),
    manners,
    st.booleans(),
)
def test_more_room_never_shows_fewer_rows(
    data: Any, said: dict[str, Any], sizer: Sizer, budget: int, more: int, manner: dict[str, bool], goes_on: bool
) -> None:
    """Nor fewer whole ones: of every kind of rows, in every dialect and channel, whatever is said besides."""
    rows = rows_of(data)
    assert rows is not None
    how: dict[str, Any] = {"resume": PAGER.seal} if goes_on else {}
    page = Page(has_more=False, total=len(rows.items)) if goes_on else None
    reply = Reply.ok(data, request_id="req_1", operation="list", timestamp="2026-11-15T10:00:00Z", page=page, **said)
    seen = []
    for one in (budget, budget + more):
        fitted = fit(reply, one, measure=sizer, retrieve="retrieve", **manner, **how).reply
        seen.append(_shown(fitted, rows.items))
    assert seen == sorted(seen)


@given(strategies.replies(), st.integers(1, 400))
def test_a_refusal_names_a_budget_that_works(reply: Reply[Any], budget: int) -> None:
    fitted = fit(reply, budget, measure=Sizer(), retrieve="retrieve").reply
    if fitted.problem is None:
        return
    needed = int(str(fitted.problem.remediation).split()[-2])
    assert needed > budget
    assert fit(reply, needed, measure=Sizer(), retrieve="retrieve").reply.problem is None
