"""Reach: a reply leads a client only so far, and only to what can be read."""

from __future__ import annotations

import gzip
import itertools
import zlib

import fastmcp
import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from aerogram import ContractError, Page, Reply
from aerogram.client import AsyncClient, Client, FollowedTooFar, Reach
from aerogram.content import Content
from aerogram.dialects import dialect
from aerogram.errors import ReplyError
from aerogram.reply import Action, Fidelity

VOICE = dialect("response-v2")


def body(reply):
    return VOICE.encode(VOICE.complete(reply))


def endless(target, arguments):
    """A server whose pages have no end."""
    return body(Reply.ok([1, "text " * 100], page=Page(cursor=f"c{next(NUMBERS)}", has_more=True)))


NUMBERS = itertools.count()


def test_pages_end_after_so_many_calls_and_those_before_were_given():
    client, seen = Client(endless, reach=Reach(calls=5)), []
    with pytest.raises(FollowedTooFar, match="further than 5 calls") as caught:
        seen.extend(client.pages("rows"))
    assert (len(seen), caught.value.limit) == (5, "calls")


def test_items_end_after_so_many_bytes():
    client, seen = Client(endless, reach=Reach(bytes=5_000)), []
    with pytest.raises(FollowedTooFar, match="bytes"):
        seen.extend(client.items("rows"))
    assert 4 <= len(seen) // 2 <= 12


async def test_pages_end_after_so_many_seconds():
    async def asleep(target, arguments):
        import asyncio

        await asyncio.sleep(3_600)

    with pytest.raises(FollowedTooFar, match="seconds"):
        [page async for page in AsyncClient(asleep, reach=Reach(seconds=0.05)).pages("rows")]


def test_what_had_been_recovered_comes_with_the_refusal():
    parts = {name: Content.of_json([name]) for name in ("data", "envelope", "more")}
    hashes = {name: content.hash for name, content in parts.items()}
    reply = Reply.partial([], "left out", fidelity=Fidelity("partial", archive_hashes=hashes))

    def answer(target, arguments):
        return body(Reply.ok(next(one.value() for one in parts.values() if one.hash == arguments["hash"])))

    client = Client(answer, retrieve="retrieve", reach=Reach(calls=2))
    for follow in (client.recover, client.whole):
        with pytest.raises(FollowedTooFar) as caught:
            follow(reply)
        assert caught.value.found == {"data": ["data"], "envelope": ["envelope"]}


def big() -> Starlette:
    """An answer without an end, one that is large once it is unpacked, and one that leads elsewhere."""

    async def drip(request):
        def pieces():
            while True:
                yield b" " * 65_536

        return StreamingResponse(pieces(), media_type="application/json")

    async def packed(request):
        ways = request.query_params["as"]
        data = b"[" + b" " * 2**22 + b"1]"
        for way in ways.split(", "):
            data = zlib.compress(data) if way == "deflate" else gzip.compress(data)
        return Response(data, headers={"content-encoding": ways}, media_type="application/json")

    async def led(request):
        return JSONResponse([1], headers={"link": f'<{request.query_params["to"]}>; rel="next"'})

    async def changed(request):
        CHANGES.append(request.method)
        return JSONResponse([2])

    return Starlette(
        routes=[
            Route("/drip", drip),
            Route("/packed", packed),
            Route("/led", led),
            Route("/changed", changed, methods=["GET", "POST", "DELETE"]),
        ]
    )


CHANGES: list[str] = []


async def test_an_answer_without_an_end_is_refused(serve):
    address, reach = serve(big()), Reach(bytes=2**20)
    with httpx.Client(base_url=address) as connection, pytest.raises(FollowedTooFar, match="bytes"):
        Client(connection, reach=reach).call("/drip")
    async with httpx.AsyncClient(base_url=address) as connection:
        with pytest.raises(FollowedTooFar, match="bytes"):
            await AsyncClient(connection, reach=reach).call("/drip")


@pytest.mark.parametrize("ways", ["gzip", "deflate"])
def test_a_packed_answer_is_unpacked_as_far_as_the_client_reaches(serve, ways):
    with httpx.Client(base_url=serve(big())) as connection:
        assert Client(connection, reach=Reach(bytes=2**23)).call("/packed", {"as": ways}).data == [1]
        with pytest.raises(FollowedTooFar, match="bytes"):
            Client(connection, reach=Reach(bytes=2**20)).call("/packed", {"as": ways})


@pytest.mark.parametrize("ways", ["gzip, gzip", "br", "deflate, gzip"])
async def test_an_answer_that_is_packed_otherwise_is_not_unpacked_at_all(serve, ways):
    """A few bytes that are packed twice may become gigabytes at once."""
    async with httpx.AsyncClient(base_url=serve(big())) as connection:
        with pytest.raises(ContractError, match="which was not asked for"):
            await AsyncClient(connection).call("/packed", {"as": ways})


def test_only_get_is_called_on_the_word_of_a_reply(serve):
    CHANGES.clear()
    with httpx.Client(base_url=serve(big())) as connection:
        client = Client(connection)
        for target in ("DELETE /changed", "POST /changed", "/changed"):
            try:
                list(client.pages("/led", {"to": target}))
            except (ContractError, ReplyError):
                continue
    assert CHANGES == ["GET"]


async def test_no_other_tool_is_called_on_the_word_of_a_reply():
    called = []
    server = fastmcp.FastMCP("two")
    content = Content.of_json([1])
    fidelity = Fidelity("partial", archive_hashes={"data": content.hash})

    @server.tool(output_schema=None)
    def delete_everything(hash: str = "", as_text: bool = False, cursor: str = "") -> str:
        called.append("delete_everything")
        return "[1]"

    @server.tool(output_schema=None)
    def kid_retrieve(hash: str, as_text: bool) -> str:
        called.append("kid_retrieve")
        return "[1]"

    @server.tool(output_schema=None)
    def retrieve(hash: str, as_text: bool, to: str = "") -> str:
        called.append("retrieve" + to)
        return "[1]"

    async with fastmcp.Client(server) as connection:
        client = AsyncClient(connection)
        for tool in ("delete_everything", "kid_retrieve", "retrieve"):
            action = Action(tool=tool, args={"hash": content.hash, "to": "mallory"})
            reply = Reply.partial([], "left out", fidelity=fidelity, actions=(action,))
            try:
                await client.recover(reply)
            except Exception:  # noqa: BLE001 - there is no archive behind this server
                continue
    assert called == ["retrieve"]


async def test_no_tool_is_called_because_a_page_is_said_to_lead_there():
    called = []
    server = fastmcp.FastMCP("one")

    @server.tool(output_schema=None)
    def delete_everything() -> str:
        called.append("delete_everything")
        return "[]"

    @server.tool(output_schema=None)
    def rows() -> dict:
        return body(Reply.ok([1], page=Page(has_more=True, extra={"next": "delete_everything"})))

    async with fastmcp.Client(server) as connection:
        with pytest.raises(ContractError, match="no address"):
            [page async for page in AsyncClient(connection).pages("rows")]
    assert called == []
