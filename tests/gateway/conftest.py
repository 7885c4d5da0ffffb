"""A client, a gateway and a server behind it, each in a process or an event loop of its own."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from pathlib import Path

import anyio.from_thread
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client import session
from mcp.client.stdio import stdio_client

from programs import quick_command

session.DISCOVER_TIMEOUT_SECONDS = 120.0  # on a busy machine a client would take a server for one of the older kind

BEHIND = Path(__file__).with_name("behind.py")
PAIRS = [("legacy", "legacy"), ("legacy", "modern"), ("auto", "legacy"), ("auto", "modern")]
"""The era of the client and that of the server."""


def behind(era: str = "both", *more: str) -> list[str]:
    return quick_command(str(BEHIND), era, *more)


def gateway(*arguments: str, **environment: str) -> StdioServerParameters:
    """A gateway as a client starts it."""
    state = {"AEROGRAM_STATE": os.environ["AEROGRAM_STATE"], "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    program, *words = quick_command("-m", "aerogram", "wrap", *arguments)
    return StdioServerParameters(command=program, args=words, env={**state, **environment})


class Person:
    """Whoever sits before the client: answers what is asked, and keeps what is told."""

    name = "Ada"

    def __init__(self):
        self.logs, self.news = [], []
        self.heard = asyncio.Event()

    async def elicit(self, *_):
        return types.ElicitResult(action="accept", content={"name": self.name})

    async def sample(self, _, params):
        content = types.TextContent(type="text", text=f"{params.messages[0].content.text}!")
        return types.CreateMessageResult(role="assistant", content=content, model="test")

    async def roots(self, _):
        return types.ListRootsResult(roots=[types.Root(uri="file:///somewhere")])

    async def log(self, params):
        self.logs.append(params)

    async def hear(self, message):
        self.news.append(message)
        self.heard.set()

    def methods(self):
        return [getattr(one, "method", None) for one in self.news]


@asynccontextmanager
async def connect(server, mode="auto", person=None):
    """A client of the SDK on a gateway."""
    person = person or Person()
    transport = stdio_client(server) if isinstance(server, StdioServerParameters) else server
    async with Client(
        transport,
        mode=mode,
        elicitation_callback=person.elicit,
        sampling_callback=person.sample,
        list_roots_callback=person.roots,
        logging_callback=person.log,
        message_handler=person.hear,
        log_level="info",
    ) as client:
        client.person = person
        yield client


class Talk:
    """A client whose connection outlives a test."""

    def __init__(self, portal, client, eras):
        self._portal, self.client, self.eras = portal, client, eras
        self.person = client.person

    def __call__(self, function, *arguments, **named):
        async def run():
            return await function(*arguments, **named)

        return self._portal.call(run)

    def tool(self, name, arguments=None, **named):
        return self(self.client.call_tool, name, arguments or {}, **named)

    def text(self, name, arguments=None, **named):
        (block,) = self.tool(name, arguments, **named).content
        return block.text


@pytest.fixture(scope="package", params=PAIRS, ids="-before-".join)
def talk(request):
    """A client before a gateway before a server, in every pair of eras."""
    front, back = request.param
    server = gateway("--budget", "2000", "--redact", "--", *behind(back))
    with (
        anyio.from_thread.start_blocking_portal() as portal,
        portal.wrap_async_context_manager(connect(server, front)) as client,
    ):
        yield Talk(portal, client, request.param)
