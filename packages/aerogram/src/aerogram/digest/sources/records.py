"""Records: the texts in a file that has JSON in each of its lines, as the knowledge index makes documents of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Final

from aerogram.content.jsontext import loads
from aerogram.digest.sources.packed import unpacked_name
from aerogram.errors import ContractError

__all__ = ["LINE_END", "are_in", "texts"]

SUFFIXES: Final = (".jsonl", ".ndjson")
LINE_END: Final = re.compile(r"\r\n?|\n")
"""Where a line of JSON ends; what else ends a line of a text may stand in one."""


def are_in(name: str) -> bool:
    """Whether a file has records, by its name."""
    return PurePath(unpacked_name(name)).suffix.lower() in SUFFIXES


def texts(content: str) -> Iterator[tuple[int, str]]:
    """Whatever may be the text of a record, with the number of its line."""
    for number, line in enumerate(LINE_END.split(content), 1):
        try:
            record = loads(line)
        except ContractError:
            continue
        members = record.values() if isinstance(record, dict) else [record]
        yield from ((number, one) for one in members if isinstance(one, str))
