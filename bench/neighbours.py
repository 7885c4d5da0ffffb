"""How many of the nearest vectors pgvector's HNSW index finds, in real text, and what that does to whole searches.

The text is what the packages beside this one say about themselves: their descriptions and docstrings, one document for
each module, cut and embedded as an ingest does it. The versions are pinned, so a clone has the same text. Every
fifteenth document is held back, and the first lines of its sections are the questions.
"""

import ast
import contextlib
import os
import statistics
import sys
import tempfile
import time
import warnings
from importlib import metadata
from itertools import islice
from pathlib import Path

import numpy as np

from aerogram_knowledge import Knowledge
from aerogram_knowledge.embedders import default_embedder, quantise
from aerogram_knowledge.filters import Filters
from aerogram_knowledge.maintenance.copy import copy
from aerogram_knowledge.store.postgres.store import PostgresStore

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests"))

MODULES = int(os.environ.get("NEIGHBOURS_MODULES", "30"))
"""How many modules of each package are read, so that none is most of the text."""
HELD_BACK, QUESTIONS, RESULTS = 15, 300, 10
WIDTHS = (100, 200, 400, 1000)
EVERYTHING = 10**9


def main():
    from postgres import running_postgres

    print(f"load of the last minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as name, running_postgres("shared_buffers=512MB") as server:
        folder, database = Path(name), server.new_database()
        questions = written(folder / "docs")
        with Knowledge(folder / "index") as index:
            index.ingest(folder / "docs")
            print(f"{index.check().facts['chunks']:,} chunks of real text, {len(questions)} questions", flush=True)
            copy(folder / "index", database)
            report(index, database, questions)


def report(index, database, questions):
    """A line for the scan of all vectors, and one for each width of the search in the graph."""
    vectors = [row.tobytes() for row in quantise(default_embedder().embed(questions))]
    with contextlib.ExitStack() as stack:
        embedded = Asked(index)
        scan = Asked(stack.enter_context(opened(database, exact=EVERYTHING)))
        graph = {n: Asked(stack.enter_context(opened(database, exact=0, nearest=n))) for n in WIDTHS}
        everyone = [embedded, scan, *graph.values()]
        for query, vector in zip(questions, vectors, strict=True):
            for one in everyone:  # in turns, so that whatever else the machine does meets all of them
                one.ask(query, vector)
    print(f"embedded store: whole search p50 {statistics.median(embedded.whole):.1f} ms")
    print(f"all compared: {scan.against(scan, embedded)}")
    for width, one in graph.items():
        print(f"nearest {width}: {one.against(scan, embedded)}")


class Asked:
    """What an index answers, by meaning alone and altogether, and the milliseconds of each answer."""

    def __init__(self, index):
        self.index = index
        self.near, self.alone, self.found, self.whole = [], [], [], []

    def ask(self, query, vector):
        started = time.perf_counter()
        self.near.append(near(self.index.store, vector))
        between = time.perf_counter()
        self.found.append(found(self.index, query))
        self.alone.append((between - started) * 1000)
        self.whole.append((time.perf_counter() - between) * 1000)

    def against(self, scan, embedded):
        """How this compares with a scan of all vectors, and with the embedded store."""
        # chunks that say the same are equally near, so it counts how near they are, not which of them they are
        pairs = zip(self.near, scan.near, strict=True)
        recall = statistics.mean(float((mine >= best[-1] - 1e-6).sum()) / len(best) for mine, best in pairs)
        alone, whole = statistics.median(self.alone), statistics.median(self.whole)
        return (
            f"recall@{RESULTS} {recall:.3f}, p50 {alone:.1f} ms; whole search p50 {whole:.1f} ms, "
            f"of {RESULTS} results {self.shared(scan):.2f} as by comparing all, {self.shared(embedded):.2f} as embedded"
        )

    def shared(self, other):
        return statistics.mean(len(mine & theirs) for mine, theirs in zip(self.found, other.found, strict=True))


@contextlib.contextmanager
def opened(database, **how):
    embedder = default_embedder()
    with Knowledge(database, store=PostgresStore(database, embedder.dimensions, **how), embedder=embedder) as index:
        for query in ("read a file", "write a file", "close a file"):
            index.search(query)
        yield index


def near(store, vector):
    """The cosines of the ten nearest that a store finds."""
    close = store.moment().candidates((), vector, Filters(), 0, 3_000).meaning
    return np.sort(close)[::-1][:RESULTS]


def found(index, query):
    return {row["chunk_id"] for row in index.search(query, page_size=RESULTS).data}


def written(folder):
    """Write the documents; the questions."""
    questions = []
    for number, (path, sections) in enumerate(documents()):
        if number % HELD_BACK == 0:
            questions += [one for one in map(first_line, sections[:3]) if 20 <= len(one) <= 200 and one[0].isalpha()]
            continue
        target = folder / f"{path}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("\n\n".join(f"# {title}\n\n{text}" for title, text in sections), "utf-8", "replace")
    unique = list(dict.fromkeys(questions))
    return unique[:: max(1, len(unique) // QUESTIONS)][:QUESTIONS]


def first_line(section):
    return section[1].partition("\n")[0].strip()


def documents():
    """What every package says about itself: its description, and what its modules say."""
    for package in sorted(metadata.distributions(), key=lambda one: one.metadata["Name"].lower()):
        name = package.metadata["Name"].lower()
        if name == "aerogram":
            continue
        described = package.metadata.get_payload() or package.metadata["Description"] or ""
        if described.strip():
            yield f"{name}/description", [(name, described.strip())]
        yield from islice(modules(name, package), MODULES)


def modules(name, package):
    for file in sorted(map(str, package.files or ())):
        if file.endswith(".py") and ".." not in file and "test" not in file:
            with contextlib.suppress(OSError, SyntaxError, ValueError):
                sections = docstrings(Path(package.locate_file(file)).read_text("utf-8"))
                if sections:
                    yield f"{name}/{file.removesuffix('.py')}", sections


def docstrings(source):
    """Every docstring of more than a line, with the name of what it is of."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they escape is not our matter
        tree = ast.parse(source)
    nodes = [one for one in ast.walk(tree) if isinstance(one, kinds)]
    said = [(getattr(one, "name", "module"), ast.get_docstring(one) or "") for one in nodes]
    return [(title, text) for title, text in said if len(text) > 80]


if __name__ == "__main__":
    main()
