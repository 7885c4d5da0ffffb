"""A server whose tools keep their results, and what a model reads when one is too large and when one fails."""

import asyncio

from fastmcp import Client, FastMCP

from aerogram.errors import NotFound
from aerogram.fastmcp import install

TITLES = ("Water the plants", "Call the bank", "Book the train")
TASKS = {n: {"id": n, "title": TITLES[n % 3], "notes": "Read, think, write. " * 5} for n in range(1, 31)}
server = FastMCP("tasks")
install(server, budget=150)


@server.tool
def list_tasks() -> list[dict]:
    """All tasks."""
    return list(TASKS.values())


@server.tool
def get_task(number: int) -> dict:
    """One task."""
    if number not in TASKS:
        raise NotFound(f"there is no task {number}", remediation="list_tasks has the numbers")
    return TASKS[number]


async def main() -> None:
    async with Client(server) as client:
        fitted = await client.call_tool("list_tasks")
        print(fitted.content[0].text)
        failed = await client.call_tool("get_task", {"number": 99}, raise_on_error=False)
        print(failed.content[0].text)


if __name__ == "__main__":
    asyncio.run(main())
