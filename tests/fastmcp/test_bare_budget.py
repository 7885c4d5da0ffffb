"""Budgets of bare payloads: what is sent is what was measured."""

import fastmcp
import orjson
import pydantic
import pytest

from aerogram import Archive
from aerogram.fastmcp import install
from aerogram.tokens import best_counter


class Found(pydantic.BaseModel):
    matches: dict[str, dict[str, str | int | None]]


ROWS = [{"id": f"row-{number}", "text": "words and more words " * 20} for number in range(200)]


@pytest.mark.parametrize("budget", [700, 1500, 3000])
@pytest.mark.parametrize("channels", ["text", "mirror", "summary", "compact"])
@pytest.mark.parametrize("annotated", [True, False])
@pytest.mark.parametrize(("count", "together"), [("larger", max), ("both", sum)])
async def test_a_bare_payload_stays_within_its_budget(budget, channels, annotated, count, together):
    def rows():
        return ROWS

    if annotated:
        rows.__annotations__["return"] = list[dict[str, str]]
    server = fastmcp.FastMCP("bare")
    server.tool(rows)
    install(server, dialect="bare", budget=budget, channels=channels, count=count)
    async with fastmcp.Client(server) as client:
        sent = await client.call_tool("rows", {}, raise_on_error=False)
    assert not sent.is_error
    structured = orjson.dumps(sent.structured_content).decode() if sent.structured_content is not None else ""
    assert budget / 3 < together(map(best_counter().count, (sent.content[0].text, structured))) <= budget


async def test_a_map_of_values_that_a_schema_describes_is_shown_in_part():
    """To leave out members breaks no promise about what the members are."""
    server = fastmcp.FastMCP("maps")

    @server.tool
    def cells() -> Found:
        return Found(matches={"Sheet1": {f"C{n}": f"note {n} and some words" for n in range(400)}})

    install(server, dialect="bare", budget=2_000, archive=Archive.in_memory())
    async with fastmcp.Client(server) as client:
        sent = await client.call_tool("cells", {}, raise_on_error=False)
    shown = sent.structured_content["matches"]["Sheet1"]
    assert len(shown) > 100 and f"{len(shown)} of 400 matches/Sheet1 shown" in sent.content[0].text
