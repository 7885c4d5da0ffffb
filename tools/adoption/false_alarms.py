"""False alarms: how many right answers of real servers are taken for failures that nobody has marked as such.

Each server is asked for things that it has, so that whatever is called a failure is a false alarm; what a server marks
as a failure itself is left out. `PYTHONPATH=tools python -m adoption.false_alarms [NAME …]`
"""

from __future__ import annotations

import asyncio
import logging
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastmcp import Client

from adoption.environments import Server, UnavailableError, furnish, install, servers
from adoption.trial import call_tool, text_of, transport
from aerogram._mcp.soft_errors import soft_problem

MOST = 0.005


def main(names: list[str]) -> int:
    """Print the rate; 1 where it is too high."""
    logging.disable(logging.INFO)
    asked = alarms = 0
    with tempfile.TemporaryDirectory() as folder:
        work = furnish(Path(folder).resolve())
        for name, server in servers().items():
            if names and name not in names:
                continue
            try:
                replies = asyncio.run(_record(install(server), work))
            except UnavailableError as error:
                print(f"{name}: {error}")
                continue
            wrong = [one for one in replies if _is_alarm(one)]
            print(f"{name:<12} {len(replies):>5} right answers, {len(wrong)} taken for failures", flush=True)
            for one in wrong:
                print(f"    {text_of(one)[:200]!r}")
            asked, alarms = asked + len(replies), alarms + len(wrong)
    print(f"{'all':<12} {asked:>5} right answers, {alarms} taken for failures: {alarms / max(asked, 1):.2%}")
    return int(alarms > MOST * asked)


async def _record(server: Server, work: Path) -> list[Any]:
    async with Client(transport(server, work)) as client:
        for call in server.before:
            await call_tool(client, server, work, call)
        found = [await call_tool(client, server, work, call) for call in _calls(server)]
    return [one for one in found if not one.is_error]


def _calls(server: Server) -> Iterator[dict[str, Any]]:
    yield server.small
    yield server.big
    for call in server.more:
        asked = {name: value for name, value in call.items() if name != "times"}
        for number in range(call.get("times", 1)):
            yield {name: _numbered(value, number) for name, value in asked.items()}


def _numbered(value: Any, number: int) -> Any:
    if isinstance(value, str):
        return number if value == "{n}" else value.replace("{n}", str(number))
    return [_numbered(one, number) for one in value] if isinstance(value, list) else value


def _is_alarm(result: Any) -> bool:
    texts = [block.text for block in result.content if block.type == "text"]
    said = (result.structured_content, *texts, "\n".join(texts))
    return any(soft_problem(one) is not None for one in said if one is not None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
