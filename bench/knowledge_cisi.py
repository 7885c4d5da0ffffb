"""CISI: a public collection that nobody here wrote, 1,460 abstracts and 76 judged questions.

`KNOWLEDGE_CISI` names its folder, with `documents.jsonl` (id, text) and `questions.jsonl` (id, text, relevant). The
collection is no part of the repository; without it the figures are left out, and that is said.

The weights of the blend are judged on questions that they were not chosen by: chosen on the even ones and the first
half of our own questions, judged on the odd ones, and the other way round. What ships is one choice for all. The
choices themselves, and the form of the blend, were found with all questions in view, which this does not undo.
"""

import itertools
import json
import math
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import knowledge_quality as quality
from aerogram_knowledge import Knowledge
from aerogram_knowledge.search import feedback, fusion

LONGEST = 500
FROZEN = Path(__file__).parent / "data" / "cisi-bm25.json"
"""The nDCG@10 of each question by keywords, as they were when a word said twice counted once."""
BEHIND = 0.005
CHOICES = [
    {(feedback, "SHARE"): share, (feedback, "ALIKE"): alike, (fusion, "APART"): apart}
    for share, alike, apart in itertools.product(
        (0.3, 0.4, 0.5), ((0.5, 0.65), (0.55, 0.7)), ((0.05, 0.11), (0.04, 0.12))
    )
]


def report_all():
    where = os.environ.get("KNOWLEDGE_CISI")
    if where is None or not Path(where, "questions.jsonl").is_file():
        print(
            f"CISI: left out, because KNOWLEDGE_CISI names no folder with the collection ({where or 'it is not set'})"
        )
        return
    with tempfile.TemporaryDirectory() as folder, open_index(Path(where), Path(folder)) as index:
        asked = lines(Path(where, "questions.jsonl"))
        found = {method: measured(index, asked, method) for method in quality.METHODS}
        report(asked, found)
        report_folds(index, asked, Path(folder))


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def open_index(where, folder):
    files = folder / "files"
    files.mkdir()
    for one in lines(where / "documents.jsonl"):
        (files / f"{one['id']:04}.txt").write_text(one["text"] + "\n", "utf-8")
    index = Knowledge(folder / "index")
    index.ingest(files)
    return index


def measured(index, asked, method):
    """The nDCG@10 of each question; a document stands where its first chunk does."""
    return [ndcg(ranking(index, one["text"][:LONGEST], method), set(one["relevant"])) for one in asked]


def ranking(index, text, method, depth=10):
    rows = index.search(text, page_size=50, method=method).data
    return list(dict.fromkeys(int(Path(row["source_file"]).stem) for row in rows))[:depth]


def ndcg(found, relevant, depth=10):
    best = sum(1 / math.log2(place + 2) for place in range(min(depth, len(relevant))))
    return sum(1 / math.log2(place + 2) for place, one in enumerate(found) if one in relevant) / best


def report(asked, found):
    print(f"CISI: {len(asked)} questions, cut at {LONGEST} characters, nDCG@10")
    for method, values in found.items():
        print(f"  {method:<7} {described(values)}")
    before = json.loads(FROZEN.read_text())
    report_ahead("keywords of before", found["hybrid"], [before[str(one["id"])] for one in asked])
    report_ahead("bm25", found["hybrid"], found["bm25"])


def report_ahead(name, ours, theirs):
    print(f"  hybrid ahead of {name} by {described([a - b for a, b in zip(ours, theirs, strict=True)], '+')}")


def described(values, sign=""):
    low, high = quality.interval(values)
    return f"{quality.mean(values):{sign}.3f} ({low:{sign}.3f} to {high:{sign}.3f})"


def report_folds(index, asked, folder):
    """Choose the weights on one half of the questions and judge them on the other."""
    with quality.open_index(folder / "judged") as judged:
        tried = [tried_out(choice, index, asked, judged) for choice in CHOICES]
    ours = [0.0] * len(asked)
    for odd in (False, True):
        tuning = [place for place, one in enumerate(asked) if one["id"] % 2 == odd]
        best = max(tried, key=lambda one: quality.mean([one[0][place] for place in tuning]) + one[1])
        for place in set(range(len(asked))) - set(tuning):
            ours[place] = best[0][place]
    print(f"  chosen on one half and judged on the other, both ways: hybrid {described(ours)}")
    means = [quality.mean(one[0]) for one in tried]
    print(f"  all {len(tried)} choices of weights that were tried: {min(means):.3f} to {max(means):.3f}")


def tried_out(choice, index, asked, judged):
    """For one choice of weights the figures of CISI's questions, and the mean of our own ones for tuning."""
    with chosen(choice, index, judged):
        ours = [
            quality.ndcg(quality.gains(judged, one, "hybrid"), len(one["relevant"]))
            for one in quality.questions("tune")
        ]
        return measured(index, asked, "hybrid"), quality.mean(ours)


@contextmanager
def chosen(choice, *indexes):
    """The library with other weights, for a while."""
    before = {(module, name): getattr(module, name) for module, name in choice}
    try:
        for (module, name), value in choice.items():
            setattr(module, name, value)
        yield
    finally:
        for (module, name), value in before.items():
            setattr(module, name, value)
        for one in indexes:
            one._search._remembered.clear()
