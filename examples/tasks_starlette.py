"""Tasks over Starlette: `uvicorn tasks_starlette:app`, then GET /tasks?envelope=v2&page_size=5."""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route

from aerogram import Archive, Contract
from aerogram.errors import NotFound
from aerogram.starlette import Versions, install

TASKS = {n: {"task_id": f"task-{n:03}", "notes": "Read, think, write. " * 20} for n in range(1, 31)}


async def list_tasks(_: Request) -> list[dict[str, str]]:
    """All tasks; callers take them in pages, and in the size they can hold."""
    return list(TASKS.values())


async def get_task(request: Request) -> dict[str, str]:
    """One task."""
    if (number := request.path_params["number"]) not in TASKS:
        raise NotFound(f"there is no task {number}", remediation="GET /tasks lists the numbers")
    return TASKS[number]


app = Starlette(routes=[Route("/tasks", list_tasks), Route("/tasks/{number:int}", get_task)])
install(app, Contract(budget=2_000, archive=Archive.in_memory()), Versions(vendor="tasks", controls=True))
