"""Tasks over the MCP SDK: `python examples/tasks_sdk.py` serves them over stdio."""

from mcp.server.mcpserver import MCPServer

from aerogram.errors import NotFound
from aerogram.mcp import install

TASKS = {n: {"task_id": f"task-{n:03}", "notes": "Read, think, write. " * 20} for n in range(1, 31)}
server = MCPServer("tasks")
install(server, dialect="response-v2", budget=2_000, controls=["list_tasks"], offers=["standard-v2"])


@server.tool()
def list_tasks() -> list[dict[str, str]]:
    """All tasks; callers take them in pages, and in the size they can hold."""
    return list(TASKS.values())


@server.tool()
def get_task(number: int) -> dict[str, str]:
    """One task."""
    if number not in TASKS:
        raise NotFound(f"there is no task {number}", remediation="list_tasks has the numbers")
    return TASKS[number]


if __name__ == "__main__":
    server.run("stdio")
