"""Channels: whichever one a client drops, it can take every next step with the other."""

from __future__ import annotations

import re
from typing import Any

import pytest

from aerogram.answer.retrieval import Retrieval, retrieve
from aerogram.archive import Archive
from aerogram.channels import POLICIES, Channels, Policy, Sizer, channels_of
from aerogram.channels.encodings import read_text
from aerogram.cursor import Cursors
from aerogram.dialects import dialect, read
from aerogram.errors import ReplyError, ValidationFailed
from aerogram.reply import Action, Fidelity, Notice, Page, Reply
from aerogram.shape.fit import fit
from aerogram.shape.pages import Pager, take
from aerogram.tokens import Bytes

DIALECTS = ["response-v2", "standard-v2", "knowledge-1.0"]
DOCUMENTS = [{"id": f"doc-{n:02}", "title": f"Document {n}", "text": f"Document {n} says. " * 60} for n in range(30)]


class Server:
    """A search tool and a retrieval tool behind one dialect and one channel policy."""

    def __init__(self, spoken: str, policy: Policy, budget: int = 1_500) -> None:
        self.dialect = dialect(spoken)
        self.policy = policy
        self.budget = budget
        self.archive = Archive.in_memory()
        self.cursors = Cursors()

    async def search(self, query: str, cursor: str | None = None) -> Channels:
        pager = Pager(self.cursors, "search", {"query": query})
        try:
            window = pager.window(cursor)
        except ReplyError as error:
            return await self._send(Reply.failed(error.error_code, error.message, remediation=error.remediation))
        paged = pager.page(take(DOCUMENTS, window), window, total=len(DOCUMENTS))
        return await self._send(paged.reply, self.policy, resume=paged.resume)

    async def retrieve(self, **asked: Any) -> Channels:
        """Whoever retrieves wants to read: a summary would not do."""
        paged = await retrieve(self.archive, self.cursors, Retrieval(**asked))
        policy: Policy = "compact" if self.policy == "summary" else self.policy
        return await self._send(paged.reply, policy, resume=paged.resume, whole_rows=True)

    async def _send(self, reply: Reply[Any], policy: Policy | None = None, **options: Any) -> Channels:
        policy = policy or self.policy
        reply = self.dialect.complete(reply, operation="search")
        fitted = fit(reply, self.budget, measure=Sizer(self.dialect, policy), retrieve="retrieve", **options)
        await self.archive.put(*(left.content for left in fitted.leftovers))
        return channels_of(fitted.reply, self.dialect.encode(fitted.reply), policy, speaker=self.dialect)


class TextClient:
    """Sees `content` alone, and reads a summary as a model would: line by line."""

    def understand(self, channels: Channels) -> dict[str, Any]:
        try:
            return understood(read(read_text(channels.text.removeprefix(_own_line(channels.text)))))
        except ReplyError:
            raise
        except Exception:  # noqa: BLE001 - no JSON: then it is a summary
            return self._read_summary(channels.text)

    def _read_summary(self, text: str) -> dict[str, Any]:
        def found(pattern: str) -> str | None:
            match = re.search(pattern, text, re.MULTILINE)
            return match[1] if match else None

        return {
            "ids": (found(r"^ids: (.*)$") or "").split(", "),
            "cursor": found(r"cursor=(\S+)$"),
            "level": found(r"^fidelity: (\w+)"),
            "hash": found(r"data=(sha256:[0-9a-f]{12})"),
            "code": found(r"^error: (\w+)"),
            "data": None,
        }


def _own_line(text: str) -> str:
    """The line that a contract puts before its body."""
    line, body = text.split("\n", 1) if "\n{" in text else ("", text)
    return f"{line}\n" if body.startswith("{") and not line.startswith("{") else ""


class StructuredClient:
    """Sees `structuredContent` alone, and `content` only where there is nothing else."""

    def understand(self, channels: Channels) -> dict[str, Any]:
        return understood(read(read_text(channels.text) if channels.structured is None else channels.structured))


def understood(reply: Reply[Any]) -> dict[str, Any]:
    return {
        "ids": [item["id"] for item in reply.data or [] if isinstance(item, dict)],
        "cursor": reply.page.cursor if reply.page else None,
        "level": reply.fidelity.level if reply.fidelity else None,
        "hash": (reply.fidelity.archive_hashes or {}).get("data") if reply.fidelity else None,
        "code": reply.problem.code if reply.problem else None,
        "data": reply.data,
    }


@pytest.mark.parametrize("spoken", DIALECTS)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("client", [TextClient(), StructuredClient()], ids=["text", "structured"])
async def test_one_channel_is_enough_to_search_page_and_retrieve(
    spoken: str, policy: Policy, client: TextClient | StructuredClient
) -> None:
    server = Server(spoken, policy)
    first = client.understand(await server.search("documents"))
    assert first["ids"] == [document["id"] for document in DOCUMENTS[: len(first["ids"])]]
    assert first["level"] in ("summary", "partial", "reference_only")

    second = client.understand(await server.search("documents", first["cursor"]))
    assert second["ids"][0] == DOCUMENTS[len(first["ids"])]["id"]

    whole: list[Any] = []
    cursor = None
    while cursor is not None or not whole:
        page = client.understand(await server.retrieve(hash=first["hash"], cursor=cursor))
        whole += page["data"]
        cursor = page["cursor"]
    assert whole == DOCUMENTS[:10]

    some = client.understand(await server.retrieve(ids=first["ids"][:1], hash=first["hash"]))
    assert some["data"] == DOCUMENTS[:1]

    failed = client.understand(await server.search("documents", "forged"))
    assert failed["code"] in ("INVALID_CURSOR", "VALIDATION_ERROR", "BAD_REQUEST")


@pytest.mark.parametrize("spoken", DIALECTS)
@pytest.mark.parametrize("policy", POLICIES)
async def test_no_reply_is_larger_than_its_budget_in_both_channels_together(spoken: str, policy: Policy) -> None:
    sizer = Sizer(spoken, policy)
    for budget in (800, 2_000, 6_000):
        assert sizer.of(await Server(spoken, policy, budget).search("documents")) <= budget


def test_each_policy_puts_what_it_says_into_the_channels() -> None:
    reply = Reply.ok([{"id": "a"}, {"id": "b"}], request_id="req_1")
    body = dialect("response-v2").encode(reply)
    channels = {policy: channels_of(reply, body, policy) for policy in POLICIES}
    assert channels["mirror"].structured is body
    assert read_text(channels["mirror"].text) == body
    assert read_text(channels["compact"].text) == body
    assert channels["text"].structured is None
    assert channels["summary"].text == "ok · 2 results\nids: a, b"


def test_a_summary_has_everything_for_the_next_step() -> None:
    reply = Reply.partial(
        [{"id": "a"}],
        [Notice("3 items left out")],
        page=Page(cursor="abc", has_more=True, total=4),
        fidelity=Fidelity("partial", ("b", "c"), {"data": "sha256:12"}, extra={"dropped_count": 3}),
        actions=[Action(tool="retrieve", args={"hash": "sha256:12"})],
    )
    assert channels_of(reply, {}, "summary").text.splitlines() == [
        "partial · 1 result",
        "ids: a",
        "next page of 4: cursor=abc",
        "fidelity: partial; 3 left out (b, c); data=sha256:12",
        "warning: 3 items left out",
        'next: retrieve(hash="sha256:12")',
    ]


def test_a_summary_of_a_failure_starts_with_what_to_tell_the_user() -> None:
    reply = Reply.failed(
        "RATE_LIMITED", "too fast", user_message="Please wait.", remediation="Slow down.", retry_after=45
    )
    assert channels_of(reply, {}, "summary").text.splitlines() == [
        "Please wait.",
        "too fast",
        "error: RATE_LIMITED (rate_limit, retryable); Slow down.; retry after 45 s",
    ]


def summary_in(spoken: str, reply: Reply[Any]) -> list[str]:
    speaker = dialect(spoken)
    completed = speaker.complete(reply, operation="search")
    return channels_of(completed, speaker.encode(completed), "summary", speaker=speaker).text.splitlines()


@pytest.mark.parametrize(
    ("reply", "line"),
    [
        (Reply.ok([{"id": n} for n in range(23)]), "rich · 23 results"),
        (Reply.ok([{"id": 1}], actions=[Action(tool="get", args={"id": 1})]), "sparse · 1 result"),
        (Reply.ok({"id": 1}), "rich · 1 result"),
        (Reply.empty(), "empty · 0 results"),
        (Reply.ok([{"id": 1}, {"id": 2}], page=Page(has_more=False, total=2)), "sparse · 2 results"),
        (Reply.ok([{"id": 1}, {"id": 2}], fidelity=Fidelity("full")), "sparse · 2 results"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_contract_with_a_line_of_its_own_has_that_line_and_nothing_else(reply: Reply[Any], line: str) -> None:
    assert summary_in("standard-v2", reply) == [line]


def test_what_is_missing_and_what_is_warned_of_follows_the_line() -> None:
    rows = [{"id": "a"}, {"id": "b"}]
    assert summary_in("standard-v2", Reply.ok(rows, page=Page("abc", True))) == [
        "sparse · 2 results",
        "ids: a, b",
        "next page: cursor=abc",
    ]
    cut = Reply.partial(
        rows,
        "1 item left out",
        fidelity=Fidelity("partial", ("c",), {"data": "sha256:12"}),
        actions=[Action(tool="retrieve", args={"hash": "sha256:12"})],
    )
    assert summary_in("standard-v2", cut) == [
        "partial · 2 results",
        "ids: a, b",
        "fidelity: partial; 1 left out (c); data=sha256:12",
        "warning: 1 item left out",
        'next: retrieve(hash="sha256:12")',
    ]
    assert summary_in("standard-v2", Reply.ok(rows, notices=["from a cache"]))[1:] == ["warning: from a cache"]


@pytest.mark.parametrize(
    ("spoken", "code", "said"),
    [
        ("standard-v2", "RATE_LIMIT_EXCEEDED", "RATE_LIMITED"),
        ("standard-v2", "MISSING_REQUIRED", "VALIDATION_ERROR"),
        ("standard-v2", "CONFLICT", "VALIDATION_ERROR"),
        ("response-v2", "RATE_LIMITED", "RATE_LIMIT_EXCEEDED"),
        ("response-v2", "MISSING_REQUIRED", "MISSING_REQUIRED"),
        ("knowledge-1.0", "RATE_LIMITED", "RATE_LIMITED"),
    ],
)
def test_a_summary_names_the_code_that_the_body_has(spoken: str, code: str, said: str) -> None:
    speaker = dialect(spoken)
    body = speaker.encode(speaker.complete(Reply.failed(code), operation="search"))
    written = body["data"]["error_code"] if spoken == "response-v2" else body["error"]["code"]
    line = summary_in(spoken, Reply.failed(code))[-1]
    assert line.startswith(f"error: {said} (") and written == said


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(ValidationFailed):
        channels_of(Reply.ok([]), {}, "both")  # type: ignore[arg-type]


def test_a_budget_in_bytes_counts_the_result_as_it_goes_over_the_wire() -> None:
    """Quotes inside the text block are escaped there, and escapes are bytes."""
    reply = Reply.ok([{"id": 'say "hello"'}])
    body = dialect("response-v2").encode(reply)
    channels = channels_of(reply, body, "mirror")
    size = Sizer(policy="mirror", counter=Bytes()).of(channels)
    assert size > len(channels.text) * 2 + 8


def test_sizes_do_not_depend_on_chance() -> None:
    for spoken in DIALECTS:
        assert len({Sizer(spoken)(Reply.ok([{"id": 1}])) for _ in range(5)}) == 1
