"""Pairing: content and data that are sent together, parted for the contract and joined again in the result.

    (payload, structured) ──parted──▶ Reply(structured) with the payload besides ──cache──▶
                          ──taken───▶ blocks without secrets, and a Reply ──contract──▶ result ──joined──▶ result
                                                                                        whose content is the payload

The budget of the call holds for each, or for both together where the contract counts so: then the data is fitted as
ever, and the content gets what that leaves. What is cut from content is archived before it is sent, and named beside
it; content says so where nothing could be kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from aerogram._mcp.results import PREFIX
from aerogram.answer import Call, archive_leftovers
from aerogram.answer.aside import run_by_size
from aerogram.channels import frame_bytes
from aerogram.content.jsontext import dumps
from aerogram.contract import Contract
from aerogram.dialects import try_read
from aerogram.normalize.tool import content_half, is_pair
from aerogram.reply import Reply
from aerogram.sanitize import sanitize_blocks
from aerogram.shape.blocks import CUT, WHOLE, Keeping, Scale, fit_blocks
from aerogram.shape.draft import Leftover
from aerogram.shape.media import note_block

__all__ = ["beside", "fit_content", "fit_failure", "join_content", "split_pair", "take_content"]


Blocks = list[dict[str, Any]]
BESIDES: Final = "dev.aerogram/content"
"""Under which name a reply holds the content of a pair until it is sent."""


def split_pair(value: Any, contract: Contract) -> Any:
    """A pair as a reply over its data that holds its content; any other value is data as it is."""
    if not is_pair(value):
        return value
    content = content_half(value[0], replace(contract.forms, blocks="each"))
    data = try_read(value[1]) or Reply(value[1])
    return beside(data.replace(notices=(*data.notices, *content.notices)), content.to_wire()["content"])


def beside(reply: Reply[Any], content: Sequence[dict[str, Any]]) -> Reply[Any]:
    """A reply that holds content which is sent beside its data."""
    return reply.replace(extra={**(reply.extra or {}), BESIDES: list(content)})


def take_content(reply: Reply[Any], contract: Contract) -> tuple[Blocks | None, Reply[Any]]:
    """The content of a pair, without what may not be said, and the reply that is left; None where there is no pair."""
    if reply.extra is None or BESIDES not in reply.extra:
        return None, reply
    rest = {name: value for name, value in reply.extra.items() if name != BESIDES}
    blocks, notices = sanitize_blocks(reply.extra[BESIDES], *contract.sanitizers)
    return blocks, reply.replace(extra=rest or None, notices=(*reply.notices, *notices))


async def join_content(content: Blocks, result: dict[str, Any], call: Call) -> dict[str, Any]:
    """The result of the data with the content of the pair; a failure is told as ever.

    What travels beside the data stays, and where the data itself is told in the content, the content goes before it.
    """
    if result.get("isError"):
        return result
    structured = result.get("structuredContent")
    rest = result["content"] if structured is None else result["content"][1:]
    return await fit_content(content, call, result, rest)


class FittedContent(NamedTuple):
    """Content as it is sent, and under which names the client finds what was cut from it."""

    blocks: Blocks
    hashes: Mapping[str, str] = MappingProxyType({})

    def add_to(self, result: dict[str, Any], rest: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
        """A result with this content, the rest behind it; what is missing is named beside it."""
        sent = {**result, "content": [*self.blocks, *rest]}
        if not self.hashes:
            return sent
        meta = result.get("_meta") or {}
        said = meta.get(f"{PREFIX}fidelity") or {"level": "partial"}
        hashes = {**(said.get("archive_hashes") or {}), **self.hashes}
        return {**sent, "_meta": {**meta, f"{PREFIX}fidelity": {**said, "archive_hashes": hashes}}}


async def fit_content(
    content: Blocks, call: Call, sent: Mapping[str, Any], rest: Blocks | None = None
) -> dict[str, Any]:
    """A result with content in the room that the rest of it leaves, once what was cut from that is archived.

    `rest` are the blocks behind it.
    """
    budget, archive = call.budget, call.contract.archive
    behind: Blocks = rest or []
    if budget is None:
        return {**sent, "content": [*content, *behind]}
    is_data = sent.get("structuredContent") is None and not behind
    scale, room = Scale(budget.counter), budget.room - _weigh({**sent, "content": behind}, call, is_beside=True)
    keeping = Keeping(archive is not None, call.contract.retrieve)
    length = sum(len(block.get("resource", block).get("text") or "") for block in content)
    while True:
        shown, leftovers = await run_by_size("fit", length, fit_blocks, content, room, scale, keeping)
        found = FittedContent(shown, _names(content, leftovers, is_data=is_data) if keeping.is_kept else {})
        result = found.add_to(dict(sent), behind)
        over = _weigh(result, call) - budget.room if budget.is_of_wire and found.hashes else 0
        if over > 0 and room > 0:  # what names the rest takes room as well
            room = max(room - over, 0)
        elif not leftovers or archive is None or await archive_leftovers(call, archive, leftovers):
            return result
        else:
            keeping = Keeping(is_kept=False)
            archive = None


def is_within(result: Mapping[str, Any], call: Call) -> bool:
    """Whether a result is within the budget as it is spelled."""
    return call.budget is None or _weigh(result, call) <= call.budget.room


def _weigh(result: Mapping[str, Any], call: Call, *, is_beside: bool = False) -> int:
    """The size of a result in the terms of its call's budget; or what it takes of the room of others beside it."""
    budget = call.budget
    if budget is None:
        return 0
    sizer, structured = call.sizer(budget), result.get("structuredContent")  # as for a reply that is made here
    frame = frame_bytes(call.stamp, result.get("_meta") or {}) if budget.is_of_wire else 0
    text = Scale(budget.counter).weigh(result["content"])
    is_too_large = text > budget.room and sizer.counted != "structured"  # by its text alone
    if structured is None or sizer.counted == "text" or (is_beside and sizer.counted != "both") or is_too_large:
        return frame + text
    return frame + sizer.join(text, budget.counter.count(dumps(structured).decode()))


async def fit_failure(result: dict[str, Any], call: Call) -> dict[str, Any]:
    """A failure that was finished further in, within the budget; data that does not fit is told in a text."""
    if is_within(result, call):
        return result
    structured = result.get("structuredContent")
    rest = {name: value for name, value in result.items() if name != "structuredContent"}
    blocks = result["content"]
    if structured is not None:
        blocks = [*blocks, note_block(dumps(structured).decode())]
    return await fit_content(blocks, call, rest)


def _names(content: Blocks, leftovers: Sequence[Leftover], *, is_data: bool) -> dict[str, str]:
    """What was cut from which text. Where there is nothing but content, its texts are the data; media are links."""
    texts = [at for at, block in enumerate(content) if block.get("type") == "text"]
    found = {}
    for name, kept in leftovers:
        at = name.removeprefix(CUT)
        if name == WHOLE:
            found["data" if is_data else WHOLE] = kept.hash
        elif name == at:
            continue  # media, in whose place a link is sent
        elif int(at) in texts and is_data:
            found["data" if len(texts) == 1 else f"data/{texts.index(int(at))}"] = kept.hash
        else:
            found[WHOLE if len(content) == 1 else f"{WHOLE}/{at}"] = kept.hash
    return found
