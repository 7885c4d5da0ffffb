"""What `principal=` says and raises: an answer of the contract, in both frameworks and both eras."""

from __future__ import annotations

import pytest
from mcp.shared.exceptions import MCPError

from aerogram.errors import Forbidden, InvalidReply, RateLimited, Unauthenticated
from tool_servers import build


class Who:
    """A principal that can be made to fail, once its client is connected."""

    def __init__(self):
        self.fault = None
        self.answer = "ann"

    def __call__(self):
        if self.fault is not None:
            raise self.fault
        return self.answer


DECLARED = [
    (Forbidden("who are you?", remediation="log in"), "FORBIDDEN"),
    (Unauthenticated("no token"), "UNAUTHORIZED"),
    (RateLimited("slow down", retry_after=3), "RATE_LIMIT_EXCEEDED"),
]


@pytest.mark.parametrize(("fault", "code"), DECLARED, ids=[code for _, code in DECLARED])
async def test_what_a_principal_declares_keeps_its_meaning(door, fault, code):
    who = Who()
    async with door.open(principal=who) as client:
        assert (await client.call("rows")).structured_content["success"]
        who.fault = fault
        failed = await client.call("rows")
        with pytest.raises(MCPError) as listed:
            await client.tools()
    told = failed.structured_content["data"]
    assert failed.is_error and told["error_code"] == code and failed.structured_content["error"] == fault.message
    assert listed.value.error.message == fault.message and listed.value.error.data["code"] == code


@pytest.mark.parametrize("answer", [KeyError("x-user secret"), 5])
async def test_a_principal_that_breaks_is_masked(door, answer):
    """An exception of its own, or something that is no name: a failure of the server, whose words stay in the log."""
    who = Who()
    async with door.open(principal=who) as client:
        await client.tools()
        who.fault = answer if isinstance(answer, Exception) else None
        who.answer = answer
        failed = await client.call("rows")
        with pytest.raises(MCPError) as listed:
            await client.tools()
    assert failed.is_error and failed.structured_content["data"]["error_code"] == "INTERNAL_ERROR"
    assert listed.value.error.data["code"] == "INTERNAL_ERROR"
    assert "secret" not in f"{failed.structured_content}{failed.content}{listed.value.error}"


@pytest.mark.parametrize("framework", ["fastmcp", "sdk"])
def test_an_async_principal_is_refused_at_once(framework):
    async def who():
        return "ann"

    with pytest.raises(InvalidReply, match="not async"):
        build(framework, principal=who)
