"""Which store: SQLite with tantivy and a matrix, or LanceDB for all, under one caller, under eight, and under a kill.

LanceDB is measured only where it is installed; it is no dependency.
"""

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path

import knowledge_corpus as corpus
from aerogram_knowledge import Knowledge
from aerogram_knowledge.embedders import default_embedder

CHUNKS = int(os.environ.get("KNOWLEDGE_CHUNKS", "20000"))
QUESTIONS = 200
KILLS = 5


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus.write(folder / "docs", CHUNKS)
        report_embedded(folder)
        report_lance(folder)
        report_kills(folder)


def report_embedded(folder):
    start = time.perf_counter()
    with Knowledge(folder / "index") as index:
        index.ingest(folder / "docs")
        print(f"SQLite + tantivy + matrix: {CHUNKS} chunks stored in {time.perf_counter() - start:.0f} s")
        for callers in (1, 8):
            shown("SQLite + tantivy + matrix", callers, lambda query: index.search(query, method="hybrid"))


def report_lance(folder):
    try:
        import lancedb
        from lancedb.rerankers import RRFReranker
    except ImportError:
        print("LanceDB is not installed; not measured")
        return
    embedder = default_embedder()
    with Knowledge(folder / "index") as index:
        rows = [(one, text) for one, text in index.store.texts()]
    vectors = embedder.embed([text for _, text in rows])
    start = time.perf_counter()
    table = lancedb.connect(folder / "lance").create_table(
        "chunks", [{"id": i, "text": t, "vector": v} for (i, t), v in zip(rows, vectors, strict=True)]
    )
    table.create_fts_index("text")
    table.create_index(metric="cosine", index_type="IVF_HNSW_SQ")
    print(
        f"LanceDB: {len(rows)} chunks stored in {time.perf_counter() - start:.0f} s, apart from cutting and embedding"
    )
    merge = RRFReranker()

    def ask(query):
        vector = embedder.embed([query])[0]
        return table.search(query_type="hybrid").vector(vector).text(query).rerank(merge).limit(10).to_list()

    for callers in (1, 8):
        shown("LanceDB", callers, ask)


def shown(name, callers, ask):
    spent, queries = [], corpus.queries(QUESTIONS, seed=callers)

    def work(mine):
        for query in mine:
            start = time.perf_counter()
            ask(query)
            spent.append((time.perf_counter() - start) * 1000)

    ask("warm up")
    threads = [threading.Thread(target=work, args=(queries[place::callers],)) for place in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    late = sorted(spent)[int(0.99 * len(spent))]
    print(f"{name}: {callers} callers, p50 {statistics.median(spent):.1f} ms, p99 {late:.1f} ms")


def report_kills(folder):
    """Kill an ingest at odd moments; what a reader finds at once, and what the next run makes of it."""
    program = "import sys; from aerogram_knowledge import Knowledge; Knowledge(sys.argv[1]).ingest(sys.argv[2])"
    sound = 0
    for attempt in range(KILLS):
        index = folder / f"killed{attempt}"
        process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program), str(index), str(folder / "docs")])
        time.sleep(1.5 + 0.9 * attempt)
        process.send_signal(signal.SIGKILL)
        process.wait()
        with Knowledge(index) as knowledge:
            before = knowledge.check()
            knowledge.search("a question right after the kill")
            sound += before.is_sound
            kept = before.facts.get("chunks")
            print(f"killed after {1.5 + 0.9 * attempt:.1f} s: sound {before.is_sound}, {kept} chunks kept")
    print(f"{sound} of {KILLS} killed runs left a sound index")


if __name__ == "__main__":
    main()
