"""The tools, over stdio and streamable HTTP, with the official clients, in both eras of the protocol."""

import json
from contextlib import asynccontextmanager

import fastmcp
import httpx
import mcp
import pytest
from fastmcp.client.transports import StdioTransport
from mcp.shared.exceptions import MCPError
from splintr import Tokenizer

from aerogram import dialects
from aerogram._mcp.negotiation import EXTENSION
from aerogram.client import AsyncClient
from aerogram.digest import payload_of, verify
from aerogram.tokens import Budget
from programs import quick_command
from serving import clean_environment, command
from tool_servers import Talk, talk

TOOLS = ["digest_document", "find_vendor_info", "get_chunks", "retrieve", "semantic_search", "server"]

both_clients = pytest.mark.parametrize("framework", ["fastmcp", "sdk"])
both_eras = pytest.mark.parametrize("mode", ["auto", "legacy"])


@asynccontextmanager
async def over_stdio(framework, mode, index):
    program, *arguments = command(index, "--stdio", program=quick_command("-m", "aerogram"))
    environment = clean_environment(index)
    if framework == "fastmcp":
        target = StdioTransport(program, arguments, env=environment, keep_alive=False)
    else:
        target = mcp.StdioServerParameters(command=program, args=arguments, env=environment)
    async with talk(framework, target, mode) as server:
        yield server


def body_of(result):
    """The reply in the structured content, which keeps its contract to the letter."""
    dialects.validate(result.structured_content)
    return result.structured_content


async def converse(server: Talk):
    """Search, page to the end, fetch back what was dropped, digest and verify."""
    asked = {"query": "token", "response_mode": "ids_only", "page_size": 15}
    page = body_of(await server.call("semantic_search", asked))
    total = page["pagination"]["total_available"]
    seen = [row["chunk_id"] for row in page["results"]]
    while page["pagination"]["has_more"]:
        page = body_of(await server.call("semantic_search", {**asked, "cursor": page["pagination"]["cursor"]}))
        seen += [row["chunk_id"] for row in page["results"]]
    assert len(seen) == len(set(seen)) == total > 15

    client = AsyncClient(server.client)
    tight = await client.call("semantic_search", {**asked, "response_mode": "full", "max_tokens": 1_200})
    assert (tight.status, tight.page.has_more, len(tight.data) < 15) == ("partial", True, True)
    assert [row["chunk_id"] for row in tight.data] == seen[: len(tight.data)]
    walk = client.items("semantic_search", {**asked, "response_mode": "full", "max_tokens": 4_000}, whole=True)
    whole = [row async for row in walk]
    assert [row["chunk_id"] for row in whole] == seen
    assert all(row["chunk_text"] for row in whole)
    assert [row["chunk_text"] for row in tight.data] == [row["chunk_text"] for row in whole[: len(tight.data)]]
    several = await client.call("get_chunks", {"chunk_ids": seen[:15], "response_mode": "full", "max_tokens": 1_200})
    assert (several.status, len(several.data) < 15) == ("partial", True)
    back = (await client.recover(several))["data"]
    assert [row["chunk_text"] for row in back] == [row["chunk_text"] for row in whole[:15]]

    named = body_of(await server.call("retrieve", {"ids": [seen[1], str(seen[0])], "response_mode": "ids_only"}))
    assert [row["chunk_id"] for row in named["results"]] == [seen[1], seen[0]]

    best = whole[0]
    read = body_of(await server.call("get_chunks", {"chunk_ids": [best["chunk_id"]]}))
    assert read["results"][0]["chunk_text"] == best["chunk_text"]

    question = {"source_file": best["source_file"], "query": "How long is a token valid?"}
    digest = payload_of(body_of(await server.call("digest_document", question))["results"]["sources"][0])
    text = await client.call("retrieve", {"hash": digest.source_text_hash})
    assert verify(digest, text.data)
    assert digest.evidence_snippets


@both_clients
@both_eras
async def test_a_client_over_http_searches_pages_recovers_digests_and_verifies(served, framework, mode):
    async with talk(framework, served.mcp, mode) as server:
        await converse(server)


@pytest.mark.parametrize(("framework", "mode"), [("fastmcp", "auto"), ("sdk", "legacy")])
async def test_a_client_over_stdio_does_the_same(served, framework, mode):
    """On the index that another server is using at the same time."""
    async with over_stdio(framework, mode, served.index) as server:
        await converse(server)


async def test_all_tools_together_cost_less_than_1200_tokens_in_a_listing(served):
    async with fastmcp.Client(served.mcp) as client:
        listed = await client.list_tools_mcp()
    tools = listed.model_dump(mode="json", by_alias=True, exclude_none=True)["tools"]
    text = json.dumps(tools, separators=(",", ":"), ensure_ascii=False)
    assert sorted(tool["name"] for tool in tools) == TOOLS
    assert len(Tokenizer.from_pretrained("o200k_base").encode(text)) < 1_200


async def test_inputs_have_enums_bounds_and_descriptions(served):
    async with fastmcp.Client(served.mcp) as client:
        tools = {tool.name: tool for tool in await client.list_tools()}
    search = tools["semantic_search"].input_schema["properties"]
    assert (search["query"]["minLength"], search["query"]["maxLength"]) == (1, 500)
    assert (search["page_size"]["minimum"], search["page_size"]["maximum"]) == (1, 50)
    assert search["response_mode"]["enum"] == ["ids_only", "metadata", "preview", "full"]
    assert sorted(search["filters"]["properties"]) == ["after", "before", "category", "license", "path"]
    assert {"query", "response_mode", "page_size", "cursor", "fields", "max_tokens", "filters"} == set(search)
    assert all(tool.description and len(tool.description) < 120 for tool in tools.values())


async def test_filters_narrow_a_search_and_the_reply_says_so(served):
    async with fastmcp.Client(served.mcp) as client:
        asked = {"query": "termination notice", "filters": {"category": ["contracts"]}, "response_mode": "metadata"}
        found = body_of(await client.call_tool("semantic_search", asked))
    assert {row["source_category"] for row in found["results"]} == {"contracts"}


@pytest.mark.parametrize("dialect", ["response-v2", "standard-v2"])
async def test_a_client_may_ask_for_another_dialect(served, dialect):
    async with fastmcp.Client(served.mcp) as client:
        settings = {EXTENSION: {"dialect": dialect}}
        found = await client.call_tool("semantic_search", {"query": "webhook"}, meta=settings)
    assert dialects.validate(found.structured_content).name == dialect


async def test_the_server_tool_negotiates(served):
    async with fastmcp.Client(served.mcp) as client:
        wanted = {"client_capabilities": {"response_contract": "v2", "telepathy": True}}
        told = body_of(await client.call_tool("server", wanted))
    assert told["results"]["response_contract"] == "v2"
    assert told["results"]["offered"]["dialects"] == ["knowledge-1.0", "response-v2", "standard-v2"]
    assert [warning["code"] for warning in told["warnings"]] == ["UNKNOWN_CAPABILITY"]


async def test_vendors_are_found_by_part_of_a_name_and_ambiguous_ones_are_named(served):
    async with fastmcp.Client(served.mcp) as client:
        found = body_of(await client.call_tool("find_vendor_info", {"vendor_name": "kestrel"}))
        assert found["results"]["vendor_name"] == "Kestrelgate Inc."
        either = await client.call_tool("find_vendor_info", {"vendor_name": "merrowdata"}, raise_on_error=False)
    assert either.is_error
    assert len(either.structured_content["error"]["candidates"]) == 2


BAD = {
    "an empty query": ("semantic_search", {"query": ""}, "VALIDATION_ERROR"),
    "a query without words": ("semantic_search", {"query": " \u0000 "}, "VALIDATION_ERROR"),
    "a long query": ("semantic_search", {"query": "x" * 501}, "VALIDATION_ERROR"),
    "no query": ("semantic_search", {}, "MISSING_REQUIRED"),
    "a wrong type": ("semantic_search", {"query": ["token"]}, "INVALID_FORMAT"),
    "an unknown mode": ("semantic_search", {"query": "token", "response_mode": "all"}, "VALIDATION_ERROR"),
    "a page too large": ("semantic_search", {"query": "token", "page_size": 51}, "VALIDATION_ERROR"),
    "a page in words": ("semantic_search", {"query": "token", "page_size": "3"}, "INVALID_FORMAT"),
    "a page that is true": ("semantic_search", {"query": "token", "page_size": True}, "INVALID_FORMAT"),
    "an unknown argument": ("semantic_search", {"query": "token", "limit": 5}, "VALIDATION_ERROR"),
    "an unknown filter": ("semantic_search", {"query": "token", "filters": {"author": "x"}}, "VALIDATION_ERROR"),
    "a path out of the folder": (
        "semantic_search",
        {"query": "x", "filters": {"path": ["../etc"]}},
        "VALIDATION_ERROR",
    ),
    "a day that is none": ("semantic_search", {"query": "x", "filters": {"after": "soon"}}, "VALIDATION_ERROR"),
    "a field that is none": ("semantic_search", {"query": "token", "fields": ["password"]}, "INVALID_FIELDS"),
    "a forged cursor": ("semantic_search", {"query": "token", "cursor": "eyJvZmZzZXQiOjB9"}, "INVALID_CURSOR"),
    "a budget too small": ("semantic_search", {"query": "token", "max_tokens": 5}, "TOKEN_LIMIT_EXCEEDED"),
    "a chunk that is none": ("get_chunks", {"chunk_ids": [10**9]}, "NOT_FOUND"),
    "a chunk as Python spells numbers": ("get_chunks", {"chunk_ids": ["1_0"]}, "INVALID_FORMAT"),
    "a chunk with a blank": ("get_chunks", {"chunk_ids": [" 10"]}, "INVALID_FORMAT"),
    "a chunk that is true": ("get_chunks", {"chunk_ids": [True]}, "INVALID_FORMAT"),
    "too many chunks": ("get_chunks", {"chunk_ids": list(range(51))}, "VALIDATION_ERROR"),
    "a vendor that is none": ("find_vendor_info", {"vendor_name": "Zzyzx Qqfoo"}, "NOT_FOUND"),
    "a document that is none": ("digest_document", {"source_file": "../../etc/passwd", "query": "x"}, "NOT_FOUND"),
    "a hash that is none": ("retrieve", {"hash": "sha256:" + "0" * 64}, "NOT_FOUND"),
}


async def test_bad_input_is_a_result_that_says_what_to_do(served):
    async with fastmcp.Client(served.mcp) as client:
        for case, (tool, arguments, code) in BAD.items():
            result = await client.call_tool(tool, arguments, raise_on_error=False)
            body = body_of(result)
            assert result.is_error, case
            assert (body["error"]["code"], case) == (code, case)
            assert body["warnings"][0]["suggestion"], case


@pytest.mark.parametrize(
    "query", ["AND OR NOT (", '"unbalanced', "'; DROP TABLE chunks; --", "a:b^2 [x TO *]", "the of"]
)
async def test_a_query_is_words_and_never_syntax(served, query):
    async with fastmcp.Client(served.mcp) as client:
        result = await client.call_tool("semantic_search", {"query": query})
    assert body_of(result)["_metadata"]["status"] == "success"


async def test_an_unknown_tool_is_a_protocol_error(served):
    async with fastmcp.Client(served.mcp) as client:
        with pytest.raises(MCPError) as refused:
            await client.call_tool("drop_everything", {})
    assert refused.value.error.code == -32602


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"[]", -32600),
        (b'"hello"', -32600),
        (b'{"jsonrpc": "2.0"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"params":{}}', -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":7}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}', -32600),
        (b'{"jsonrpc":"2.0","method":"tools/list","id" : true}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","\\u0069d":{},"method":"ping"}', -32600),
    ],
)
def test_malformed_requests_get_an_error_of_one_line_and_no_crash(served, http, body, code):
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    answer = http.post("/mcp", content=body, headers=headers)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == code
    assert "\n" not in answer.json()["error"]["message"]
    assert httpx.get(f"{served.address}/v1/health", timeout=60).json()["status"] == "ok"


async def test_documents_are_resources(served):
    async with fastmcp.Client(served.mcp) as client:
        contents = json.loads((await client.read_resource("aerogram://documents"))[0].text)
        assert "security/jwt-guide.md" in contents["files"]
        assert {"security", "contracts"} <= contents["categories"].keys()
        text = (await client.read_resource("aerogram://documents/security/jwt-guide.md"))[0].text
        assert text.startswith("# JWT Guide")
        for name in ("none.md", "../../etc/passwd", "%2e%2e/secret"):
            with pytest.raises(MCPError):
                await client.read_resource(f"aerogram://documents/{name}")


async def test_archived_content_is_a_resource(served):
    async with fastmcp.Client(served.mcp) as client:
        tight = {"chunk_ids": list(range(1, 20)), "response_mode": "full", "max_tokens": 1_200}
        result = await client.call_tool("get_chunks", tight)
        found, digest = result.structured_content, result.meta["dev.aerogram/fidelity"]["archive_hashes"]["data"]
        kept = json.loads((await client.read_resource(f"aerogram://archive/{digest}"))[0].text)
    assert kept[: len(found["results"])] == found["results"]
    assert [row["chunk_id"] for row in kept] == list(range(1, 20))


async def test_prompts_show_good_use(served):
    async with fastmcp.Client(served.mcp) as client:
        names = [prompt.name for prompt in await client.list_prompts()]
        assert names == ["answer_from_documents", "brief_on_vendor"]
        told = await client.get_prompt("answer_from_documents", {"question": "How long is a token valid?"})
    assert "semantic_search" in told.messages[0].content.text


async def test_the_reply_with_a_digest_costs_little_more_than_the_digest(served):
    """What programs want to know of it besides, and where it quotes, is in the digest or comes over HTTP."""
    asked = {"source_file": "contracts/brackwater-framework.pdf", "query": "carrier fees, reports and depots"}
    async with fastmcp.Client(served.mcp) as client:
        (told,) = (await client.call_tool("digest_document", asked)).content
    (source,) = json.loads(told.text)["results"]["sources"]
    count = Budget.of(1).counter.count
    assert len(payload_of(source).evidence_snippets) >= 3
    assert count(told.text) <= 1.3 * count(source["content"])


async def test_a_model_is_told_when_nothing_in_a_document_bears_on_its_question(served):
    asked = {"source_file": "apis/faq.jsonl#auth-header", "query": "What does it cost?"}
    async with fastmcp.Client(served.mcp) as client:
        (told,) = (await client.call_tool("digest_document", asked)).content
    assert "Nothing in apis/faq.jsonl#auth-header bears on the question" in told.text
