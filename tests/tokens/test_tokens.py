"""Token counters and budgets."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerogram.errors import ValidationFailed
from aerogram.tokens import (
    PRESETS,
    Budget,
    Bytes,
    Characters,
    Counter,
    Estimate,
    Vocabulary,
    best_counter,
    find_counter,
)

KNOWN_COUNTS = [
    ("o200k_base", "hello world", 2),
    ("o200k_base", "", 0),
    ("cl100k_base", "hello world", 2),
    ("o200k_base", "<|endoftext|>", 7),
]


@pytest.mark.parametrize(("vocabulary", "text", "tokens"), KNOWN_COUNTS)
def test_a_vocabulary_counts_exactly_and_reads_special_tokens_as_text(vocabulary: str, text: str, tokens: int) -> None:
    assert Vocabulary(vocabulary).count(text) == tokens


@pytest.mark.parametrize("vocabulary", ["o200k_base", "cl100k_base"])
def test_a_long_text_has_as_many_tokens_as_its_parts_have(vocabulary: str) -> None:
    """Prose, data without blanks, and a script without any are counted in parts, and none the worse for it."""
    import splintr

    tokenizer = splintr.Tokenizer.from_pretrained(vocabulary)
    rows = [{"id": n, "name": f"n{n} o'Neil it's", "v": [n * 3.7, None], "text": "don't {x}"} for n in range(999)]
    for text in (
        "It isn't  far to the harbour, 1234 steps.\n\n" * 999,
        json.dumps(rows, separators=(",", ":")),
        "東京都の天気は晴れです。" * 2999,
    ):
        assert Vocabulary(vocabulary).count(text) == len(tokenizer.encode_ordinary(text))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the system says elsewhere how much memory there was")
def test_a_word_of_megabytes_takes_no_more_memory_than_its_size_a_few_times() -> None:
    program = """
import resource
from aerogram.tokens import Vocabulary

Vocabulary().count("hello world")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for sign in "xyz":
    Vocabulary().count(sign * 8_000_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 100_000


def test_the_best_counter_is_the_exact_default_vocabulary() -> None:
    assert best_counter() == Vocabulary("o200k_base")
    assert best_counter().margin == 0


def test_without_splintr_the_best_counter_is_the_estimate_and_a_vocabulary_says_what_to_install() -> None:
    program = """
import sys
sys.modules["splintr"] = None
from aerogram.tokens import Vocabulary, best_counter, find_counter
print(best_counter().name, find_counter("claude").name)
try:
    Vocabulary("o200k_base")
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "estimate claude~estimate",
        "this needs splintr-rs: pip install 'aerogram[tokens]'",
    ]


def test_an_unknown_vocabulary_is_refused_with_names_that_work() -> None:
    with pytest.raises(ValidationFailed) as caught:
        find_counter("klingon")
    assert "klingon" in caught.value.message
    assert "o200k_base" in str(caught.value.remediation)


SAMPLES = {
    "prose": "A reply that is too large is cut in the middle, and the agent reasons on a third of it. " * 20,
    "json": json.dumps([{"id": n, "name": f"item {n}", "score": n / 7, "open": n % 2 == 0} for n in range(60)]),
    "code": "def count(self, text: str) -> int:\n    return len(self._encode(text)) + self.margin\n" * 20,
    "hex": "3f9a1c77e0b24d5d9c0ab1f2" * 30,
    "japanese": "検索結果は正しい大きさで返されます。東京の天気は晴れです。" * 20,
    "russian": "Результаты поиска возвращаются в правильном размере. " * 20,
    "emoji": "🎉🚀👩‍👩‍👧‍👦😀👍🏽" * 20,
    "combining": "e\u0301a\u0308o\u0302" * 60,
    "numbers": ",".join(str(n * 7919 % 100_003) for n in range(300)),
}


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_estimate_with_its_margin_is_never_below_the_exact_count(kind: str) -> None:
    text = SAMPLES[kind]
    estimate = Estimate()
    exact = Vocabulary().count(text)
    assert exact <= estimate.count(text) * (1 + estimate.margin)
    assert estimate.count(text) < 2 * exact


@given(st.text())
def test_every_counter_counts_every_text(text: str) -> None:
    """Lone surrogates, controls and astral characters included."""
    counters: list[Counter] = [Vocabulary(), Estimate(), Characters(), Bytes(), find_counter("claude")]
    for counter in counters:
        assert isinstance(counter, Counter)
        assert (counter.count(text) > 0) == bool(text)


def test_a_lone_surrogate_is_counted_not_refused() -> None:
    assert Vocabulary().count("a\ud800b") >= 2
    assert Bytes().count("a\ud800b") == 5


@pytest.mark.parametrize("limit", [0, -1, True, 3.5, None, "many", "9" * 5_000, 10**3 * -1])
def test_a_budget_that_is_no_positive_whole_number_is_refused(limit: object) -> None:
    with pytest.raises(ValidationFailed):
        Budget.of(limit)  # type: ignore[arg-type]


def test_an_absurdly_large_budget_is_a_budget() -> None:
    assert Budget(10**400, find_counter("claude")).room > 10**399
    assert Budget(10**400).holds("anything")


def test_a_margin_leaves_part_of_the_limit_unfilled() -> None:
    assert Budget(25_000, find_counter("claude")).room == 21_739
    assert Budget(25_000).room == 25_000


@pytest.mark.parametrize(
    ("written", "limit", "unit"),
    [
        (8_000, 8_000, "tokens"),
        ("8000", 8_000, "tokens"),
        ("10,240 bytes", 10_240, "bytes"),
        ("50_000 characters", 50_000, "characters"),
    ],
)
def test_a_budget_can_be_written_as_text(written: int | str, limit: int, unit: str) -> None:
    budget = Budget.of(written)
    assert (budget.limit, budget.counter.unit) == (limit, unit)


def test_of_two_budgets_the_smaller_holds() -> None:
    assert Budget(8_000).within(Budget(500)) == Budget(500)
    assert Budget(500).within(Budget(8_000)) == Budget(500)


@given(st.text(max_size=400), st.integers(1, 200), st.integers(1, 800))
def test_of_two_budgets_in_different_terms_both_hold(text: str, tokens: int, size: int) -> None:
    first, second = Budget(tokens), Budget(size, Bytes())
    assert first.within(second).holds(text) == (first.holds(text) and second.holds(text))


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_a_budget(name: str) -> None:
    budget = Budget.of(name)
    assert budget.holds("small")
    assert not budget.holds("word " * 1_000_000)


def test_a_client_without_a_known_limit_is_told_apart_from_a_word_that_means_nothing() -> None:
    with pytest.raises(ValidationFailed, match="'cursor' is known, but it has no known limit: give a number") as known:
        Budget.of("cursor")
    with pytest.raises(ValidationFailed, match="'curser' is not a budget") as unknown:
        Budget.of("curser")
    assert all("claude-code, " in str(one.value) for one in (known, unknown))
