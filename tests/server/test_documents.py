"""Documents: whatever is offered can be opened, over both protocols, and nothing else is offered."""

from __future__ import annotations

import asyncio
import json
import time
from urllib.parse import quote

import anyio
import httpx
import pytest
from fastmcp import Client
from mcp.shared.exceptions import MCPError

from aerogram_knowledge import Knowledge, NoEmbedder
from aerogram_knowledge.server.library import Library
from serving import serving


def listed(server):
    async def ask():
        async with Client(server.mcp) as client:
            return json.loads((await client.read_resource("aerogram://documents"))[0].text)["files"]

    return anyio.run(ask)


def test_every_document_that_is_listed_can_be_read_by_its_name_as_it_is_and_as_an_address(served):
    async def read(names):
        async with Client(served.mcp) as client:
            for name in names:
                plain, quoted = [
                    (await client.read_resource(f"aerogram://documents/{form}"))[0].text for form in (name, quote(name))
                ]
                assert plain == quoted != "", name

    anyio.run(read, listed(served))


def test_a_document_is_read_whatever_its_name_looks_like(tmp_path):
    names = ["c: notes.md", "x:y/z.md", "12:30.md", "..odd.md", "back\\slash.md", "has space.md", "a%2Fb.md", "q?a.md"]
    for name in names:
        (tmp_path / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "docs" / name).write_text(f"This is {name}.\n")
    with serving(tmp_path / "index", documents=tmp_path / "docs") as server:

        async def read(found):
            async with Client(server.mcp) as client:
                for name in found:
                    read = await client.read_resource(f"aerogram://documents/{quote(name)}")
                    assert read[0].text == f"This is {name}."

        found = listed(server)
        assert found == sorted(set(names) - {"..odd.md"})  # which is hidden
        anyio.run(read, found)


def test_every_document_that_is_listed_can_be_digested_over_both_protocols(served, http):
    async def digest(names):
        async with Client(served.mcp) as client:
            for name in names:
                asked = {"source_file": name, "query": "What is this about?"}
                over_http = http.post("/v1/digests", params={"envelope": "v2"}, json=asked)
                assert over_http.status_code == 200, name
                assert not (await client.call_tool("digest_document", asked, raise_on_error=False)).is_error, name

    anyio.run(digest, listed(served))


def test_records_are_listed_one_by_one_and_files_that_only_say_who_is_who_are_not(served, http):
    names = listed(served)
    assert names == sorted(names)
    assert {"apis/faq.jsonl#lost-key", "apis/faq.jsonl#money", "contracts/brackwater-framework.pdf"} <= set(names)
    assert not {"vendors.csv", "vendors.json", "apis/faq.jsonl"} & set(names)
    assert http.get("/page/api/contents").json()["files"] == names


def test_the_page_shows_vendors_where_there_are_some(http):
    assert "vendors" in http.get("/page/api/context").json()["mounted"]


def test_what_is_withheld_or_empty_is_not_listed(tmp_path):
    documents = tmp_path / "docs"
    documents.mkdir()
    (documents / "secret.md").write_text("---\nlicense: Secret\n---\nNine crowns for each berth.\n")
    (documents / "broken.md").write_text('---\ntitle: "oops\n---\nNine crowns for each berth.\n')
    (documents / "blank.md").write_text("---\ntitle: Nothing\n---\n")
    (documents / "free.md").write_text("The ferry leaves at noon.\n")
    withheld = ("--withheld-licenses", "Secret")
    with serving(tmp_path / "index", *withheld, documents=documents) as server:
        assert listed(server) == ["free.md"]
        assert httpx.get(f"{server.address}/page/api/contents", timeout=30).json()["files"] == ["free.md"]


def test_a_long_list_of_documents_comes_in_pages(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    lines = [json.dumps({"id": f"n{number:04}", "text": f"Note {number}."}) for number in range(1_100)]
    (folder / "notes.jsonl").write_text("\n".join(lines))

    async def walk(server):
        async with Client(server.mcp) as client:
            pages, address = [], "aerogram://documents"
            while address:
                pages.append(json.loads((await client.read_resource(address))[0].text))
                address = pages[-1].get("next")
            with pytest.raises(MCPError):
                await client.read_resource("aerogram://documents?page=4")
            return pages, [tool.name for tool in await client.list_tools()], await client.list_prompts()

    with serving(tmp_path / "index", documents=folder) as server:
        pages, tools, prompts = anyio.run(walk, server)
        mounted = httpx.get(f"{server.address}/page/api/context", timeout=30).json()["mounted"]
    assert [len(page["files"]) for page in pages] == [500, 500, 100]
    assert {page["total_files"] for page in pages} == {1_100}
    assert len({name for page in pages for name in page["files"]}) == 1_100
    assert "categories" in pages[0] and "categories" not in pages[1]
    # nobody is a vendor here, so nothing speaks of vendors
    assert "find_vendor_info" not in tools
    assert "search" in mounted and "vendors" not in mounted
    assert [one.name for one in prompts] == ["answer_from_documents"]


async def test_while_long_documents_are_digested_others_have_their_digests(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "short.md").write_text("# Ferry\n\nA ticket costs four crowns.\n", encoding="utf-8")
    lines = [f"Line {n} tells of ticket {n % 977}, and of the ferry that leaves at {n % 24}." for n in range(20_000)]
    (docs / "long.txt").write_text("\n".join(lines), encoding="utf-8")
    with Knowledge(tmp_path / "index", embedder=NoEmbedder()) as index:
        index.ingest(docs)
    with Library(tmp_path / "index", embedder="none") as library:
        await library.digest("short.md", "What does a ticket cost?")
        started = time.monotonic()
        several = [asyncio.create_task(library.digest("long.txt", f"ticket {number}")) for number in range(8)]
        await asyncio.sleep(0.1)
        await library.digest("short.md", "What does the ferry cost?")
        waited = time.monotonic() - started
        await asyncio.gather(*several)
        assert waited < (time.monotonic() - started) / 3
