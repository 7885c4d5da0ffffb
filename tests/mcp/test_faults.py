"""What handlers raise and what failed further in, where payloads are bare: in their own words, with a kind."""

import json
import re
import sqlite3
import urllib.error
from email.message import Message
from pathlib import Path

import asyncpg
import fastmcp
import httpx
import pydantic
import pytest
import redis
import requests
import sqlalchemy
from fastmcp.exceptions import ToolError
from fastmcp.tools import ToolResult
from mcp import Client as SdkClient
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError as SdkToolError
from mcp_types import TextContent

import aerogram.mcp
from aerogram import register_exception
from aerogram._mcp.faults import code_in, shorten_paths
from aerogram.fastmcp import install

PROBLEM = "dev.aerogram/problem"


async def failed(raised, *, made=None, arguments=None, **settings):
    """What a client gets of a tool that raises something, or returns it."""
    server = made or fastmcp.FastMCP("faults")

    @server.tool
    def fail(path: str = "") -> str:
        if isinstance(raised, BaseException):
            raise raised
        return raised(path)

    install(server, dialect="bare", **settings)
    async with fastmcp.Client(server) as client:
        return await client.call_tool("fail", arguments or {}, raise_on_error=False)


def told(result):
    assert result.is_error
    return result.meta[PROBLEM], result.content[0].text


async def test_a_tool_error_reaches_the_model_with_its_message():
    problem, text = told(await failed(ToolError("the ledger of 2024 is closed")))
    assert text.startswith("the ledger of 2024 is closed")
    assert (problem["code"], problem["retryable"]) == ("TOOL_ERROR", False) and "TOOL_ERROR" in text


async def test_a_tool_error_of_the_sdk_reaches_the_model_and_a_crash_stays_masked_as_the_sdk_has_it():
    server = MCPServer("faults")

    @server.tool()
    def fail(how: str) -> str:
        raise {
            "said": SdkToolError("closed since May"),
            "crash": ValueError("hush"),
            "file": FileNotFoundError("hush"),
        }[how]

    aerogram.mcp.install(server, dialect="bare")
    async with SdkClient(server) as client:
        said, crash, file = [await client.call_tool("fail", {"how": how}) for how in ("said", "crash", "file")]
    assert said.content[0].text.startswith("closed since May") and said.meta[PROBLEM]["code"] == "TOOL_ERROR"
    assert crash.meta[PROBLEM]["code"] == "INTERNAL_ERROR" and "hush" not in crash.model_dump_json()
    assert file.meta[PROBLEM]["code"] == "NOT_FOUND" and "hush" not in file.model_dump_json()


async def test_an_exception_keeps_its_words_where_the_server_shows_them():
    problem, text = told(await failed(ValueError("Unknown currency: XYZ")))
    assert text.startswith("Unknown currency: XYZ") and (problem["code"], problem["retryable"]) == ("TOOL_ERROR", False)
    assert told(await failed(KeyError("sheet")))[1].startswith("KeyError: 'sheet'")
    assert told(await failed(RuntimeError()))[1].startswith("RuntimeError")


CAUSE = "main.c:9: error: 'foo' undeclared"
BUILD = "\n".join([*(f"mod_{n}.c:{n}: warning: unused variable 'x{n}'" for n in range(200)), CAUSE])


@pytest.mark.parametrize("kind", [RuntimeError, ToolError])
async def test_long_words_of_an_exception_are_whole_or_have_both_ends_and_a_way_to_the_rest(kind):
    assert told(await failed(kind(BUILD)))[1].startswith(BUILD)
    server = fastmcp.FastMCP("faults")
    _, text = told(await failed(kind(BUILD), made=server, budget=500))
    first, last = text.splitlines()[0], text.partition(" chars]\n")[2].partition("\nerror: ")[0]
    assert BUILD.startswith(first) and BUILD.endswith(last) and last.endswith(CAUSE)
    assert f"[+{len(BUILD) - len(text.partition('… [+')[0]) - len(last)} chars]" in text
    async with fastmcp.Client(server) as client:
        rest = {"hash": re.search(r"retrieve\(hash='(\w+)'\)", text)[1], "as_text": True, "offset": -300}
        assert CAUSE in (await client.call_tool("retrieve", rest)).content[0].text


@pytest.mark.parametrize("how", ["server", "contract", "both"])
async def test_a_server_or_a_contract_that_masks_is_enough(how):
    made = fastmcp.FastMCP("faults", mask_error_details=how != "contract")
    result = await failed(ValueError("hush"), made=made, mask_errors=how != "server")
    assert told(result)[0]["code"] == "INTERNAL_ERROR" and "hush" not in str(result)
    made = fastmcp.FastMCP("faults", mask_error_details=how != "contract")
    result = await failed(PermissionError("hush"), made=made, mask_errors=how != "server")
    assert told(result)[0]["code"] == "FORBIDDEN" and "hush" not in str(result)


async def test_a_masked_server_that_is_mounted_stays_masked():
    inner, outer = fastmcp.FastMCP("inner", mask_error_details=True), fastmcp.FastMCP("outer")

    @inner.tool
    def crash() -> str:
        raise ValueError("hush")

    outer.mount(inner, "in")
    install(outer, dialect="bare")
    async with fastmcp.Client(outer) as client:
        result = await client.call_tool("in_crash", raise_on_error=False)
    assert told(result)[0]["code"] == "INTERNAL_ERROR" and "hush" not in str(result)


async def test_contract_dialects_mask_as_ever():
    server = fastmcp.FastMCP("faults")

    @server.tool
    def fail() -> str:
        raise FileNotFoundError("hush")

    install(server, dialect="response-v2")
    async with fastmcp.Client(server) as client:
        result = await client.call_tool("fail", raise_on_error=False)
    assert result.structured_content["data"]["error_code"] == "INTERNAL_ERROR" and "hush" not in str(result)


async def test_secrets_and_paths_of_the_machine_are_not_told():
    said = "cannot open '/srv/ann/my app/data.db' with password=hunter2secret, see /var/log/app/today.log"
    problem, text = told(await failed(RuntimeError(said)))
    assert "hunter2secret" not in text and "/srv/ann" not in text and "/var/log" not in text
    assert "'…/data.db'" in text and "…/today.log" in text and "hunter2secret" not in str(problem)


async def test_a_path_that_the_caller_sent_is_told_as_it_was_sent():
    def missing(path):
        return Path(path).read_text()

    problem, text = told(await failed(missing, arguments={"path": "/srv/none/here.txt"}))
    assert "/srv/none/here.txt" in text and problem["code"] == "NOT_FOUND"


@pytest.mark.parametrize(
    "text",
    ["see https://example.org/a/b/c.html", "text/html or and/or", "</p> 3/4 of /tmp", "5 km/h, a/b/c", "//comment"],
)
def test_what_is_no_path_stays(text):
    assert shorten_paths(text, {}) == text


def of_httpx(status, **headers):
    request = httpx.Request("GET", "https://api.example.org/v1")
    return httpx.HTTPStatusError("said so", request=request, response=httpx.Response(status, headers=headers))


def of_requests(status):
    response = requests.Response()
    response.status_code = status
    return requests.HTTPError("said so", response=response)


def of_library(module, name, base=Exception, **known):
    """An exception as a library makes it that is not installed here."""
    return type(name, (type("Above", (base,), {"__module__": module}),), {"__module__": module, **known})("said so")


def of_sqlite(statement):
    try:
        sqlite3.connect(":memory:").executescript(statement)
    except sqlite3.Error as error:
        return error


def of_sqlalchemy(statement):
    try:
        with sqlalchemy.create_engine("sqlite://").connect() as connection:
            connection.execute(sqlalchemy.text(statement))
    except sqlalchemy.exc.SQLAlchemyError as error:
        return error


def of_json():
    try:
        json.loads("{")
    except ValueError as error:
        return error


def of_pydantic():
    try:
        pydantic.TypeAdapter(int).validate_python("many")
    except ValueError as error:
        return error


def of_botocore(code, status):
    said = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return of_library("botocore.exceptions", "ClientError", response=said)


KINDS = [
    (of_httpx(404), "NOT_FOUND"),
    (of_httpx(401), "UNAUTHORIZED"),
    (of_httpx(429), "RATE_LIMIT_EXCEEDED"),
    (of_httpx(503), "UNAVAILABLE"),
    (of_httpx(422), "VALIDATION_ERROR"),
    (httpx.ConnectError("said so"), "UNAVAILABLE"),
    (httpx.ReadTimeout("said so"), "UNAVAILABLE"),
    (of_requests(403), "FORBIDDEN"),
    (requests.ConnectionError("said so"), "UNAVAILABLE"),
    (requests.ReadTimeout("said so"), "UNAVAILABLE"),
    (of_library("aiohttp.client_exceptions", "ClientConnectionError"), "UNAVAILABLE"),
    (of_library("aiohttp.client_exceptions", "ClientResponseError", status=409), "CONFLICT"),
    (urllib.error.HTTPError("http://a.b", 410, "said so", Message(), None), "GONE"),
    (urllib.error.URLError("said so"), "UNAVAILABLE"),
    (of_sqlite("select * from absent"), "NOT_FOUND"),
    (of_sqlite("selec 1"), "VALIDATION_ERROR"),
    (of_sqlite("create table a (b unique); insert into a values (1); insert into a values (1)"), "CONFLICT"),
    (sqlite3.OperationalError("database is locked"), "UNAVAILABLE"),
    (of_sqlalchemy("select * from absent"), "NOT_FOUND"),
    (of_sqlalchemy("selec 1"), "VALIDATION_ERROR"),
    (sqlalchemy.exc.NoResultFound("said so"), "NOT_FOUND"),
    (asyncpg.UniqueViolationError("said so"), "CONFLICT"),
    (asyncpg.UndefinedTableError("said so"), "VALIDATION_ERROR"),
    (asyncpg.InsufficientPrivilegeError("said so"), "FORBIDDEN"),
    (asyncpg.CannotConnectNowError("said so"), "UNAVAILABLE"),
    (redis.ConnectionError("said so"), "UNAVAILABLE"),
    (redis.AuthenticationError("said so"), "UNAUTHORIZED"),
    (redis.ResponseError("said so"), "VALIDATION_ERROR"),
    (of_botocore("NoSuchKey", 404), "NOT_FOUND"),
    (of_botocore("AccessDenied", 403), "FORBIDDEN"),
    (of_botocore("ThrottlingException", 400), "RATE_LIMIT_EXCEEDED"),
    (of_library("botocore.exceptions", "NoCredentialsError"), "UNAUTHORIZED"),
    (of_library("botocore.exceptions", "EndpointConnectionError"), "UNAVAILABLE"),
    (of_json(), "INVALID_FORMAT"),
    (of_pydantic(), "VALIDATION_ERROR"),
    (FileExistsError("said so"), "ALREADY_EXISTS"),
    (IsADirectoryError("said so"), "VALIDATION_ERROR"),
    (ConnectionRefusedError("said so"), "UNAVAILABLE"),
    (TimeoutError("said so"), "UNAVAILABLE"),
    (TimeoutError(), "UNAVAILABLE"),
    (ExceptionGroup("several", [FileNotFoundError("said so")]), "NOT_FOUND"),
    (OSError("said so"), "TOOL_ERROR"),
    (ZeroDivisionError("said so"), "TOOL_ERROR"),
]


async def test_exceptions_of_other_libraries_get_their_kind_and_keep_their_words():
    server, raised = fastmcp.FastMCP("faults"), dict(enumerate(error for error, _ in KINDS))

    @server.tool
    def fail(number: int) -> str:
        raise raised[number]

    install(server, dialect="bare")
    async with fastmcp.Client(server) as client:
        results = [await client.call_tool("fail", {"number": at}, raise_on_error=False) for at in raised]
    found = [
        (type(error).__name__, result.meta[PROBLEM]["code"]) for (error, _), result in zip(KINDS, results, strict=True)
    ]
    assert found == [(type(error).__name__, code) for error, code in KINDS]
    silent = [
        str(error)
        for (error, _), result in zip(KINDS, results, strict=True)
        if "said so" in str(error) and "said so" not in result.content[0].text
    ]
    assert silent == []


async def test_a_service_that_says_how_long_to_wait_is_believed():
    problem, _ = told(await failed(of_httpx(429, **{"Retry-After": "7"})))
    assert (problem["retry_after"], problem["retryable"]) == (7, True)


async def test_what_an_author_has_registered_goes_first(monkeypatch):
    import aerogram.problems

    monkeypatch.setattr(aerogram.problems, "_RULES", dict(aerogram.problems._RULES))

    class Closed(FileNotFoundError):
        pass

    register_exception(Closed, "CONFLICT", tell=False)
    result = await failed(Closed("hush"))
    assert told(result)[0]["code"] == "CONFLICT" and "hush" not in str(result)


NAMED = [
    ("the path", "/srv/shop/{}", {"path": "notes/none.txt"}, "NOT_FOUND"),
    ("a folder above it", "/srv/shop/{}/orders.json", {"path": "ann-2024"}, "NOT_FOUND"),
    ("a word of its name", "/srv/shop/invoice-{}.json", {"path": "7"}, "NOT_FOUND"),
    ("nothing", "/srv/shop/parts.db", {}, "TOOL_ERROR"),
    ("something else", "/srv/shop/parts.db", {"path": "steel"}, "TOOL_ERROR"),
]


@pytest.mark.parametrize(("path", "arguments", "code"), [one[1:] for one in NAMED], ids=[one[0] for one in NAMED])
async def test_a_file_that_is_missing_is_the_caller_s_where_it_has_named_it(path, arguments, code):
    """A tool whose own database is not there has not been asked for anything that does not exist."""
    problem, text = told(await failed(lambda given: Path(path.format(given)).read_text(), arguments=arguments))
    assert problem["code"] == code and "No such file" in text
    assert ("Verify the identifier" in text) == (code == "NOT_FOUND")


async def test_a_missing_file_of_the_server_says_nothing_of_an_identifier_where_words_are_hidden():
    made = fastmcp.FastMCP("faults", mask_error_details=True)
    result = await failed(lambda _: Path("/srv/shop/parts.db").read_text(), made=made)
    problem, text = told(result)
    assert (problem["code"], problem["retry"]) == ("INTERNAL_ERROR", "no")
    assert "dentifier" not in text and "parts.db" not in text


# Failures that came as results

SAYINGS = [
    ("Error: ENOENT: no such file or directory, open 'x.txt'", "NOT_FOUND"),
    ("Access denied - path outside allowed directories: /etc not in /srv", "FORBIDDEN"),
    ("Request failed with status code 429", "RATE_LIMIT_EXCEEDED"),
    ("Could not resolve host: connection refused", "UNAVAILABLE"),
    ("Table users already exists", "ALREADY_EXISTS"),
    ("1 validation error for GitStatus", "VALIDATION_ERROR"),
    ("Missing required parameter: repo_path", "MISSING_REQUIRED"),
    ("HTTP 401 from the service", "UNAUTHORIZED"),
    ("The horse has bolted", "TOOL_ERROR"),
]


@pytest.mark.parametrize(("text", "code"), SAYINGS)
def test_the_words_of_a_failure_give_its_code(text, code):
    assert code_in(text) == code


async def test_a_failure_without_a_code_gets_one_and_keeps_its_text():
    problem, text = told(await failed(lambda _: ToolResult(content=SAYINGS[0][0], is_error=True)))
    assert text.startswith(SAYINGS[0][0]) and problem["code"] == "NOT_FOUND" and "NOT_FOUND" in text


async def test_a_failure_of_several_blocks_keeps_them_all():
    blocks = [TextContent(type="text", text=word) for word in ("rate limit reached", "see the dashboard")]
    own = ToolResult(content=blocks, structured_content={"left": 0}, meta={"own": 1}, is_error=True)
    result = await failed(lambda _: own)
    assert [block.text for block in result.content[:2]] == ["rate limit reached", "see the dashboard"]
    assert "RATE_LIMIT_EXCEEDED" in result.content[2].text and len(result.content) == 3
    assert result.structured_content == {"left": 0} and result.meta["own"] == 1
    assert result.meta[PROBLEM]["code"] == "RATE_LIMIT_EXCEEDED"


async def test_a_failure_that_has_a_code_is_left_alone():
    own = ToolResult(content="gone", meta={PROBLEM: {"code": "MINE"}}, is_error=True)
    result = await failed(lambda _: own)
    assert [block.text for block in result.content] == ["gone"] and result.meta[PROBLEM] == {"code": "MINE"}
