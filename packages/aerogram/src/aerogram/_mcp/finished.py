"""Finished: results that a handler has made itself, and texts that hold data, as replies that can be fitted and paged.

    text alone, or in a box too   the text, or the data that it holds
    several texts                 their items, where each holds one; else blocks
    structured content            the data; a text that says the same is written anew, another one goes beside it

What fits is sent as it was made; whether it does is found out here, and which failure it tells of that is not marked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final, NamedTuple

from aerogram._mcp.faults import problem_in
from aerogram._mcp.listing import Profile
from aerogram._mcp.pairing import beside, is_within
from aerogram._mcp.soft_errors import LONGEST, soft_problem
from aerogram.answer import Call, ReplyDraft
from aerogram.channels import BOX, Payload
from aerogram.content.datatext import BETWEEN, DataText, read_data
from aerogram.content.jsontext import dumps
from aerogram.contract import Contract
from aerogram.dialects import try_read
from aerogram.normalize.result import PROBLEM, ToolResult
from aerogram.normalize.tool import is_finished, is_written_result
from aerogram.reply import Problem, Reply, ResumablePage
from aerogram.shape.mold import ANYTHING
from aerogram.shape.pages import rows_of
from aerogram.tokens import LONGEST_TOKEN, Budget, best_counter

__all__ = [
    "Told",
    "fits_as_made",
    "fits_as_spelled",
    "in_blocks",
    "may_be_cut",
    "read_finished",
    "soft_problem_in",
    "tell_result",
    "tell_text",
    "texts_of",
    "unsaid_problem_in",
]


SAMPLE = 20
SAMPLE_LENGTH = 2_000


class Told(NamedTuple):
    """What a result or a text says, as a call that sends it in its own form and a reply in the making."""

    call: Call
    draft: ReplyDraft


_PLAIN: Final = frozenset((list, str, int, float, bool, type(None)))


def _is_data(outcome: Any) -> bool:
    """Whether an outcome is certain to be no result that a handler has finished itself."""
    kind = type(outcome)
    if kind is dict:
        return "content" not in outcome
    return kind in _PLAIN or isinstance(outcome, (BaseException, Reply, ResumablePage))


def read_finished(outcome: Any, contract: Contract, profile: Profile) -> tuple[Any, ToolResult | None]:
    """What a handler has finished itself, as its own object, if it is one, and as ours; nothing where it has not.

    A dictionary without the structured content that the tool's own schema promises is the object that it promises.
    """
    if _is_data(outcome):
        return None, None
    if is_finished(outcome):
        return outcome, ToolResult.of(outcome)
    if not is_written_result(outcome, contract.forms):
        return None, None
    result = ToolResult.of_wire(outcome, contract.forms)
    promises_data = contract.speaker.is_bare and profile.own_schema is not None and not profile.is_content
    if promises_data and not result.has_structured_content and not result.isError:
        return None, None
    return None, result


def fits_as_made(call: Call, result: ToolResult) -> bool:
    """Whether a finished result can be sent as it is: nobody has asked for a part of it, and it fits."""
    budget = call.budget
    if is_shaped(call) or budget is None or (result.size <= budget.room and not budget.is_of_wire):
        return not is_shaped(call)
    if result.size > budget.room * LONGEST_TOKEN * 2:  # in either channel
        return False
    return is_within(result.to_wire(), call)


def fits_as_spelled(own: dict[str, Any], data: Any, call: Call) -> bool:
    """Whether data fits as its framework spells it: it was measured as we write it, and that has no lines."""
    budget = call.budget
    if budget is None or (isinstance(data, str) and not budget.is_of_wire):
        return True
    content = own["content"] if isinstance(own["content"], list) else ()  # of a server that nobody can change, anything
    texts = [block.get("text") if isinstance(block, dict) else getattr(block, "text", None) for block in content]
    blocks = [{"type": "text", "text": text} for text in texts if isinstance(text, str)]
    is_compact = not budget.is_of_wire and not any("\n" in block["text"] for block in blocks)
    return is_compact or is_within({**own, "content": blocks}, call)


def is_shaped(call: Call) -> bool:
    """Whether the caller has asked for a part of the answer."""
    return call.is_paged or call.fields is not None or call.response_mode not in (None, "full")


def may_be_cut(call: Call, text: str) -> bool:
    """Whether it matters if a text holds data: it may have to be shown in part."""
    budget = call.budget
    is_larger = budget is not None and len(text) * 4 > budget.room  # no character is more tokens than bytes
    return call.contract.read_texts and (is_shaped(call) or is_larger)


def tell_text(call: Call, text: str) -> Told | None:
    """The data that a text holds which is to be shown in part; None where it is sent as the text that it is."""
    budget, held = call.budget, read_data([text])
    if held is None or not (is_shaped(call) or budget is None or _is_too_long(text, budget)):
        return None
    draft = ReplyDraft(Reply(held.value), source=text, is_too_large=not is_shaped(call))
    return Told(_spelling(call, held, is_text=True), draft)


def _is_too_long(text: str, budget: Budget) -> bool:
    return len(text) > budget.room * LONGEST_TOKEN or budget.counter.count(text) > budget.room


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
            is_too_large = source is not None and not is_shaped(call)
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


def soft_problem_in(result: ToolResult) -> Problem | None:
    """The problem that a finished result tells of that is no failure."""
    if result.isError or result.size > LONGEST * 4:
        return None
    return soft_problem(result.data()) or soft_problem(texts_of(result.to_wire()["content"]))


def unsaid_problem_in(result: ToolResult, arguments: Mapping[str, Any]) -> Problem | None:
    """What a failure means that has no code, by what it says; None where it has one, or is no failure."""
    if not result.isError:
        return None
    wire = result.to_wire()
    if PROBLEM in (wire.get("_meta") or {}) or try_read(wire.get("structuredContent")) is not None:
        return None
    told = "\n".join(block["text"] for block in wire["content"] if isinstance(block.get("text"), str))
    return problem_in(told, arguments)


def texts_of(content: Sequence[Mapping[str, Any]]) -> Any:
    """The words of some content, for those who see nothing else of it."""
    texts = [block["text"] for block in content if block["type"] == "text"]
    return texts[0] if len(texts) == 1 else texts or None
