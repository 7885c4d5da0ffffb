"""Installing on an MCP server: what cannot work is refused at once, and names that nothing has are told."""

import logging
from functools import partial

import fastmcp
import mcp
import pytest
from fastmcp import FastMCP
from mcp.server.mcpserver import MCPServer

import aerogram.fastmcp
import aerogram.mcp
from aerogram import Contract, read
from aerogram.contract.cache import Cache
from aerogram.contract.deprecation import Deprecations
from aerogram.errors import AerogramError, InvalidReply
from aerogram.limits import Limits, Plan
from aerogram.sanitize import Redaction
from aerogram.shape.modes import RecordType
from aerogram.tokens import Budget, find_counter
from hosts import HOSTS

INSTALLS = {FastMCP: aerogram.fastmcp.install, MCPServer: aerogram.mcp.install}
KIND = RecordType(["id"], ["id"], ["id"])

pytestmark = pytest.mark.anyio


@pytest.fixture(params=INSTALLS, ids=lambda framework: framework.__name__)
def framework(request):
    return request.param


def library(framework, **settings):
    """A server with two tools, one of which is there before Aerogram is."""
    server = framework("library")

    @server.tool()
    def search(words: str = "") -> list[str]:
        return [words]

    INSTALLS[framework](server, **settings)

    @server.tool()
    def list_books() -> list[str]:
        return []

    return server


async def listed(server):
    client = fastmcp.Client if isinstance(server, FastMCP) else mcp.Client
    async with client(server) as session:
        found = await session.list_tools()
        return [tool.name for tool in getattr(found, "tools", found)]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"channels": "x"}, "channels is one of mirror, summary, compact, text, not 'x'"),
        ({"dialect": "respnse-v2"}, "unknown dialect 'respnse-v2'; known: response-v2"),
        ({"offers": ["v9"]}, "unknown dialect 'v9'"),
        ({"schema": "fat"}, "schema is one of slim, full, own, or None, not 'fat'"),
        ({"budget": "plenty"}, "'plenty' is not a budget"),
        ({"budgets": {"search": 0}}, "a budget must be a whole number of at least 1"),
        ({"budget": 149}, "budget is 149, too small for bare: give it 150 tokens or more"),
        ({"budgets": {"search": 299}, "dialect": "standard-v2"}, "budgets['search'] is 299, too small for standard-v2"),
        (
            {"budget": "by-client 249", "dialect": "response-v2"},
            "too small for response-v2: give it 250 tokens",
        ),
        (
            {"budget": 399, "dialect": "response-v2", "offers": ["knowledge-1.0"]},
            "budget is 399, too small for knowledge-1.0: give it 400 tokens or more",
        ),
        ({"budget": "by-client 599 bytes"}, "budget is 599 bytes, too small for bare: give it 600 bytes or more"),
        (
            {"budget": Budget(399), "dialect": "knowledge-1.0"},
            "budget is 399, too small for knowledge-1.0: give it",
        ),
        ({"budget": Budget(900).within(Budget.of("500 bytes"))}, "too small for bare: give it 600 bytes or more"),
        (
            {"budget": Budget(150, find_counter("estimate"))},
            "give it 165 tokens (estimated: aerogram[tokens] counts them)",
        ),
        ({"budget": Budget(150, find_counter("claude"))}, "too small for bare: give it 173 tokens or more"),
        ({"controls": "search"}, "controls is True, a list of tools"),
        ({"controls": 5}, "controls is True, a list of tools"),
        ({"controls": {"search": ["max_tokns"]}}, "there is no control 'max_tokns'; there are response_mode"),
        ({"controls": {"search": True}}, "the controls of 'search' are a list of response_mode"),
        ({"cached": "search"}, "cached is a list of operations, such as ['search']"),
        ({"kinds": {"search": "book"}}, "kinds['search'] is a RecordType, not str"),
        ({"deprecations": {"search": "old"}}, "deprecations['search'] is a Deprecations, not str"),
        ({"bugdet": 100}, "there is no setting 'bugdet'; did you mean budget?"),
        ({"colour": "red"}, "there is no setting 'colour'; a Contract has dialect, budget"),
        ({"limits": Plan.of("5/day")}, "limits is a Limits, not Plan: Limits.in_memory(plan)"),
        ({"observer": True}, "observer is an Observer, not bool"),
        ({"cache": True}, "cache is a Cache, not bool"),
        ({"archive": "folder"}, "archive is an Archive, not str"),
        ({"cursors": b"key"}, "cursors is a Cursors, not bytes"),
        ({"sanitizers": Redaction()}, "sanitizers is a list of steps, such as [Redaction()], not Redaction"),
        ({"sanitizers": [Redaction]}, "sanitizers has steps such as Redaction(), not <class"),
        ({"budgets": [500]}, "budgets has a value for each operation, such as {'search': …}, not list"),
        ({"dialect": "problem"}, "the dialect problem says failures only"),
        ({"offers": "standard-v2"}, "offers is a list of dialects, such as ['standard-v2']"),
        ({"flags": {"response_contract_v2": False}}, "flags is a Flags, not dict"),
        ({"principal": "ann"}, "principal is a function that says who is calling, not 'ann'"),
        (
            {"dialect": "response-v2", "negotiate": "retrieve", "budget": 500},
            "negotiate and retrieve are both 'retrieve'",
        ),
        (
            {"dialect": "response-v2", "negotiate": "search"},
            "this server has a tool 'search' already: give ours another name with negotiate=",
        ),
        ({"retrieve": "search", "budget": 500}, "give ours another name with retrieve="),
        ({"contract": Contract(), "budget": 100}, "a contract is given, so budget belongs into it"),
        ({"contract": {"budget": 100}}, "contract is a Contract, not dict"),
    ],
    ids=lambda given: ", ".join(given) if isinstance(given, dict) else "",
)
def test_a_setting_that_cannot_work_is_refused_when_it_is_made(framework, settings, said):
    with pytest.raises(AerogramError) as refused:
        library(framework, **settings)
    assert said in str(refused.value)


def test_a_contract_refuses_its_own_settings_in_the_same_words():
    with pytest.raises(InvalidReply, match="channels is one of mirror"):
        Contract(channels="x")


def test_operations_to_cache_without_a_cache_are_told_in_the_log(framework, caplog):
    library(framework, cached=["search"])
    assert "cached names search, but there is no cache" in caplog.text


def test_a_second_install_says_that_it_is_the_second(framework):
    server = library(framework)
    with pytest.raises(InvalidReply, match="this server has Aerogram already"):
        INSTALLS[framework](server)


@pytest.mark.parametrize(("wanted", "given"), [(one, other) for one in INSTALLS for other in HOSTS if one is not other])
def test_a_server_of_another_kind_is_sent_to_its_own_module(wanted, given):
    with pytest.raises(InvalidReply, match=f"; for {HOSTS[given]}.install"):
        INSTALLS[wanted](given())


def test_what_is_no_server_at_all_is_named(framework):
    with pytest.raises(InvalidReply, match="not dict"):
        INSTALLS[framework]({})


@pytest.mark.parametrize("name", ["retrieve", "server"])
@pytest.mark.parametrize("is_late", [False, True], ids=["before", "after"])
async def test_a_tool_with_the_name_of_one_of_ours_is_refused_whenever_it_comes(framework, name, is_late):
    setting = {"retrieve": "retrieve", "server": "negotiate"}[name]

    def own(query: str) -> str:
        return query

    server = framework("library")
    steps = [
        partial(server.tool(name=name), own),
        partial(INSTALLS[framework], server, dialect="response-v2", budget=500),
    ]
    first, last = reversed(steps) if is_late else steps
    first()
    with pytest.raises(InvalidReply, match=f"another name.* with {setting}="):
        last()
    server = framework("library")
    INSTALLS[framework](server, dialect="response-v2", budget=500, **{setting: "more"})
    server.tool(name=name)(own)
    assert {name, "more"} <= set(await listed(server))


NAMING = [
    {"controls": ["serach"]},
    {"controls": {"serach": ["max_tokens"]}},
    {"budgets": {"serach": 2_000}},
    {"kinds": {"serach": KIND}},
    {"cached": ["serach"], "cache": Cache.in_memory()},
    {"deprecations": {"serach": Deprecations()}},
    {"limits": Limits.in_memory(Plan.of(per_tool={"serach": "5/minute", "prompts/get": "9/minute", "*": "9/minute"}))},
]


def warnings_in(caplog):
    return [one.getMessage() for one in caplog.records if one.name == "aerogram" and one.levelno == logging.WARNING]


@pytest.mark.parametrize("settings", NAMING, ids=lambda given: next(iter(given)))
async def test_a_tool_that_is_not_there_is_told_once_with_the_nearest_name(framework, settings, caplog):
    server = library(framework, **settings)
    assert not warnings_in(caplog)  # it may still come
    for _ in range(2):
        assert "search" in await listed(server)
    assert warnings_in(caplog) == [
        f"{next(iter(settings))} names 'serach', and there is no such tool; did you mean 'search'?"
    ]


async def test_where_nothing_is_near_the_tools_are_listed(framework, caplog):
    await listed(library(framework, budgets={"xyz": 2_000}, negotiate=None))
    assert warnings_in(caplog) == [
        "budgets names 'xyz', and there is no such tool; there are list_books, retrieve, search"
    ]


async def test_tools_that_are_there_or_come_later_are_not_told(framework, caplog):
    budgets = {"retrieve": 2_000, "list_books": 2_000, "server": 900}
    server = library(framework, dialect="response-v2", controls=["list_books", "search"], budgets=budgets)
    await listed(server)
    assert not warnings_in(caplog)


async def test_a_tool_that_can_be_called_unlisted_is_there(caplog):
    class Hiding(fastmcp.server.transforms.Transform):
        async def list_tools(self, tools):
            return [tool for tool in tools if tool.name != "search"]

    server = FastMCP("library", transforms=[Hiding()])

    @server.tool
    def search() -> list[str]:
        return []

    aerogram.fastmcp.install(server, budgets={"search": 2_000})
    assert "search" not in await listed(server)
    assert not warnings_in(caplog)


@pytest.mark.parametrize(
    ("settings", "dialect"),
    [
        ({}, "bare"),
        ({"budget": 2_000}, "bare"),
        ({"contract": Contract()}, "bare"),
        ({"contract": Contract(budget=2_000)}, "bare"),
        ({"dialect": "standard-v2"}, "standard-v2"),
        ({"contract": Contract(dialect="response-v2")}, "response-v2"),
    ],
)
def test_a_server_sends_payloads_alone_unless_a_dialect_is_named(framework, settings, dialect):
    assert INSTALLS[framework](framework("library"), **settings).contract.speaker.name == dialect


async def test_a_page_size_holds_without_an_envelope_too():
    server = FastMCP("library")
    server.tool(lambda: [{"id": number} for number in range(25)], name="search")
    aerogram.fastmcp.install(server, controls=True, page_sizes={"search": 10})
    async with fastmcp.Client(server) as client:
        first = read(await client.call_tool("search"))
        second = read(await client.call_tool("search", {"cursor": first.page.cursor}))
    assert (len(first.data), first.page.total, second.data[0]) == (10, 25, {"id": 10})
