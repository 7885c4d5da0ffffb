"""Finished: results that a handler has made itself, and texts that hold data, as replies that can be fitted and paged.

    text alone, or in a box too   the text, or the data that it holds
    several texts                 their items, where each holds one; else blocks
    structured content            the data; a text that says the same is written anew, another one goes beside it

What fits is sent as it was made, and does not come here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

from aerogram._mcp.pairing import beside, is_within
from aerogram.answer import Call, ReplyDraft
from aerogram.channels import BOX, Payload
from aerogram.content.datatext import BETWEEN, DataText, read_data
from aerogram.content.jsontext import dumps
from aerogram.normalize.result import ToolResult
from aerogram.reply import Reply
from aerogram.shape.mold import ANYTHING
from aerogram.shape.pages import rows_of
from aerogram.tokens import LONGEST_TOKEN, Budget, best_counter

__all__ = ["Told", "fits_as_made", "in_blocks", "tell_result", "tell_text"]


SAMPLE = 20
SAMPLE_LENGTH = 2_000


class Told(NamedTuple):
    """What a result or a text says, as a call that sends it in its own form and a reply in the making."""

    call: Call
    draft: ReplyDraft


def fits_as_made(call: Call, result: ToolResult) -> bool:
    """Whether a finished result can be sent as it is: nobody has asked for a part of it, and it fits."""
    budget = call.budget
    if is_shaped(call) or budget is None or (result.size <= budget.room and not budget.is_of_wire):
        return not is_shaped(call)
    if result.size > budget.room * LONGEST_TOKEN * 2:  # in either channel
        return False
    return is_within(result.to_wire(), call)


def is_shaped(call: Call) -> bool:
    """Whether the caller has asked for a part of the answer."""
    return call.is_paged or call.fields is not None or call.response_mode not in (None, "full")


def tell_text(call: Call, text: str) -> Told | None:
    """The data that a text holds which is to be shown in part; None where it is sent as the text that it is."""
    budget = call.budget
    is_larger = budget is not None and len(text) * 4 > budget.room  # no character is more tokens than bytes
    if not call.contract.read_texts or not (is_shaped(call) or is_larger):
        return None
    held = read_data([text])
    if held is None or not (is_shaped(call) or budget is None or _is_too_long(text, budget)):
        return None
    draft = ReplyDraft(Reply(held.value), source=text, is_too_large=_is_clearly_too_long(call, text))
    return Told(_spelling(call, held, is_text=True), draft)


def _is_too_long(text: str, budget: Budget) -> bool:
    return len(text) > budget.room * LONGEST_TOKEN or budget.counter.count(text) > budget.room


def _is_clearly_too_long(call: Call, text: str) -> bool:
    """Whether a text that does not fit would not fit either if its data were written a little shorter."""
    return call.budget is not None and not is_shaped(call) and len(text) > call.budget.most_characters


def _spelling(call: Call, held: DataText, *, is_text: bool) -> Call:
    """The call of a text that is written from data: what the tool's schema says of the text does not hold for it."""
    payload = call.payload or Payload()
    weight = _weight(held, is_quoted=payload.is_boxed)
    payload = replace(payload, spell=held.write, weight=weight, is_text=is_text)
    if not is_text:
        return replace(call, payload=payload)
    return replace(call, mold=ANYTHING, payload=replace(payload, is_closed=False, is_object=False))


def _weight(held: DataText, *, is_quoted: bool) -> float:
    """How many times as long data is in its own form as in compact JSON, by its first rows; never less than once.

    Where it is quoted, as the text that it is stands in a member as well, that is the longer of its two forms.
    """
    rows = rows_of(held.value)
    if rows is None:
        some = _first_items(held.value)
    else:
        few = rows.items[:SAMPLE]
        some = rows.replaced(held.value, few[: max(len(few) * SAMPLE_LENGTH // max(len(dumps(few)), 1), 1)])
    count, written = best_counter().count, held.write(some)
    spelled = dumps(written).decode() if is_quoted else written
    return max(count(spelled) / max(count(dumps(some).decode()), 1), 1.0)


def _first_items(value: Any) -> Any:
    """The first members of each object in a value, and the first items of each list."""
    if isinstance(value, dict):
        return {name: _first_items(one) for name, one in islice(value.items(), SAMPLE)}
    return [_first_items(one) for one in value[:SAMPLE]] if isinstance(value, list) else value


def tell_result(call: Call, wire: Mapping[str, Any], *, is_boxed: bool) -> Told | None:
    """What a finished result says; None where it is blocks and nothing else."""
    content = wire["content"]
    texts = [block["text"] for block in content if block.get("type") == "text"]
    are_texts = len(texts) == len(content)
    held = read_data(texts) if texts and are_texts and call.contract.read_texts else None
    structured = wire.get("structuredContent")
    box = _box_of(structured, texts) if are_texts else None
    if box is not None:
        payload = replace(call.payload or Payload(), has_schema=True, is_boxed=True, is_text=True, box=box)
        call = replace(call, mold=ANYTHING, payload=replace(payload, is_object=False))
    if structured is None or box is not None:
        if held is not None:
            source = texts[0] if len(texts) == 1 else None
            is_too_large = source is not None and _is_clearly_too_long(call, source)
            draft = ReplyDraft(Reply(held.value), source=source, is_too_large=is_too_large)
            return Told(_spelling(call, held, is_text=True), draft)
        return Told(call, ReplyDraft(Reply(texts[0]))) if are_texts and len(texts) == 1 else None
    is_in_box = isinstance(structured, dict) and structured.keys() == {BOX}
    inner = structured[BOX] if is_in_box else structured
    data = inner if is_boxed and is_in_box else structured
    if are_texts and _say_the_same(texts, held, (structured, inner)):
        spelled = held is not None and held.value == data
        return Told(_spelling(call, held, is_text=False) if held and spelled else call, ReplyDraft(Reply(data)))
    return Told(call, ReplyDraft(beside(Reply(data), content)))


def _box_of(structured: Any, texts: Sequence[str]) -> str | None:
    """The name under which structured content has the text and nothing else, as many servers write it."""
    if not isinstance(structured, dict) or len(structured) != 1 or len(texts) != 1:
        return None
    ((name, value),) = structured.items()
    return name if value == texts[0] else None


def _say_the_same(texts: Sequence[str], held: DataText | None, values: Sequence[Any]) -> bool:
    is_data = held is not None and held.value in values
    return is_data or not texts or (len(texts) == 1 and texts[0] in values)


def in_blocks(result: dict[str, Any], made: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A result whose text was written for several blocks, in those blocks, with what each said besides as it was made.

    Which they were is not known of a later page; what all of them said holds there as well.
    """
    first, *others = result["content"]
    if len(made) < 2 or result.get("isError"):  # noqa: PLR2004 - one block is written as it was
        return result
    texts = first.get("text", "").split(BETWEEN)
    besides = [{name: part for name, part in one.items() if name not in ("type", "text")} for one in made]
    is_known = texts[0] == made[0].get("text") or all(one == besides[0] for one in besides)
    blocks = [{"type": "text", "text": text} for text in texts]
    if is_known:
        blocks = [{**block, **own} for block, own in zip(blocks, besides, strict=False)]
    return {**result, "content": [*blocks, *others]}
