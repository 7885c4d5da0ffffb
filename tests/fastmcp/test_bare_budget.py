"""Budgets of bare payloads: what is sent is what was measured."""

import random
import re
from contextlib import asynccontextmanager

import fastmcp
import orjson
import pydantic
import pytest

from aerogram import Archive
from aerogram.fastmcp import install
from aerogram.tokens import Budget, Estimate, best_counter


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


@pytest.mark.parametrize("channels", ["summary", "mirror", "text"])
async def test_a_long_text_stays_within_a_budget_for_both_channels(channels):
    chance = random.Random(7)
    words = ("naïve", "zürich", "x", "\u4e2d\u6587", "{}", "'q'", "reply", "—", "0.25", "\\n")
    for budget in range(1_000, 2_600, 50):
        text = "\n".join(" ".join(chance.choices(words, k=chance.randint(3, 30))) for _ in range(200))

        def give() -> str:
            return text  # noqa: B023 - it is called in this round

        server = fastmcp.FastMCP("texts")
        server.tool(give)
        install(server, dialect="response-v2", budget=budget, channels=channels, count="both", archive=None)
        async with fastmcp.Client(server) as client:
            sent = await client.call_tool("give", {})
        structured = orjson.dumps(sent.structured_content).decode() if sent.structured_content is not None else ""
        assert sum(map(best_counter().count, (sent.content[0].text, structured))) <= budget


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


RECIPES = [
    {"id": n, "name": f"Soup no. {n}", "serves": n % 5 + 1, "minutes": n, "notes": "Stir it now and then. " * 6}
    for n in range(1, 201)
]


@asynccontextmanager
async def called(tool, given, **how):
    """What a model reads of a tool that returns recipes, called with these arguments; and how it asks for the rest."""
    server = fastmcp.FastMCP("recipes")
    server.tool(tool)
    install(server, budget=500, archive=Archive.in_memory(), **how)
    async with fastmcp.Client(server) as client:
        sent = await client.call_tool(tool.__name__, given)

        async def ask(**asked):
            digest = re.search(r"hash='(\w+)'", sent.content[0].text)[1]
            return await client.call_tool("retrieve", {"hash": digest, **asked}, raise_on_error=False)

        yield sent.content[0].text, ask


def recipes() -> list[dict]:
    return RECIPES


async def test_a_page_says_nothing_of_its_own_rows_as_if_they_were_all_that_is_missing():
    async with called(recipes, {"page_size": 30}, controls=True) as (text, _):
        assert " of 200 shown, without notes; " in text and "next: cursor='" in text
        assert "left out:" not in text
    async with called(recipes, {}) as (text, _):
        assert "left out:" in text


@pytest.mark.parametrize(("limit", "is_ended"), [(5, False), (100, True)])
async def test_the_budget_is_named_as_the_end_only_where_rows_are_missing(limit, is_ended):
    def search(limit: int = 10) -> list[dict]:
        return [{**row, "notes": row["notes"] * 3} for row in RECIPES[:limit]]

    async with called(search, {"limit": limit}) as (text, _):
        assert f" of {limit} shown, " in text
        assert (f"ended by the budget of 500 tokens, not by limit={limit}" in text) is is_ended


async def test_items_that_are_not_there_are_told_where_a_model_reads():
    async with called(recipes, {}) as (_, ask):
        some = await ask(ids=[1, 998, 999])
        assert some.content[0].text.splitlines()[-1] == "aerogram: 2 of the ids are not in your archive"
        none = await ask(ids=[999])
        assert none.is_error and "Use ids that items of this entry have" in none.content[0].text


async def test_data_that_another_call_changes_while_it_is_fitted_is_told_as_it_was():
    notes = {f"k{number}": {"n": number, "note": "words " * 10} for number in range(300)}
    rows = [{"id": number, "note": "words " * 10, "more": {"a": 1}} for number in range(300)]

    class Meanwhile(Estimate):
        """Each time that something is counted, another call adds a member."""

        def count(self, text):
            for held in (notes, rows[0], rows[0]["more"]):
                held[f"note {len(held)}"] = {"n": 1}
            return super().count(text)

    server = fastmcp.FastMCP("changing")
    install(server, budget=Budget(900, Meanwhile()), archive=Archive.in_memory())
    server.tool(lambda: {"rows": rows, "notes": notes}, name="get")
    async with fastmcp.Client(server) as client:
        result = await client.call_tool("get")
    assert '{"id":0' in result.content[0].text
