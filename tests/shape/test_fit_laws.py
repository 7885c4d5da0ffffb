"""The laws of fitting, over random replies and budgets."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from aerogram.channels import POLICIES, Sizer
from aerogram.content import Content
from aerogram.content.jsontext import dumps, loads
from aerogram.dialects import dialect
from aerogram.reply import Reply
from aerogram.shape.fit import fit, without_archive
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


@given(strategies.rows(60), st.integers(150, 4_000), st.integers(1, 400), manners)
def test_more_room_never_shows_fewer_rows_in_their_whole(
    data: list[dict[str, Any]], budget: int, more: int, manner: dict[str, bool]
) -> None:
    """Nor, with as many whole rows, fewer in less detail; rows are a beginning."""
    seen = []
    for one in (budget, budget + more):
        fitted = fit(Reply.ok(data), one, measure=Sizer(), retrieve="retrieve", **manner).reply
        shown = fitted.data if fitted.problem is None else []
        assert [row["id"] for row in shown if "id" in row] == [row["id"] for row in data[: len(shown)]]
        whole = [row == original for row, original in zip(shown, data, strict=False)]
        seen.append((sum(whole), len(shown)))
    assert seen == sorted(seen)


@given(strategies.replies(), st.integers(1, 400))
def test_a_refusal_names_a_budget_that_works(reply: Reply[Any], budget: int) -> None:
    fitted = fit(reply, budget, measure=Sizer(), retrieve="retrieve").reply
    if fitted.problem is None:
        return
    needed = int(str(fitted.problem.remediation).split()[-2])
    assert needed > budget
    assert fit(reply, needed, measure=Sizer(), retrieve="retrieve").reply.problem is None
