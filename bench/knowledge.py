"""The knowledge index: how good its answers are, how fast they come, and how that grows.

`KNOWLEDGE_CHUNKS=10000` measures smaller ones; the figures of the documentation are those of 100,000 chunks, and none
are measured for `KNOWLEDGE_CHUNKS=0`. `KNOWLEDGE_CISI` is the folder of a public collection; see `knowledge_cisi`.
"""

import os
import resource
import statistics
import tempfile
import threading
import time
from pathlib import Path

import digest
import knowledge_cisi as cisi
import knowledge_corpus as corpus
import knowledge_quality as quality
from aerogram_knowledge import Knowledge
from aerogram_knowledge.embedders import default_embedder, quantise
from aerogram_knowledge.filters import Filters
from aerogram_knowledge.lexicon import query_terms

MOST = int(os.environ.get("KNOWLEDGE_CHUNKS", "100000"))
SHARES = (0.1, 0.3, 1.0)
CALLERS = (1, 8, 50)
QUESTIONS = 300
PLOT = Path(__file__).parents[1] / "docs" / "images" / "knowledge-growth.svg"


class Timed:
    """The embedder that ships, with the processor time that it takes."""

    def __init__(self):
        self.inner = default_embedder()
        self.name, self.dimensions, self.coverage = self.inner.name, self.inner.dimensions, self.inner.coverage
        self.spent = 0.0

    def embed(self, texts):
        start = time.process_time()
        try:
            return self.inner.embed(texts)
        finally:
            self.spent += time.process_time() - start


def main():
    quality.report_all()
    cisi.report_all()
    digest.report_quality()
    if not MOST:
        return
    with tempfile.TemporaryDirectory() as folder:
        rows = list(grown(Path(folder)))
    if MOST == 100_000:
        plot(rows)


def grown(folder):
    """Ingest to each size in turn, and measure there."""
    embedder, files, total = Timed(), 0, 0
    with Knowledge(folder / "index", embedder=embedder) as index:
        for share in SHARES:
            wanted = int(share * MOST)
            files = corpus.write(folder / "docs", wanted - total, files)
            report_load()
            report_ingest(index, folder / "docs", embedder)
            total = index.check().facts["chunks"]
            yield measured(index, total)
        report_start(folder)


def report_ingest(index, docs, embedder):
    embedder.spent, wall, cpu = 0.0, time.perf_counter(), time.process_time()
    done = index.ingest(docs)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    facts = index.check().facts
    print(
        f"ingest: {done.chunks} chunks in {wall:.0f} s; per second of processor time {done.chunks / cpu:,.0f}, "
        f"apart from embedding {done.chunks / (cpu - embedder.spent):,.0f}; wall clock {done.chunks / wall:,.0f}/s; "
        f"peak memory {memory:.0f} MB, index {facts['bytes'] / 1e6:.0f} MB"
    )


def report_load():
    """How busy the machine is with other things, because wall clocks know no difference."""
    print(f"load of the last minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def report_start(folder):
    start = time.perf_counter()
    with Knowledge(folder / "index") as again:
        again.search("first question after a restart")
    print(f"restart to first answer: {time.perf_counter() - start:.2f} s")


def measured(index, total):
    """The latencies at one size: whole queries, and the two floors that they stand on."""
    row = {"chunks": total}
    for callers in CALLERS:
        busy = time.process_time()
        spent = asked(index, callers, seed=total + callers)
        busy = (time.process_time() - busy) * 1000 / len(spent)
        row[callers] = (statistics.median(spent), percentile(spent, 0.99))
        print(
            f"{total} chunks, {callers:>2} callers: p50 {row[callers][0]:.1f} ms, p99 {row[callers][1]:.1f} ms, "
            f"{busy:.1f} ms of processor time each"
        )
    row["tantivy"], row["matrix"] = floors(index)
    print(f"{total} chunks, floors: tantivy alone p50 {row['tantivy']:.2f} ms, matrix alone p50 {row['matrix']:.2f} ms")
    return row


def asked(index, callers, seed):
    """Milliseconds of each whole query, result objects included; no query is asked twice."""
    queries = corpus.queries(QUESTIONS, seed)
    spent = []

    def ask(mine):
        for query in mine:
            start = time.perf_counter()
            index.search(query)
            spent.append((time.perf_counter() - start) * 1000)

    threads = [threading.Thread(target=ask, args=(queries[place::callers],)) for place in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return spent


def floors(index):
    """The least that each half of a query can take: its engine alone, twenty results, nothing around it."""
    now = index.store._current()
    tantivy, matrix = [], []
    for query in corpus.queries(100, seed=3):
        terms = query_terms(query)
        vector = quantise(default_embedder().embed([query]))[0].tobytes()
        start = time.perf_counter()
        now.words.search(terms, Filters(), 20)
        middle = time.perf_counter()
        now.matrix.closeness(vector)
        matrix.append((time.perf_counter() - middle) * 1000)
        tantivy.append((middle - start) * 1000)
    return statistics.median(tantivy), statistics.median(matrix)


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def plot(rows):
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "aerogram"
    from matplotlib import pyplot as plt

    sizes = [row["chunks"] for row in rows]
    figure, axes = plt.subplots(figsize=(6, 3.6))
    for callers in CALLERS:
        axes.plot(sizes, [row[callers][1] for row in rows], marker="o", label=f"p99, {callers} callers")
    axes.plot(sizes, [row[1][0] for row in rows], marker="o", label="p50, 1 caller")
    for name in ("tantivy", "matrix"):
        axes.plot(sizes, [row[name] for row in rows], linestyle="--", label=f"{name} alone, p50")
    axes.set(xscale="log", yscale="log", xlabel="chunks", ylabel="ms for a whole query")
    axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(PLOT, metadata={"Date": None})


if __name__ == "__main__":
    main()
