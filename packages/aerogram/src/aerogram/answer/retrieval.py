"""Retrieval: what a reply left out, given back by its hash or by the identifiers of dropped items, page by page.

Lists come in pages of items, texts in pages of characters, and every entry can be had as the text it was hashed
from, so that with enough pages nothing is out of reach at any budget.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeAlias, cast
from weakref import WeakKeyDictionary

from aerogram.answer import Call
from aerogram.answer.aside import run_aside, run_by_size
from aerogram.archive import Archive
from aerogram.archive.archive import CALL_AGAIN
from aerogram.archive.query import run_query
from aerogram.content import Content, short_digits
from aerogram.content.datatext import DataText, read_data
from aerogram.content.jsontext import dumps, value_at
from aerogram.cursor import Cursors
from aerogram.errors import InvalidCursor, NotFound, ValidationFailed
from aerogram.normalize.plain import extent
from aerogram.reply import WAY_ON, Fidelity, Notice, Page, Reply
from aerogram.reply.identity import POSITION, Names
from aerogram.shape.loss import is_map, list_names
from aerogram.shape.modes import MODES, Mode, RecordType, allowed_mode, select
from aerogram.shape.pages import Pager, ResumablePage, Window, bulk_of, take
from aerogram.shape.records import find_record_type
from aerogram.tokens import Budget

__all__ = ["Retrieval", "retrieve", "retrieve_for"]

SEARCHED_ENTRIES: Final = 64
SEARCHED_BYTES: Final = 64_000_000
FEW_IDS: Final = 8
"""So many ids are looked for in what is written before it is read."""
MOST_IDS: Final = 200
MOST_HELD: Final = 2_000_000
"""So many values that were read in texts take about two hundred megabytes."""
Fits: TypeAlias = Callable[[Any], bool]

_READ: Final[WeakKeyDictionary[Content, DataText | None]] = WeakKeyDictionary()
"""What was read in texts that an archive still holds, so that it is not read again for the next page."""


@dataclass(frozen=True)
class Retrieval:
    """What is asked for: an entry by its hash, or items by their ids, and how it is to be shown."""

    hash: str | None = None
    ids: Sequence[str] = ()
    path: str = ""
    response_mode: str = "full"
    fields: Sequence[str] = ()
    as_text: bool = False
    cursor: str | None = None
    page_size: int | None = None
    offset: int = 0
    query: str | None = None
    """JMESPath over data that is kept; of a text, the lines that have these words."""
    splits_ids: bool = False
    """Whether what is no id may be several with commas between them, as addresses have them."""

    def __post_init__(self) -> None:
        if self.response_mode not in MODES:
            allowed_mode(self.response_mode)  # which says what there is
        if isinstance(self.offset, bool) or not isinstance(self.offset, int):
            raise ValidationFailed("offset is a whole number", remediation="Use the offset that a reply names")
        if self.hash is None and not self.ids:
            raise ValidationFailed("Nothing is asked for", remediation="Give a hash, or the ids of dropped items")
        if self.query is not None and (self.hash is None or self.ids or self.as_text):
            raise ValidationFailed("A query is asked of a hash alone", remediation="Leave out ids and as_text")
        if sum(map(len, self.parts_of_ids.values())) > MOST_IDS:
            raise ValidationFailed(f"At most {MOST_IDS} ids at once", remediation="Ask for fewer ids at a time")

    @property
    def parts_of_ids(self) -> dict[str, list[str]]:
        """What is said to be an id, and the ids that it would be if it is none."""
        said = map(str, self.ids)
        return {one: [part for part in one.split(",") if part] if self.splits_ids else [one] for one in said}

    def pager(self, cursors: Cursors, tool: str, principal: str | None, *, documented: bool = False) -> Pager:
        """The pager whose cursors continue exactly this request."""
        asked = {
            "hash": self.hash,
            "ids": list(self.ids),
            "path": self.path,
            "fields": list(self.fields),
            "as_text": self.as_text,
        }
        if self.query is not None:
            asked["query"] = self.query
        mode = cast(Mode, self.response_mode)
        return Pager(cursors, tool, asked, mode, principal, documented=documented)

    def window(self, pager: Pager, total: int) -> Window:
        """The part that is asked for: from the cursor or the offset on, and all that follows unless a size is given."""
        found = pager.window(self.cursor, self.page_size)
        if self.cursor is None and self.offset >= max(total, 1):
            raise ValidationFailed(
                f"offset={self.offset} is beyond the end: there are {total}",
                remediation=f"Use an offset from 0 to {total - 1}" if total else "Leave the offset out",
            )
        own = self.offset if self.offset >= 0 else max(total + self.offset, 0)  # or so many before the end
        offset = own if self.cursor is None else found.offset
        return replace(found, offset=offset, size=found.size if self.page_size is not None else max(total, 1))


async def retrieve(
    archive: Archive | None,
    cursors: Cursors,
    asked: Retrieval,
    *,
    principal: str | None = None,
    tool: str = "retrieve",
    kind: RecordType | None = None,
    kinds: Collection[RecordType] = (),
    documented: bool = False,
    fits: Fits = lambda _: True,
    most: int | None = None,
    names_calls: bool = False,
    read_texts: bool = False,
) -> ResumablePage:
    """A page of archived content, which is answered like what any other handler returns.

    `kind` is the type of the records, if it is known. `kinds` are the types that they may have: a record is of the
    first whose foremost identifier it has. Modes show it as its type does. A record that does not fit whole has been
    shown in part already, so it is given as its text, page by page. With `names_calls`, a page names the call that goes
    on after it, which costs less than a cursor. With `read_texts`, a text that holds data is given as that data.
    """
    if archive is None:
        raise NotFound("This server keeps no archive")
    pager = await _open_pager(asked, cursors, tool, principal, documented=documented)
    # a walk has begun because something did not fit, and goes on whatever there is room for now
    of_text = replace(pager, arguments={**pager.arguments, "as_text": True})
    is_in_text = asked.cursor is not None and _goes_on(of_text, asked.cursor)
    way_on = partial(_way_on, tool) if names_calls else None
    if asked.ids:
        names = Names(kind.ids_only if kind else (), [one.ids_only for one in kinds])
        rows, missing = await _find(archive, asked, principal, names)
        paged = _rows_page(rows, asked, pager, kind or _kind_of(rows, kinds))
        return paged._replace(reply=_with_missing(paged.reply, missing)) if missing else paged
    content = await archive.get(asked.hash or "", principal=principal)
    if asked.as_text and not asked.path:
        return _text_page(content.text, asked, pager, way_on)
    held = await _read_text(content) if read_texts and content.kind == "text" else None
    whole = content.text if content.kind == "bytes" else content.shared_value
    value = _part_at(whole if held is None else held.value, asked.path)
    is_part = bool(asked.path) or asked.query is not None
    spell = None if held is None else held.write if not is_part else held.write_part if held.digits else None
    if asked.query is not None:
        asked_of, value = value, await run_query(value, asked.query, principal=principal)
        if value in (None, []):
            return ResumablePage(_nothing_found(asked_of, value), is_archived=True)
    if isinstance(value, str):
        return _text_page(value, asked, pager, way_on)
    if isinstance(value, dict) and not asked.as_text and asked.query is None and not is_in_text:
        value, asked, pager = _find_rows(value, asked, pager, fits)
    is_cut = asked.query is None and not asked.fields and _is_one_record(value)
    is_cut = is_cut and (is_in_text if asked.cursor is not None else not fits(value))
    if asked.as_text or is_cut:
        text = dumps(value).decode() if asked.path else content.text
        return _text_page(text, replace(asked, as_text=True), of_text, way_on)
    rows = value if isinstance(value, list) else [value]
    return _data_page(value, asked, pager, kind or _kind_of(rows, kinds), way_on, most)._replace(spell=spell)


async def _open_pager(
    asked: Retrieval, cursors: Cursors, tool: str, principal: str | None, *, documented: bool
) -> Pager:
    if asked.cursor is not None:
        await cursors.prepare_async(asked.cursor)
    return asked.pager(cursors, tool, principal, documented=documented)


async def _read_text(content: Content) -> DataText | None:
    """The data that a text holds, which is read once for as long as the archive holds the text."""
    if content in _READ:
        return _READ[content]
    held = _READ[content] = await run_by_size("search", content.size, read_data, [content.text])
    if sum(one.body.count(b",") + one.body.count(b"\n") for one in _READ) > MOST_HELD:
        _READ.clear()
    return held


async def retrieve_for(call: Call, asked: Retrieval) -> ResumablePage:
    """What a caller asks back, from the archive of the contract that it was left out under."""
    contract, kinds = call.contract, tuple(call.contract.kinds.values())
    most = contract.forms.max_bytes if call.budget is None else min(_most(call.budget), contract.forms.max_bytes)
    tool = contract.retrieve or "retrieve"
    documented = contract.speaker.documents_cursors
    return await retrieve(
        contract.archive,
        contract.cursors,
        asked,
        principal=call.principal,
        tool=tool,
        kinds=kinds,
        documented=documented,
        fits=partial(_fits, call),
        most=most,
        names_calls=contract.speaker.is_bare,
        read_texts=contract.speaker.is_bare and contract.read_texts,
    )


def _fits(call: Call, value: Any) -> bool:
    """Whether a value can be sent whole."""
    budget = call.budget
    if budget is None:
        return True
    most = _most(budget)
    return extent(value, most) <= most and call.sizer(budget).dearest(Reply.ok(value)) <= budget.room


def _most(budget: Budget) -> int:
    return budget.room * 8  # no tokenizer makes one token of so many characters


def _find_rows(value: dict[str, Any], asked: Retrieval, pager: Pager, fits: Fits) -> tuple[Any, Retrieval, Pager]:
    """What a reply has shown the first of: the members of a map, or the rows that an object is about; or the object.

    Of either it has told the number, which is the offset to go on from.
    """
    bulk, goes_on = bulk_of(value), asked.offset != 0 or asked.cursor is not None
    if bulk is None and is_map(value) and not asked.fields:
        # the text of the same object is walked by other cursors
        of_members = replace(pager, arguments={**pager.arguments, "members": True})
        if asked.offset if asked.cursor is None else _goes_on(of_members, asked.cursor):
            return [{name: one} for name, one in value.items()], asked, of_members
    if bulk is None or len(bulk.items) == 1 or (not goes_on and (fits(value) or fits(bulk.items))):
        return value, asked, pager  # what stands beside rows that fit is not to be lost
    return bulk.items, replace(asked, path=asked.path + bulk.path), pager


def _goes_on(pager: Pager, cursor: str) -> bool:
    """Whether a cursor is of this walk; whether it may still be used is said where it is opened."""
    try:
        pager.window(cursor)
    except InvalidCursor as refused:
        return (refused.details or {}).get("reason") not in ("garbled", "query", "signature")
    return True


def _is_one_record(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and len(value) == 1)


def _kind_of(rows: list[Any], kinds: Collection[RecordType]) -> RecordType | None:
    """The first type whose foremost identifier a record has; the records of a list are of one type."""
    record = next((row for row in rows if isinstance(row, dict)), {})
    declared = (one for one in kinds if one.ids_only and one.ids_only[0] in record)
    return next(declared, None) or find_record_type(record)


def _part_at(value: Any, path: str) -> Any:
    """The part of a value at a JSON Pointer; all of it where there is none."""
    if not path:
        return value
    if not path.startswith("/"):
        raise ValidationFailed("A path starts with /", remediation="Write a JSON Pointer such as /results/0/text")
    try:
        return value_at(value, path)
    except LookupError:
        raise NotFound(
            f"There is nothing at {path[:100]}", remediation="Leave out the path to see what is there"
        ) from None


def _select_fields(value: Any, asked: Retrieval, kind: RecordType | None, among: list[Any] | None = None) -> Any:
    mode = cast(Mode, asked.response_mode)
    if mode == "full":  # all that was kept, which may be less than its type shows, or more
        return select(value, asked.fields, among=among) if asked.fields else value
    return select(value, asked.fields, mode=mode, kind=kind, among=among)


WayOn: TypeAlias = Callable[[Retrieval, int], dict[str, Any]]


def _way_on(tool: str, asked: Retrieval, offset: int) -> dict[str, Any]:
    """What a page that begins at an offset says of the call that goes on after it."""
    said: dict[str, Any] = {"hash": short_digits(asked.hash or "")}
    if asked.path:
        said["path"] = asked.path
    if asked.response_mode != "full":
        said["response_mode"] = asked.response_mode
    if asked.fields:
        said["fields"] = list(asked.fields)
    if asked.query is not None:
        said["query"] = asked.query
    if asked.as_text:
        said["as_text"] = True
    if asked.page_size is not None:
        said["page_size"] = asked.page_size
    return {WAY_ON: [f"{tool}({', '.join(f'{name}={value!r}' for name, value in said.items())}", offset]}


def _rows_page(
    rows: list[Any],
    asked: Retrieval,
    pager: Pager,
    kind: RecordType | None,
    way_on: WayOn | None = None,
    most: int | None = None,
) -> ResumablePage:
    window = asked.window(pager, len(rows))
    if most is not None and not asked.fields and asked.response_mode == "full":
        window = replace(window, size=_reach(rows[window.offset : window.offset + window.size], most))
    found = take(rows, window)
    if asked.fields or asked.response_mode != "full":
        found = _select_fields(found, asked, kind, among=rows)
    paged = pager.page(found, window, total=len(rows))
    if paged.reply.page is not None:
        extra = None if way_on is None else way_on(asked, window.offset)
        # where no size is asked for, a page has as many rows as fit
        page = replace(paged.reply.page, page_size=asked.page_size, extra=extra)
        paged = paged._replace(reply=paged.reply.replace(page=page))
    ahead = None if asked.cursor is not None else lambda: _select_fields(rows, asked, kind)
    return paged._replace(ahead=ahead, whole_rows=True, is_archived=True)


def _data_page(
    value: Any, asked: Retrieval, pager: Pager, kind: RecordType | None, way_on: WayOn | None, most: int | None
) -> ResumablePage:
    if isinstance(value, list):
        return _rows_page(value, asked, pager, kind, way_on, most)
    shown = Reply.ok(_select_fields(value, asked, kind))
    return ResumablePage(shown, whole_rows=True, is_archived=True)


def _reach(rows: list[Any], most: int) -> int:
    """How many rows have together so many characters; a table as rows may be many times as long as its text."""
    count = 0
    for count, row in enumerate(rows, 1):  # noqa: B007 - how many there were is what is asked for
        most -= extent(row, most)
        if most < 0:
            break
    return max(count, 1)


def _nothing_found(asked_of: Any, found: Any) -> Reply[Any]:
    """That a query finds nothing, and what it was asked of."""
    told = "nothing found"
    if isinstance(asked_of, str):
        told += ": no line of this text has all of these words"
    elif isinstance(asked_of, list):
        first = next((one for one in asked_of if isinstance(one, dict) and one), None)
        names = f"; their members, such as {list_names([*first])}, come after []" if first else ""
        told += f" in {len(asked_of)} items{names}"
    elif isinstance(asked_of, dict) and asked_of:
        told += f"; the members are {list_names([*asked_of])}"
    return Reply(found, status="empty", empty_reason="no_match", notices=(Notice(told),))


def _text_page(text: str, asked: Retrieval, pager: Pager, way_on: WayOn | None = None) -> ResumablePage:
    """Everything from the cursor on; `fit` cuts it where the budget ends and seals the next cursor."""
    offset = asked.window(pager, len(text)).offset
    extra = None if way_on is None else way_on(asked, offset)
    page = Page(has_more=False, total=len(text), page_size=None, extra=extra)
    reply = Reply.ok(text[offset:], page=page)
    return ResumablePage(reply, lambda count: pager.seal(offset + count), whole_rows=True, is_archived=True)


async def _find(archive: Archive, asked: Retrieval, principal: str | None, names: Names) -> tuple[list[Any], list[str]]:
    """The items with these ids, in this order, from one entry or from the newest that has them."""
    parts = asked.parts_of_ids
    wanted = dict.fromkeys(name for one, several in parts.items() for name in (one, *several))
    found: dict[str, Any] = {}
    if asked.hash is not None:
        content = await archive.get(asked.hash, principal=principal)
        found = await run_aside("search", _pick, content, wanted.keys(), asked.path, names)
        found |= _pick_by_position(content, wanted.keys() - found.keys())
    else:
        count = size = 0
        async for content in archive.newest(principal=principal):
            count, size = count + 1, size + content.size
            with contextlib.suppress(NotFound):  # it has nothing at the path, and another one may
                missing = wanted.keys() - found.keys()
                found = {**await run_aside("search", _pick, content, missing, asked.path, names), **found}
            if len(found) == len(wanted) or count == SEARCHED_ENTRIES or size >= SEARCHED_BYTES:
                break
    meant = dict.fromkeys(name for one, several in parts.items() for name in ([one] if one in found else several))
    if not found:
        raise NotFound(
            "None of these ids are in your archive",
            remediation=_remedy(asked),
            details={"ids": list(meant)},
        )
    return [found[name] for name in meant if name in found], [name for name in meant if name not in found]


def _remedy(asked: Retrieval) -> str:
    is_placeless = asked.hash is None and any(name.startswith(POSITION) for name in asked.ids)
    if is_placeless:
        return "Give the hash as well: a position counts in one entry"
    first = CALL_AGAIN if asked.hash is None else "Use ids that items of this entry have"
    return f"{first}; an item that shares its identifier with others is called by its position, such as #/0"


def _pick(content: Content, wanted: Collection[str], path: str, names: Names) -> dict[str, Any]:
    """The items of an entry by those of the wanted identifiers that it has; of several, the one nearest to the top."""
    if content.kind != "json":
        return {}
    if len(wanted) <= FEW_IDS and not any(_may_be_in(content.body, name) for name in wanted):
        return {}
    value = _part_at(content.shared_value, path)
    found: dict[str, Any] = {}
    for named in (_items, _members):
        for outer in _containers(value):
            for name, item in named(outer, names):
                if name in wanted:
                    found.setdefault(name, item)
            if len(found) == len(wanted):
                return found
    return found


def _pick_by_position(content: Content, wanted: Iterable[str]) -> dict[str, Any]:
    """The items of an entry by their positions in it."""
    found: dict[str, Any] = {}
    for name in wanted:
        if name.startswith(POSITION):
            with contextlib.suppress(NotFound):
                found[name] = _part_at(content.shared_value, name.removeprefix("#"))
    return found


def _may_be_in(body: bytes, name: str) -> bool:
    """Whether an entry can have an item of that name."""
    return dumps(name.encode("utf-8", "replace").decode())[1:-1] in body


def _containers(value: Any) -> Iterator[Any]:
    """Every list and every object inside a value, those nearest to the top first."""
    pending = deque([value])
    while pending:
        outer = pending.popleft()
        if isinstance(outer, (list, dict)):
            yield outer
            pending.extend(outer if isinstance(outer, list) else outer.values())


def _items(outer: Any, names: Names) -> Iterator[tuple[str, Any]]:
    """The items of a list by their identifiers."""
    if isinstance(outer, list):
        yield from names.named_items(outer)


def _members(outer: Any, _: Names) -> Iterator[tuple[str, Any]]:
    """The members of a map by their names."""
    if isinstance(outer, dict) and is_map(outer):
        yield from outer.items()


def _with_missing(reply: Reply[Any], missing: list[str]) -> Reply[Any]:
    message = f"{len(missing)} of the ids are not in your archive"
    notice = Notice.of("PARTIAL_FAILURE", message, suggestion="Use ids that a reply has named", missing=missing)
    return reply.replace(status="partial", notices=(*reply.notices, notice), fidelity=Fidelity("partial"))
