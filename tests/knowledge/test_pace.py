"""Pace: what a long run says about itself."""

from __future__ import annotations

from aerogram_knowledge.cli.index import Pace


def test_the_rate_and_the_time_left_follow_from_what_was_done_since_readers_were_ready():
    now = iter([0.0, 100.0, 110.0, 120.0])
    pace = Pace(lambda: next(now))
    for _ in range(2):
        assert pace.at(0, 5_000, 0.0) == "0 of 5,000 files"
    assert pace.at(50, 5_000, 0.01) == "50 of 5,000 files, 5.0 a second, 16 min 30 s left"
    assert pace.at(5_000, 5_000, 1.0) == "5,000 of 5,000 files, 250.0 a second"


def test_a_pace_that_changes_is_followed():
    now = iter([0.0, 100.0, 200.0, 210.0])
    pace = Pace(lambda: next(now))
    pace.at(0, 40_000, 0.0)
    pace.at(1_000, 40_000, 0.25)
    pace.at(2_000, 40_000, 0.5)
    assert pace.at(2_400, 40_000, 0.51) == "2,400 of 40,000 files, 12.7 a second, 3 min 27 s left"


def test_a_few_large_files_at_the_end_are_not_forgotten():
    now = iter([0.0, 10.0])
    pace = Pace(lambda: next(now))
    pace.at(0, 100, 0.0)
    assert pace.at(90, 100, 0.1) == "90 of 100 files, 9.0 a second, 1 min 30 s left"


def test_nothing_is_promised_from_next_to_nothing():
    now = iter([0.0, 5.0])
    pace = Pace(lambda: next(now))
    assert pace.at(0, 10, 0.0) == "0 of 10 files"
    assert pace.at(1, 10, 0.001) == "1 of 10 files"
