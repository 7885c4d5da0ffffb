"""The cache over MCP: callers whom nobody has authenticated are told apart by what their requests show."""

from itertools import count

import pytest
from fastmcp import FastMCP
from mcp.server import MCPServer
from starlette.testclient import TestClient

from aerogram import fastmcp, mcp
from aerogram.contract.cache import Cache

ACCEPT = {"accept": "application/json, text/event-stream"}
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "visit", "arguments": {}}}


def by_fastmcp(visit, **settings):
    server = FastMCP("visits")
    fastmcp.install(server, **settings)
    server.tool(visit)
    return server.http_app(stateless_http=True, json_response=True)


def by_sdk(visit, **settings):
    server = MCPServer("visits")
    mcp.install(server, **settings)
    server.tool()(visit)
    return server.streamable_http_app(stateless_http=True, json_response=True)


@pytest.fixture(params=[by_fastmcp, by_sdk])
def ask(request):
    """Ask for the number of a visit, with these headers."""
    visits = count(1)

    def visit() -> dict[str, int]:
        return {"number": next(visits)}

    app = request.param(visit, dialect="response-v2", cache=Cache.in_memory(), cached={"visit"})
    with TestClient(app, base_url="http://localhost:8000") as client:

        def ask(**headers):
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            answer = client.post("/mcp", json=CALL, headers={**ACCEPT, **sent}).json()
            return answer["result"]["structuredContent"]["data"]["number"]

        yield ask


def test_callers_who_show_different_credentials_share_no_answer(ask):
    shown = [
        {"authorization": "Bearer ada"},
        {"authorization": "Bearer bob"},
        {"x_api_key": "k"},
        {"x_user_id": "7"},
        {"cookie": "session=1"},
        {},
    ]
    assert [ask(**one) for one in shown] == [1, 2, 3, 4, 5, 6]
    assert [ask(**one) for one in shown] == [1, 2, 3, 4, 5, 6]


def test_what_says_nothing_about_the_caller_is_not_looked_at(ask):
    assert ask(x_request_id="1", user_agent="a") == ask(x_request_id="2", user_agent="b") == 1


def test_a_request_to_another_host_gets_an_answer_of_its_own(ask):
    assert ask(host="localhost:8000") != ask(host="127.0.0.1:8000")


def test_a_notice_about_a_number_is_said_once():
    server = FastMCP("numbers")
    fastmcp.install(server, dialect="response-v2", cache=Cache.in_memory(), cached={"visit"})
    server.tool(lambda: {"account": 2**70}, name="visit")
    with TestClient(server.http_app(stateless_http=True, json_response=True)) as client:
        for _ in range(2):
            said = client.post("/mcp", json=CALL, headers=ACCEPT).json()["result"]["structuredContent"]
            assert said["data"] == {"account": 2**70}
            assert len(said["meta"]["warnings"]) == 1
