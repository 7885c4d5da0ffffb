"""Retrieval: every byte of what was left out comes back, by hash or by id, in pages of any size."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Any

import pytest

from aerogram.answer import Call, answer
from aerogram.answer.retrieval import Retrieval, retrieve, retrieve_for
from aerogram.archive import Archive
from aerogram.channels import Sizer
from aerogram.content import Content
from aerogram.contract import Contract
from aerogram.cursor import Cursors
from aerogram.errors import InvalidCursor, InvalidFields, NotFound, ValidationFailed
from aerogram.reply import Reply
from aerogram.shape.fit import Fitted, fit
from aerogram.shape.modes import RecordType
from aerogram.shape.records import SEARCH_RESULT
from aerogram.tokens import Budget

WORDS = "Every finding has a text that is long enough to be cut somewhere. "
FINDINGS = [{"id": f"finding-{n:03}", "title": f"Title {n}", "text": f"{n}: {WORDS * 10}"} for n in range(60)]


class Desk:
    """A server's archive and cursors, with a budget: what a retrieval tool is made of."""

    def __init__(self, budget: int = 1_500) -> None:
        self.archive = Archive.in_memory()
        self.cursors = Cursors()
        self.budget = Budget(budget)

    async def send(self, reply: Reply[Any], **options: Any) -> Reply[Any]:
        fitted = fit(
            reply, self.budget.room, measure=Sizer(counter=self.budget.counter), retrieve="retrieve", **options
        )
        await self.archive.put(*(left.content for left in fitted.leftovers), principal="ada")
        return fitted.reply

    async def fetch(self, principal: str = "ada", kind: RecordType | None = None, **asked: Any) -> Reply[Any]:
        paged = await retrieve(self.archive, self.cursors, Retrieval(**asked), principal=principal, kind=kind)
        return await self.send(paged.reply, resume=paged.resume, whole_rows=True)

    async def walk(self, **asked: Any) -> list[Any]:
        """Every page, in order."""
        pages: list[Any] = []
        cursor = None
        while cursor is not None or not pages:
            reply = await self.fetch(**asked, cursor=cursor)
            pages.append(reply.data)
            cursor = reply.page.cursor if reply.page else None
        return pages


def hash_in(reply: Reply[Any]) -> str:
    assert reply.fidelity is not None
    return (reply.fidelity.archive_hashes or {})["data"]


async def test_items_are_paged_back_whole_by_the_hash_in_the_reply() -> None:
    desk = Desk()
    reply = await desk.send(Reply.ok(FINDINGS))
    pages = await desk.walk(hash=hash_in(reply))
    assert [item for page in pages for item in page] == FINDINGS
    assert len(pages) > 3


async def test_the_retrieval_call_in_the_reply_works_as_it_stands() -> None:
    desk = Desk(500)
    reply = await desk.send(Reply.ok(FINDINGS))
    assert reply.data[0] != FINDINGS[0]  # what is shown in less detail comes back as well
    found = re.search(r"whole: retrieve\(hash='(\w{12})'\)$", reply.notices[-1].message)
    assert found is not None
    assert [item for page in await desk.walk(hash=found[1]) for item in page] == FINDINGS


@pytest.mark.parametrize("budget", [350, 1_000, 5_000])
async def test_the_archived_text_is_read_back_to_the_last_byte(budget: int) -> None:
    desk = Desk(budget)
    reply = await desk.send(Reply.ok({"findings": FINDINGS[:12], "note": "👩‍👩‍👧‍👦 " * 300}))
    text = "".join(await desk.walk(hash=hash_in(reply), as_text=True))
    assert f"sha256:{hashlib.sha256(text.encode()).hexdigest()}".startswith(hash_in(reply))


async def test_ids_bring_their_items_back() -> None:
    desk = Desk(1_200)
    many = [{**finding, "id": f"{finding['id']}-{part}"} for part in range(4) for finding in FINDINGS]
    reply = await desk.send(Reply.ok({"findings": many, "total": 240}))
    wanted = [many[200]["id"], many[7]["id"]]
    for asked in ({"ids": wanted}, {"ids": wanted, "hash": hash_in(reply)}):
        assert [item["id"] for item in (await desk.fetch(**asked)).data] == list(wanted)


async def test_items_without_ids_come_back_by_position() -> None:
    desk = Desk(500)
    data = [{"value": n / 3, "note": WORDS} for n in range(200)]
    reply = await desk.send(Reply.ok(data))
    assert (await desk.fetch(ids=["#/7", "#/199"], hash=hash_in(reply))).data == [data[7], data[199]]


async def test_positions_tell_sibling_lists_apart() -> None:
    desk = Desk(2_000)
    data = {
        "a/b": [{"value": n / 3, "note": WORDS} for n in range(300)],
        "c": [{"value": n / 7, "note": WORDS} for n in range(300)],
    }
    reply = await desk.send(Reply.ok(data))
    found = await desk.fetch(ids=["#/a~1b/299", "#/c/299"], hash=hash_in(reply))
    assert found.data == [data["a/b"][299], data["c"][299]]


async def test_an_item_that_is_called_like_a_position_comes_first() -> None:
    desk = Desk()
    (stored,) = await desk.archive.put(Content.of_json([{"id": "#/1"}, {"id": "other"}]), principal="ada")
    assert (await desk.fetch(ids=["#/1"], hash=stored.hash)).data == [{"id": "#/1"}]
    assert (await desk.fetch(ids=["#/1"])).data == [{"id": "#/1"}]
    with pytest.raises(NotFound) as refused:
        await desk.fetch(ids=["#/0"])
    assert "hash" in str(refused.value.remediation)


async def test_of_several_items_with_one_id_the_one_nearest_to_the_top_is_meant() -> None:
    desk = Desk(900)
    orders = [{"id": n, "lines": [{"id": line, "text": WORDS} for line in range(1, 5)]} for n in range(1, 40)]
    reply = await desk.send(Reply.ok({"orders": orders}))
    for asked in ({"ids": ["2"]}, {"ids": ["2"], "hash": hash_in(reply)}):
        assert (await desk.fetch(**asked)).data == [orders[1]]
    values = [[[n, n + 1], WORDS * 5] for n in range(40)]
    reply = await desk.send(Reply.ok(values))
    assert (await desk.fetch(ids=["#/1"], hash=hash_in(reply))).data == [values[1]]


async def test_members_of_a_map_come_back_by_their_names() -> None:
    desk = Desk(2_500)
    people = {f"person {n}": {"note": f"{n} {WORDS}"} for n in range(300)}
    reply = await desk.send(Reply.ok({"people": people, "total": 300}))
    wanted = ["person 299", "person 7"]
    assert (await desk.fetch(ids=wanted, hash=hash_in(reply))).data == [people[name] for name in wanted]
    with pytest.raises(NotFound):
        await desk.fetch(ids=["total"])


async def test_ids_of_a_declared_member_bring_their_items_back() -> None:
    goods = RecordType(ids_only=["sku"], metadata=["sku"], preview=["sku"])
    desk = Desk(1_200)
    data = [{"id": n % 3, "sku": f"sku-{n}", "text": WORDS * 3} for n in range(400)]
    reply = await desk.send(Reply.ok(data), kind=goods)
    assert reply.fidelity is not None
    wanted = ["sku-399", "sku-7"]
    assert [item["sku"] for item in (await desk.fetch(kind=goods, ids=wanted)).data] == list(wanted)
    among = (SEARCH_RESULT, goods)
    for asked, found in ((wanted, list(wanted)), (["no-sku"], [None])):
        await desk.send(Reply.ok([{"id": f"no-sku{n or ''}", "rank": 1, "text": WORDS * 200} for n in range(9)]))
        paged = await retrieve(desk.archive, desk.cursors, Retrieval(ids=asked), principal="ada", kinds=among)
        assert [item.get("sku") for item in paged.reply.data] == found


@pytest.mark.parametrize("name", ["C:\\logs\\a.txt", 'say "hello"', "tab\there", "bell\x07", "naïve ☃"])
async def test_an_id_that_json_escapes_brings_its_item_back(name: str) -> None:
    desk = Desk()
    await desk.send(Reply.ok([{"id": name, "text": WORDS}, *FINDINGS]))
    assert (await desk.fetch(ids=[name])).data == [{"id": name, "text": WORDS}]


async def test_ids_that_are_not_there_are_named() -> None:
    desk = Desk()
    await desk.send(Reply.ok(FINDINGS))
    reply = await desk.fetch(ids=["finding-003", "nothing"])
    assert reply.status == "partial"
    assert [item["id"] for item in reply.data] == ["finding-003"]
    assert (reply.notices[0].context or {})["missing"] == ["nothing"]
    with pytest.raises(NotFound):
        await desk.fetch(ids=["nothing"])


async def test_a_part_is_reached_by_its_path_with_fields_and_mode() -> None:
    desk = Desk()
    reply = await desk.send(Reply.ok({"findings": FINDINGS, "by/slash": {"deep": [1, 2]}}))
    found = hash_in(reply)
    assert (await desk.fetch(hash=found, path="/by~1slash/deep")).data == [1, 2]
    assert (await desk.fetch(hash=found, path="/findings/59/id")).data == "finding-059"
    assert (await desk.fetch(hash=found, path="/findings", fields=["id"], page_size=2)).data == [
        {"id": "finding-000"},
        {"id": "finding-001"},
    ]
    rows = (await desk.fetch(hash=found, path="/findings", response_mode="metadata", page_size=1)).data
    assert rows == [{"id": "finding-000", "title": "Title 0"}]
    pages = await desk.walk(hash=found, path="/findings/3/text")
    assert "".join(pages) == FINDINGS[3]["text"]


@pytest.mark.parametrize("index", ["-1", "01", "1_0", " 1", "\u0661", "-", "9" * 5_000])
async def test_a_step_into_a_list_is_a_plain_number(index: str) -> None:
    desk = Desk()
    found = hash_in(await desk.send(Reply.ok({"findings": FINDINGS})))
    with pytest.raises(NotFound):
        await desk.fetch(hash=found, path=f"/findings/{index}")


async def test_fields_that_another_page_has_are_not_refused() -> None:
    desk = Desk(600)
    data = [{"id": n, "text": WORDS * 5} for n in range(30)] + [{"id": 30, "note": "last"}]
    found = hash_in(await desk.send(Reply.ok(data)))
    pages = await desk.walk(hash=found, fields=["note"], page_size=20)
    assert [item for page in pages for item in page] == [{}] * 30 + [{"note": "last"}]


async def test_raw_text_and_bytes_are_paged_as_text() -> None:
    desk = Desk(600)
    text, raw = WORDS * 200, bytes(range(256)) * 20
    stored = await desk.archive.put(Content.of_text(text), Content.of_bytes(raw), principal="ada")
    assert "".join(await desk.walk(hash=stored[0].hash)) == text
    assert base64.b64decode("".join(await desk.walk(hash=stored[1].hash))) == raw


async def test_an_item_larger_than_the_budget_is_previewed_and_the_walk_goes_on() -> None:
    desk = Desk(900)
    data = [{"id": "small"}, {"id": "huge", "text": WORDS * 500}, {"id": "last"}]
    reply = await desk.send(Reply.ok(data))
    pages = await desk.walk(hash=hash_in(reply))
    items = [item for page in pages for item in page]
    assert [item["id"] for item in items] == ["small", "huge", "last"]
    assert items[1]["text"].startswith(WORDS)
    assert "".join(await desk.walk(hash=hash_in(reply), path="/1/text")) == WORDS * 500


async def test_nobody_else_can_retrieve_it() -> None:
    desk = Desk()
    reply = await desk.send(Reply.ok(FINDINGS))
    with pytest.raises(NotFound):
        await desk.fetch("bob", hash=hash_in(reply))
    with pytest.raises(NotFound):
        await desk.fetch("bob", ids=["finding-003"])


async def test_a_cursor_continues_only_its_own_retrieval() -> None:
    desk = Desk()
    reply = await desk.send(Reply.ok(FINDINGS))
    page = (await desk.fetch(hash=hash_in(reply))).page
    assert page is not None
    with pytest.raises(InvalidCursor):
        await desk.fetch(hash=hash_in(reply), fields=["id"], cursor=page.cursor)


@pytest.mark.parametrize(
    ("asked", "refusal"),
    [
        ({}, ValidationFailed),
        ({"hash": "sha256:zz"}, NotFound),
        ({"hash": "sha256:" + "0" * 64}, NotFound),
        ({"ids": [str(n) for n in range(201)]}, ValidationFailed),
        ({"response_mode": "everything", "ids": ["a"]}, ValidationFailed),
    ],
)
async def test_requests_that_make_no_sense_are_refused(asked: dict[str, Any], refusal: type[Exception]) -> None:
    with pytest.raises(refusal):
        await Desk().fetch(**asked)


async def test_wrong_paths_and_fields_are_refused() -> None:
    desk = Desk()
    found = hash_in(await desk.send(Reply.ok(FINDINGS)))
    for path in ("/99", "/x", "/0/nothing", "/0/id/deeper"):
        with pytest.raises(NotFound):
            await desk.fetch(hash=found, path=path)
    with pytest.raises(ValidationFailed):
        await desk.fetch(hash=found, path="0")
    with pytest.raises(InvalidFields):
        await desk.fetch(hash=found, fields=["nothing"])


def test_a_page_that_loses_nothing_leaves_nothing_to_archive() -> None:
    reply = Reply.ok(FINDINGS[:20])
    fitted = fit(reply, 900, measure=Sizer(), resume=lambda count: f"after-{count}", whole_rows=True)
    assert isinstance(fitted, Fitted)
    assert fitted.leftovers == ()


async def test_the_call_that_a_reply_names_works_where_much_is_said_besides() -> None:
    """What is said of long numbers, for one, gives way before the rows do."""
    rows = [{"id": 2**60 + number, "of": {"id": 2**61 + number}, "text": "word " * 200} for number in range(30)]
    archive = Archive.in_memory()
    contract = Contract(dialect="response-v2", archive=archive, budget=300)
    first = await answer(Call(contract), rows)
    assert first.fidelity is not None
    assert first.fidelity.archive_hashes is not None
    call = Call(contract, operation="retrieve")
    page = await answer(call, await retrieve_for(call, Retrieval(first.fidelity.archive_hashes["data"])))
    assert page.problem is None
    assert page.page is not None
    assert page.page.cursor


RECORD = {"id": 1, "text": WORDS * 100}
TABLE = {"rows": [{"id": number, "text": WORDS} for number in range(60)], "total": 60}
MAP = {f"key {number}": {"id": number, "text": WORDS} for number in range(60)}


@pytest.mark.parametrize(
    ("data", "asked"),
    [([RECORD], {}), (RECORD, {}), (TABLE, {}), (MAP, {}), (MAP, {"offset": 5})],
    ids=["one row", "record", "rows", "map", "members"],
)
@pytest.mark.parametrize("dialect", ["response-v2", "bare"])
async def test_a_cursor_goes_on_with_its_walk_whatever_room_there_is_now(
    dialect: str, data: Any, asked: dict[str, Any]
) -> None:
    """With all the room at once, the second page is the last one, and both together are as they were."""
    archive = Archive.in_memory()
    (stored,) = await archive.put(Content.of_json(data))
    contract = Contract(dialect=dialect, archive=archive, budget=20_000)

    async def ask(max_tokens: int | None = None, **how: Any) -> Reply[Any]:
        call = Call(contract, operation="retrieve", max_tokens=max_tokens)
        return await answer(call, await retrieve_for(call, Retrieval(stored.hash, **how)))

    first = await ask(500, **asked)
    assert first.page is not None
    assert first.page.cursor
    rows = rows_of_all(data)[asked.get("offset", 0) :]
    whole = (await ask(as_text=True)).data if isinstance(first.data, str) else rows
    for again in (asked, {}):
        last = await ask(**again, cursor=first.page.cursor)
        assert last.page is not None
        assert not last.page.has_more
        assert first.data + last.data == whole


def rows_of_all(data: Any) -> list[Any]:
    if not isinstance(data, dict):
        return list(data)
    return list(data["rows"]) if "rows" in data else [{name: member} for name, member in data.items()]


async def test_a_cursor_of_other_rows_is_refused_where_there_is_a_record() -> None:
    desk = Desk()
    (stored,) = await desk.archive.put(Content.of_json({"id": 1, "tags": ["a", "b"]}), principal="ada")
    with pytest.raises(InvalidCursor):
        await desk.fetch(hash=stored.hash, fields=["id"], cursor="EwywEiJ1oih963QbVdQRAA")


@pytest.mark.parametrize("dialect", ["response-v2", "standard-v2", "knowledge-1.0"])
async def test_what_is_named_for_the_whole_of_what_was_asked_back_is_not_the_same_call(dialect: str) -> None:
    """A row of some lengths fits alone, and not beside what is said of it: then its text is to be asked for."""
    archive = Archive.in_memory()
    contract = Contract(dialect=dialect, archive=archive, budget=360, retrieve="retrieve")
    named = []
    for length in range(80, 320):
        row = {"id": 2**60, "of": {"id": 2**61}, "text": "word " * length}
        (stored,) = await archive.put(Content.of_json([row]))
        call = Call(contract, operation="retrieve", arguments={"hash": stored.hash})
        reply = await answer(call, await retrieve_for(call, Retrieval(stored.hash)))
        named += [found for one in reply.notices for found in re.findall(r"whole: retrieve\(.*?\)", one.message)]
    assert named
    assert all(call.endswith(", as_text=True)") for call in named)


async def test_a_page_of_a_text_says_how_much_of_it_is_shown_where_a_contract_explains_what_is_partial() -> None:
    archive = Archive.in_memory()
    (stored,) = await archive.put(Content.of_text(WORDS * 100))
    call = Call(Contract(dialect="standard-v2", archive=archive, budget=400), operation="retrieve")
    page = await answer(call, await retrieve_for(call, Retrieval(stored.hash)))
    assert [notice.message for notice in page.notices] == [f"{len(page.data)} of {len(WORDS) * 100} characters shown"]


async def test_what_stands_beside_rows_is_not_lost_where_these_would_fit_alone() -> None:
    """Then the object comes back as its text, all of it."""
    data = {"note": WORDS * 20, "rows": [{"id": number, "text": WORDS * 3} for number in range(20)]}
    archive = Archive.in_memory()
    (stored,) = await archive.put(Content.of_json(data))
    for budget in range(800, 1_700, 50):
        call = Call(Contract(dialect="bare", archive=archive, budget=budget), operation="retrieve")
        page = await answer(call, await retrieve_for(call, Retrieval(stored.hash)))
        assert page.data == data or (page.page is not None and page.page.cursor)


@pytest.mark.parametrize(
    "rows", [[1234567890 + number for number in range(300)], [{"id": number, "of": 2.5e-7} for number in range(50)]]
)
async def test_an_offset_counts_the_rows_that_a_reply_has_counted(rows: list[Any]) -> None:
    """Whatever stands beside them, and whatever there is room for when they are asked for."""
    archive = Archive.in_memory()
    for budget in range(150, 1_500, 50):
        call = Call(Contract(dialect="bare", archive=archive, budget=budget), operation="any")
        shown = await answer(call, {"note": WORDS * 8, "rows": rows})
        words = shown.notices[-1].message if shown.notices else ""
        found = re.search(r"^(\d+) of .* retrieve\(hash='(\w{12})', offset=(\d+)\)", words)
        for more in (budget, 2 * budget, 9_000) if found is not None else ():
            assert shown.data["rows"] == rows[: int(found[1])] and found[1] == found[3]
            call = Call(Contract(dialect="bare", archive=archive, budget=more), operation="retrieve")
            page = await answer(call, await retrieve_for(call, Retrieval(found[2], offset=int(found[3]))))
            assert page.data and page.data == rows[int(found[3]) :][: len(page.data)]
