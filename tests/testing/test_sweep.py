"""The sweep: it passes over servers that keep their promises, and finds the one that a mutant breaks."""

from __future__ import annotations

import asyncio
import dataclasses
import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import pytest
from fastapi import FastAPI, Query
from fastmcp import FastMCP
from mcp.server.mcpserver import MCPServer
from pydantic import Field

import aerogram.fastapi
from aerogram import Contract, Page, Reply
from aerogram._http.negotiation import Versions
from aerogram.errors import InvalidCursor
from aerogram.fastmcp import install
from aerogram.limits import Limits, Plan
from aerogram.testing import PROMISES, BrokenPromises, sweep, sweep_async
from aerogram.testing.leaks import FAULT
from aerogram.testing.settings import SweepSettings
from testing.mutants import EXAMPLES, ROUTES, ROWS, TOOLS, good_routes, good_tools

PROGRAMS = Path(__file__).parents[2] / "examples"
MUTANTS = [*TOOLS.items(), *ROUTES.items()]
SETTINGS = [
    {"dialect": "standard-v2"},
    {"dialect": "knowledge-1.0"},
    {"dialect": "bare"},
    {"channels": "summary"},
    {"channels": "compact"},
    {"schema": "full"},
    {"offers": ["standard-v2", "knowledge-1.0"]},
]


def program(name):
    """What a program of the examples serves."""
    spec = importlib.util.spec_from_file_location(f"sweep_{name}", PROGRAMS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, "server", None) or module.app


@pytest.mark.parametrize("name", ["tasks_fastmcp", "tasks_sdk", "tasks_starlette", "tasks_fastapi"])
def test_the_programs_of_the_examples_keep_every_promise(name, caplog):
    """And the faults that are injected leave no trace in the log."""
    examples = {"get_task": {"number": 7}, "GET /tasks/{number}": {"number": 7}}
    report = sweep(program(name), examples=examples).raise_for_failures()
    assert len(report.visited) > 40
    assert FAULT not in caplog.text


@pytest.mark.parametrize(
    ("framework", "settings"),
    [*((FastMCP, one) for one in SETTINGS), *((MCPServer, one) for one in SETTINGS[3:])],  # dialects are for both
    ids=str,
)
def test_servers_keep_every_promise_in_each_dialect_and_channel(framework, settings):
    sweep(good_tools(framework, **settings), examples=EXAMPLES).raise_for_failures()


@pytest.mark.parametrize("dialect", ["standard-v2", "response-v2", "knowledge-1.0"])
def test_routes_keep_every_promise_in_each_dialect(dialect):
    contract = Contract(budget=700)
    report = sweep(good_routes(contract=contract, current=dialect), contract=contract).raise_for_failures()
    assert ("GET /rows", "expired cursor", "400 INVALID_CURSOR") in report.visited


@pytest.mark.parametrize(("build", "expected"), MUTANTS, ids=[build.__name__ for build, _ in MUTANTS])
def test_a_broken_promise_is_found(build, expected):
    promise, settings = expected
    report = sweep(build(), **{"examples": EXAMPLES, **settings})
    assert promise in report.broken_promises, str(report)
    failure = next(one for one in report.failures if one.promise == promise)
    assert failure.target and failure.evidence and PROMISES[promise] in str(report)
    with pytest.raises(BrokenPromises):
        report.raise_for_failures()


def test_each_promise_has_a_mutant_that_breaks_it():
    assert {promise for promise, _ in (*TOOLS.values(), *ROUTES.values())} == set(PROMISES)


@pytest.mark.parametrize("framework", [FastMCP, MCPServer])
def test_a_limit_is_met_where_one_is_promised(framework):
    limits = Limits.in_memory(Plan.of(per_tool={"row": "4/hour"}))
    report = sweep(good_tools(framework, limits=limits), examples=EXAMPLES, bursts={"row": 6}).raise_for_failures()
    assert any(one.target == "row" and one.outcome == "RATE_LIMIT_EXCEEDED" for one in report.visited)


def test_a_text_that_must_not_be_said_is_found_in_successes_too():
    report = sweep(good_tools(), examples=EXAMPLES, secrets=["row-3"])
    assert ("row", "leak") in {(one.target, one.promise) for one in report.failures}


def test_expired_cursors_are_tried_where_the_contract_is_known():
    contract = Contract(dialect="response-v2", budget=2_000)
    server = FastMCP("rows")
    install(server, contract=contract, controls=True)
    server.tool(lambda: ROWS, name="rows")
    report = sweep(server, contract=contract).raise_for_failures()
    tried = {one.probe.partition(",")[0] for one in report.visited if one.outcome == "INVALID_CURSOR"}
    assert {"garbled cursor", "foreign cursor", "expired cursor"} <= tried


def test_texts_are_not_wrong_where_a_list_of_texts_is_asked_for_but_where_numbers_are():
    app = FastAPI()
    aerogram.fastapi.install(app, versions=Versions(vendor="acme"))

    @app.get("/tagged")
    def tagged(
        tags: Annotated[list[str] | None, Query()] = None, years: Annotated[list[int] | None, Query()] = None
    ) -> dict:
        return {"tags": tags, "years": years}

    report = sweep(app).raise_for_failures()
    probes = {one.probe for one in report.visited}
    assert "wrong years" in probes and "wrong tags" not in probes


LONG = [{"id": number, "text": f"row {number}"} for number in range(10_000)]


@pytest.mark.parametrize("framework", [FastMCP, MCPServer])
def test_pages_are_asked_for_in_sizes_that_the_server_takes(framework):
    def many() -> list[dict]:
        return LONG[:200]

    report = sweep(good_tools(framework, handlers=[many], budget=20_000, controls=True)).raise_for_failures()
    assert not report.unseen
    assert any(one.probe.startswith("next page") for one in report.visited)


@pytest.mark.parametrize(
    ("sizes", "usual", "fewer"),
    [
        (Field(ge=20, le=25), 25, 20),
        (Field(ge=1, le=7), 7, 3),
        (Field(gt=10, lt=90), 30, 11),
        (Field(json_schema_extra={"enum": [10, 25]}), 25, 10),
    ],
    ids=["20 to 25", "up to 7", "11 to 89", "10 or 25"],
)
def test_the_bounds_of_a_tools_own_page_size_are_kept(sizes, usual, fewer):
    asked = []

    def own(page_size: int = usual, cursor: str | None = None) -> Reply:
        if cursor is not None and not cursor.isdigit():
            raise InvalidCursor("not a cursor of this tool")
        asked.append(page_size)
        start, end = int(cursor or 0), int(cursor or 0) + page_size
        more = end < 100
        return Reply.ok(LONG[start : min(end, 100)], page=Page(str(end) if more else None, more, 100))

    own.__annotations__["page_size"] = Annotated[int, sizes]
    report = sweep(good_tools(handlers=[own])).raise_for_failures()
    assert set(asked) == {usual, fewer}
    assert any(one.probe.startswith("next page") for one in report.visited)


def test_a_route_with_more_rows_than_a_page_may_have_is_walked():
    app = FastAPI()
    contract = Contract(budget=20_000)
    aerogram.fastapi.install(app, contract, Versions(controls=True))
    app.get("/rows")(lambda: LONG[:200])
    report = sweep(app, contract=contract).raise_for_failures()
    assert ("GET /rows", "next page", "200") in report.visited


@pytest.mark.parametrize("settings", [{}, {"controls": True, "budget": 4_000}], ids=["own pages", "controls"])
def test_a_list_of_many_pages_is_walked_as_far_as_it_goes_and_the_rest_is_told(settings):
    def own(cursor: str | None = None) -> Reply:
        if cursor is not None and not cursor.isdigit():
            raise InvalidCursor("not a cursor of this tool")
        start = int(cursor or 0)
        return Reply.ok(LONG[start : start + 2], page=Page(str(start + 2), has_more=True))

    handler = own if not settings else (lambda: LONG)
    server = FastMCP("rows")
    install(server, **{"dialect": "response-v2", **settings})
    server.tool(handler, name="rows")
    report = sweep(server).raise_for_failures()
    [unseen] = report.unseen
    assert unseen.target == "rows" and unseen.what.startswith("the pages after the first 60, which have ")
    assert f"not looked at: rows: {unseen.what}" in str(report)


def test_a_long_list_that_goes_wrong_before_its_end_is_found():
    def turning(cursor: str | None = None) -> Reply:
        if cursor is not None and not cursor.isdigit():
            raise InvalidCursor("not a cursor of this tool")
        start = int(cursor or 0)
        return Reply.ok([LONG[start % 60], LONG[start % 60 + 1]], page=Page(str(start + 2), has_more=True))

    report = sweep(good_tools(handlers=[turning]))
    assert [one.promise for one in report.failures] == ["pages"]
    assert "these came more than once" in report.failures[0].evidence


def test_a_route_that_is_not_migrated_is_held_to_the_legacy_envelope():
    report = sweep(good_routes(migrated=["/rows"])).raise_for_failures()
    assert ("GET /rows/{number}", "example", "200") in report.visited


async def test_the_sweep_can_be_awaited_and_says_so_where_it_must_be():
    (await sweep_async(good_routes())).raise_for_failures()
    with pytest.raises(RuntimeError, match="sweep_async"):
        sweep(good_routes())


def test_what_is_skipped_is_not_visited():
    assert "row" not in sweep(good_tools(), skip=["row"]).raise_for_failures().targets


def test_the_injected_tool_is_gone_afterwards():
    for framework in (FastMCP, MCPServer):
        server = good_tools(framework)
        sweep(server, examples=EXAMPLES)
        assert all("sweep" not in tool.name for tool in asyncio.run(server.list_tools()))


def test_what_only_failed_is_named_so_that_an_example_can_be_given():
    report = sweep(good_tools(), examples={})
    assert "row" not in report.never_succeeded
    assert "GET /limited" in sweep(good_routes()).never_succeeded
    assert "examples are wanted: GET /limited" in str(sweep(good_routes()))


def test_a_target_of_another_kind_is_refused():
    with pytest.raises(TypeError, match="dict"):
        sweep({})


def test_a_missing_schema_library_says_what_to_install():
    missing = "import sys; sys.modules['jsonschema_rs'] = None"
    program = f"{missing}; from aerogram.testing.inputs import explain_mismatch; explain_mismatch({{}}, 1)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "pip install 'aerogram[schema]'" in done.stderr


def test_importing_the_module_loads_no_framework():
    frameworks = {"fastmcp", "mcp", "starlette", "fastapi"}
    program = f"import sys, aerogram.testing; print(sorted({frameworks} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_promise_and_every_setting_is_documented():
    page = (PROGRAMS.parent / "docs" / "testing.md").read_text(encoding="utf-8")
    assert [name for name, told in PROMISES.items() if f"| `{name}` | {told} |" not in page] == []
    settings = [field.name for field in dataclasses.fields(SweepSettings)]
    assert [name for name in settings if f"| `{name}` |" not in page or f"`{name}`" not in sweep.__doc__] == []


def test_pages_that_have_only_a_link_are_walked_to_their_end():
    app = FastAPI()

    @app.get("/search")
    @aerogram.fastapi.shapes(reply=aerogram.fastapi.from_offset_page)
    def search(limit: int = 4, offset: int = 0):
        return {"total": len(ROWS), "limit": limit, "offset": offset, "results": ROWS[offset : offset + limit]}

    aerogram.fastapi.install(app, versions=Versions(vendor="acme"))
    report = sweep(app).raise_for_failures()
    walked = [one for one in report.visited if one.target == "GET /search" and one.probe == "linked page"]
    assert len(walked) == 2


def test_a_page_that_says_that_there_is_more_and_not_where_is_found():
    app = FastAPI()

    @app.get("/search")
    @aerogram.fastapi.shapes(reply=aerogram.fastapi.from_offset_page)
    def search(limit: int = 4, skip: int = 0):
        return {"total": len(ROWS), "limit": limit, "offset": skip, "results": ROWS[skip : skip + limit]}

    aerogram.fastapi.install(app, versions=Versions(vendor="acme"))
    report = sweep(app)
    assert [(one.target, one.promise) for one in report.failures] == [("GET /search", "pages")], str(report)
    assert "neither a cursor nor a link" in str(report)


@pytest.mark.parametrize("budget", [None, 700])
def test_work_that_is_done_may_be_answered_without_the_callers_controls(budget):
    app = FastAPI()
    contract = Contract(budget=budget)
    aerogram.fastapi.install(app, contract, Versions(vendor="acme", controls=True))

    @app.post("/things")
    def make(name: str = "x"):
        return {"name": name, "ok": True}

    @app.put("/things/{number}")
    def put(number: int, thing: dict):
        return {"number": number, **thing}

    @app.delete("/things/{number}")
    def delete(number: int):
        return {"gone": number}

    report = sweep(app, contract=contract).raise_for_failures()
    assert ("POST /things", "budget of 1", "200") in report.visited


def test_but_it_must_say_so_and_keep_the_servers_own_budget():
    app = FastAPI()

    @app.post("/things")
    def make(max_tokens: int = 0):
        return Reply.ok({"text": "words " * 500})

    aerogram.fastapi.install(app, versions=Versions(vendor="acme"))
    assert "budget" in sweep(app).broken_promises
    assert "budget" in sweep(app, contract=Contract(budget=200)).broken_promises


MISNAMED = [
    {"examples": {"GET /row/{number}": {"number": 3}}},
    {"bursts": {"GET /nope": 10}},
    {"faults": {"row": {"number": 3}}},
    {"skip": ["GET /rowz"]},
]


@pytest.mark.parametrize("settings", MISNAMED, ids=str)
def test_a_setting_for_a_route_that_is_not_there_is_told(settings):
    report = sweep(good_routes(), **settings)
    (setting, names), *_ = settings.items()
    told = f"{setting} names {next(iter(names))!r}, and there is no such route; "
    assert [one.what for one in report.unseen if one.what.startswith(told)] and told in str(report)


@pytest.mark.parametrize("framework", [FastMCP, MCPServer])
@pytest.mark.parametrize("setting", ["examples", "bursts", "faults", "skip"])
def test_and_so_is_one_for_a_tool_that_is_not_there(framework, setting):
    """With the nearest name, and once."""
    given = ["rwo"] if setting == "skip" else {"rwo": 3 if setting == "bursts" else {}}
    told = f"{setting} names 'rwo', and there is no such tool or resource; did you mean 'row'?"
    assert sweep(good_tools(framework), **{setting: given}).unseen.count(("settings", told)) == 1
