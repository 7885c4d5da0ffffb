"""The law of identity: every identifier that a reply shows brings exactly its item back."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from aerogram.answer.retrieval import Retrieval, retrieve
from aerogram.archive import Archive
from aerogram.channels import Sizer, summary_of
from aerogram.cursor import Cursors
from aerogram.errors import NotFound
from aerogram.reply import Reply
from aerogram.reply.identity import POSITION, Names
from aerogram.shape.fit import fit

COLUMNS = ["id", "uuid", "user_id", "orderId", "sku", "email", "order_number", "name", "title", "word", "size", "open"]
TEXT = "A text that is long enough to be left out of a reply at most budgets. "
SIZER = Sizer()


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows whose columns tell them apart, or not, or only some of them."""
    count = draw(st.integers(1, 60))
    values = {
        "unique text": lambda column, at: f"{column}-{at}",
        "unique number": lambda _, at: at + 100,
        "text that comes again": lambda column, at: f"{column}-{at % 3}",
        "number that comes again": lambda _, at: at % 5,
        "one number, one text": lambda _, at: at // 2 if at % 2 else str(at // 2),
        "now and then missing": lambda column, at: f"{column}-{at}" if at % 7 else None,
        "no identifier": lambda _, at: at / 3,
    }
    drawn = draw(st.dictionaries(st.sampled_from(COLUMNS), st.sampled_from(sorted(values)), min_size=1, max_size=5))
    return [
        {**{column: values[how](column, at) for column, how in drawn.items()}, "text": f"{at} {TEXT * 4}"}
        for at in range(count)
    ]


class Desk:
    """An archive, and what comes back from it."""

    def __init__(self) -> None:
        self.archive = Archive.in_memory()
        self.cursors = Cursors()

    async def send(self, data: Any, budget: int) -> Reply[Any]:
        fitted = fit(Reply.ok(data), budget, measure=SIZER, retrieve="retrieve")
        await self.archive.put(*(left.content for left in fitted.leftovers))
        self.left = {left.name: left.content.value() for left in fitted.leftovers}
        return fitted.reply

    async def back(self, name: Any, hash: str | None) -> list[Any]:
        try:
            return list((await retrieve(self.archive, self.cursors, Retrieval(hash, [name]))).reply.data)
        except NotFound:
            return []


@given(tables(), st.booleans(), st.integers(250, 1_500))
async def test_every_identifier_that_a_reply_shows_brings_exactly_its_item_back(
    rows: list[dict[str, Any]], is_boxed: bool, budget: int
) -> None:
    desk = Desk()
    reply = await desk.send({"rows": rows, "total": len(rows)} if is_boxed else rows, budget)
    if reply.fidelity is None:
        return
    digest = (reply.fidelity.archive_hashes or {})["data"]
    shown = reply.data.get("rows", []) if is_boxed else reply.data
    dropped = desk.left.get("dropped_ids", list(reply.fidelity.dropped_ids))
    for name, item in zip(dropped, rows[len(shown) :], strict=False):
        assert await desk.back(name, digest) == [item]
        if not str(name).startswith(POSITION):
            assert await desk.back(name, None) == [item]
    are_named = not any(str(name).startswith(POSITION) for name in Names().ids(rows, 0))
    for part, item in zip(shown, rows, strict=False):
        if len(part) == 1:
            (name,) = part.values()
            for asked in (digest, None):
                found = await desk.back(str(name), asked)
                assert found == [item] if are_named else found in ([], [item])


@given(tables(), st.integers(250, 1_500))
async def test_a_summary_names_items_as_the_reply_does(rows: list[dict[str, Any]], budget: int) -> None:
    desk = Desk()
    reply = await desk.send(rows, budget)
    are_named = not any(str(name).startswith(POSITION) for name in Names().ids(rows, 0))
    if reply.fidelity is None or not are_named or all(len(row) > 1 for row in reply.data):
        return
    listed = [line.removeprefix("ids: ") for line in summary_of(reply).splitlines() if line.startswith("ids: ")]
    names = listed[0].split(", ") if listed else []  # what is shown of a row may be without its identifier
    for name, item in zip(names, rows, strict=False):
        assert await desk.back(name, None) == [item]


@given(tables(), st.data())
def test_items_are_called_the_same_in_part_and_as_a_whole(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    """Numbers may be told as text beside texts; the name is the same."""
    names = Names(first=data.draw(st.none() | st.integers(1, 60)))
    together = [str(name) for name in names.ids(rows, 0, place="/rows")]
    start, most = data.draw(st.integers(0, len(rows))), data.draw(st.none() | st.integers(0, 60))
    end = len(rows) if most is None else start + most
    assert [str(name) for name in names.ids(rows, start, most, "/rows")] == together[start:end]
    by_name = [(name, row) for name, row in zip(together, rows, strict=True) if not name.startswith(POSITION)]
    assert list(names.named_items(rows)) == by_name
