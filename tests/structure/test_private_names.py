"""Private names of other libraries: few, listed in docs/design.md with their reasons, and there."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from collections.abc import Iterator
from contextvars import ContextVar
from importlib.metadata import version

import pytest
from fastapi import APIRouter, FastAPI, routing
from fastapi.routing import RouteContext, iter_route_contexts
from fastmcp import FastMCP
from fastmcp.resources import Resource, ResourceTemplate
from fastmcp.server.dependencies import FastMCPRequestContext
from fastmcp.server.providers.fastmcp_provider import FastMCPProviderTool
from fastmcp.tools import Tool
from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.resources import ResourceManager
from mcp.server.mcpserver.tools import ToolManager
from mcp.server.session import ServerSession
from starlette.requests import Request

from structure.source import ROOT, Module, modules

LIBRARIES = ("fastapi", "fastmcp", "mcp", "mcp_types", "pydantic", "pydantic_core", "starlette")
OF_TUPLES = {"_asdict", "_fields", "_make", "_replace"}
OF_THE_PROTOCOL = {"_meta"}
OF_OUR_CURSORS = {"_keys"}
INSIDES = {"__closure__", "__code__", "__defaults__", "__globals__", "__kwdefaults__", "cell_contents"}


def rows() -> list[tuple[str, str, str, str]]:
    """The table: library, name, why it is needed, versions in which it was seen."""
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    section = text.partition("## Private names of other libraries\n")[2].partition("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    return [(library, name.strip("`"), why, seen) for library, name, why, seen in lines[2:]]


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name.isidentifier() and name.strip("_") != ""


def users() -> list[Module]:
    """The modules that know one of the libraries."""
    known = re.compile(rf"^\s*(?:from|import) (?:{'|'.join(LIBRARIES)})\b", re.MULTILINE)
    return [module for module in modules().values() if known.search(module.text)]


def own_names(module: Module) -> set[str]:
    """The private names that a module gives to things of its own."""
    found = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_self(node.value):
            found.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def private_uses(tree: ast.AST) -> Iterator[str]:
    """Private names that are imported from a library, asked of another object, or written into one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in LIBRARIES:
            yield from filter(
                is_private, ((node.module or "") + "." + ".".join(one.name for one in node.names)).split(".")
            )
        elif isinstance(node, ast.Import):
            roots = [one.name.split(".") for one in node.names if one.name.partition(".")[0] in LIBRARIES]
            yield from (part for parts in roots for part in parts if is_private(part))
        elif isinstance(node, ast.Attribute) and is_private(node.attr) and not is_self(node.value):
            yield node.attr
        elif isinstance(node, ast.Call | ast.Subscript) and reaches_in(node):
            inside = [*ast.walk(node)]
            yield from (
                one.value for one in inside if isinstance(one, ast.Constant) and is_text(one) and is_private(one.value)
            )
            yield from (one.arg for one in inside if isinstance(one, ast.keyword) and one.arg and is_private(one.arg))


def is_text(node: ast.Constant) -> bool:
    return isinstance(node.value, str)


def reaches_in(node: ast.Call | ast.Subscript) -> bool:
    """Whether this is `getattr(…)` and the like, `vars(…)[…]` or `vars(…).update(…)`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in ("delattr", "getattr", "hasattr", "setattr")
    held = node.value if isinstance(node, ast.Subscript) else getattr(node.func, "value", None)
    return isinstance(held, ast.Call) and ast.unparse(held.func) == "vars"


def names_used() -> dict[str, set[str]]:
    """Which modules use a private name that may be another library's."""
    listed = {name.rpartition(".")[2] for _, name, *_ in rows()}
    found: dict[str, set[str]] = {}
    for module in users():
        # a name that the module has given itself is its own, unless a library is known to have it too
        own = (own_names(module) - listed) | OF_TUPLES | OF_THE_PROTOCOL | OF_OUR_CURSORS
        for name in private_uses(module.tree):
            if name not in own:
                found.setdefault(name, set()).add(module.name)
    return found


def test_the_table_has_the_private_names_that_are_used_and_no_others():
    listed = {name.rpartition(".")[2] for _, name, *_ in rows()}
    used = names_used()
    assert {name: where for name, where in used.items() if name not in listed} == {}, "not in docs/design.md"
    assert listed - used.keys() == set(), "in docs/design.md, and used nowhere"


def cuts(tree: ast.AST) -> Iterator[str]:
    """Looks into the functions of others, and writes to what pydantic keeps in its models, which anyone may read."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            is_write = not isinstance(node.ctx, ast.Load) and node.attr.startswith("__pydantic_")
            yield from [node.attr] if node.attr in INSIDES or is_write else []
        elif isinstance(node, ast.Call):
            texts = (one.value for one in node.args if isinstance(one, ast.Constant) and is_text(one))
            yield from (text for text in texts if text in INSIDES or text.startswith("__pydantic_"))


@pytest.mark.parametrize("module", users(), ids=lambda module: module.name)
def test_nothing_is_cut_out_of_other_libraries(module):
    """No closure cells, no code objects, no models made by hand."""
    assert list(cuts(module.tree)) == []


@pytest.mark.parametrize(
    "source",
    [
        "found = handler.__code__",
        "cell.cell_contents = found",
        "cells = getattr(handler, '__closure__', ())",
        "model.__pydantic_extra__ = {}",
        "object.__setattr__(model, '__pydantic_private__', {})",
    ],
)
def test_every_cut_is_noticed(source):
    assert len(list(cuts(ast.parse(source)))) == 1


@pytest.mark.parametrize(
    "source",
    [
        "from fastapi.routing import _hidden",
        "from starlette._hidden import shown",
        "import pydantic._hidden",
        "found = tool._hidden",
        "found = getattr(tool, '_hidden', None)",
        "vars(tool)['_hidden'] = found",
        "vars(tool).update(_hidden=found)",
        "vars(tool).update({'_hidden': found})",
    ],
)
def test_every_way_to_a_private_name_is_noticed(source):
    assert list(private_uses(ast.parse(source))) == ["_hidden"]


# Whether they are there


def knows_its_server() -> bool:
    inner, outer = FastMCP("inner"), FastMCP("outer")
    inner.tool(lambda: 1, name="one")
    outer.mount(inner)
    tool = asyncio.run(outer.get_tool("one"))
    return isinstance(tool, FastMCPProviderTool) and tool._server is inner


def included() -> RouteContext:
    router, app = APIRouter(), FastAPI()
    router.get("/one")(lambda: 1)
    app.include_router(router)
    return next(one for one in iter_route_contexts(app.routes) if one.path == "/one")


async def body_read() -> bytes:
    async def receive():
        return {"type": "http.request", "body": b"read"}

    request = Request({"type": "http", "method": "POST", "headers": []}, receive)
    assert not hasattr(request, "_body")
    await request.body()
    return request._body


def makes_it_for(variable: ContextVar) -> bool:
    """Whether a route of an included router makes its application for the context that a variable holds."""
    context, asked = included(), set()

    class Noting:
        def __getattr__(self, name):
            asked.add(name)
            return getattr(context, name)

    token = variable.set(Noting())
    try:
        context.original_route.get_route_handler()
    finally:
        variable.reset(token)
    return "dependant" in asked


def adds_by_it():
    server, added = FastMCP("a"), []
    vars(server.local_provider)["_add_component"] = lambda one: added.append(one.name) or one
    server.tool(name="b")(rows)
    server.add_tool(Tool.from_function(rows, name="c"))
    return added == ["b", "c"]


CANARIES = {
    "Tool._run": lambda: inspect.iscoroutinefunction(Tool._run),
    "Resource._read": lambda: (
        inspect.iscoroutinefunction(Resource._read) and inspect.iscoroutinefunction(ResourceTemplate._read)
    ),
    "FastMCPProviderTool._server": knows_its_server,
    "FastMCP._mask_error_details": lambda: (
        FastMCP("a", mask_error_details=True)._mask_error_details
        and not FastMCP("b", mask_error_details=False)._mask_error_details
    ),
    "FastMCP._mcp_server": lambda: isinstance(FastMCP("a")._mcp_server, Server) and FastMCP("a")._mcp_server.middleware,
    "FastMCPRequestContext._srctx": lambda: "_srctx" in inspect.signature(FastMCPRequestContext).parameters,
    "LocalProvider._add_component": adds_by_it,
    "MCPServer._tool_manager": lambda: isinstance(MCPServer("a")._tool_manager, ToolManager),
    "MCPServer._resource_manager": lambda: isinstance(MCPServer("a")._resource_manager, ResourceManager),
    "MCPServer._apply_extension": lambda: (
        list(inspect.signature(MCPServer._apply_extension).parameters)[1:] == ["extension"]
    ),
    "ServerSession._connection": lambda: ServerSession("a request", Connection(None, protocol_version="1"))._connection,
    "ServerSession._request_outbound": lambda: (
        ServerSession("a request", Connection(None, protocol_version="1"))._request_outbound == "a request"
    ),
    "RouteContext._effective_route": lambda: included()._effective_route.path == "/one",
    "routing._effective_route_context_var": lambda: makes_it_for(routing._effective_route_context_var),
    "Request._body": lambda: asyncio.run(body_read()) == b"read",
}


@pytest.mark.parametrize(("library", "name", "why", "seen"), rows(), ids=[row[1] for row in rows()])
def test_a_private_name_is_still_there(library, name, why, seen):
    try:
        is_there = CANARIES[name]()
    except AttributeError:
        is_there = False
    assert is_there, f"{library} {version(library)} has no {name} as it was in {seen}; needed for: {why}"


def test_every_private_name_was_seen_in_the_version_that_is_installed():
    assert {name: seen for library, name, _, seen in rows() if version(library) not in seen} == {}
