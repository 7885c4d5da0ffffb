"""Every handler that the document shows, run as it stands, gives the result that the document shows."""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import fastmcp
import mcp
import mcp.types
import orjson
import pytest
from mcp.server.mcpserver import MCPServer

import aerogram.fastmcp
import aerogram.mcp
from aerogram.normalize import Output, normalize_resource_payload, normalize_tool_result
from contracts.document_examples import Example, example, examples

SHOWN = [
    one
    for one in examples()
    if one.document == "result-normalization" and one.form in ("tool-result", "resource-result")
]


class Handlers(dict[str, Any]):
    """Stands for the server of the document: it keeps each handler with what its decorator was told."""

    def tool(self, **_: Any) -> Callable[[Any], Any]:
        return lambda handler: handler

    def resource(self, uri: str, mime_type: str | None = None) -> Callable[[Any], Any]:
        def keep(handler: Any) -> Any:
            self[handler.__name__] = (uri, mime_type)
            return handler

        return keep


@pytest.fixture
def handlers(monkeypatch: pytest.MonkeyPatch) -> Handlers:
    handlers = Handlers()
    package = types.ModuleType("openmcp")
    package.tool, package.resource = handlers.tool, handlers.resource
    monkeypatch.setitem(sys.modules, "openmcp", package)
    monkeypatch.setitem(sys.modules, "openmcp.types", mcp.types)
    return handlers


def handler_of(shown: Example, handlers: Handlers) -> Any:
    code, name = shown.result_of[:2]
    scope: dict[str, Any] = {**vars(mcp.types), "tool": handlers.tool, "resource": handlers.resource}
    run(code, scope)
    return scope[name]


def run(code: str, scope: dict[str, Any]) -> None:
    exec(compile(example(code).text(), code, "exec", dont_inherit=True), scope)


def arguments_of(shown: Example) -> list[Any]:
    return list(shown.result_of[2:]) or (["Alice"] if shown.result_of[1] == "greet" else [])


def comparable(wire: Any) -> Any:
    """The result with the JSON inside of texts read, for its spacing is free."""
    if isinstance(wire, dict):
        return {key: _text(value) if key == "text" else comparable(value) for key, value in wire.items()}
    return [comparable(item) for item in wire] if isinstance(wire, list) else wire


def _text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _normalising(handler: Any, arguments: list[Any]) -> Callable[[], Any]:
    async def normalised() -> Any:
        return normalize_tool_result(await handler(*arguments))

    return normalised


def fastmcp_client(
    tools: Mapping[str, Any], resources: Iterable[tuple[Any, str, str | None]] = (), **settings: Any
) -> Any:
    server = fastmcp.FastMCP("document")
    for name, handler in tools.items():
        server.tool(handler, name=name)
    for handler, uri, mime_type in resources:
        server.resource(uri, mime_type=mime_type)(handler)
    aerogram.fastmcp.install(server, dialect="bare", **settings)
    return fastmcp.Client(server)


def sdk_client(tools: Mapping[str, Any], resources: Iterable[tuple[Any, str, str | None]] = (), **settings: Any) -> Any:
    server = MCPServer("document")
    for name, handler in tools.items():
        server.add_tool(handler, name=name)
    for handler, uri, mime_type in resources:
        server.resource(uri, mime_type=mime_type)(handler)
    aerogram.mcp.install(server, dialect="bare", **settings)
    return mcp.Client(server)


@pytest.mark.parametrize("annotated", [False, True], ids=["plain", "annotated"])
@pytest.mark.parametrize("shown", [one for one in SHOWN if one.form == "tool-result"], ids=lambda one: one.id)
def test_tool_example_gives_its_result(shown: Example, annotated: bool, handlers: Handlers):
    """On the wire of 2025-06-18, the version that the document is written for."""
    handler = handler_of(shown, handlers)
    value = asyncio.run(handler(*arguments_of(shown)))
    returns = handler.__annotations__["return"] if annotated else None
    result = normalize_tool_result(value, returns=Output.of(returns))
    if isinstance(value, mcp.types.CallToolResult):
        assert result is value
        wire = value.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"is_error", "result_type"})
    else:
        wire = orjson.loads(result.to_bytes(1, "2025-06-18"))["result"]
    assert comparable(wire) == comparable(shown.value())


@pytest.mark.parametrize("make", [fastmcp_client, sdk_client])
async def test_tool_examples_give_their_results_through_a_server(make: Any, handlers: Handlers):
    """A handler that returns the normalised value is sent as the document shows it, by either framework."""
    shown = [one for one in SHOWN if one.form == "tool-result"]
    tools = {one.id: _normalising(handler_of(one, handlers), arguments_of(one)) for one in shown}
    async with make(tools) as client:
        call = client.call_tool_mcp if isinstance(client, fastmcp.Client) else client.call_tool
        for one in shown:
            found = await call(one.id, {})
            wire = found.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"meta", "result_type"})
            assert comparable(wire) == comparable({"isError": False, **one.value()})


@pytest.mark.parametrize("make", [fastmcp_client, sdk_client])
async def test_tool_examples_that_are_registered_as_they_stand_give_their_results(make: Any, handlers: Handlers):
    """With `normalize=True` nothing else is needed; the clients validate by the schemas that are listed."""
    shown = {one.id: one for one in SHOWN if one.form == "tool-result"}
    tools = {name: handler_of(one, handlers) for name, one in shown.items()}
    async with make(tools, normalize=True) as client:
        await client.list_tools()
        call = client.call_tool_mcp if isinstance(client, fastmcp.Client) else client.call_tool
        for name, one in shown.items():
            given = inspect.signature(tools[name]).parameters
            found = await call(name, dict(zip(given, arguments_of(one), strict=True)))
            wire = found.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"meta", "result_type"})
            assert comparable(wire) == comparable({"isError": False, **one.value()}), name


@pytest.mark.parametrize("shown", [one for one in SHOWN if one.form == "resource-result"], ids=lambda one: one.id)
def test_resource_example_gives_its_result(shown: Example, handlers: Handlers):
    """With the URI and the MIME type that the decorator was given."""
    handler = handler_of(shown, handlers)
    uri, mime_type = handlers[shown.result_of[1]]
    result = normalize_resource_payload(uri, mime_type, asyncio.run(handler()))
    assert comparable(orjson.loads(result.to_bytes(1, "2025-06-18"))["result"]) == comparable(shown.value())


@pytest.mark.parametrize("make", [fastmcp_client, sdk_client])
async def test_resource_examples_give_their_contents_through_a_server(make: Any, handlers: Handlers):
    """Handlers that are registered as they stand are read as the document shows it, from either framework."""
    shown = [one for one in SHOWN if one.form == "resource-result"]
    found = {one.id: (handler_of(one, handlers), *handlers[one.result_of[1]]) for one in shown}
    async with make({}, found.values()) as client:
        read = client.read_resource_mcp if isinstance(client, fastmcp.Client) else client.read_resource
        for one in shown:
            result = await read(found[one.id][1])
            wire = result.model_dump(mode="json", by_alias=True, exclude_none=True, include={"contents"})
            assert comparable(wire) == comparable(one.value())


def test_result_of_reading_passes_as_the_same_object(handlers: Handlers):
    scope: dict[str, Any] = {}
    run("normalize-code-resource-passthrough", scope)
    value = asyncio.run(scope["custom_resource"]())
    assert normalize_resource_payload("custom://response", None, value) is value


def test_dictionary_with_the_fields_of_a_result_becomes_it(handlers: Handlers):
    scope: dict[str, Any] = {"tool": handlers.tool}
    run("normalize-code-result-dict", scope)
    value = asyncio.run(scope["dict_result"]())
    assert normalize_tool_result(value).to_wire() == value


@pytest.mark.parametrize(("x", "is_error"), [(-1, True), (2, False)])
def test_handler_keeps_its_own_error_flag(handlers: Handlers, x: int, is_error: bool):
    scope: dict[str, Any] = {"tool": handlers.tool}
    run("normalize-code-error-flag", scope)
    value = asyncio.run(scope["risky_operation"](x))
    assert normalize_tool_result(value) is value and value.is_error is is_error
