"""Answers: how many replies within a budget hold the sentence that answers the question.

The documents are Debian's (debian-faq 11.1, debian-policy 4.6.2.0, debian-reference 2.100, developers-reference
12.18, maint-guide 1.2.53). The questions in `data/answers.jsonl` were made before anything was measured: up to 34
paragraphs of each document were drawn by a seed, and to each that says something one can ask for a question was
written as a user would put it, in other words than the paragraph where that was natural, with the part of it that
answers. None was changed afterwards, but for one answer that named a home folder, which no file here may do: it is
now the end of the same sentence, and no figure changed by that. The corpus is all of these paragraphs and others
drawn by a seed, each a passage of its own.

One ranking feeds all: the ten best passages of a search. The knowledge server is a real process; the other dialects
are those of a tool in process that returns the passages. A reply holds the answer if its words, white space apart,
are in the larger channel, which is what a model reads. *plain* is what a budget can hold at best without cutting
passages: whole ones, best first, with 150 tokens set aside for the envelope and 12 for each passage.

`python bench answers --plot docs/images/answers.svg` also draws it; `python bench answers --tokens` prints instead
where the tokens of a reply of knowledge-1.0 go, and how many answers there would be room for at best.
"""

import asyncio
import json
import random
import sys
import tempfile
from math import ceil
from pathlib import Path

from fastmcp import Client, FastMCP

import debian
from aerogram.dialects.knowledge_v1 import WhitelistedSemanticSearchFields
from aerogram.fastmcp import install
from aerogram_knowledge import Knowledge
from answers_tokens import print_tokens
from channel import COUNT, contract, size, words
from plot import svg
from server_process import serving

QUESTIONS = Path(__file__).parent / "data" / "answers.jsonl"
BUDGETS = (500, 750, 1_000, 1_500, 2_000, 4_000, 8_000)
PASSAGES, BEST, SEED = 280, 10, 20
FIELDS = ["chunk_id", "source_file", "chunk_text"]
ENVELOPE, EACH = 150, 12
DIALECTS = ("bare", "response-v2", "standard-v2")
FULL, CHOSEN, PLAIN = "knowledge full", "knowledge fields", "plain"


def questions():
    """The questions whose answers stand in the documents, and all of their paragraphs."""
    found = {name: debian.paragraphs(name) for name in debian.TEXTS}
    asked = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
    there = [one for one in asked if any(one["answer"] in text for text in found[one["document"]])]
    if len(there) < len(asked):
        print(f"{len(asked) - len(there)} questions left out: other versions of the documents lack their answers")
    return there, found


def write_corpus(folder, asked, found):
    """A file for each passage: those that hold answers, and others by chance."""
    every = [(name, text) for name, texts in found.items() for text in texts]
    chosen = [one for one in every if any(q["document"] == one[0] and q["answer"] in one[1] for q in asked)]
    others = [one for one in every if one not in set(chosen)]
    chosen += random.Random(SEED).sample(others, PASSAGES - len(chosen))
    for number, (name, text) in enumerate(sorted(chosen)):
        path = folder / name / f"{number:03}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", "utf-8")
    return len(chosen)


def ranked_server(dialect, budget, rankings):
    """A server with one tool, which returns the passages of a question."""
    server = FastMCP("passages")
    install(server, contract=contract(dialect, budget, ranked=["passages"]))

    @server.tool
    def passages(question: str) -> list[dict]:
        return rankings[question]

    return server


def plain(rows, budget):
    """The texts of the first rows that fit whole."""
    room, shown = budget - ENVELOPE, []
    for row in rows:
        room -= COUNT(row["chunk_text"]) + EACH
        if room < 0:
            break
        shown.append(row["chunk_text"])
    return "\n".join(shown)


def holds(text, answer):
    return answer in debian.squeeze(text)


def rank(index, question):
    """The best passages, as they are in full."""
    rows = index.search(question, response_mode="full", page_size=BEST).data
    return [{name: row[name] for name in row if name in WhitelistedSemanticSearchFields.FULL} for row in rows]


def choose(rows):
    """The passages with the fields that are read."""
    return [{name: row[name] for name in FIELDS} for row in rows]


async def show_tokens(asked, found, address):
    """Print where the tokens of a reply go."""
    async with Client(address) as client:
        search = {"query": asked[0]["question"], "response_mode": "full", "page_size": BEST, "max_tokens": 1_000}
        body = (await client.call_tool("semantic_search", search)).structured_content
    body = {name: held for name, held in body.items() if name != "aerogram"}  # it came where there was room left

    def answered(shown):
        texts = ("\n".join(row["chunk_text"] for row in found[q["question"]][: shown[q["question"]]]) for q in asked)
        return sum(holds(text, q["answer"]) for text, q in zip(texts, asked, strict=True))

    def at_best(budget):
        return sum(holds(plain(found[q["question"]], budget), q["answer"]) for q in asked)

    bars = [
        ("full", 1_000, ceil(0.95 * at_best(1_000))),
        ("full", 1_500, at_best(1_500) - 2),
        ("fields", 1_000, at_best(1_000) - 2),
    ]
    print_tokens(found, FIELDS, body, answered, bars)


async def replies(client, tool, asked, given):
    """The reply to each question."""
    return [await client.call_tool(tool, given(one["question"]), raise_on_error=False) for one in asked]


async def measure(asked, rankings, address):
    """For each contender and budget, which questions are answered; and where replies were too large."""
    found, over = {name: {} for name in (PLAIN, FULL, CHOSEN, *DIALECTS)}, set()

    def judge(name, budget, results):
        found[name][budget] = [holds(words(one), q["answer"]) for one, q in zip(results, asked, strict=True)]
        if any(size(one) > budget for one in results):
            over.add((name, budget))

    async with Client(address) as client:
        for budget in BUDGETS:
            found[PLAIN][budget] = [holds(plain(rankings[one["question"]], budget), one["answer"]) for one in asked]
            search = {"response_mode": "full", "page_size": BEST, "max_tokens": budget}
            for name, more in ((FULL, {}), (CHOSEN, {"fields": FIELDS})):
                given = {**search, **more}
                judge(
                    name, budget, await replies(client, "semantic_search", asked, lambda q, g=given: {"query": q, **g})
                )
            for name in DIALECTS:
                async with Client(ranked_server(name, budget, rankings)) as ranked:
                    judge(name, budget, await replies(ranked, "passages", asked, lambda q: {"question": q}))
    return found, over


def targets(found):
    """Each promise, and whether it is kept."""
    count = {name: {budget: sum(held) for budget, held in row.items()} for name, row in found.items()}
    best = count[PLAIN]
    yield "knowledge full, 0.80 of plain at 500", count[FULL][500] >= 0.80 * best[500]
    yield "knowledge full, 0.95 of plain at 1,000", count[FULL][1_000] >= 0.95 * best[1_000]
    for name, within, least in [(FULL, 2, 1_500), (CHOSEN, 5, 500), (CHOSEN, 2, 750), *((d, 3, 500) for d in DIALECTS)]:
        until = 500 if within == 5 else max(BUDGETS)
        judged = [budget for budget in BUDGETS if least <= budget <= until]
        said = "at" if until == least else "from"
        kept = all(count[name][budget] >= best[budget] - within for budget in judged)
        yield f"{name}, within {within} questions of plain {said} {least:,}", kept


def report(found, over):
    print(f"  {'':<18}" + "".join(f"{budget:>13,}" for budget in BUDGETS))
    for name, row in found.items():
        cells = []
        for budget in BUDGETS:
            ahead = sum(row[budget]) - sum(found[PLAIN][budget])
            cells.append(f"{sum(row[budget]):>7}" + (f" ({ahead:+d})" if name != PLAIN else "").ljust(6))
        print(f"  {name:<18}" + "".join(cells))
    if over:
        print(f"  replies larger than their budget: {sorted(over)}")
    for said, kept in targets(found):
        print(f"  {'met    ' if kept else 'NOT met'}  {said}")


def draw(found, path):
    with svg(path, figsize=(7, 4)) as (_, axes):
        for name, row in found.items():
            style = {"color": "black", "linestyle": "--"} if name == PLAIN else {"marker": "o"}
            axes.plot(BUDGETS, [sum(row[budget]) for budget in BUDGETS], label=name, **style)
        axes.set(xscale="log", xlabel="budget in tokens", ylabel="questions answered", ylim=(0, None))
        axes.set_xticks(BUDGETS, [f"{budget:,}" for budget in BUDGETS])
        axes.minorticks_off()
        axes.legend(fontsize=8)


def main():
    try:
        asked, paragraphs = questions()
    except debian.NotThere as error:
        print(error)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        count = write_corpus(folder / "docs", asked, paragraphs)
        with Knowledge(folder / "index") as index:
            index.ingest(folder / "docs")
            found = {one["question"]: rank(index, one["question"]) for one in asked}
        if "--tokens" in sys.argv:
            with serving(folder / "index", documents=folder / "docs") as server:
                asyncio.run(show_tokens(asked, found, server.mcp))
            return
        rankings = {question: choose(rows) for question, rows in found.items()}
        print(f"{len(asked)} questions on {count} passages: replies that hold the answer (against plain)")
        with serving(folder / "index", documents=folder / "docs") as server:
            found, over = asyncio.run(measure(asked, rankings, server.mcp))
    report(found, over)
    if "--plot" in sys.argv:
        draw(found, sys.argv[sys.argv.index("--plot") + 1])


if __name__ == "__main__":
    main()
