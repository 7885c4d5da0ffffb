"""The sweep: it passes over servers that keep their promises, and finds the one that a mutant breaks."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from fastmcp import FastMCP
from mcp.server.mcpserver import MCPServer

from aerogram import Contract
from aerogram.testing import PROMISES, BrokenPromises, sweep
from testing.mutants import EXAMPLES, ROUTES, TOOLS, good_routes, good_tools

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
def test_the_programs_of_the_examples_keep_every_promise(name):
    examples = {"get_task": {"number": 7}, "GET /tasks/{number}": {"number": 7}}
    report = sweep(program(name), examples=examples).raise_for_failures()
    assert len(report.visited) > 40


@pytest.mark.parametrize("framework", [FastMCP, MCPServer])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
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
    assert promise in report.broken, str(report)
    failure = next(one for one in report.failures if one.promise == promise)
    assert failure.target and failure.evidence and PROMISES[promise] in str(report)
    with pytest.raises(BrokenPromises):
        report.raise_for_failures()


def test_each_promise_has_a_mutant_that_breaks_it():
    assert {promise for promise, _ in (*TOOLS.values(), *ROUTES.values())} == set(PROMISES)
