"""What the model of each client reads: every row of `clients.toml` against one server of twenty tools.

python tools/clients.py                  prints what each model reads of each tool, and what it does not
python tools/clients.py claude-code      of one client
python tools/clients.py --table          prints the table of docs/clients.md

A client is played by its row: which channel it passes on, what its limits are, and what it does beyond them. What is
not known is played as the worse: a model that reads the one channel, and a model that reads the other.
"""

# ruff: noqa: D101, D103  # the handlers are as those of many servers are, and named for what they give

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import fastmcp
import mcp_types
from fastmcp.utilities.types import Image

from aerogram.archive import Archive
from aerogram.clients import CLIENTS, KnownClient, Reads
from aerogram.content.jsontext import dumps
from aerogram.errors import Conflict, Forbidden, NotFound, RateLimited
from aerogram.fastmcp import install
from aerogram.tokens import find_counter

DIALECTS: Final = ("bare", "response-v2", "standard-v2", "knowledge-1.0")
OWN_BUDGET: Final = 8_000
"""The budget of the server for clients without limits of their own."""
PREVIEW: Final = 2_000
LONG: Final = 600
PIXEL: Final = (
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\b\6\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\5"
    b"\0\1\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82"
)


@dataclass
class Task:
    task_id: str
    title: str
    done: bool = False
    notes: str = ""


def _task(number: int, notes: str = "") -> Task:
    return Task(f"task-{number:04}", f"Task number {number}", notes=notes)


MANY: Final = [_task(number, "Read, think, write. " * 12) for number in range(1_000)]
PROSE: Final = " ".join(f"Sentence {number} says something about the plan." for number in range(3_000))


def words() -> str:
    return "Water the plants on Monday."


def long_words() -> str:
    return PROSE


def number() -> int:
    return 424242


def record() -> dict[str, Any]:
    return {"task_id": "task-0001", "title": "Water the plants"}


def typed_record() -> Task:
    return _task(1)


def long_record() -> dict[str, Any]:
    return {"task_id": "task-0001", "notes": PROSE}


def untyped_record():  # noqa: ANN201 - as many handlers are
    return {"task_id": "task-0001", "title": "Water the plants"}


def few() -> list[dict[str, Any]]:
    return [{"task_id": f"task-{number:04}"} for number in range(3)]


def typed_few() -> list[Task]:
    return [_task(number) for number in range(3)]


def many() -> list[dict[str, Any]]:
    return [vars(one) for one in MANY]


def typed_many() -> list[Task]:
    return MANY


def pages() -> list[dict[str, Any]]:
    return [{"task_id": f"task-{number:04}"} for number in range(50)]


def nothing() -> list[Task]:
    return []


def picture() -> Image:
    return Image(data=PIXEL, format="png")


def unannounced_picture():  # noqa: ANN201 - as many handlers are
    return Image(data=PIXEL, format="png")


def link() -> mcp_types.ResourceLink:
    return mcp_types.ResourceLink(type="resource_link", uri="file:///plan.pdf", name="plan.pdf")


def missing() -> Task:
    raise NotFound(
        "there is no task 99", remediation="many has the numbers", details={"field": "number", "received": 99}
    )


def busy() -> Task:
    raise RateLimited("the printer takes one job a minute", remediation="Print on the second floor", retry_after=45)


def clash() -> Task:
    raise Conflict("task 7 was changed by somebody else", remediation="Read it again, then change it")


def forbidden() -> Task:
    raise Forbidden("only ann may read task 8", remediation="Ask ann")


def sized(size: int) -> int:
    return size


def broken() -> Task:
    raise RuntimeError("a secret of the house")


Need = str | tuple[str, ...]
"""Words that a model must read, or several of which one will do: contracts have words of their own."""
NEVER: Final = ("not retryable", '"retryable":false', '"error_type":"not_found"')
SIGHT: Final = ("[picture]", "1 image, image/png")


class Step(NamedTuple):
    """A call, and what a model must read of its answer."""

    handler: Callable[..., Any]
    needs: tuple[Need, ...]
    arguments: Mapping[str, Any] = MappingProxyType({})

    @property
    def name(self) -> str:
        """The name of its tool."""
        return self.handler.__name__


STEPS: Final = (
    Step(words, ("Water the plants on Monday.",)),
    Step(long_words, ("Sentence 0 says", ("retrieve(hash=", "Sentence 2999 says"))),
    Step(number, ("424242",)),
    Step(record, ("task-0001", "Water the plants")),
    Step(typed_record, ("task-0001", "Task number 1")),
    Step(long_record, ("task-0001", ("retrieve(hash=", "Sentence 2999 says"))),
    Step(untyped_record, ("task-0001", "Water the plants")),
    Step(few, ("task-0000", "task-0002")),
    Step(typed_few, ("task-0000", "task-0002")),
    Step(many, ("task-0000", ("1000", "task-0999"), ("retrieve(hash=", "task-0999"))),
    Step(typed_many, ("task-0000", ("1000", "task-0999"), ("retrieve(hash=", "task-0999"))),
    Step(pages, ("task-0004", "cursor"), {"page_size": 5}),
    Step(nothing, ("[]",)),
    Step(picture, (SIGHT,)),
    Step(unannounced_picture, (SIGHT,)),
    Step(link, ("file:///plan.pdf",)),
    Step(missing, ("there is no task 99", "NOT_FOUND", "many has the numbers", NEVER, "number", "99")),
    Step(busy, ("the printer takes one job a minute", "RATE_LIMIT", "Print on the second floor", "45")),
    Step(clash, ("task 7 was changed by somebody else", "Read it again, then change it")),
    Step(forbidden, ("only ann may read task 8", "FORBIDDEN", "Ask ann")),
    Step(sized, ("size", "INVALID_FORMAT", "XL"), {"size": "XL"}),
    Step(broken, (("INTERNAL_ERROR", "TOOL_ERROR"),)),
)


# The server


def build_server(budget: int | str, dialect: str) -> fastmcp.FastMCP[Any]:
    """The server of all steps."""
    server: fastmcp.FastMCP[Any] = fastmcp.FastMCP("twenty tools")
    for step in STEPS:
        server.tool(step.handler)
    install(server, budget=budget, dialect=dialect, archive=Archive.in_memory(), controls=["pages"])
    return server


async def _call_all(budget: int | str, dialect: str) -> dict[str, mcp_types.CallToolResult]:
    async with fastmcp.Client(build_server(budget, dialect)) as client:
        return {step.name: await client.call_tool_mcp(step.name, dict(step.arguments)) for step in STEPS}


@cache
def results(budget: int | str, dialect: str) -> dict[str, mcp_types.CallToolResult]:
    """What the server answers to each step; the same for all clients that have the same budget."""
    logging.disable()  # one of the tools is broken on purpose
    try:
        return asyncio.run(_call_all(budget, dialect))
    finally:
        logging.disable(logging.NOTSET)


# The clients


class Sight(NamedTuple):
    """What a model reads of a step, and what it should have read and did not."""

    client: KnownClient
    dialect: str
    step: Step
    text: str
    lost: tuple[Need, ...]


def play(client: KnownClient, dialect: str) -> Iterator[Sight]:
    """Everything that the model of a client reads, in each way that it may."""
    found = results(client.name if client.limits else OWN_BUDGET, dialect)
    for step in STEPS:
        result = found[step.name]
        for reads in _ways(client.failure if result.is_error else client.success):
            text = pass_on(client, result, reads)
            yield Sight(client, dialect, step, text, tuple(one for one in step.needs if not _is_read(one, text)))


def _ways(reads: Reads | None) -> tuple[Reads, ...]:
    return ("structured", "text") if reads in (None, "either") else (reads,)


def _is_read(need: Need, text: str) -> bool:
    return any(one in text for one in ((need,) if isinstance(need, str) else need))


def pass_on(client: KnownClient, result: mcp_types.CallToolResult, reads: Reads) -> str:
    """What a client gives to its model of a result."""
    is_structured = reads == "structured" and result.structured_content is not None
    texts = [_shown(block) for block in result.content if not is_structured or block.type == "image"]
    if is_structured:
        kept = texts if client.pictures is None else []
        texts = [dumps(result.structured_content).decode(), *kept]
    text = "\n".join(texts)
    is_large = any(find_counter(limit.counter).count(text) > limit.most for limit in client.limits)
    return text[:PREVIEW] if is_large else text


def _shown(block: Any) -> str:
    if block.type == "text":
        return str(block.text)
    return "[picture]" if block.type == "image" else f"[{block.uri}]"


# What is printed


def table() -> str:
    """A row for each client: what is known of it, and of how many tools its model reads all that it needs."""
    head = ("client", "reads of a success", "of a failure", "limits", "beyond them", *(f"`{one}`" for one in DIALECTS))
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for client in CLIENTS.values():
        facts = (f"`{client.name}`", client.success, client.failure, client.told_limits, client.beyond)
        lines.append(f"| {' | '.join([*(one or '?' for one in facts), *(_score(client, one) for one in DIALECTS)])} |")
    return "\n".join(lines) + "\n"


def _score(client: KnownClient, dialect: str) -> str:
    lost = {sight.step.name for sight in play(client, dialect) if sight.lost}
    return f"{len(STEPS) - len(lost)} of {len(STEPS)}" + (f", not {', '.join(sorted(lost))}" if lost else "")


def main(arguments: list[str]) -> None:
    """Print what was asked for."""
    if arguments == ["--table"]:
        print(table(), end="")
        return
    for client in CLIENTS.values():
        for dialect in DIALECTS if not arguments or client.name in arguments else ():
            for sight in play(client, dialect):
                print(f"== {client.name}, {dialect}: {sight.step.name}" + (f" LOST {sight.lost}" if sight.lost else ""))
                print(sight.text if len(sight.text) < LONG else f"{sight.text[:300]} … {sight.text[-200:]}")


if __name__ == "__main__":
    main(sys.argv[1:])
