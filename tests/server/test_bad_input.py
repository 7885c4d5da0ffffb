"""Bad input over both protocols, and an index that is damaged, gone, or made otherwise."""

import json
import subprocess

import fastmcp
import httpx
import pytest

from aerogram.client.reading import read
from programs import run_program, start_program
from serving import clean_environment, command, serving

V2 = {"Accept": "application/vnd.aerogram.v2+json"}
MCP = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
OUTSIDE = ["../../etc/passwd", "/etc/passwd", "..%2f..%2fetc%2fpasswd", "security/../../README.md", "a\0b", "C:\\x"]


@pytest.mark.parametrize(
    "query", ["the of", "AND OR NOT (", '"unbalanced', "'; DROP TABLE chunks; --", "a:b^2 [x TO *]", "\u202e\u0000🦀"]
)
def test_over_http_too_a_query_is_words_and_never_syntax(http, query):
    answer = http.get("/v1/search", params={"q": query})
    assert answer.status_code == 200
    assert answer.json()["total"] is not None


@pytest.mark.parametrize("name", OUTSIDE)
async def test_no_name_leads_out_of_the_folder(http, served, name):
    digest = http.post("/v1/digests", json={"source_file": name, "query": "root"}, headers=V2)
    assert read(digest).problem.code in ("NOT_FOUND", "VALIDATION_ERROR")
    async with fastmcp.Client(served.mcp) as client:
        asked = {"source_file": name, "query": "root"}
        refused = await client.call_tool("digest_document", asked, raise_on_error=False)
    assert read(refused).problem.code in ("NOT_FOUND", "VALIDATION_ERROR")
    assert "root:" not in digest.text + str(refused.content)


def test_a_huge_request_of_an_mcp_client_is_refused(http):
    huge = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"x": "y" * 2**20}}
    refused = http.post("/mcp", json=huge, headers=MCP)
    assert (refused.status_code, refused.json()["code"]) == (413, "CONTENT_TOO_LARGE")
    deep = http.post("/mcp", content=b"[" * 100_000, headers=MCP)
    assert 400 <= deep.status_code < 500
    assert http.get("/v1/health").json()["status"] == "ok"


CALL = '{"jsonrpc": "2.0", "id": %d, "method": "tools/call", "params": {"name": "semantic_search", "arguments": %s}}'


def test_over_stdio_what_is_no_request_is_refused_with_its_id_and_the_next_one_answered(served):
    """Garbage, a wrong version, half of a character, a request for a method that is none, and then a good one."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "odd", "version": "1"}}
    lines = [
        "this is no JSON",
        '{"jsonrpc": "1.0", "id": 1, "method": 7}',
        json.dumps({"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": hello}),
        '{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        '{"jsonrpc": "2.0", "id": 3, "method": "nothing/of-the-kind"}',
        '{"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": 5}}',
        '{"jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": []}',
        CALL % (7, r'{"query": "emoji \ud83d"}'),
        CALL % (8, '{"filters": %s}' % ("[" * 300 + "]" * 300)),
        '{"jsonrpc": "2.0", "id": 9}',
        '{"jsonrpc": "2.0", "id": 5, "method": "tools/list"}',
    ]
    process = start_program(
        command(served.index, "--stdio", program=()),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=clean_environment(served.index),
    )
    with process:
        process.stdin.write("\n".join(lines) + "\n")
        process.stdin.flush()
        answers = {}
        while not answers.keys() >= {1, 2, 3, 4, 5, 6, 7, 8, 9}:
            answer = json.loads(process.stdout.readline())
            answers[answer.get("id")] = answer
        process.stdin.close()
    assert (answers[3]["error"]["code"], answers[4]["error"]["code"]) == (-32601, -32602)
    assert {answers[number]["error"]["code"] for number in (1, 6, 8, 9)} <= {-32700, -32600, -32602}
    assert "error" not in answers[7]
    assert len(answers[5]["result"]["tools"]) == 6
    assert process.returncode == 0


@pytest.fixture
def hostile(tmp_path):
    """A folder with a good document among others that are none, and links that lead out of it."""
    (tmp_path / "secret.md").write_text("# Secret\n\nThe vault opens with nightshade.\n", encoding="utf-8")
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "harbour.md").write_text("# Harbour\n\nThe harbour gate closes at nine.\n", encoding="utf-8")
    (folder / "empty.md").touch()
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\n" + bytes(range(256)))
    (folder / "nul.txt").write_bytes(b"\0" * 1000)
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "folder").symlink_to(tmp_path)
    return folder


def over_http(server, query):
    return read(httpx.get(f"{server.address}/v1/search", params={"q": query}, headers=V2, timeout=30))


def refusal(index, documents, *arguments):
    """The one line with which a server refuses to start."""
    line = command(index, "--port", "0", *arguments, documents=documents, program=())
    done = run_program(line, text=True, env=clean_environment(index))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    return done.stderr


async def test_a_bad_folder_and_an_index_that_goes_away(hostile, tmp_path):
    """What can be read is served, and nothing else; without its index the server says to come back."""
    index = tmp_path / "index"
    with serving(index, documents=hostile) as server:
        async with fastmcp.Client(server.mcp) as client:

            async def both(query):
                asked = {"query": query}
                over_mcp = await client.call_tool("semantic_search", asked, raise_on_error=False)
                return [over_http(server, query), read(over_mcp)]

            assert [reply.data[0]["source_file"] for reply in await both("harbour gate")] == ["harbour.md"] * 2
            assert [len(reply.data) for reply in await both("nightshade")] == [0, 0]
            index.rename(tmp_path / "elsewhere")
            for reply in await both("harbour"):
                problem = reply.problem
                assert (problem.code, problem.retryable, problem.retry_after) == ("UNAVAILABLE", True, 5)
            (tmp_path / "elsewhere").rename(index)
            assert [reply.problem for reply in await both("harbour")] == [None, None]


def test_an_index_of_another_embedder_and_a_damaged_one_are_refused_with_what_to_do(hostile, tmp_path):
    index = tmp_path / "index"
    with serving(index, "--embedder", "none", documents=hostile):
        pass
    assert "made with the embedder none/0" in refusal(index, hostile, "--embedder", "default")
    (index / "rows.sqlite").write_bytes(b"no database" * 1000)
    said = refusal(index, hostile)
    assert "The index is damaged" in said
    assert "aerogram index rebuild" in said
