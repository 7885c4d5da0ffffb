"""Tools that FastMCP makes of an OpenAPI document: what the service behind them does is told by its cause."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx2
import pytest
from fastmcp import Client, FastMCP

from aerogram.fastmcp import install

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
CODES = {
    "wrong": "VALIDATION_ERROR",
    "nobody": "UNAUTHORIZED",
    "closed": "FORBIDDEN",
    "missing": "NOT_FOUND",
    "gone": "NOT_FOUND",
    "taken": "CONFLICT",
    "busy": "RATE_LIMIT_EXCEEDED",
    "down": "UNAVAILABLE",
    "gateway": "UNAVAILABLE",
    "slow": "UNAVAILABLE",
    "unreachable": "UNAVAILABLE",
    "crash": "INTERNAL_ERROR",
}
STATUSES = {"wrong": 422, "nobody": 401, "closed": 403, "missing": 404, "gone": 410, "taken": 409, "gateway": 502}


def service(request: httpx2.Request) -> httpx2.Response:
    name = request.url.path.removeprefix("/")
    if name == "busy":
        return httpx2.Response(429, headers={"Retry-After": "7"})
    if name == "down":
        later = datetime.now(UTC) + timedelta(hours=1)
        return httpx2.Response(503, headers={"Retry-After": format_datetime(later, usegmt=True)})
    if name == "slow":
        raise httpx2.ReadTimeout("a secret", request=request)
    if name == "unreachable":
        raise httpx2.ConnectError("a secret", request=request)
    if name == "crash":
        return httpx2.Response(500, text="Traceback of a secret")
    return httpx2.Response(STATUSES[name], json={"detail": f"it is {name}"})


def server() -> FastMCP[Any]:
    routes = {f"/{name}": {"get": {"operationId": name, "responses": {"200": {"description": "ok"}}}} for name in CODES}
    document = {"openapi": "3.1.0", "info": {"title": "service", "version": "1"}, "paths": routes}
    client = httpx2.AsyncClient(transport=httpx2.MockTransport(service), base_url="http://service")
    made: FastMCP[Any] = FastMCP.from_openapi(document, client=client)
    install(made, dialect="response-v2")

    @made.tool
    def by_hand() -> dict[str, Any]:
        request = httpx2.Request("GET", "http://internal/secret")
        httpx2.Response(404, request=request).raise_for_status()
        return {}

    return made


@ERAS
async def test_failures_behind_a_tool_keep_their_cause(era: str) -> None:
    async with Client(server(), mode=era) as client:
        failed = {name: await client.call_tool(name, raise_on_error=False) for name in CODES}
    told = {name: one.structured_content["data"] for name, one in failed.items()}
    assert all(one.is_error for one in failed.values())
    assert {name: one["error_code"] for name, one in told.items()} == CODES
    assert all(f"it is {name}" in failed[name].structured_content["error"] for name in STATUSES if name != "gateway")
    assert "secret" not in str([one.structured_content for one in failed.values()])


@ERAS
async def test_how_long_to_wait_is_what_the_service_says(era: str) -> None:
    async with Client(server(), mode=era) as client:
        busy, down = [await client.call_tool(name, raise_on_error=False) for name in ("busy", "down")]
    assert busy.meta["dev.aerogram/problem"]["retry_after"] == 7
    assert 3_000 < down.meta["dev.aerogram/problem"]["retry_after"] <= 3_600


@ERAS
async def test_a_status_that_a_handler_did_not_expect_is_its_own_failure(era: str) -> None:
    """Only of tools that are made of routes the status is the answer."""
    async with Client(server(), mode=era) as client:
        failed = await client.call_tool("by_hand", raise_on_error=False)
    assert failed.structured_content["data"]["error_code"] == "INTERNAL_ERROR"
    assert "internal/secret" not in str(failed.structured_content)
