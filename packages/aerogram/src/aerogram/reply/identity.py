"""Identity: which member of a record identifies it, and what items are called.

What nobody declared is guessed, and a guess holds for a whole list: a member identifies its items if it is there for
all of them and no two have the same. Usual names for identifiers come first, then names that keys often have, then
whatever short text or number tells the items apart. Where there is none, an item that has a usual identifier to itself
is called by that, and any other by its position. The order of members plays no part: archived JSON has another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from operator import countOf, itemgetter
from types import NoneType
from typing import Any, Final, NamedTuple

__all__ = ["Names", "id_member", "identify", "position_name", "shown_names"]

LONGEST_ID: Final = 200
SHORT: Final = 64
"""Members whose names say nothing identify items only by values as short as this."""
POSITION: Final = "#/"
"""How the name of an item begins that has none of its own: a JSON Pointer follows, as in a URI's fragment."""
MOST_REMEMBERED: Final = 64
"""Records with more members than this are looked at anew each time."""
SAMPLED: Final = 64
"""So many items are looked at before all of them are."""

_ID_NAMES: Final = ("id", "_id", "uuid", "guid", "key", "slug")
_ID_ENDINGS: Final = ("_id", "Id", "ID", "_uuid", "_key")
_KEY_NAMES: Final = (
    *("sku", "isbn", "issn", "ean", "doi", "iban", "vin", "email", "code", "number", "no", "ref", "reference"),
    *("symbol", "ticker", "handle", "username", "login", "hash", "sha"),
)
_KEY_ENDINGS: Final = ("_number", "Number", "_no", "_code", "Code", "_ref", "_sku", "_slug", "_email")
_NAMES: Final = ("uri", "url", "path", "name", "title", "label")


def _can_identify(value: Any, longest: int = LONGEST_ID) -> bool:
    return (isinstance(value, str) and 0 < len(value) <= longest) or type(value) is int


def _candidates(members: frozenset[str]) -> tuple[str, ...]:
    """The members that may identify a record by their names, the likeliest first."""
    ordered = sorted(members)
    return tuple(
        dict.fromkeys(
            (
                *(name for name in _ID_NAMES if name in members),
                *(name for name in ordered if name.endswith(_ID_ENDINGS)),
                *(name for name in _KEY_NAMES if name in members),
                *(name for name in ordered if name.endswith(_KEY_ENDINGS)),
                *(name for name in _NAMES if name in members),
            )
        )
    )


_remembered = lru_cache(maxsize=1_024)(_candidates)


def _likely(record: Mapping[str, Any]) -> tuple[str, ...]:
    return (_remembered if len(record) <= MOST_REMEMBERED else _candidates)(frozenset(record))


def id_member(record: Mapping[str, Any], declared: Sequence[str] = (), shared: str | None = None) -> str | None:
    """The member that identifies a record: a declared one, the one `shared` by its list, or a likely one."""
    foremost = declared if shared is None else (*declared, shared)
    for name in foremost:
        if name in record and _can_identify(record[name]):
            return name
    return next((name for name in _likely(record) if _can_identify(record[name])), None)


def identify(item: Any, declared: Sequence[str] = ()) -> str | None:
    """The identifier of an item that stands alone, as text, or None when it has none."""
    name = id_member(item, declared) if isinstance(item, dict) else None
    return None if name is None else str(item[name])


def position_name(position: int, place: str = "") -> str:
    """What an item without an identifier is called: by its position in the list at a place, as `#/findings/17`."""
    return f"#{place}/{position}"


def _types(values: Sequence[Any]) -> set[type]:
    """The types of the values; mostly there is one, and to count it costs less than to collect them."""
    first = type(values[0]) if values else None
    if first is not None and countOf(map(type, values), first) == len(values):
        return {first}
    return set(map(type, values))


def _distinct_types(values: Sequence[Any], longest: int) -> set[type]:
    """The types of values that can all identify, and of which no two are the same text; otherwise none."""
    types = _types(values)
    if types == {int}:
        return types if len(set(values)) == len(values) else set()
    if not types or not types <= {int, str}:
        return set()
    texts = values if types == {str} else list(map(str, values))
    lengths = set(map(len, texts))
    are_apart = min(lengths) > 0 and max(lengths) <= longest and len(set(texts)) == len(texts)
    return types if are_apart else set()


class _Column(NamedTuple):
    """A member that identifies items, what it says of each of them in turn (None: nothing), and the types of that."""

    name: str | None
    values: list[Any]
    types: set[type]

    @property
    def is_whole(self) -> bool:
        """Whether it identifies every item."""
        return NoneType not in self.types

    def ids(self, first: int, end: int, place: str) -> list[str | int]:
        """What these items are called: numbers stay numbers among themselves."""
        chosen = self.values[first:end]
        if len(self.types) == 1 or _types(chosen) in ({int}, {str}):
            return chosen
        return [
            position_name(position, place) if value is None else str(value)
            for position, value in enumerate(chosen, start=first)
        ]


NOTHING: Final = _Column(None, [], {NoneType})


def _distinct_column(items: Sequence[Any], name: str, longest: int = LONGEST_ID) -> _Column | None:
    """The member of that name, if every item has it, and each another one."""
    types: set[type] = set()
    for some in (items[:SAMPLED], items) if len(items) > SAMPLED else (items,):
        try:
            values = list(map(itemgetter(name), some))
        except (KeyError, TypeError, IndexError):
            return None
        types = _distinct_types(values, longest)
        if not types:
            return None
    return _Column(name, values, types)


def _shared_column(items: Sequence[Any]) -> _Column | None:
    """The member that tells each item of a list from all others."""
    first = items[0] if items else None
    if not isinstance(first, dict):
        return None
    likely = _likely(first)
    for name in likely:
        if found := _distinct_column(items, name):
            return found
    others = [name for name in first if name not in likely and _can_identify(first[name], SHORT)]
    if len(items) == 1:
        return None  # alone, everything is one of a kind
    others.sort(key=lambda name: (type(first[name]) is int, name))
    return next((found for name in others if (found := _distinct_column(items, name, SHORT))), None)


def _own_column(items: Sequence[Any]) -> _Column:
    """Among items that are not alike, a usual identifier that those which have it have to themselves."""
    members = {name for item in islice(items, SAMPLED) if isinstance(item, dict) for name in item}
    usual = (name for name in _candidates(frozenset(members)) if name in _ID_NAMES or name.endswith(_ID_ENDINGS))
    for name in usual:
        said = [item.get(name) if isinstance(item, dict) else None for item in items]
        values = [value if type(value) is int or _can_identify(value) else None for value in said]
        types = _distinct_types([value for value in values if value is not None], LONGEST_ID)
        if types:
            return _Column(name, values, types | {NoneType})
    return NOTHING


class Names:
    """What the items of lists are called, where a record type may be declared or several be possible.

    What was found out about a list is kept as long as this object: lists must not change meanwhile. Where names bring
    nothing back, it is enough to look at the `first` items of a list.
    """

    def __init__(
        self, declared: Sequence[str] = (), kinds: Collection[Sequence[str]] = (), *, first: int | None = None
    ) -> None:
        self._first = first
        self._always = tuple(declared)
        self._foremost = {names[0]: tuple(names) for names in kinds if names}
        self._known: dict[int, tuple[Any, _Column]] = {}

    def shared_member(self, items: Sequence[Any]) -> str | None:
        """The member that identifies the items of a list, unless it is declared what does."""
        return self._column(items).name

    def values(self, items: Sequence[Any]) -> list[str | int]:
        """What the first items are called, if one member says it of all that were looked at and nothing is declared."""
        column = self._column(items)
        return column.values if column.is_whole and not self._declares else []

    def named_items(self, items: Sequence[Any]) -> Iterator[tuple[str, Any]]:
        """The items of a list that have a name, with it: a declared one before any other."""
        values = self._column(items).values
        if self._declares or len(values) < len(items):
            return self._named_items_singly(items)
        return ((str(value), item) for value, item in zip(values, items, strict=True) if value is not None)

    def ids(self, items: Sequence[Any], first: int, most: int | None = None, place: str = "") -> list[str | int]:
        """What so many items from `first` on are called, in the list at a place."""
        column = self._column(items)
        end = len(items) if most is None else min(first + most, len(items))
        if not self._declares and column is NOTHING:
            return [position_name(position, place) for position in range(first, end)]
        if not self._declares and end <= len(column.values):
            return column.ids(first, end, place)
        chosen = items[first:end]
        alike = self._values(chosen, column.name)
        if alike is not None:
            return alike
        names = ((self._member(item, column.name), item) for item in chosen)
        return [
            position_name(position, place) if name is None else str(item[name])
            for position, (name, item) in enumerate(names, start=first)
        ]

    @property
    def _declares(self) -> bool:
        return bool(self._always or self._foremost)

    def _column(self, items: Sequence[Any]) -> _Column:
        known = self._known.get(id(items))
        if known is None:
            is_declared = bool(self._always and items) and self._member(items[0], None) is not None
            looked_at = items if self._first is None else items[: self._first]
            found = NOTHING if is_declared else _shared_column(looked_at) or _own_column(looked_at)
            known = self._known[id(items)] = (items, found)
        return known[1]

    def _named_items_singly(self, items: Sequence[Any]) -> Iterator[tuple[str, Any]]:
        shared = self.shared_member(items)
        for item in items if self._declares else ():
            name = self._member(item, None)
            if name is not None:
                yield str(item[name]), item
        for item in items if shared is not None else ():
            if isinstance(item, dict) and shared in item and _can_identify(item[shared]):
                yield str(item[shared]), item

    def _member(self, item: Any, shared: str | None) -> str | None:
        if not isinstance(item, dict):
            return None
        declared = self._always or next((names for first, names in self._foremost.items() if first in item), ())
        names = declared if shared is None else (*declared, shared)
        return next((name for name in names if name in item and _can_identify(item[name])), None)

    def _values(self, items: Sequence[Any], shared: str | None) -> list[str | int] | None:
        """What identifies the items, if the same member does for all of them; most lists are alike throughout."""
        name = self._member(items[0], shared) if items else None
        if name is None:
            return None
        try:
            values = list(map(itemgetter(name), items))
        except (KeyError, TypeError, IndexError):
            return None
        types = set(map(type, values))
        if types == {int}:
            return values
        lengths = set(map(len, values)) if types == {str} else {0}
        return values if min(lengths) and max(lengths) <= LONGEST_ID else None


def shown_names(items: Sequence[Any]) -> list[str]:
    """The names of the items of a reply, as far as they can be told from what it shows."""
    alone = {next(iter(item)) for item in items if isinstance(item, dict) and len(item) == 1}
    told = next(iter(alone)) if len(alone) == 1 else None  # what an item was reduced to is what identifies it
    if told is not None and _distinct_column(items, told):
        return [str(item[told]) for item in items]
    return [name for name, _ in Names().named_items(items)]
