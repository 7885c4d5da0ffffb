"""What a model reads of a tool's result: the larger of its two channels, decoded."""

import json
from contextlib import suppress
from dataclasses import fields

from aerogram.archive import Archive
from aerogram.content.jsontext import dumps
from aerogram.contract import Contract
from aerogram.tokens import best_counter

COUNT = best_counter().count


def contract(dialect, budget, *, ranked=(), **settings):
    """A contract with an archive; `ranked` names tools whose rows come best first, where contracts know that."""
    if ranked and "ranked" in {one.name for one in fields(Contract)}:
        settings["ranked"] = ranked
    return Contract(dialect=dialect, budget=budget, archive=Archive.in_memory(), **settings)


def texts_of(result):
    """The text blocks of a result."""
    return [block.text for block in result.content if block.type == "text"]


def is_structured(result):
    """Whether the structured channel is the larger one."""
    held = result.structured_content
    return held is not None and COUNT(dumps(held).decode()) >= sum(map(COUNT, texts_of(result)))


def size(result):
    """The tokens of the larger channel."""
    held = result.structured_content
    return max(0 if held is None else COUNT(dumps(held).decode()), sum(map(COUNT, texts_of(result))))


def words(result):
    """Every text in what a model reads, a line each: JSON without its quotation marks and escapes."""
    if is_structured(result):
        return "\n".join(_strings(result.structured_content))
    return "\n".join(line for text in texts_of(result) for line in _strings(_decoded(text)))


def _decoded(text):
    """The JSON in a text, with the line that may stand above it."""
    first, _, rest = text.partition("\n")
    for above, body in (((), text), ((first,), rest)):
        with suppress(ValueError):
            return [*above, json.loads(body)]
    return text


def _strings(value):
    if isinstance(value, dict):
        for name, held in value.items():
            yield name
            yield from _strings(held)
    elif isinstance(value, list):
        for held in value:
            yield from _strings(held)
    else:
        yield value if isinstance(value, str) else json.dumps(value)
