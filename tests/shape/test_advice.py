"""Advice: what a reply that is too large suggests can be done with the call that it answers, and helps."""

from __future__ import annotations

import re
from typing import Any

import pytest

from aerogram.channels import Sizer
from aerogram.cursor import Cursors
from aerogram.reply import Page, Reply
from aerogram.shape.controls import Levers
from aerogram.shape.fit import fit
from aerogram.shape.modes import MODES, Mode, in_mode
from aerogram.shape.pages import Pager, take
from aerogram.tokens import Budget, Bytes

SIZER = Sizer("knowledge-1.0", "mirror")
WORDS = "A sentence about the market and its quarterly figures. "
ROWS = [{"id": f"row-{number:03}", "score": number / 7, "text": WORDS * 9} for number in range(50)]
ALL = frozenset({"response_mode", "page_size", "max_tokens"})
PAGE = Page(cursor="eyJxdWVyeV9oYXNoIjoiY2M5YWVkMzRkMjUzIiwib2Zmc2V0IjoyfQ", has_more=True)


def refused(reply: Reply[Any], budget: int, levers: Levers | None, **how: Any) -> str:
    """The remedy of a refusal."""
    fitted = fit(reply, budget, measure=SIZER, levers=levers, **how).reply
    assert fitted.problem is not None
    assert fitted.problem.code == "TOKEN_LIMIT_EXCEEDED"
    return str(fitted.problem.remediation)


def is_served(reply: Reply[Any], budget: int, **how: Any) -> bool:
    return fit(reply, budget, measure=SIZER, **how).reply.problem is None


@pytest.mark.parametrize("budget", [50, 120, 180])
def test_the_number_that_is_named_works_and_a_smaller_one_does_not(budget: int) -> None:
    reply = Reply.ok(ROWS)
    found = re.fullmatch(r"Use max_tokens of at least (\d+)", refused(reply, budget, Levers(frozenset({"max_tokens"}))))
    assert found is not None
    needed = int(found[1])
    assert is_served(reply, needed)
    assert not is_served(reply, needed - 10)


def test_the_number_for_a_page_works_for_the_next_call_with_another_cursor() -> None:
    for _ in range(5):
        pager = Pager(Cursors(), "list", mode="full")
        window = pager.window(None, 20)
        paged = pager.page(take(ROWS, window), window, total=50)
        how = {"resume": paged.resume}
        needed = int(refused(paged.reply, 100, Levers(frozenset({"max_tokens"})), **how).split()[-1])
        again = Pager(Cursors(), "list", mode="full")
        paged = again.page(take(ROWS, window), window, total=50)
        assert is_served(paged.reply, needed, resume=paged.resume)
        assert not is_served(paged.reply, needed - 60, resume=paged.resume)


def test_a_mode_is_named_that_makes_the_reply_fit() -> None:
    schema = {"type": "array", "minItems": 50}
    reply = Reply.ok([{"id": number, "nested": {"deep": [WORDS] * 9}} for number in range(50)])
    small = reply.replace(data=[in_mode(row, "ids_only") for row in reply.data])
    said = refused(reply, SIZER(small) + 10, Levers(ALL), schema=schema)
    assert said.startswith("Use metadata mode or use max_tokens of at least ")
    assert is_served(small, SIZER(small) + 10, schema=schema)


def test_a_page_size_is_named_that_makes_the_reply_fit() -> None:
    """A few rows that are whole need no account of what is missing."""
    reply = Reply.ok([{"id": number, "note": "short"} for number in range(50)], page=PAGE)
    few = reply.replace(data=reply.data[:3])
    assert refused(reply, SIZER(few) + 10, Levers(frozenset({"page_size"}))) == "Reduce page_size to 3"
    assert is_served(few, SIZER(few) + 10)


def test_what_the_call_does_not_have_or_cannot_have_is_not_named() -> None:
    assert refused(Reply.ok(ROWS), 20, None).startswith("Use a budget of at least ")
    for levers in (Levers(), Levers(frozenset({"max_tokens"}), most=20), Levers(frozenset({"page_size"}))):
        said = refused(Reply.ok(ROWS), 20, levers)
        assert said.startswith("Nothing in this call makes the reply small enough; its server has to allow a budget of")


def warnings_of(reply: Reply[Any], levers: Levers | None, share: float = 1.1) -> list[tuple[Any, Any]]:
    fitted = fit(reply, int(SIZER(reply) * share), measure=SIZER, levers=levers).reply
    assert fitted.data is reply.data
    return [(notice.code, notice.suggestion) for notice in fitted.notices]


def test_a_page_that_has_a_next_one_is_warned_of_too() -> None:
    assert warnings_of(Reply.ok(ROWS[:9], page=PAGE), Levers(ALL)) == [
        ("TOKEN_LIMIT_WARNING", "Use metadata mode or reduce page_size")
    ]


def test_a_warning_has_no_suggestion_where_there_is_no_room_for_one() -> None:
    reply = Reply.ok(ROWS[:2], page=PAGE)
    room = SIZER(fit(reply, int(SIZER(reply) * 1.1), measure=SIZER, levers=Levers(ALL)).reply) - 5
    fitted = fit(reply, room, measure=SIZER, levers=Levers(ALL)).reply
    assert SIZER(fitted) <= room
    assert [(notice.code, notice.suggestion) for notice in fitted.notices] == [("TOKEN_LIMIT_WARNING", None)]


CASES: list[tuple[set[str], Mode, int | None, str | None]] = [
    ({"response_mode", "page_size"}, "preview", None, "Use metadata mode or reduce page_size"),
    ({"response_mode", "page_size"}, "metadata", None, "Use ids_only mode or reduce page_size"),
    ({"response_mode", "page_size"}, "ids_only", None, "Reduce page_size"),
    ({"response_mode", "max_tokens"}, "metadata", None, "Use ids_only mode"),
    ({"response_mode", "max_tokens"}, "ids_only", None, "Raise max_tokens"),
    ({"response_mode", "max_tokens"}, "ids_only", 100, None),
    (set(), "full", None, None),
]


@pytest.mark.parametrize(("names", "mode", "most", "said"), CASES)
def test_the_advice_of_a_warning_fits_the_mode_and_the_parameters(
    names: set[str], mode: Mode, most: int | None, said: str | None
) -> None:
    levers = Levers(frozenset(names), mode, most)
    assert mode in MODES
    assert warnings_of(Reply.ok(ROWS[:9]), levers) == [("TOKEN_LIMIT_WARNING", said)]


def test_the_levers_of_a_call_follow_from_its_inputs() -> None:
    """A mode that nobody asked for is the default of the tool; one that is none at all is shown in full."""
    inputs = {"query": {"type": "string"}, "response_mode": {"default": "metadata"}, "page_size": {}}
    assert Levers.of(inputs, {}, Budget.of(900)) == Levers(frozenset(inputs), "metadata", 900)
    assert Levers.of(inputs, {"response_mode": "ids_only"}).leaner_modes == ()
    assert Levers.of({"response_mode": {}}, {"response_mode": "nope"}).mode == "full"


def test_a_budget_that_the_client_has_set_is_what_has_to_grow() -> None:
    """A call can only ask for less than its client has set; the server would have allowed more."""
    for names in (frozenset[str](), frozenset({"max_tokens"})):
        levers = Levers(names, most=2_000, agreed=20)
        said = refused(Reply.ok(ROWS), 20, levers)
        assert re.fullmatch(r"Use max_tokens of at least \d+ in the client's settings of the extension", said)
    assert refused(Reply.ok(ROWS), 20, Levers(names, most=30, agreed=20)).startswith("Nothing in this call makes")
    assert warnings_of(Reply.ok(ROWS[:9]), Levers(agreed=int(SIZER(Reply.ok(ROWS[:9])) * 1.1))) == [
        ("TOKEN_LIMIT_WARNING", "Raise max_tokens in the client's settings of the extension")
    ]


def test_a_warning_on_a_walk_names_no_other_mode() -> None:
    """A cursor belongs to one mode."""
    levers = Levers.of({"response_mode": {}, "page_size": {}}, {"cursor": "abc"})
    assert levers.is_walking
    assert warnings_of(Reply.ok(ROWS[:9], page=PAGE), levers) == [("TOKEN_LIMIT_WARNING", "Reduce page_size")]


def test_bytes_are_no_tokens() -> None:
    sizer = Sizer("response-v2", "text", Bytes())
    fitted = fit(Reply.ok(ROWS), 100, measure=sizer, levers=Levers(frozenset({"max_tokens"}))).reply
    assert fitted.problem is not None
    assert "max_tokens" not in str(fitted.problem.remediation)
