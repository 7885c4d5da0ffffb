"""Licences that a server withholds: no door gives their documents, and each says so in the words of its dialect."""

from __future__ import annotations

import anyio
import httpx
import pytest
from fastmcp import Client
from mcp import MCPError

from aerogram.content import Content
from aerogram_knowledge import Knowledge
from serving import serving

FILES = {
    "open.md": "---\nlicense: CC-BY-4.0\nvendor: Acme\n---\n# Ferry\n\nThe ferry to Holm leaves at noon.\n",
    "broken.md": '---\ntitle: "oops\n---\n# Berths\n\nEach berth costs nine crowns.\n',
    "misspelt.md": '---\nlicense: Trade-Secret\ntitle: "oops\n---\n# Berths\n\nThe berths cost nine crowns.\n',
    "closed.md": "---\nlicense: Trade-Secret\ncategory: contracts\nvendor: Zephyr AG\n"
    "relationships: [{source: Acme, target: Zephyr AG, type: owned_by}]\n---\n"
    "# Berths\n\nThe ferry company pays nine crowns for each berth.\n",
}


@pytest.fixture(scope="module")
def gated(tmp_path_factory):
    """A server over a free and a secret document that withholds the secret one."""
    folder = tmp_path_factory.mktemp("gated")
    (folder / "docs").mkdir()
    for name, text in FILES.items():
        (folder / "docs" / name).write_text(text)
    withheld = ("--withheld-licenses", "Trade-Secret")
    with serving(folder / "index", *withheld, documents=folder / "docs") as server:
        yield server


@pytest.fixture
def ask(gated):
    """Ask the server over HTTP; the answer, and its body."""
    with httpx.Client(base_url=gated.address, timeout=30) as client:

        def asked(**parameters):
            found = client.get("/v1/search", params={"envelope": "v2", **parameters})
            assert "nine crowns" not in found.text
            return found, found.json()

        yield asked


def test_rows_that_the_policy_withholds_are_answered_with_it(ask):
    answer, body = ask(q="berth", path="closed.md")
    assert answer.status_code == 403
    assert (body["status"], body["results"]) == ("error", [])
    assert (body["error"]["code"], body["error"]["retryable"]) == ("LICENSE_GATE_BLOCKED", False)


def test_rows_beside_withheld_ones_come_with_a_warning(ask):
    answer, body = ask(q="ferry")
    assert answer.status_code == 200
    assert body["status"] == "partial"
    assert [row["source_file"] for row in body["results"]] == ["open.md"]
    assert "LICENSE_GATE_BLOCKED" in {one["code"] for one in body["warnings"]}


@pytest.mark.parametrize("asked", [{}, {"format": "csv"}, {"envelope": "v2"}], ids=["legacy", "table", "envelope"])
def test_every_shape_says_in_a_header_that_rows_are_withheld(gated, asked):
    with httpx.Client(base_url=gated.address, timeout=30) as client:
        some = client.get("/v1/search", params={"q": "ferry", **asked})
        none = client.get("/v1/search", params={"q": "noon Holm", "path": "open.md", **asked})
        vendor = client.get("/v1/vendors/Acme")
    assert "withheld because of their licence" in some.headers["X-Warning"]
    assert "X-Warning" not in none.headers
    assert "withheld because of their licence" in vendor.headers["X-Warning"]


def test_rows_that_a_licence_filter_drops_are_answered_with_it(ask):
    answer, body = ask(q="ferry noon", license="MIT")
    assert answer.status_code == 200
    assert (body["status"], body["empty_reason"]) == ("empty", "license_blocked")
    assert {one["code"] for one in body["warnings"]} == {"LICENSE_GATE_BLOCKED"}


def test_tools_and_resources_withhold_it_too(gated):
    async def talk():
        async with Client(gated.mcp) as client:
            found = await client.call_tool("semantic_search", {"query": "ferry", "response_mode": "full"})
            refused = [
                await client.call_tool(name, arguments, raise_on_error=False)
                for name, arguments in (
                    ("digest_document", {"source_file": "broken.md", "query": "What does a berth cost?"}),
                    ("digest_document", {"source_file": "misspelt.md", "query": "What does a berth cost?"}),
                    ("digest_document", {"source_file": "closed.md", "query": "What does a berth cost?"}),
                    ("semantic_search", {"query": "ferry", "filters": {"license": ["Trade-Secret"]}}),
                )
            ]
            for name in ("closed.md", "broken.md", "misspelt.md"):
                with pytest.raises(Exception, match=r"licence|LICENSE"):
                    await client.read_resource(f"aerogram://documents/{name}")
        return found, refused

    found, refused = anyio.run(talk)
    assert [row["source_file"] for row in found.structured_content["results"]] == ["open.md"]
    assert all(one.is_error and "LICENSE_GATE_BLOCKED" in str(one.structured_content) for one in refused)
    assert "nine crowns" not in str((found, refused))


def test_no_door_tells_of_vendors_that_only_withheld_documents_know(gated):
    """Tools, routes and lists: neither a name nor a relationship nor a number."""
    secrets = ("Zephyr", "OWNED_BY", "closed.md", "Trade-Secret", "contracts")

    async def talk():
        async with Client(gated.mcp) as client:
            told = await client.call_tool("find_vendor_info", {"vendor_name": "Acme", "response_mode": "full"})
            refused = await client.call_tool("find_vendor_info", {"vendor_name": "Zephyr AG"}, raise_on_error=False)
            return told.structured_content, refused, (await client.read_resource("aerogram://documents"))[0].text

    told, refused, contents = anyio.run(talk)
    assert told["results"]["vendor_name"] == "Acme"
    assert told["results"]["statistics"]["relationship_count"] == 0
    assert refused.is_error and refused.structured_content["error"]["code"] == "LICENSE_GATE_BLOCKED"
    with httpx.Client(base_url=gated.address, timeout=30) as client:
        over_http = client.get("/v1/vendors/Acme", params={"envelope": "v2", "response_mode": "full"})
        assert over_http.json()["status"] == "partial"
        assert client.get("/v1/vendors/Zephyr AG").status_code == 403
        nobody = client.get("/v1/vendors/Zephir")
        assert nobody.status_code == 404
        page = client.get("/page/api/contents").text
        assert client.get("/page/api/context").json()["suggestion"] == "Ferry"
    texts = (str(told), contents, over_http.text, nobody.text, page)
    assert [(secret, text) for secret in secrets for text in texts if secret in text] == []


SECRET = "---\nlicense: Trade-Secret\n---\n# Prices\n\n" + "\n\n".join(
    f"Paragraph {n}: the walrus price is {n * 7} crowns." for n in range(80)
)
WALRUS = {"source_file": "prices.md", "query": "walrus price"}


async def find_kept(server) -> tuple[list[str], list[str]]:
    """What a server gives back by hash, by ids, over HTTP and as a resource, and what it says where it does not."""
    given, refused = [], []
    async with Client(server.mcp) as client, httpx.AsyncClient(base_url=server.address, timeout=30) as http:
        digest = Content.of_text(SECRET.split("---\n")[2]).hash
        for asked in ({"hash": digest}, {"ids": [2]}):
            found = await client.call_tool("retrieve", asked, raise_on_error=False)
            (refused if found.is_error else given).append(str(found.content))
        answer = await http.get(f"/v1/content/{digest}")
        (given if answer.is_success else refused).append(answer.text)
        try:
            given.append(str(await client.read_resource(f"aerogram://archive/{digest}")))
        except MCPError as error:
            refused.append(str(error))
    return given, refused


async def keep(server) -> None:
    async with Client(server.mcp) as client:
        await client.call_tool("digest_document", WALRUS)
        await client.call_tool("get_chunks", {"chunk_ids": [1, 2, 3, 4, 5, 6], "max_tokens": 500})


def show(server):
    """What the page shows of a search, which it keeps for a while, so that a slider can be moved."""
    call = {"operation": "semantic_search", "arguments": {"query": "prices"}}
    told = httpx.post(f"{server.address}/page/api/shrink", json={"source": {"call": call}}, timeout=30)
    assert told.status_code == 200
    return told.text


def test_what_was_kept_before_it_was_withheld_is_given_back_by_nobody(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "prices.md").write_text(SECRET)
    with serving(tmp_path / "index", documents=docs) as server:
        anyio.run(keep, server)
        given, refused = anyio.run(find_kept, server)
        assert (len(given), refused) == (4, [])
    with serving(tmp_path / "index", "--withheld-licenses", "trade-secret", documents=docs) as server:
        given, refused = anyio.run(find_kept, server)
        assert (given, len(refused)) == ([], 4)
        assert "walrus" not in str(refused)


def test_what_was_kept_of_a_document_that_comes_under_a_withheld_licence_is_given_back_by_nobody(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "prices.md").write_text(SECRET.replace("Trade-Secret", "MIT"))
    withheld = ("--withheld-licenses", "trade-secret")
    with serving(tmp_path / "index", *withheld, documents=docs) as server:
        anyio.run(keep, server)
        assert len(anyio.run(find_kept, server)[0]) == 4
        (docs / "other.md").write_text("# Other\n\nA giraffe.\n")
        with Knowledge(tmp_path / "index") as index:
            index.ingest(docs)
        assert len(anyio.run(find_kept, server)[0]) == 4
        assert "walrus" in show(server)
        (docs / "prices.md").write_text(SECRET)
        with Knowledge(tmp_path / "index") as index:
            index.ingest(docs)
        assert anyio.run(find_kept, server)[0] == []
        assert "walrus" not in show(server)
