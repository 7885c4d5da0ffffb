"""Servers on machines without the documents: what they answer from the store, and what they say they cannot."""

from __future__ import annotations

import asyncio
import json
import shutil

import httpx
import pytest
from fastmcp import Client

from aerogram import read
from serving import SAMPLES

FILE = "security/jwt-guide.md"
QUESTION = "How long is a token valid?"
NEWER = {"envelope": "v2"}


@pytest.fixture
def documents(tmp_path):
    """Documents that are only there until they have been read."""
    return shutil.copytree(SAMPLES / "security", tmp_path / "documents" / "security").parent


@pytest.fixture
def read_elsewhere(fleet, postgres, documents):
    """The address of an index whose documents are on no machine any more, and what one of them said."""
    url = postgres.new_database()
    said = fleet.run("ingest", str(documents), "--store", url)
    assert "new" in said, said
    text = (documents / FILE).read_text(encoding="utf-8")
    shutil.rmtree(documents)
    return url, text


def test_any_server_digests_from_the_stored_text_and_any_other_gives_that_text(fleet, read_elsewhere, redis):
    url, text = read_elsewhere
    one, two = fleet.add("--store", url, "--redis", redis.url, count=2)
    asked = {"source_file": FILE, "query": QUESTION}
    body = httpx.post(f"{one.address}/v1/digests", params=NEWER, json=asked, timeout=30).json()
    (source,) = read(body).data["sources"]
    assert {one.verification_status for one in read(body).citations} == {"verified"}
    found = json.loads(source["content"])
    whole = httpx.get(f"{two.address}/v1/content/{found['source_text_hash']}", params=NEWER, timeout=30)
    kept = read(whole.json()).data
    assert found["evidence_snippets"]
    for snippet in found["evidence_snippets"]:
        start, end = map(int, snippet["locator"].removeprefix("char:").split("-"))
        assert kept[start:end] == snippet["text"]
        assert snippet["text"] in text


def test_tools_and_resources_answer_from_the_store(fleet, read_elsewhere):
    url, text = read_elsewhere
    (server,) = fleet.add("--store", url)

    async def ask():
        async with Client(f"{server.address}/mcp") as client:
            digest = await client.call_tool("digest_document", {"source_file": FILE, "query": QUESTION})
            document = await client.read_resource(f"aerogram://documents/{FILE}")
            return digest.structured_content, document[0].text

    digest, document = asyncio.run(ask())
    assert read(digest).data["sources"][0]["id"] == FILE
    assert "A leaked token for the newsletter must not open the billing service." in document
    assert "A leaked token for the newsletter must not open the billing service." in text


def test_a_citation_says_that_nobody_could_look_at_its_source(fleet, read_elsewhere):
    """It is not called missing: it may well be where it was read."""
    (server,) = fleet.add("--store", read_elsewhere[0])
    asked = {"q": QUESTION, "response_mode": "full", **NEWER}
    found = read(httpx.get(f"{server.address}/v1/search", params=asked, timeout=30).json())
    assert found.citations
    assert {one.verification_status for one in found.citations} == {"unverified"}


def test_an_index_in_a_folder_keeps_no_texts_and_says_which_file_it_misses(fleet, documents, tmp_path):
    index = ("--index", str(tmp_path / "index"))
    fleet.run("ingest", str(documents), *index)
    shutil.rmtree(documents)
    (server,) = fleet.add(*index)
    with httpx.Client(base_url=server.address, timeout=30, params=NEWER) as client:
        assert client.get("/v1/search", params={"q": QUESTION}).json()["results"]
        answer = client.post("/v1/digests", json={"source_file": FILE, "query": QUESTION})
        assert answer.status_code == 404
        told = read(answer.json()).problem
        assert (told.code, FILE in told.message) == ("NOT_FOUND", True)
        assert "where the documents are" in told.remediation
