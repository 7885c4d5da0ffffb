"""The laws of fitting, over random replies and budgets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerogram.channels import POLICIES, Sizer
from aerogram.content import Content
from aerogram.dialects import dialect
from aerogram.jsontext import dumps, loads
from aerogram.reply import Fidelity, Reply
from aerogram.shape.account import without_archive
from aerogram.shape.fit import fit
from aerogram.shape.loss import loss_between
from aerogram.shape.modes import MODES, Mode, RecordType, in_mode
from aerogram.tokens import Bytes, Characters, Vocabulary

from . import strategies

DIALECTS = ["response-v2", "standard-v2", "knowledge-1.0"]
COUNTERS = [Vocabulary(), Characters(), Bytes()]
SMALLEST = 400
"""Above the smallest budget of every dialect in one channel, in tokens."""

sizers = st.builds(Sizer, st.sampled_from(DIALECTS), st.sampled_from(POLICIES), st.sampled_from(COUNTERS))


def floor_of(sizer: Sizer) -> int:
    """A budget that this dialect, policy and unit can surely serve."""
    return SMALLEST * (1 if sizer.policy == "text" else 3) * (1 if sizer.counter.unit == "tokens" else 5)


def in_fixed_mode(data: list[Any], mode: Mode, kind: RecordType | None = None) -> Reply[Any]:
    """What a tool with one fixed mode would send if it is honest: what it shows, its level, and the hash of all."""
    shown = [in_mode(row, mode, kind) for row in data]
    if shown == data:
        return Reply.ok(data)
    level = loss_between(data, shown).level
    return Reply.ok(shown, fidelity=Fidelity(level, archive_hashes={"data": Content.of_json(data).hash}))


def is_honest(fitted: Reply[Any], data: Any) -> bool:
    """Whether a reply that lacks something has the level and the hash of the whole."""
    if fitted.data == data:
        return True
    said = fitted.fidelity
    named = said is not None and (said.archive_hashes or {}).get("data") == Content.of_json(data).hash
    return said is not None and said.level != "full" and named


@given(strategies.replies(), sizers, st.integers(0, 4_000))
def test_a_fitted_reply_is_within_budget_valid_and_retrievable(reply: Reply[Any], sizer: Sizer, more: int) -> None:
    budget = floor_of(sizer) + more
    fitted, leftovers = fit(reply, budget, measure=sizer, retrieve="retrieve")
    assert sizer(fitted) <= budget
    spoken = dialect(sizer.dialect)
    body = loads(dumps(spoken.encode(spoken.complete(fitted))))
    spoken.validate(body)
    if fitted.problem is None and fitted.data != reply.data:
        assert fitted.fidelity is not None
        assert fitted.fidelity.level != "full"
        hashes = dict(fitted.fidelity.archive_hashes or {})
        assert {left.name: left.content.hash for left in leftovers} == hashes
        assert dict(leftovers)["data"] == Content.of_json(reply.data)


@given(strategies.rows(60), sizers, st.integers(0, 400))
def test_when_the_archive_fails_the_reply_says_so_within_the_budget(
    data: list[dict[str, Any]], sizer: Sizer, more: int
) -> None:
    budget = sizer(in_fixed_mode(data, "ids_only")) + more
    fitted = fit(Reply.ok(data), budget, measure=sizer, retrieve="retrieve").reply
    assert is_honest(fitted, data)
    honest = without_archive(fitted, lambda told: sizer(told) <= budget)
    assert sizer(honest) <= budget
    assert not (honest.fidelity and honest.fidelity.archive_hashes)
    if fitted.notices:
        assert "not kept" in str(honest.notices[-1].suggestion)
    elif fitted.fidelity is not None and fitted.fidelity.archive_hashes and sizer.counter.unit == "tokens":
        assert "not kept" in honest.notices[-1].message


@given(strategies.replies(), st.integers(SMALLEST, 4_000))
def test_fitting_is_deterministic_and_what_fits_stays_as_it_is(reply: Reply[Any], budget: int) -> None:
    sizer = Sizer()
    first, second = (fit(reply, budget, measure=sizer, retrieve="retrieve") for _ in range(2))
    assert first == second
    if sizer(reply) <= 0.9 * budget:
        assert first.reply is reply
        assert first.leftovers == ()


@given(strategies.rows(60), st.integers(SMALLEST, 6_000))
def test_items_are_a_ranked_beginning_and_the_best_are_the_richest(data: list[dict[str, Any]], budget: int) -> None:
    fitted = fit(Reply.ok(data), budget, measure=Sizer()).reply
    assert fitted.problem is None
    assert [row["id"] for row in fitted.data] == [row["id"] for row in data[: len(fitted.data)]]
    whole = [row == original for row, original in zip(fitted.data, data, strict=False)]
    if fitted.data and len(set(map(len, map(dumps, data)))) == 1:
        assert whole == sorted(whole, reverse=True)


KINDS = [
    None,
    RecordType(["id"], ["id", "title"], ["id", "title", "score"]),
    RecordType(["title", "id"], ["id"], ["text"]),
]


@given(
    st.data(),
    strategies.rows(60) | strategies.anonymous_rows(60),
    st.builds(Sizer, st.sampled_from([*DIALECTS, "bare"]), st.sampled_from(POLICIES), st.sampled_from(COUNTERS)),
    st.sampled_from(KINDS),
)
def test_no_fixed_mode_that_fits_delivers_more_items(
    draw: st.DataObject, data: list[dict[str, Any]], sizer: Sizer, kind: RecordType | None
) -> None:
    """The account makes room for items before any is dropped, down to the least that an honest reply says."""
    least = min(sizer(in_fixed_mode(data, mode, kind)) for mode in MODES)
    budget = least + draw.draw(st.just(0) | st.integers(0, 300) | st.integers(0, 5_000))
    fitted, leftovers = fit(Reply.ok(data), budget, measure=sizer, kind=kind, retrieve="retrieve")
    assert sizer(fitted) <= budget
    assert len(fitted.data) == len(data)
    assert is_honest(fitted, data)
    if fitted.data != data:
        assert dict(leftovers)["data"] == Content.of_json(data)


@given(
    strategies.replies(),
    st.builds(Sizer, st.sampled_from([*DIALECTS, "bare"]), st.sampled_from(POLICIES), st.sampled_from(COUNTERS)),
    st.booleans(),
    st.floats(0, 1.2),
)
def test_whatever_is_left_out_is_told_at_every_budget(
    reply: Reply[Any], sizer: Sizer, archive: bool, share: float
) -> None:
    """From nothing to more than the whole; what is kept nowhere has a level and no hash."""
    budget = max(int(sizer(reply) * share), 1)
    fitted = fit(reply, budget, measure=sizer, archive=archive, retrieve="retrieve").reply
    spoken = dialect(sizer.dialect)
    spoken.validate(loads(dumps(spoken.encode(spoken.complete(fitted)))))
    if fitted.problem is None and archive:
        assert is_honest(fitted, reply.data)
    kept = ("citations", "extra", "query_echo")
    if fitted.problem is None and (
        fitted.data != reply.data or any(getattr(fitted, n) != getattr(reply, n) for n in kept)
    ):
        assert fitted.fidelity is not None
        assert fitted.fidelity.level != "full"
        assert bool(fitted.fidelity.archive_hashes) == archive


@given(strategies.rows(60), sizers, st.integers(0, 6_000))
def test_less_than_a_tenth_of_the_budget_is_left_when_there_was_more(
    data: list[dict[str, Any]], sizer: Sizer, more: int
) -> None:
    budget = floor_of(sizer) + more
    fitted = fit(Reply.ok(data), budget, measure=sizer).reply
    assert fitted.problem is None
    if fitted.data != data:
        assert sizer(fitted) > 0.9 * budget


@given(strategies.replies(), st.integers(1, SMALLEST))
def test_a_refusal_names_a_budget_that_works(reply: Reply[Any], budget: int) -> None:
    fitted = fit(reply, budget, measure=Sizer()).reply
    if fitted.problem is None:
        return
    assert fitted.problem.code == "TOKEN_LIMIT_EXCEEDED"
    needed = int(str(fitted.problem.remediation).split()[-2])
    assert needed > budget
    assert fit(reply, needed, measure=Sizer()).reply.problem is None


@given(strategies.rows(60), st.integers(1_000, 4_000))
def test_the_reply_tells_its_own_size(data: list[dict[str, Any]], budget: int) -> None:
    sizer = Sizer()
    fitted = fit(Reply.ok(data), budget, measure=sizer).reply
    if fitted.fidelity is not None:
        assert fitted.telemetry is not None
        assert fitted.telemetry.tokens_used == pytest.approx(sizer(fitted), abs=2)


@given(strategies.replies(), st.integers(200, 3_000))
def test_a_measure_without_prices_is_enough(reply: Reply[Any], more: int) -> None:
    def measure(candidate: Reply[Any]) -> int:
        return len(dumps(dialect("response-v2").encode(candidate)))

    budget = 1_500 + more
    assert measure(fit(reply, budget, measure=measure).reply) <= budget
