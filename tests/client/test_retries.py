"""Retries: when the reply says that they help, and after the time it asks for. Pages: until they end."""

from __future__ import annotations

import datetime as dt
import time

import pytest

from aerogram import ContractError, Page, Problem, RateLimit, Reply
from aerogram.client import AsyncClient, Client, Retries, advised_wait
from aerogram.content import Content
from aerogram.dialects import dialect
from aerogram.errors import NotFound, Unavailable
from aerogram.reply import Action, Fidelity


class Server:
    """A server that gives its replies one after the other, as bodies; the last one for ever."""

    def __init__(self, *replies, name="response-v2") -> None:
        self.replies = replies
        self.calls = []
        self.voice = dialect(name)

    def __call__(self, target, arguments):
        reply = self.replies[min(len(self.calls), len(self.replies) - 1)]
        self.calls.append((target, dict(arguments)))
        return self.voice.encode(self.voice.complete(reply))


def calling(server, **options):
    """A client whose waits are written down instead of waited for."""
    waits = []
    return Client(server, sleep=waits.append, **options), waits


BUSY = Reply.failed(Problem.of("RATE_LIMITED", "slow down", retry_after=7))
DOWN = Reply.failed("UNAVAILABLE", "down")
DONE = Reply.ok({"done": True})


@pytest.mark.parametrize("name", ["response-v2", "standard-v2", "knowledge-1.0"])
def test_a_failure_is_tried_again_after_the_time_it_asks_for(name):
    server = Server(BUSY, BUSY, DONE, name=name)
    client, waits = calling(server)
    assert client.call("search", {"q": 1}).data == {"done": True}
    assert waits == [7, 7]
    assert server.calls == [("search", {"q": 1})] * 3


def test_without_advice_one_waits_longer_each_time():
    client, waits = calling(Server(DOWN), retries=Retries(most=4, first_wait=1))
    assert client.call("search").problem.code == "UNAVAILABLE"
    assert len(waits) == 4
    for attempt, wait in enumerate(waits):
        assert 0.5 * 2**attempt <= wait <= 2**attempt


@pytest.mark.parametrize("code", ["NOT_FOUND", "VALIDATION_ERROR", "QUOTA_EXCEEDED", "CONFLICT", "FORBIDDEN"])
def test_what_cannot_succeed_is_not_tried_again(code):
    client, waits = calling(Server(Reply.failed(code)))
    assert client.call("search").problem.code == code
    assert waits == []


def test_a_failure_that_asks_for_too_much_patience_is_given_back():
    client, waits = calling(Server(Reply.failed(Problem.of("UNAVAILABLE", retry_after=3600))))
    assert client.call("search").problem.retry_after == 3600
    assert waits == []


def test_retries_can_be_switched_off():
    client, waits = calling(Server(BUSY, DONE), retries=Retries(most=0))
    assert client.call("search").problem is not None
    assert waits == []


async def test_an_async_client_waits_in_the_same_way():
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    server = Server(BUSY, DONE)

    async def send(target, arguments):
        return server(target, arguments)

    for carrier in (send, Server(BUSY, DONE)):
        assert (await AsyncClient(carrier, sleep=sleep).call("search")).data == {"done": True}
    assert waits == [7, 7]


@pytest.mark.parametrize(
    ("reply", "advice"),
    [
        (DONE, None),
        (BUSY, 7),
        (DONE.replace(rate_limit=RateLimit(10, 3, "2026-01-01T00:00:30Z")), None),
        (DONE.replace(rate_limit=RateLimit(10, 0, "2026-01-01T00:00:30Z")), 30),
        (DONE.replace(rate_limit=RateLimit(10, 0, "2025-01-01T00:00:30Z")), 0),
        (DONE.replace(rate_limit=RateLimit(10, 0, "soon")), None),
        (DONE.replace(rate_limit=RateLimit(10, 0, 10**400)), None),
        (DONE.replace(rate_limit=RateLimit(10, 0, retry_after=4)), 4),
        (DOWN.replace(rate_limit=RateLimit(10, 3, retry_after=4)), 4),
        (DONE.replace(rate_limit=RateLimit()), None),
    ],
)
def test_a_caller_can_respect_the_rate_limit_that_a_reply_states(reply, advice):
    now = dt.datetime(2026, 1, 1, tzinfo=dt.UTC).timestamp()
    assert advised_wait(reply, now=now) == advice


def test_a_rate_limit_that_resets_is_waited_for():
    state = RateLimit(10, 0, time.time() + 20)
    client, waits = calling(Server(Reply.failed("RATE_LIMITED", rate_limit=state), DONE))
    client.call("search")
    assert len(waits) == 1 and 10 < waits[0] <= 20


def page(data, cursor, **said):
    return Reply.ok(data, page=Page(cursor=cursor, has_more=cursor is not None), **said)


def test_each_page_is_asked_for_with_the_cursor_before_it():
    server = Server(page([1, 2], "a"), page([3], "b"), page([4], None))
    client, _ = calling(server)
    assert list(client.items("search", {"q": "x", "page_size": 2})) == [1, 2, 3, 4]
    assert [arguments.get("cursor") for _, arguments in server.calls] == [None, "a", "b"]
    assert all(arguments["page_size"] == 2 for _, arguments in server.calls)


def test_a_page_is_only_asked_for_when_it_is_wanted():
    server = Server(page([1], "a"), page([2], "b"))
    client, _ = calling(server)
    assert next(client.items("search")) == 1
    assert len(server.calls) == 1


def test_pages_that_go_round_in_circles_are_refused():
    client, _ = calling(Server(page([1], "a"), page([2], "b"), page([3], "a")))
    with pytest.raises(ContractError, match="same cursor"):
        list(client.pages("search"))


def test_a_page_that_fails_is_raised_after_its_retries():
    client, waits = calling(Server(page([1], "a"), DOWN))
    pages = client.pages("search")
    assert next(pages).data == [1]
    with pytest.raises(Unavailable):
        next(pages)
    assert len(waits) == 2


def fitted(*contents, actions=()):
    hashes = {f"part-{number}": content.hash for number, content in enumerate(contents)}
    return Reply.partial([], "left out", fidelity=Fidelity("partial", archive_hashes=hashes), actions=actions)


@pytest.mark.parametrize(
    ("content", "pieces"),
    [
        (Content.of_json([1, 2, 3]), [[1], [2, 3]]),
        (Content.of_json({"a": "é"}), ['{"a"', ':"é"}']),
        (Content.of_json({"a": 1}), [{"a": 1}]),
        (Content.of_json("text"), ["text"]),
        (Content.of_text("a text"), ["a ", "text"]),
        (Content.of_bytes(b"\x00\xff"), ["AP8="]),
    ],
)
def test_content_is_put_together_from_its_pages(content, pieces):
    """Text in pieces, rows in pieces, or the value at once; bytes come as base64."""
    replies = [page(piece, f"c{number}" if number + 1 < len(pieces) else None) for number, piece in enumerate(pieces)]
    client, _ = calling(Server(*replies), retrieve="retrieve")
    assert client.recover(fitted(content)) == {"part-0": content.value()}


def test_the_replys_own_action_says_how_content_is_retrieved():
    content = Content.of_json([1])
    server = Server(Reply.ok("[1]"))
    client, _ = calling(server, retrieve="fetch_rest")
    named = Action(tool="fetch_rest", args={"hash": content.hash[:19], "scope": "mine"})
    assert client.recover(fitted(content, actions=(named,))) == {"part-0": [1]}
    for address in ("/rest/{hash}", "/rest"):
        endpoint = Action(endpoint=address, args={"hash": content.hash, "scope": "mine"})
        assert client.recover(fitted(content, actions=(endpoint,))) == {"part-0": [1]}
    assert server.calls == [
        ("fetch_rest", {"hash": content.hash, "as_text": True}),  # a tool may do anything with the rest
        (f"/rest/{content.hash}", {"scope": "mine", "as_text": "true"}),
        ("/rest", {"hash": content.hash, "scope": "mine", "as_text": "true"}),
    ]


def test_without_a_way_back_one_is_told_so():
    client, _ = calling(Server(DONE))
    with pytest.raises(NotFound, match="how to get the rest"):
        client.recover(fitted(Content.of_json(1)))
    assert client.recover(DONE) == {}


def test_what_the_envelope_gave_up_comes_back_too():
    envelope = Content.of_json({"citations": [{"source_id": "s1"}], "notices": [{"message": "first"}]})
    data = Content.of_json([1, 2])
    hashes = {"data": data.hash, "envelope": envelope.hash}
    light = Reply.partial([1], "1 of 2 items left out", fidelity=Fidelity("partial", archive_hashes=hashes))
    client, _ = calling(Server(Reply.ok([1, 2]), Reply.ok(envelope.body.decode())), retrieve="retrieve")
    whole = client.whole(light)
    assert (whole.data, [one.source_id for one in whole.citations]) == ([1, 2], ["s1"])
    assert [notice.message for notice in whole.notices] == ["first"]


def test_only_servers_can_be_called():
    with pytest.raises(TypeError, match="no MCP client"):
        Client(42)
