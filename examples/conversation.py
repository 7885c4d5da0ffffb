"""A conversation with the knowledge server: search, go on, get back what was left out, digest, verify.

It starts `aerogram serve samples` for itself, on standard streams. Give it an address to talk to a server that runs:

    python examples/conversation.py http://127.0.0.1:8000/mcp
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from aerogram.client import AsyncClient
from aerogram.digest import payload_of, verify
from aerogram.reply import Notice

ROOT = Path(__file__).parents[1]
QUESTION = "For how long are failed webhook deliveries repeated?"
VENDOR = "Palmaris Messaging LLC"
PASSAGE = ["source_file", "chunk_text"]


def own_server() -> StdioTransport:
    """The server with the sample documents, as an MCP client starts it."""
    index = ROOT / ".cache" / "samples.index"
    arguments = ["-m", "aerogram", "serve", str(ROOT / "samples"), "--stdio", "--index", str(index)]
    return StdioTransport(sys.executable, arguments, env=dict(os.environ), log_file=Path(os.devnull), keep_alive=False)


async def converse(target: Any) -> None:
    """Everything an agent does to answer a question, and to be sure of the answer."""
    async with Client(target) as connection:
        server = AsyncClient(connection, on_notice=told)

        asked = {"query": QUESTION, "page_size": 5, "response_mode": "full", "fields": ["rank", *PASSAGE]}
        first = await server.call("semantic_search", asked)
        best = first.data[0]
        print(f"search    {len(first.data)} of {first.page.total} passages, the best in {best['source_file']}")

        second = await server.call("semantic_search", {**asked, "cursor": first.page.cursor})
        print(f"next      passages {second.data[0]['rank']} to {second.data[-1]['rank']}")

        vendor = {"vendor_name": VENDOR, "response_mode": "full"}
        full, tight = [await server.call("find_vendor_info", {**vendor, **size}) for size in ({}, {"max_tokens": 600})]
        whole = await server.whole(tight)
        print(f"whole     what was left out is back: {whole.data == full.data != tight.data}")

        condensed = await server.call("digest_document", {"source_file": best["source_file"], "query": QUESTION})
        digest = payload_of(condensed.data["sources"][0])
        snippet = digest.evidence_snippets[0]
        print(f"digest    at {snippet.locator}: “{_sentence(snippet.text)}”")

        source = await server.call("retrieve", {"hash": digest.source_text_hash})
        print(f"verify    it stands in the document, word for word: {bool(verify(digest, source.data))}")


def told(notice: Notice, _: Any) -> None:
    """What a reply says beside its data."""
    print(f"notice    {notice.code}: {notice.message.partition(';')[0]}")


def _sentence(text: str) -> str:
    """The first sentence of the last paragraph."""
    return text.splitlines()[-1].partition(". ")[0] + "."


if __name__ == "__main__":
    asyncio.run(converse(sys.argv[1] if len(sys.argv) > 1 else own_server()))
