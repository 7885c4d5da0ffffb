"""Fitting: its cost against serialising, what it delivers against fixed modes and a cut, and the smallest budgets.

`python bench/fit.py --plot docs/images/fit.svg` also draws the comparison.
"""

import asyncio
import logging
import random
import re
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import orjson

from aerogram.answer import answer
from aerogram.archive import Archive
from aerogram.call import Call
from aerogram.channels import POLICIES, Sizer
from aerogram.content import canonical_json
from aerogram.contract import Contract
from aerogram.cursor import CursorKeys, Cursors
from aerogram.identity import Names
from aerogram.reply import Reply
from aerogram.retrieval import Retrieval, retrieve, retrieve_for
from aerogram.shape.fit import fit
from aerogram.shape.modes import MODES, in_mode
from aerogram.shape.records import SEARCH_RESULT
from aerogram.tokens import Vocabulary
from timing import best

SIZER = Sizer()
BUDGETS = (1_000, 2_000, 4_000, 8_000, 16_000)
TEXT = "the server returns results that agents read and the budget decides how much of them fits"


def flat_rows(count):
    return [
        {
            "id": number,
            "name": f"item {number}",
            "status": "open",
            "score": number % 1000 / 1000,
            "created": "2026-11-15T05:00:00Z",
            "owner": f"user-{number % 97}",
            "summary": "A short summary of the item, as a search would return it",
        }
        for number in range(count)
    ]


def search_results(count):
    chance = random.Random(5)
    return [
        {
            "chunk_id": 100 + number,
            "chunk_text": " ".join(chance.choices(TEXT.split(), k=350)),
            "similarity_score": round(chance.random(), 3),
            "bm25_score": round(chance.random(), 3),
            "hybrid_score": round(1 - number / count / 2, 3),
            "rank": number + 1,
            "score_type": "hybrid",
            "source_file": f"docs/part-{number % 9}/page-{number}.md",
            "source_category": "guide",
            "context_header": f"Guide > Part {number % 9} > Page {number}",
            "chunk_index": number % 7,
            "total_chunks": 7,
            "chunk_token_count": 400,
        }
        for number in range(count)
    ]


class CountingSizer(Sizer):
    """A sizer that remembers how much text it was asked to price."""

    __slots__ = ()
    priced = 0

    def price(self, text):
        CountingSizer.priced += len(text)
        return super().price(text)


def cost():
    print("fit into 8,000 tokens, as a multiple of serialising the rows once (orjson)")
    for count in (10_000, 100_000, 300_000):
        rows = flat_rows(count)
        reply = Reply.ok(rows)
        serialised, fitted, hashed, spelled, proven = best(
            lambda rows=rows: orjson.dumps(rows),
            lambda reply=reply: fit(reply, 8_000, measure=SIZER, archive=False),
            lambda reply=reply: fit(reply, 8_000, measure=SIZER),
            lambda rows=rows: canonical_json(rows),
            lambda rows=rows: Names().shared_member(rows),
            rounds=7,
        )
        kept = len(fit(reply, 8_000, measure=SIZER).reply.data)
        print(
            f"  {count:>7} rows: serialise {serialised * 1e3:6.1f} ms, fit {fitted / serialised:.2f}x, "
            f"fit with the hashes of all that is left over {hashed / serialised:.2f}x "
            f"(sorted spelling {spelled / serialised:.2f}x, proof of identifiers {proven / serialised:.2f}x), "
            f"{kept} items kept"
        )


def named_rows(count, how):
    """Rows that are told apart by numbers, by texts, by both, by an id that one of them lacks, or by nothing."""
    ids = {
        "numbers": lambda number: {"id": number},
        "texts": lambda number: {"id": f"row-{number}"},
        "numbers and texts": lambda number: {"id": number if number % 2 else f"row-{number}"},
        "an id that one lacks": lambda number: {"id": number} if number != count - 9 else {},
        "nothing": lambda _: {},
    }[how]
    return [{**row, "id": None, "name": "item", **ids(number)} for number, row in enumerate(flat_rows(count))]


def identities():
    """Every identifier that a reply shows is proven to be one of a kind: what that costs, by what there is."""
    print("fit 100,000 rows with hashes, by what tells them apart, as a multiple of serialising")
    for how in ("numbers", "texts", "numbers and texts", "an id that one lacks", "nothing"):
        rows = named_rows(100_000, how)
        reply = Reply.ok(rows)
        serialised, fitted = best(
            lambda rows=rows: orjson.dumps(rows), lambda reply=reply: fit(reply, 8_000, measure=SIZER), rounds=5
        )
        print(f"  {how:<21} {fitted / serialised:.1f}x")


def growth():
    rows = flat_rows(100_000)
    print("fit 100,000 rows without hashes, by budget")
    for budget in BUDGETS:
        CountingSizer.priced = 0
        kept = fit(Reply.ok(rows), budget, measure=CountingSizer(), archive=False).reply.data
        counted = CountingSizer.priced / len(orjson.dumps(kept))
        (taken,) = best(lambda budget=budget: fit(Reply.ok(rows), budget, measure=SIZER, archive=False), rounds=3)
        print(
            f"  {budget:>6} tokens: {taken * 1e3:5.1f} ms, {len(kept):>5} items kept, "
            f"each character of them counted {counted:.2f} times"
        )


async def _send(archive, rows):
    fitted = fit(Reply.ok(rows), 8_000, measure=SIZER)
    await archive.put(*(left.content for left in fitted.leftovers))
    return fitted.reply


def with_archive():
    rows = flat_rows(100_000)
    print("100,000 rows, time until the reply may be sent (its leftovers are stored), and as a multiple of serialising")
    with tempfile.TemporaryDirectory() as directory:
        for name, archive in (("memory", Archive.in_memory()), ("files", Archive.at(directory))):
            serialised, sent = best(
                lambda: orjson.dumps(rows), lambda archive=archive: asyncio.run(_send(archive, rows)), rounds=5
            )
            print(f"  {name:<7} {sent * 1e3:.0f} ms, {sent / serialised:.1f}x")


async def _walk(archive, reply, pages):
    """The seconds that each of the first pages takes, read and fitted."""
    cursors, cursor, taken = Cursors(), None, []
    for _ in range(pages):
        start = time.perf_counter()
        asked = Retrieval(hash=reply.fidelity.archive_hashes["data"], page_size=50, cursor=cursor)
        paged = await retrieve(archive, cursors, asked)
        fitted = fit(paged.reply, 8_000, measure=SIZER, resume=paged.resume, detail_first=True).reply
        taken.append(time.perf_counter() - start)
        cursor = fitted.page.cursor
    return taken


def pages():
    rows = [{"id": number, "title": f"Title {number}", "text": TEXT * 20} for number in range(3_000)]
    print(f"pages of an entry of {len(orjson.dumps(rows)) / 1e6:.0f} MB, retrieved and fitted into 8,000 tokens")

    async def walk(archive):
        return await _walk(archive, await _send(archive, rows), 12)

    with tempfile.TemporaryDirectory() as directory:
        for name, archive in (("memory", Archive.in_memory()), ("files", Archive.at(directory))):
            first, *others = asyncio.run(walk(archive))
            print(f"  {name:<7} the first {first * 1e3:.0f} ms, each after it {min(others) * 1e3:.1f} ms")


def fixed(rows, mode, budget, sizer):
    """As many results as fit in one mode, as a tool with a page size would send them."""
    low, high = 0, len(rows)
    shown = [in_mode(row, mode, SEARCH_RESULT) for row in rows]
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if sizer(Reply.ok(shown[:middle])) <= budget else (low, middle - 1)
    return low, sizer(Reply.ok(shown[:low])) if low else 0


async def _limited(rows, budget, counter):
    """FastMCP's response limiting, with the byte limit that comes closest to the budget in tokens."""
    from fastmcp import Client, FastMCP
    from fastmcp.server.middleware.response_limiting import ResponseLimitingMiddleware

    logging.getLogger("fastmcp").setLevel(logging.ERROR)  # it warns at every cut
    best_found = (0, 0)
    for size in range(budget * 3, budget * 7, budget // 2):
        server = FastMCP("limited", middleware=[ResponseLimitingMiddleware(max_size=size)])

        @server.tool
        def search() -> list[dict]:
            return rows

        async with Client(server) as client:
            text = (await client.call_tool("search")).content[0].text
        tokens = counter.count(text)
        if best_found[1] < tokens <= budget:
            best_found = (len(re.findall(r'"chunk_id":\s*\d+,', text)), tokens)
    return best_found


def delivered():
    rows = search_results(200)
    counter, sizer = Vocabulary(), Sizer("response-v2", "text")
    table = {"aerogram": [], **{mode: [] for mode in MODES}, "FastMCP limiting": []}
    for budget in BUDGETS:
        reply = fit(Reply.ok(rows), budget, measure=sizer, kind=SEARCH_RESULT, retrieve="retrieve").reply
        table["aerogram"].append((len(reply.data), sizer(reply)))
        for mode in MODES:
            table[mode].append(fixed(rows, mode, budget, sizer))
        table["FastMCP limiting"].append(asyncio.run(_limited(rows, budget, counter)))
    print("200 search results: items identifiable / tokens delivered, by budget")
    print(f"  {'':<18}" + "".join(f"{budget:>15}" for budget in BUDGETS))
    for name, cells in table.items():
        print(f"  {name:<18}" + "".join(f"{items:>7} /{tokens:>6}" for items, tokens in cells))
    return table


def smallest_budgets():
    """The least that serves a long list: the first reply alone, and the whole way to everything that was left out."""
    print("smallest budget in tokens (the first reply / every page, and everything back)")
    print(f"  {'':<15}" + "".join(f"{policy:>13}" for policy in POLICIES))
    for name in ("response-v2", "standard-v2", "knowledge-1.0"):
        cells = [
            f"{_smallest(name, policy, _first, 20)} / {_smallest(name, policy, _whole_way, 10)}" for policy in POLICIES
        ]
        print(f"  {name:<15}" + "".join(f"{cell:>13}" for cell in cells))


def _smallest(name, policy, way, headroom):
    """With some room for hashes, which are not equally long in tokens; next to a cursor they are counted so already."""

    def serves(budget):
        archive = Archive.in_memory()
        cursors = Cursors(CursorKeys.from_secrets("a secret for the benchmark"), clock=lambda: 1_800_000_000)
        contract = Contract(dialect=name, channels=policy, budget=budget, archive=archive, cursors=cursors)
        return all(reply.problem is None for reply in asyncio.run(way(contract)))

    found = next(
        budget for budget in range(100, 2_000, 10) if all(serves(one) for one in (budget, budget + 4, budget + 9))
    )
    return found + headroom


REQUEST = "req_01M7EYEJYJREP2NHRNZKE47WZ9"
LONG_ROWS = [{"id": f"row-{number:04}", "text": "word " * 300} for number in range(100)]


async def _first(contract):
    return [await answer(Call(contract, operation="search", request_id=REQUEST), LONG_ROWS)]


async def _whole_way(contract):
    """A reply, two pages of the list, and two pages of what was left out, as items and as text."""
    (first,) = replies = await _first(contract)
    if first.problem is not None:
        return replies
    cursor = None
    for _ in range(2):
        call = Call(contract, operation="search", request_id=REQUEST, page_size=20, cursor=cursor)
        replies.append(await answer(call, LONG_ROWS))
        cursor = replies[-1].page.cursor if replies[-1].problem is None else None
    if contract.channels == "summary":  # what is retrieved is not summarised
        contract = replace(contract, channels="compact")
    for as_text in (False, True):
        cursor = None
        for _ in range(2):
            asked = Retrieval(first.fidelity.archive_hashes["data"], as_text=as_text, cursor=cursor)
            call = Call(contract, operation="retrieve", request_id=REQUEST)
            replies.append(await answer(call, await retrieve_for(call, asked)))
            cursor = replies[-1].page.cursor if replies[-1].problem is None else None
    return replies


def draw(table, path):
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "aerogram"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4))
    for name, cells in table.items():
        style = {"linewidth": 2.5} if name == "aerogram" else {"linewidth": 1, "linestyle": "--"}
        axes[0].plot(BUDGETS, [items for items, _ in cells], marker="o", label=name, **style)
        axes[1].plot(BUDGETS, [tokens for _, tokens in cells], marker="o", label=name, **style)
    for axis, title in zip(axes, ("items identifiable", "tokens delivered"), strict=True):
        axis.set_title(title)
        axis.set_xlabel("budget in tokens")
        axis.set_xscale("log", base=2)
        axis.set_xticks(BUDGETS, [f"{budget // 1000}k" for budget in BUDGETS])
    axes[0].legend()
    figure.tight_layout()
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


def main():
    cost()
    identities()
    growth()
    with_archive()
    pages()
    table = delivered()
    if "--plot" in sys.argv:
        draw(table, sys.argv[sys.argv.index("--plot") + 1])
    smallest_budgets()


if __name__ == "__main__":
    main()
