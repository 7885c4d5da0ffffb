"""The catalogue: what a model reads of every tool before it calls one stays small, and says what it will get."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import fastmcp
import jsonschema_rs
import pytest

from aerogram.archive import Archive
from aerogram.contract.flags import RESPONSE_CONTRACT_V2, Flags
from aerogram.errors import NotFound
from aerogram.fastmcp import install
from aerogram.tokens import Vocabulary
from tool_servers import build, talk

ENVELOPES = ["response-v2", "standard-v2", "knowledge-1.0"]
FRAMEWORKS = ["fastmcp", "sdk"]


def size(value: Any) -> int:
    return Vocabulary().count(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def spelled(tool: Any) -> dict[str, Any]:
    return tool.model_dump(mode="json", by_alias=True, exclude_none=True)


async def tools_of(framework: str, **settings: Any) -> dict[str, dict[str, Any]]:
    server, _ = build(framework, **{"archive": Archive.in_memory(), **settings})
    async with talk(framework, server, "auto") as talking:
        return {name: spelled(tool) for name, tool in (await talking.tools()).items()}


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("dialect", ["bare", *ENVELOPES])
async def test_retrieval_is_a_small_tool_whose_parameters_are_described(framework: str, dialect: str) -> None:
    tool = (await tools_of(framework, dialect=dialect, budget=2_000))["retrieve"]
    assert size(tool) <= 250 and "outputSchema" not in tool
    assert all(part.get("description") for part in tool["inputSchema"]["properties"].values())


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_all_controls_together_cost_little(framework: str) -> None:
    plain = await tools_of(framework, dialect="response-v2", archive=None)
    given = await tools_of(framework, dialect="response-v2", archive=None, controls=True)
    assert size(given["rows"]) - size(plain["rows"]) <= 90
    assert given["server"] == plain["server"]  # what is our own has none


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize(
    ("settings", "is_there"),
    [
        ({"dialect": "bare"}, False),
        ({"dialect": "response-v2"}, True),
        ({"dialect": "bare", "offers": ["standard-v2"]}, True),
        ({"dialect": "bare", "flags": Flags(RESPONSE_CONTRACT_V2)}, True),
        ({"dialect": "response-v2", "negotiate": None}, False),
    ],
)
async def test_there_is_a_negotiation_tool_where_there_is_something_to_negotiate(
    framework: str, settings: dict[str, Any], is_there: bool
) -> None:
    assert ("server" in await tools_of(framework, **settings)) is is_there


@dataclass
class Task:
    task_id: str
    title: str
    done: bool
    weight: float = 1.0
    details: str = "a name that a failure has too"
    parts: list[Task] = field(default_factory=list)


TASKS = [Task(f"task-{n:03}", "Read, think, write. " * 8, False, parts=[Task("a", "b", True)]) for n in range(60)]


def tasks() -> list[Task]:
    return TASKS


def task(task_id: str = "") -> Task:
    if task_id:
        raise NotFound(f"there is no {task_id}", details={"field": "task_id", "received": task_id})
    return TASKS[0]


def names() -> list[str]:
    return [one.task_id for one in TASKS] * 20


def number() -> int:
    return 5


def share() -> float:
    return float("nan")


def maybe() -> Task | None:
    return None


def counts() -> dict[str, int]:
    return {one.task_id: 1 for one in TASKS}


HANDLERS = (tasks, task, names, number, share, maybe, counts)


def server_of(**settings: Any) -> fastmcp.FastMCP[Any]:
    server = fastmcp.FastMCP("typed")
    for handler in HANDLERS:
        server.tool(handler)
    if settings:
        install(server, archive=Archive.in_memory(), **settings)
    return server


async def schemas_of(server: fastmcp.FastMCP[Any]) -> dict[str, Any]:
    async with fastmcp.Client(server) as client:
        return {tool.name: tool.output_schema for tool in await client.list_tools()}


@pytest.mark.parametrize(("dialect", "more"), [("bare", 20), *((name, 30) for name in ENVELOPES)])
async def test_a_listed_schema_costs_little_more_than_the_tools_own(dialect: str, more: int) -> None:
    own, listed = await schemas_of(server_of()), await schemas_of(server_of(dialect=dialect, budget=2_000))
    for handler in HANDLERS:
        name = handler.__name__
        assert size(listed[name]) <= size(own[name]) + more, name


@pytest.mark.parametrize("dialect", ENVELOPES)
async def test_the_fields_of_a_type_are_listed_in_an_envelope(dialect: str) -> None:
    listed = await schemas_of(server_of(dialect=dialect))
    assert '"task_id": {"type": "string"}' in json.dumps(listed["tasks"])
    assert '"task_id": {"type": "string"}' in json.dumps(listed["task"])
    assert "required" not in json.dumps(listed["tasks"]["properties"])


@pytest.mark.parametrize("dialect", ENVELOPES)
async def test_a_whole_contract_stays_within_bounds(dialect: str) -> None:
    listed = await schemas_of(server_of(dialect=dialect, schema="full"))
    assert size(listed["tasks"]) <= 1_500


@pytest.mark.parametrize("schema", ["slim", "full"])
@pytest.mark.parametrize("dialect", ENVELOPES)
@pytest.mark.parametrize("budget", [400, 2_000, 50_000])
async def test_every_reply_holds_to_what_is_listed(dialect: str, schema: str, budget: int) -> None:
    server = server_of(dialect=dialect, schema=schema, budget=budget, controls=True)
    listed = await schemas_of(server)
    calls: list[tuple[str, dict[str, Any]]] = [(one.__name__, {}) for one in HANDLERS]
    calls += [("task", {"task_id": "x"}), ("tasks", {"cursor": "forged"}), ("tasks", {"page_size": 2})]
    calls += [("tasks", {"response_mode": "ids_only"}), ("tasks", {"fields": ["title"]}), ("task", {"max_tokens": 1})]
    async with fastmcp.Client(server) as client:
        for name, arguments in calls:
            sent = await client.call_tool_mcp(name, arguments)
            jsonschema_rs.validate(listed[name], sent.structured_content)
