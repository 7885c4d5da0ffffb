"""How both stores grow: 10,000 and 100,000 chunks, and with `SCALE=1000000` a million, in about a quarter of an hour.

The text is synthetic: words by Zipf's law, four in ten from the topic of their document. Chunks go straight into
`Store.put`, cut and embedded already, because this is about stores: a chunk's vector is the sum of its words' vectors.
What was measured is kept in bench/data/scale.json, so that runs on their own add up to one plot.
"""

import contextlib
import hashlib
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil

import knowledge_corpus as corpus
from aerogram.digest.text import CanonicalText
from aerogram_knowledge import Knowledge
from aerogram_knowledge.documents.chunks import Chunk
from aerogram_knowledge.documents.document import Document
from aerogram_knowledge.documents.language import stem_all
from aerogram_knowledge.embedders import default_embedder, quantise
from aerogram_knowledge.store import DocumentEntry, FileState

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests"))

SIZES = [int(one) for one in os.environ.get("SCALE", "10000,100000").split(",")]
STORES = os.environ.get("SCALE_STORES", "embedded,postgresql").split(",")
WORDS, CHUNKS, TOPIC, BATCH = 90, 25, 300, 80
QUESTIONS = 200
KEPT = ROOT / "bench" / "data" / "scale.json"
PLOT = ROOT / "docs" / "images" / "scale.svg"
SERVER = (
    "fsync=on",
    "full_page_writes=on",
    "shared_buffers=1GB",
    "max_wal_size=8GB",
    "maintenance_work_mem=2GB",
    "autovacuum=on",
)


class Corpus:
    """Documents of any number, the same for the same number."""

    def __init__(self):
        self.words = np.array(corpus.vocabulary())
        self.stems = stem_all(self.words.tolist(), "en")
        shares = 1 / (np.arange(len(self.words)) + 2)
        self.common = np.cumsum(shares / shares.sum())
        self.vectors = default_embedder().embed(self.words.tolist())

    def documents(self, first, count):
        """Entries and their files' states."""
        for number in range(first, first + count):
            yield self._document(number)

    def _document(self, number):
        chance = np.random.default_rng(number)
        topic = chance.integers(0, len(self.words), TOPIC)
        drawn = np.searchsorted(self.common, chance.random((CHUNKS, WORDS)))
        drawn = np.where(chance.random((CHUNKS, WORDS)) < 0.4, topic[chance.integers(0, TOPIC, (CHUNKS, WORDS))], drawn)
        drawn = np.minimum(drawn, len(self.words) - 1)
        texts = [" ".join(row) for row in self.words[drawn]]
        path = f"topic{number % 40:02}/note{number:06}.md"
        whole = CanonicalText("\n".join(texts), "synthetic", "1")
        starts = np.cumsum([0, *(len(text) + 1 for text in texts)])
        chunks = [
            Chunk(place, f"Note {number}", text, int(starts[place]), int(starts[place]) + len(text), 100)
            for place, text in enumerate(texts)
        ]
        terms = [[self.stems[one] for one in row] for row in drawn]
        vectors = [row.tobytes() for row in quantise(self.vectors[drawn].sum(axis=1))]
        about = Document(path, path, "markdown", f"Note {number}", whole, (), "en", category=path[:7])
        entry = DocumentEntry(about, chunks, terms, [["note", str(number)]] * CHUNKS, vectors)
        return FileState(path, len(whole.text), number, hashlib.sha256(path.encode()).hexdigest()), entry


def main():
    print(f"load of the last minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    texts = Corpus()
    for name in STORES:
        with opened(name) as (index, engine):
            filled = 0
            for size in sorted(SIZES):
                row = {"store": name, "chunks": size, **grown(index, texts, filled, size), **asked(index, engine, size)}
                filled = size
                print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
                keep(row)
    plot(json.loads(KEPT.read_text()))


def keep(row):
    """Put what was measured among the rest."""
    rows = json.loads(KEPT.read_text()) if KEPT.exists() else []
    others = [one for one in rows if (one["store"], one["chunks"]) != (row["store"], row["chunks"])]
    KEPT.write_text(json.dumps(sorted([*others, row], key=lambda one: (one["store"], one["chunks"])), indent=1) + "\n")


@contextlib.contextmanager
def opened(name):
    """An empty index in a store of this kind."""
    with contextlib.ExitStack() as stack:
        if name == "embedded":
            where, engine = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "index", None
        else:
            from postgres import running_postgres

            server = stack.enter_context(running_postgres(*SERVER))
            where, engine = server.new_database(), psutil.Process(server.process.pid)
        yield stack.enter_context(Knowledge(where)), engine


def grown(index, texts, filled, size):
    """Fill the store up to a size: chunks per second of the store alone, and how much room it takes."""
    spent, told = 0.0, filled
    for first in range(filled // CHUNKS, size // CHUNKS, BATCH):
        some = list(texts.documents(first, min(BATCH, size // CHUNKS - first)))
        start = time.perf_counter()
        index.store.put([state for state, _ in some], [entry for _, entry in some], {})
        spent += time.perf_counter() - start
        told = progress(told, (first + len(some)) * CHUNKS, filled, spent)
    start = time.perf_counter()
    index.store.settle()
    settled = time.perf_counter() - start
    facts = index.check().facts
    assert facts["chunks"] == size
    rate = (size - filled) / spent
    return {"per_second": round(rate), "settled": round(settled, 1), "megabytes": round(facts["bytes"] / 1e6)}


def progress(told, reached, filled, spent):
    """Say on stderr how far the filling has come, once for every hundred thousand chunks."""
    if reached - told < 100_000:
        return told
    print(f"  {reached:,} chunks, {(reached - filled) / spent:,.0f} per second so far", file=sys.stderr, flush=True)
    return reached


def busy(engine):
    """Seconds of processor time so far: of this process, and of the server's."""
    others = engine.children() if engine else ()
    return time.process_time() + sum(sum(one.cpu_times()[:2]) for one in others)


def asked(index, engine, size):
    """Milliseconds of whole questions, one caller, no question asked twice."""
    for query in corpus.queries(20, seed=1):
        index.search(query)
    spent, before = [], busy(engine)
    for query in corpus.queries(QUESTIONS, seed=size):
        start = time.perf_counter()
        index.search(query)
        spent.append((time.perf_counter() - start) * 1000)
    spent.sort()
    worked = (busy(engine) - before) * 1000 / len(spent)
    return {
        "processor": round(worked, 1),
        "p50": round(statistics.median(spent), 1),
        "p99": round(spent[int(0.99 * len(spent))], 1),
    }


def plot(rows):
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "aerogram"
    from matplotlib import pyplot as plt

    figure, all_axes = plt.subplots(1, 3, figsize=(10, 3.2))
    drawn = {
        "ms for a whole query": ("p50", "p99"),
        "MB on disk": ("megabytes",),
        "chunks stored per second": ("per_second",),
    }
    for axes, (label, names) in zip(all_axes, drawn.items(), strict=True):
        for store, color in (("embedded", "tab:blue"), ("postgresql", "tab:orange")):
            mine = [row for row in rows if row["store"] == store]
            for name, style in zip(names, ("-", "--"), strict=False):
                sizes, values = [row["chunks"] for row in mine], [row[name] for row in mine]
                shown = f"{store}, {name}" if len(names) > 1 else store
                axes.plot(sizes, values, style, marker="o", color=color, label=shown)
        axes.set(xscale="log", yscale="log", xlabel="chunks", ylabel=label)
        axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(PLOT, metadata={"Date": None})


if __name__ == "__main__":
    main()
