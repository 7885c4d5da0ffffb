"""Questions and the sentences that answer them: how often the evidence of a digest holds the answer.

Two sets written for this repository, in English, German and Japanese: prose, tables, code and PDF pages, each document
with a long log that shares its words. The `tuning` set is there to be looked at: 80 questions on 12 documents, 45 of
them also in a `distant` wording that has hardly a word in common with the answer. 19 of these wordings were kept
because words had not found them in the first snippets, so their share is low by selection.

The `held_out` set, 73 questions on 12 other documents, was written before anything was measured on it. It is only
reported: nothing may be chosen by it, and nobody looks at its questions one by one.
"""

import json
import random
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from aerogram.digest import CanonicalText, digest_text, read
from digest_pdf import write_pdf

DATA = Path(__file__).parent / "data" / "digest"
FIRST = 3
WINDOW = 500
MOST = 10
EAST_ASIAN = re.compile("[\u3005\u3040-\u30ff\u3400-\u9fff]+")


@dataclass(frozen=True)
class Found:
    """For one question: the place of the snippet that holds the answer, and what was read to get there."""

    question: dict
    rank: int | None
    chars: int
    first_chars: int


def questions(name):
    """The questions of the `tuning` or the `held_out` set."""
    rows = json.loads((DATA / name / "questions.json").read_text(encoding="utf-8"))
    return [{**row, "document": f"{name}/{row['document']}"} for row in rows]


def distant():
    """The questions of the tuning set that can be put in other words altogether, put so."""
    return [{**row, "question": row["distant"]} for row in questions("tuning") if "distant" in row]


@cache
def document(name) -> CanonicalText:
    """A document's canonical text; `.pages.txt` files are printed to a PDF first, a page for each block."""
    if name.endswith(".pages.txt"):
        return read(write_pdf((DATA / name).read_text(encoding="utf-8").split("\n\n")))
    return read(DATA / name)


def squeezed(text):
    return "".join(text.split())


def found(question, snippets):
    answer = squeezed(question["answer"])
    rank = next((place for place, text in enumerate(snippets) if answer in squeezed(text)), None)
    return Found(question, rank, sum(map(len, snippets)), sum(map(len, snippets[:FIRST])))


def by_digest(question, embed=None):
    payload = digest_text(document(question["document"]), question["question"], embed=embed)
    return found(question, [snippet.text for snippet in payload.evidence_snippets])


def keywords(text):
    """The words of a text; pairs of neighbouring characters where words are not separated."""
    runs = EAST_ASIAN.findall(text)
    pairs = [run[place : place + 2] for run in runs for place in range(len(run) - 1)]
    return pairs + [word.strip(".,?!;:()").lower() for word in EAST_ASIAN.sub(" ", text).split()]


def by_keywords(question):
    """The plain baseline: windows of 500 characters, every 250, ranked by how many words of the question they have."""
    text = document(question["document"]).text
    asked = set(keywords(question["question"]))
    starts = range(0, len(text), WINDOW // 2)
    scored = [(len(asked.intersection(keywords(text[start : start + WINDOW]))), -start) for start in starts]
    chosen = []
    for score, start in sorted(scored, reverse=True):
        if score and len(chosen) < MOST and all(abs(start - other) >= WINDOW for other in chosen):
            chosen.append(start)
    return found(question, [text[-start : -start + WINDOW] for start in chosen])


def share(results, first=None):
    hits = [result.rank is not None and (first is None or result.rank < first) for result in results]
    return sum(hits) / len(hits)


def interval(results, first=None, rounds=2_000):
    """The 95 % interval of a share, by bootstrap over the questions."""
    dice = random.Random(20)
    shares = sorted(share(dice.choices(results, k=len(results)), first) for _ in range(rounds))
    return shares[int(rounds * 0.025)], shares[int(rounds * 0.975)]


def describe(name, results):
    parts = []
    for label, first in (("anywhere", None), (f"first {FIRST}", FIRST)):
        low, high = interval(results, first)
        parts.append(f"{label} {share(results, first):6.1%} [{low:.1%}, {high:.1%}]")
    chars = sum(result.chars for result in results) / len(results)
    first_chars = sum(result.first_chars for result in results) / len(results)
    return f"{name:22} {'  '.join(parts)}  characters {chars:5.0f}, in the first {FIRST} {first_chars:4.0f}"


def breakdown(results, key):
    """For each language or form: how many were found, and how many of them in the first snippets."""
    groups = sorted({result.question[key] for result in results})
    return ", ".join(f"{group} {_fraction([r for r in results if r.question[key] == group])}" for group in groups)


def _fraction(results):
    places = [result.rank for result in results if result.rank is not None]
    return f"{len(places)} ({sum(place < FIRST for place in places)}) of {len(results)}"
