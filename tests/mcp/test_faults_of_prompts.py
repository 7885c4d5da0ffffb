"""Prompts that cannot be given: whose fault it is, and that nobody reads what is nobody's business."""

import fastmcp
import mcp
import pytest
from fastmcp.exceptions import PromptError
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from aerogram.errors import NotFound
from aerogram.fastmcp import install as install_fastmcp
from aerogram.mcp import install as install_sdk
from aerogram.telemetry import Observer

INVALID_PARAMS, INTERNAL_ERROR = -32602, -32603
SECRET = "hunter2hunter2"


class Row(BaseModel):
    number: int


def on_fastmcp(**settings):
    server = fastmcp.FastMCP("prompts", mask_error_details=settings.pop("hidden", False))
    install_fastmcp(server, **settings)
    return server, server.prompt, fastmcp.Client


def on_sdk(**settings):
    settings.pop("hidden", None)
    server = MCPServer("prompts")
    install_sdk(server, **settings)
    return server, server.prompt(), mcp.Client


FRAMEWORKS = pytest.mark.parametrize("make", [on_fastmcp, on_sdk])
SETTINGS = pytest.mark.parametrize(
    "settings", [{}, {"dialect": "response-v2"}, {"mask_errors": True}, {"hidden": True}], ids=str
)


async def refused(made, name, arguments=None):
    server, _, client_of = made
    async with client_of(server) as client:
        with pytest.raises(MCPError) as caught:
            await client.get_prompt(name, arguments)
    return caught.value.error


@FRAMEWORKS
async def test_an_exception_that_is_raised_from_itself_is_answered(make):
    """As in `except OSError as error: raise error from error`; whoever looks for its causes comes to an end."""
    made = make(observer=Observer())

    def crash() -> str:
        try:
            raise OSError("no disk")
        except OSError as error:
            raise error from error

    made[1](crash)
    made[0].resource("data://crash")(crash)
    assert (await refused(made, "crash")).data["code"] == "INTERNAL_ERROR"
    async with made[2](made[0]) as client:
        with pytest.raises(MCPError, match="the log has it"):
            await client.read_resource("data://crash")


@FRAMEWORKS
@SETTINGS
async def test_what_the_handler_of_a_prompt_raises_is_for_the_log_alone(make, settings, caplog):
    made = make(**settings)

    def crash() -> str:
        raise RuntimeError(f"password={SECRET} in /srv/app/settings.py")

    def model() -> str:
        return str(Row(number=SECRET))

    made[1](crash)
    made[1](model)
    for name in ("crash", "model"):
        error = await refused(made, name)
        assert (error.code, error.data["code"]) == (INTERNAL_ERROR, "INTERNAL_ERROR")
        assert error.message.rpartition(" ")[2] in caplog.text
        assert SECRET not in str(error) and "/srv" not in str(error)


@FRAMEWORKS
@SETTINGS
async def test_what_is_declared_of_a_prompt_reaches_its_caller(make, settings):
    made = make(**settings)

    def brief(topic: str) -> str:
        raise NotFound(f"nothing is known of {topic}", remediation="list_topics has the topics")

    made[1](brief)
    error = await refused(made, "brief", {"topic": "tea"})
    assert (error.code, error.message) == (INVALID_PARAMS, "nothing is known of tea")
    assert (error.data["code"], error.data["remediation"]) == ("NOT_FOUND", "list_topics has the topics")
    missing = await refused(made, "brief")
    assert (missing.code, missing.data["code"]) == (INVALID_PARAMS, "VALIDATION_ERROR")
    assert "topic" in missing.message


@SETTINGS
async def test_a_prompt_error_of_fastmcp_keeps_its_own_words(settings):
    made = on_fastmcp(**settings)

    def closed() -> str:
        raise PromptError("closed on Mondays") from RuntimeError(SECRET)

    made[1](closed)
    error = await refused(made, "closed")
    assert error.message == "closed on Mondays" and SECRET not in str(error)
