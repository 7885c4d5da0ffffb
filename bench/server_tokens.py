"""What ten questions cost an agent in tokens, and how many of the replies hold the answer.

The same index answers in each mode of this server, behind a plain FastMCP tool that returns its rows, and behind the
same tool with FastMCP's response limiting. Counted is the text that a model reads, over all calls that the row names.
"""

import asyncio

import httpx
from fastmcp import Client, FastMCP
from fastmcp.server.middleware.response_limiting import ResponseLimitingMiddleware

from aerogram.tokens import find_counter
from aerogram_knowledge import Knowledge
from server_process import SAMPLES, place_for_index, serving

QUESTIONS = {
    "How long is an access token valid?": "Access tokens live 15 minutes",
    "How soon must a supplier report a data breach?": "within 24 hours of discovery",
    "What is the last day for notice to Palmaris Messaging?": "| Palmaris Messaging | 2026-08-01",
    "For how long are failed webhook deliveries repeated?": "up to three days",
    "How long is an idempotency key remembered?": "remembered for 72 hours",
    "What credit is due when Kestrelgate falls below 99.5 % availability?": "below 99.5 % | 25 %",
    "Which vendors stop when Fjordbyte stops?": "Norrvik Identity, Larkmoor Analytics and parts of Kestrelgate",
    "Why could people not open the order service on 9 October 2025?": "sig-202507-1",
    "Since when must administrators use a passkey?": "since 1 March 2026",
    "How many requests a minute does the Team plan allow?": "600 a minute",
}
MODES = ("ids_only", "metadata", "preview", "full")
BUDGET = 3_000
LIMIT = 5_000
BEST = 3
PASSAGES = ["source_file", "chunk_text"]
COUNT = find_counter("o200k_base").count


def told(result):
    """The text of a result, as a model reads it."""
    return "\n".join(block.text for block in result.content if block.type == "text")


def in_mode(mode, **more):
    async def ask(client, question):
        return told(await client.call_tool("semantic_search", {"query": question, "response_mode": mode, **more}))

    return ask


async def then_read(client, question):
    """Search by ids, then read the best passages."""
    found = await client.call_tool("semantic_search", {"query": question, "response_mode": "ids_only"})
    best = [row["chunk_id"] for row in found.structured_content["results"][:BEST]]
    read = await client.call_tool("get_chunks", {"chunk_ids": best, "fields": PASSAGES})
    return told(found) + told(read)


async def plain(client, question):
    return told(await client.call_tool("search", {"query": question}))


def plain_server(index, *middleware):
    """What one writes without this library: a tool that returns the rows."""
    server = FastMCP("plain", middleware=list(middleware))

    @server.tool
    def search(query: str, limit: int = 10) -> list[dict]:
        return index.search(query, response_mode="full", page_size=limit).data

    return server


async def measured(target, ask):
    """The tokens of all questions, and how many replies hold the answer."""
    async with Client(target) as client:
        texts = [(await ask(client, question), answer) for question, answer in QUESTIONS.items()]
    return sum(COUNT(text) for text, _ in texts), sum(answer in squeezed(text) for text, answer in texts)


def squeezed(text):
    """A text on one line; in JSON a line ends with two characters."""
    return " ".join(text.replace("\\n", " ").split())


async def compare(server, index):
    limiting = ResponseLimitingMiddleware(max_size=LIMIT)
    rows = [(f"this server, {mode}", server.mcp, in_mode(mode)) for mode in MODES]
    rows += [
        (f"this server, ids_only, then the best {BEST}", server.mcp, then_read),
        ("this server, full, only the passages", server.mcp, in_mode("full", fields=PASSAGES)),
        (f"this server, full, max_tokens={BUDGET}", server.mcp, in_mode("full", max_tokens=BUDGET)),
        ("the same, only the passages", server.mcp, in_mode("full", fields=PASSAGES, max_tokens=BUDGET)),
        ("plain FastMCP tool, its rows", plain_server(index), plain),
        (f"plain, response limiting at {LIMIT:,} bytes", plain_server(index, limiting), plain),
    ]
    print(f"| ten questions | {'tokens':>7} | answers held | the rest can be had |\n|---|---:|---:|---|")
    for name, target, ask in rows:
        tokens, held = await measured(target, ask)
        print(f"| {name} | {tokens:>7,} | {held:>2} of {len(QUESTIONS)} | {'no' if 'limiting' in name else 'yes'} |")


async def over_mcp(server):
    """Whether a search is served within a budget, by the tool."""
    async with Client(server.mcp) as client:

        async def serves(question, budget):
            asked = {"query": question, "response_mode": "full", "max_tokens": budget}
            return not (await client.call_tool("semantic_search", asked, raise_on_error=False)).is_error

        return await least(serves)


async def over_http(server, envelope):
    """Whether a search is served within a budget, by the route."""
    async with httpx.AsyncClient(base_url=server.mcp.removesuffix("/mcp"), timeout=30) as client:

        async def serves(question, budget):
            asked = {"q": question, "response_mode": "full", "max_tokens": budget, "envelope": envelope}
            return (await client.get("/v1/search", params=asked)).status_code == httpx.codes.OK

        return await least(serves)


async def least(serves):
    """The least budget, in tens, at which all questions are answered."""
    budget = 0
    for question in QUESTIONS:
        while not await serves(question, max(budget, 10)):
            budget += 10
    return budget


async def smallest(server):
    print("smallest budget in tokens of a search in full, ten results on a page")
    print(f"  MCP, knowledge-1.0 in both channels: {await over_mcp(server)}")
    for envelope, shape in (("v2", "standard-v2"), ("v1", "the legacy shape")):
        print(f"  HTTP, {shape}: {await over_http(server, envelope)}")


def main():
    with place_for_index() as place, serving(place) as server, Knowledge(place.with_name("plain")) as index:
        index.ingest(SAMPLES)
        asyncio.run(compare(server, index))
        asyncio.run(smallest(server))


if __name__ == "__main__":
    main()
