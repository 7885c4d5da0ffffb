"""One handler, two doors: an MCP tool that answers in response-v2, an HTTP route that answers in standard-v2.

python examples/tasks.py          serves the route on http://127.0.0.1:8000/tasks?offset=2
fastmcp run examples/tasks.py     serves the tool over stdio
"""

from fastmcp import FastMCP
from fastmcp.tools import ToolResult
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from aerogram import Page, Reply, ReplyError, dialect, problem_of
from aerogram.content.jsontext import dumps
from aerogram.errors import ValidationFailed

TASKS = [{"task_id": f"task-{number:03}", "status": "pending"} for number in range(1, 8)]
PAGE_SIZE = 3


def list_tasks(offset: int = 0) -> Reply[list[dict[str, str]]]:
    """One page of tasks."""
    if offset < 0:
        raise ValidationFailed("offset must not be negative", details={"field": "offset", "received": offset})
    rows = TASKS[offset : offset + PAGE_SIZE]
    following = offset + PAGE_SIZE
    has_more = following < len(TASKS)
    page = Page(str(following) if has_more else None, has_more=has_more, total=len(TASKS), page_size=PAGE_SIZE)
    return Reply.ok(rows, page=page)


def answered(offset: int) -> Reply[object]:
    """The page, or the failure as a reply."""
    try:
        return list_tasks(offset)
    except ReplyError as error:
        return Reply.failed(problem_of(error))


mcp = FastMCP("tasks")


@mcp.tool(output_schema=dialect("response-v2").schema(slim=True))
def tasks(offset: int = 0) -> ToolResult:
    """List tasks, three at a time."""
    reply = answered(offset)
    body = dialect("response-v2").encode(reply)
    return ToolResult(content=dumps(body).decode(), structured_content=body, is_error=reply.problem is not None)


async def route(request: Request) -> Response:
    """The same handler over HTTP."""
    standard = dialect("standard-v2")
    reply = answered(int(request.query_params.get("offset", "0")))
    status = reply.problem.status if reply.problem else 200
    return Response(dumps(standard.encode(standard.complete(reply))), status, media_type="application/json")


app = Starlette(routes=[Route("/tasks", route)])

if __name__ == "__main__":
    import uvicorn

    uvicorn.run(app, host="127.0.0.1", port=8000)
