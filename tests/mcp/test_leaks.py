"""What a crash says stays inside: no client reads a trace, a path or a password, and the log has all of it."""

import json
import logging

import fastmcp
import mcp
import mcp_types
import pytest
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer

import aerogram.fastmcp
import aerogram.mcp

SAID = "cannot reach postgres://app:hunter2hunter2@db.internal/ledger, as /srv/ann/billing/settings.py has it"


def crash() -> dict[str, int]:
    """Read the ledger."""
    try:
        raise OSError(SAID)
    except OSError as error:
        raise RuntimeError(SAID) from error


def on_fastmcp(**settings):
    server = fastmcp.FastMCP("ledger", **settings)
    return server, aerogram.fastmcp, fastmcp.Client, server.tool


def on_masked_fastmcp():
    return on_fastmcp(mask_error_details=True)


def on_sdk():
    server = MCPServer("ledger")
    return server, aerogram.mcp, mcp.Client, server.add_tool


def on_low_level():
    async def list_tools(ctx, params):
        return mcp_types.ListToolsResult(tools=[mcp_types.Tool(name="crash", input_schema={"type": "object"})])

    async def call_tool(ctx, params):
        return crash()

    server = Server("ledger", on_list_tools=list_tools, on_call_tool=call_tool)
    return server, aerogram.mcp, mcp.Client, lambda _: None


@pytest.mark.parametrize("dialect", ["bare", "response-v2"])
@pytest.mark.parametrize("make", [on_fastmcp, on_masked_fastmcp, on_sdk, on_low_level])
async def test_a_crash_tells_its_caller_nothing_and_the_log_everything(make, dialect, caplog):
    server, adapter, client_of, register = make()
    register(crash)
    adapter.install(server, dialect=dialect)
    with caplog.at_level(logging.ERROR):
        async with client_of(server) as client:
            ask = getattr(client, "call_tool_mcp", client.call_tool)
            result = await ask("crash", {})
    assert result.is_error
    sent = json.dumps(result.model_dump(mode="json", by_alias=True))
    for secret in ("hunter2", "/srv/ann", "/billing", "Traceback", __file__):
        assert secret not in sent
    logged = [one for one in caplog.records if one.exc_info and SAID in str(one.exc_info[1])]
    assert logged
    ids = {getattr(one, "request_id", None) for one in logged} - {None}
    assert any(one in sent for one in ids)
