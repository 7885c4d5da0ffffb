"""Request ids: one form, unlike all others, and in the order in which they were made."""

from __future__ import annotations

import itertools
import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from aerogram import new_request_id
from aerogram.reply import RequestIdGenerator, accept_request_id

START = 1_800_000_000_000 * 1_000_000


def at(monkeypatch: pytest.MonkeyPatch, nanoseconds: int) -> None:
    """Set the clock."""
    monkeypatch.setattr(time, "time_ns", lambda: nanoseconds)


def test_ids_made_in_the_same_moment_sort_in_their_order() -> None:
    ids = [new_request_id() for _ in range(5000)]
    assert ids == sorted(set(ids))


def test_ids_sort_by_time_and_have_one_form(monkeypatch: pytest.MonkeyPatch) -> None:
    generator, ids = RequestIdGenerator(), []
    for nanoseconds in range(START, START + 10**9, 10**8):
        at(monkeypatch, nanoseconds)
        ids.append(generator.new())
    assert ids == sorted(set(ids))
    assert all(accept_request_id(one) == one and len(one) == 30 for one in ids)


def test_an_id_tells_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten letters of Crockford's base 32, as ULIDs have it."""
    at(monkeypatch, START)
    letters = RequestIdGenerator().new().removeprefix("req_")[:10]
    digits = letters.translate(str.maketrans("ABCDEFGHJKMNPQRSTVWXYZ", "ABCDEFGHIJKLMNOPQRSTUV"))
    assert int(digits, 32) == START // 1_000_000


def test_ids_rise_while_the_clock_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch, START)
    generator = RequestIdGenerator()
    ids = [generator.new()]
    for back in range(1, 50):
        at(monkeypatch, START - back * 10**9)
        ids.append(generator.new())
    assert ids == sorted(set(ids))


def test_ids_rise_in_a_moment_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch, START)
    generator = RequestIdGenerator()
    ids = [generator.new() for _ in range(10_000)]
    assert all(one < other for one, other in itertools.pairwise(ids))


def test_threads_never_share_an_id() -> None:
    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda _: new_request_id(), range(20_000)))
    assert len(set(ids)) == len(ids)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # pytest itself may have threads
def test_a_forked_process_does_not_go_on_where_its_parent_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both generator within the same moment."""
    at(monkeypatch, time.time_ns())
    new_request_id()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, new_request_id().encode())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = os.read(reading, 100).decode()
    os.close(reading)
    os.close(writing)
    assert len(theirs) == 30
    assert theirs[:24] != new_request_id()[:24]
