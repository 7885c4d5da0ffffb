"""Tasks over FastAPI: `uvicorn tasks_fastapi:app`, then GET /tasks?envelope=v2&page_size=5."""

from fastapi import FastAPI

from aerogram import Archive, Contract
from aerogram.errors import NotFound
from aerogram.fastapi import Versions, install

TASKS = {n: {"task_id": f"task-{n:03}", "notes": "Read, think, write. " * 20} for n in range(1, 31)}
app = FastAPI()
install(app, Contract(budget=2_000, archive=Archive.in_memory()), Versions(vendor="tasks", controls=True))


@app.get("/tasks")
def list_tasks() -> list[dict[str, str]]:
    """All tasks; callers take them in pages, and in the size they can hold."""
    return list(TASKS.values())


@app.get("/tasks/{number}")
def get_task(number: int) -> dict[str, str]:
    """One task."""
    if number not in TASKS:
        raise NotFound(f"there is no task {number}", remediation="GET /tasks lists the numbers")
    return TASKS[number]
