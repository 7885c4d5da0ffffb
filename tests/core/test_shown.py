"""The words about what is shown: written in one grammar, and read back from it."""

import pytest

from aerogram.reply import Fidelity, Notice
from aerogram.reply.shown import add_call, count_last, drop_call, read_fidelity, say_cause, say_page, say_shown

DIGITS = "0123456789ab"
CAUSE = say_cause(2_000, "tokens", "limit=300")


@pytest.mark.parametrize("cause", ["", CAUSE])
@pytest.mark.parametrize("way", ["more", "whole"])
@pytest.mark.parametrize(
    ("words", "level"),
    [
        (say_shown(40, 600), "partial"),
        (say_shown(40, 600, detail=", without body, tags"), "summary"),
        (say_shown(40, 600, detail=", with user in part"), "summary"),
        (say_shown(10, 10, detail=", the last 7 without type"), "summary"),
        (say_shown(10, 10, detail=", the last 3 without type"), "partial"),
        (say_shown(6_000, 53_444, "characters") + " (59 of 479 lines)", "partial"),
        (say_shown(49, 480, "rows"), "partial"),
    ],
)
def test_what_is_said_of_what_is_shown_is_read_back(words: str, level: str, way: str, cause: str) -> None:
    line = add_call(words + cause, "retrieve", DIGITS, ", offset=49", way, ", the others likewise", 30)
    call = f"retrieve(hash='{DIGITS}', offset=49), the others likewise; end: offset=-30"
    assert line == f"{words}{cause}; {way}: {call}"
    told = Fidelity(level, archive_hashes={"data": f"sha256:{DIGITS}"})
    assert read_fidelity([Notice(line, "PARTIAL_RESULTS")]) == told
    assert drop_call(line) == words + cause


@pytest.mark.parametrize(
    ("shown", "total", "last"),
    [(40, 600, 30), (40, 120, 0), (40, 121, 30), (2, 9, 0), (6_359, 53_450, 5_000), (9, 30, 7)],
)
def test_the_end_is_told_where_the_next_call_would_not_reach_it(shown: int, total: int, last: int) -> None:
    """In a number that is short to say, and less than what was shown, so that all of it fits."""
    assert count_last(shown, total) == last


def test_a_page_says_which_part_it_is() -> None:
    assert say_page(0, 40, 600) == "40 of 600 shown"
    assert say_page(40, 40, 600) == "41 to 80 of 600 shown"
    assert say_page(40, 400, 600, "characters") == "41 to 440 of 600 characters shown"
    assert say_page(0, 10, None) == "10 shown"
