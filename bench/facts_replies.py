"""The replies that are compared: ours, and what a tool would send that shows the first rows that fit."""

import json
import re

from fastmcp import Client, FastMCP

from aerogram import read
from aerogram.channels import ACCOUNT, Account, split_account
from aerogram.fastmcp import install
from channel import COUNT, contract, size, texts_of
from facts_reader import MARK, Seen, see

NOTHING = Seen([], None)


def serve(one, dialect=None, budget=None):
    """A server with a tool that returns the set; without a dialect, one without Aerogram."""
    server = FastMCP(one.name)
    if dialect is not None:
        install(server, contract=contract(dialect, budget))
    kind = type(one.value)

    def show():
        return one.value

    show.__annotations__["return"] = list[dict] if kind is list and isinstance(one.value[0], dict) else kind
    server.tool(show)
    return server


async def ask(server):
    """The result of its tool."""
    async with Client(server) as client:
        return await client.call_tool("show", raise_on_error=False)


def see_bare(result, one):
    """What a model sees of a bare payload: its data, and the account of what it lacks."""
    if result.is_error:
        return NOTHING
    data, account = _payload(result, one)
    words = [] if account is None else [account.note]
    outline = None if account is None else account.left_out
    return see(data, one.read, words=words, outline=outline, partial=bool(words))


def see_envelope(result, one):
    """What is seen in a body of a dialect."""
    if result.is_error:
        return NOTHING
    reply = read(result.structured_content)
    words = [notice.message for notice in reply.notices]
    partial = reply.fidelity is not None and reply.fidelity.level != "full"
    return see(reply.data, one.read, words=words, outline=(reply.extra or {}).get("left_out"), partial=partial)


def _payload(result, one):
    """The data of a bare payload, and its account."""
    held = result.structured_content
    if held is None:
        text, account = split_account(texts_of(result)[0])
        return (text if isinstance(one.value, str) else json.loads(text)), account
    told = held.get(ACCOUNT)
    account = None if told is None else Account(told["note"], told.get("left_out"))
    held = {name: value for name, value in held.items() if name != ACCOUNT}
    if isinstance(one.value, dict) or held.keys() != {"result"}:
        return held, account
    is_text = isinstance(held["result"], str)  # which says itself what it lacks
    return split_account(held["result"]) if is_text else (held["result"], account)


def envelope(result, one):
    """The tokens of a bare reply that are not its data."""
    return 0 if result.is_error else size(result) - COUNT(_spell(_payload(result, one)[0]))


def _spell(value):
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def first_rows(one, budget, *, facts):
    """The text of as many of the first rows as fit, whole or by their facts, with how many there are."""
    units = _units(one, facts=facts)
    room, count = budget, 0
    for unit in units:
        room -= COUNT(_spell(unit)) + 1
        if room < 0:
            break
        count += 1
    while COUNT(text := _joined(one, units, count)) > budget and count:
        count -= 1
    return text


def _units(one, *, facts):
    """The rows of a set as they are shown."""
    if isinstance(one.value, dict):
        names = one.facts if facts else one.value
        return [{name: one.value[name]} for name in names]
    if isinstance(one.value, str):
        return [*map(one.brief, one.rows)] if facts else _entries(one)
    if not facts:
        return one.value
    if isinstance(one.value[0], dict):
        return [{name: row[name] for name in one.facts} for row in one.value]
    places = [one.value[0].index(name) for name in one.facts]
    return [[row[place] for place in places] for row in one.value]


def _entries(one):
    """The rows of a text as they stand there."""
    return re.split(r"\n(?=commit [0-9a-f]{40}\n)" if one.name == "commits" else r"\n", one.value)


def _joined(one, units, count):
    missing = len(units) - count
    if isinstance(one.value, dict):
        left = len(one.value) - count
        return _spell(
            {name: held for unit in units[:count] for name, held in unit.items()}
            | ({MARK: f"{left} more"} if left else {})
        )
    if isinstance(one.value, str):
        return "\n".join([*units[:count], *([f"[{missing} of {len(units)} left out]"] if missing else [])])
    return _spell({"rows": units[:count], **({"said": f"{missing} of {len(units)} left out"} if missing else {})})


def see_rows(text, one, *, facts):
    """What is seen in such a text."""
    if isinstance(one.value, dict):
        return see(json.loads(text), one.read)
    if not isinstance(one.value, str):
        held = json.loads(text)
        return see(held["rows"], one.read, words=[held.get("said", "")])
    *lines, last = text.split("\n")
    lines, words = (lines, [last]) if last.endswith("left out]") else ([*lines, last], [])
    if not facts:
        return see("\n".join(lines), one.read, words=words)
    shown = {one.brief(row): {name: row[name] for name in one.facts} for row in reversed(one.rows)}
    return see(lines, lambda found: [shown[line] for line in found], words=words)
