"""Fitting: its cost against serialising, and the smallest budgets; what it delivers is in `answers` and `facts`."""

import asyncio
import tempfile
import time
from dataclasses import replace

import orjson

from aerogram.answer import Call, answer
from aerogram.answer.retrieval import Retrieval, retrieve, retrieve_for
from aerogram.archive import Archive
from aerogram.channels import POLICIES, Sizer
from aerogram.content import canonical_json
from aerogram.contract import Contract
from aerogram.cursor import CursorKeys, Cursors
from aerogram.reply import Reply
from aerogram.shape.fit import fit
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
        serialised, fitted, hashed, spelled = best(
            lambda rows=rows: orjson.dumps(rows),
            lambda reply=reply: fit(reply, 8_000, measure=SIZER, archive=False),
            lambda reply=reply: fit(reply, 8_000, measure=SIZER),
            lambda rows=rows: canonical_json(rows),
            rounds=7,
        )
        kept = len(fit(reply, 8_000, measure=SIZER).reply.data)
        print(
            f"  {count:>7} rows: serialise {serialised * 1e3:6.1f} ms, fit {fitted / serialised:.2f}x, "
            f"fit with the hashes of all that is left over {hashed / serialised:.2f}x "
            f"(sorted spelling {spelled / serialised:.2f}x), "
            f"{kept} items kept"
        )


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
        fitted = fit(paged.reply, 8_000, measure=SIZER, resume=paged.resume, whole_rows=True).reply
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


REQUEST = "req_hsmuuba3"
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


def main():
    cost()
    growth()
    with_archive()
    pages()
    smallest_budgets()


if __name__ == "__main__":
    main()
