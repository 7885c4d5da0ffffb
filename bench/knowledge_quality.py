"""How good the answers are: judged questions, their halves, and what recall@5 and nDCG@10 are made of."""

import json
import math
import random
import shutil
import tempfile
from pathlib import Path

from aerogram_knowledge import Knowledge

DATA = Path(__file__).parent / "data" / "knowledge"
DIGEST = DATA.parent / "digest"
"""Questions of which those that are `held_out` had no part in any choice, and stay so."""
METHODS = ("bm25", "vector", "hybrid")
DRAWS = 2_000


def questions(half):
    if half == "held_out":
        rows = json.loads((DIGEST / half / "questions.json").read_text("utf-8"))
        where = [[{"path": f"{half}/{row['document']}", "contains": row["answer"]}] for row in rows]
        return [{**row, "relevant": found} for row, found in zip(rows, where, strict=True)]
    lines = (DATA / "questions.jsonl").read_text("utf-8").splitlines()
    return [one for one in map(json.loads, lines) if one["half"] == half]


def open_index(folder):
    index = Knowledge(folder)
    index.ingest(DATA / "documents")
    return index


def squeezed(text):
    return "".join(text.split())


def gains(index, question, method):
    """For each of the first ten results, which relevant passage it holds, if it is the first to hold it."""
    found = index.search(question["question"], method=method, response_mode="full", page_size=10, about=False)
    waiting = [(one["path"], squeezed(one["contains"])) for one in question["relevant"]]
    hits = []
    for row in found.data:
        path, text = row["source_file"], squeezed(row["chunk_text"])
        held = [one for one in waiting if one[0] == path.partition("#")[0] and one[1] in text]
        hits.append(bool(held))
        waiting = [one for one in waiting if one not in held]
    return hits


def recall(hits, wanted, depth=5):
    return sum(hits[:depth]) / wanted


def ndcg(hits, wanted, depth=10):
    best = sum(1 / math.log2(rank + 2) for rank in range(min(wanted, depth)))
    return sum(1 / math.log2(rank + 2) for rank, hit in enumerate(hits[:depth]) if hit) / best


def measured(index, half):
    """For each method, the recall@5 and the nDCG@10 of each question of a half."""
    asked = questions(half)
    found = {}
    for method in METHODS:
        hits = [(gains(index, one, method), len(one["relevant"])) for one in asked]
        found[method] = ([recall(*one) for one in hits], [ndcg(*one) for one in hits])
    return asked, found


def mean(values):
    return sum(values) / len(values)


def interval(values, seed=1):
    """The middle 95 % of the means of draws with replacement."""
    chance = random.Random(seed)
    means = sorted(mean(chance.choices(values, k=len(values))) for _ in range(DRAWS))
    return means[int(0.025 * DRAWS)], means[int(0.975 * DRAWS)]


def report(index, half):
    asked, found = measured(index, half)
    print(f"{half}: {len(asked)} questions on {len({r['path'] for one in asked for r in one['relevant']})} documents")
    for method, (recalls, ndcgs) in found.items():
        (low, high), (least, most) = interval(recalls), interval(ndcgs)
        print(
            f"  {method:<7} recall@5 {mean(recalls):.3f} ({low:.3f} to {high:.3f})"
            f"   nDCG@10 {mean(ndcgs):.3f} ({least:.3f} to {most:.3f})"
        )
    for other in ("bm25", "vector"):
        for name, place in (("recall@5", 0), ("nDCG@10", 1)):
            ahead = [a - b for a, b in zip(found["hybrid"][place], found[other][place], strict=True)]
            low, high = interval(ahead)
            print(f"  hybrid ahead of {other:<6} by {mean(ahead):+.3f} {name} ({low:+.3f} to {high:+.3f})")
    for language in sorted({one["language"] for one in asked}):
        places = [place for place, one in enumerate(asked) if one["language"] == language]
        shown = {m: f"{mean([found[m][0][p] for p in places]):.2f}" for m in METHODS}
        print(f"  {language}: {len(places)} questions, recall@5 {shown}")


def report_all():
    with tempfile.TemporaryDirectory() as folder, open_index(folder) as index:
        print(f"{index.check().facts['documents']} documents, {index.check().facts['chunks']} chunks")
        for half in ("tune", "report"):
            report(index, half)
    with tempfile.TemporaryDirectory() as folder, Knowledge(Path(folder, "index")) as index:
        documents = Path(folder, "documents")
        shutil.copytree(DIGEST, documents, ignore=shutil.ignore_patterns("questions.json"))
        index.ingest(documents)
        report(index, "held_out")
