"""Sampling: how large data is and what its pieces cost, by a few of them instead of all."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, Final

from aerogram.jsontext import dumps
from aerogram.reply import Reply
from aerogram.shape.reduce import Reducer

__all__ = ["estimated", "price_of", "sample"]

SAMPLE_BYTES: Final = 4_000
SAMPLED_ITEMS: Final = 64


def price_of(reply: Reply[Any], measure: Callable[[Reply[Any]], int]) -> Callable[[str], float]:
    """The size of a piece of JSON text: as the measure says, or in proportion to a measured sample."""
    price: Callable[[str], float] | None = getattr(measure, "price", None)
    if price is not None:
        return price
    part = Reducer(len).reduce(reply.data, SAMPLE_BYTES)
    if part is None or part.cost <= 0:
        return len
    weight = measure(reply.replace(data=part.value)) - measure(reply.replace(data=None))
    rate = max(weight, 1) / part.cost
    return lambda text: len(text) * rate


def estimated(data: Any, price: Callable[[str], float]) -> int:
    """About what data costs, from a sample of it."""
    text = dumps(sample(data)).decode()[:SAMPLE_BYTES]
    return round(price(text) / len(text.encode()) * _bulk(data))


def sample(data: Any) -> Any:
    """Items from all over a long list, the beginning of a text, a record of such; other values as they are."""
    if isinstance(data, str):
        return data[:SAMPLE_BYTES]
    if isinstance(data, dict):
        return {name: sample(value) for name, value in islice(data.items(), SAMPLED_ITEMS)}
    return data[:: len(data) // SAMPLED_ITEMS] if isinstance(data, list) and len(data) > SAMPLED_ITEMS else data


def _bulk(data: Any) -> float:
    """About how many bytes a value takes as JSON, without writing all of it."""
    if isinstance(data, dict):
        return sum(len(name) + 4 + _bulk(value) for name, value in data.items())
    few = sample(data)
    return len(dumps(few)) * len(data) / len(few) if few is not data and few else len(dumps(data))
