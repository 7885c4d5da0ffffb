"""What the documents promise of the tools of a server, asked of a real server of each framework by its own client."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

import aerogram
from aerogram import Notice, Page, RateLimit, Reply, Telemetry
from aerogram._mcp.negotiation import EXTENSION
from aerogram.archive import Archive
from aerogram.client import read
from aerogram.contract.flags import RESPONSE_CONTRACT_V2, Flags
from aerogram.cursor import Cursors
from aerogram.digest import Digester, DigestPolicy, digest_many, reply_of
from aerogram.shape.pages import Pager, take
from aerogram.testing import assert_success
from contracts.document_examples import example
from tool_servers import ROWS, Talk, build, talk

FERRY = "The ferry to Holm leaves at noon. A ticket costs three crowns. Bicycles travel free. " * 4
QUERY = "What does a ticket cost?"

frameworks = pytest.mark.parametrize("framework", ["fastmcp", "sdk"])


@asynccontextmanager
async def asking(framework: str, *handlers: Callable[..., Any], **settings: Any) -> AsyncIterator[Talk]:
    """A client of a server that has these handlers beside its own."""
    server, _ = build(framework, **settings)
    for handler in handlers:
        (server.tool if framework == "fastmcp" else server.add_tool)(handler)
    async with talk(framework, server, "auto") as client:
        yield client


async def digested(digester: Digester, **sources: str | bytes) -> Reply[Any]:
    return reply_of(await digest_many(digester, sources, QUERY))


# --- one shape -------------------------------------------------------------------------------------------------------

SUCCEED: list[tuple[str, dict[str, Any]]] = [
    ("rows", {}),
    ("divide", {"dividend": 9, "divisor": 2}),
    ("task", {"task_id": "t1"}),
    ("odd_values", {}),
    ("unannounced", {}),
    ("partial", {}),
    ("server", {}),
]
FAIL: list[tuple[str, dict[str, Any]]] = [
    ("task", {"task_id": "missing"}),
    ("task", {"task_id": "busy"}),
    ("divide", {"dividend": 1, "divisor": 0}),
    ("divide", {"dividend": 1, "divisor": "two"}),
    ("divide", {}),
]


@frameworks
async def test_every_tool_answers_in_one_shape(framework: str) -> None:
    """Values, objects, finished results, replies, declared and unexpected failures, wrong arguments."""
    async with asking(framework) as server:
        for name, arguments in (*SUCCEED, *FAIL):
            result = await server.call(name, arguments)
            body, fails = result.structured_content, (name, arguments) in FAIL
            assert aerogram.validate(body).name == "response-v2", (name, arguments)
            assert list(body) == ["success", "data", "error", "meta"], (name, arguments)
            assert (body["success"], result.is_error) == (not fails, fails), (name, arguments)


TASKS = [{"task_id": f"task-{number:03}"} for number in range(45)]
CURSORS = Cursors()


def query_tasks(action: str, spec_id: str, cursor: str | None = None) -> Reply[dict[str, Any]]:
    """The tool of the guide: twenty tasks at a time, under a name of their own."""
    pager = Pager(CURSORS, action, {"spec_id": spec_id})
    window = pager.window(cursor, 20)
    page = pager.page(take(TASKS, window), window, total=len(TASKS)).reply
    return page.replace(data={"tasks": page.data})


@frameworks
async def test_the_paging_loop_of_the_guide_walks_every_page_of_a_tool(framework: str) -> None:
    """The guide's loop, as it stands, gets every task once; its first call has no cursor, and says null."""
    loop, pages = asyncio.get_running_loop(), []
    async with asking(framework, query_tasks) as server:

        def call(**asked: Any) -> dict[str, Any]:
            answer = asyncio.run_coroutine_threadsafe(server.call("query_tasks", asked), loop)
            pages.append(answer.result(20).structured_content)
            return dict(pages[-1])

        space: dict[str, Any] = {"call": call}
        code = compile(example("guide-code-pagination").completed_text(), "loop", "exec", dont_inherit=True)
        await asyncio.to_thread(exec, code, space)
    assert space["all_tasks"] == TASKS
    assert [page["meta"]["pagination"]["total_count"] for page in pages] == [45, 45, 45]
    assert [page["meta"]["pagination"]["page_size"] for page in pages] == [20, 20, 20]


def refusing() -> dict[str, Any]:
    """A failure, said with the fields of a result."""
    return {"content": [{"type": "text", "text": "x must not be negative"}], "isError": True}


def answering() -> dict[str, Any]:
    """A success, said with the fields of a result."""
    return {"content": [{"type": "text", "text": "done"}], "structuredContent": {"value": 42}}


@frameworks
@pytest.mark.parametrize("dialect", ["response-v2", "bare"])
async def test_a_dictionary_with_the_fields_of_a_result_is_that_result(framework: str, dialect: str) -> None:
    """Its content is sent as it stands, its data is that of the reply, and a failure is one; bare, with its code."""
    async with asking(framework, refusing, answering, dialect=dialect) as server:
        refused, answered = await server.call("refusing", {}), await server.call("answering", {})
    words, *rest = refused.content[0].text.splitlines()
    assert (refused.is_error, words, len(refused.content)) == (True, "x must not be negative", 1)
    assert [line.partition(" (")[0] for line in rest] == (["error: VALIDATION_ERROR"] if dialect == "bare" else [])
    assert (answered.is_error, [block.text for block in answered.content]) == (False, ["done"])
    body = answered.structured_content
    assert (body if dialect == "bare" else body["data"]) == {"value": 42}


@frameworks
@pytest.mark.parametrize("value", ["text", 42, [1, 2], True], ids=str)
async def test_a_normalised_value_may_be_returned_whatever_it_is(framework: str, value: Any) -> None:
    """The normaliser's own result passes, and the envelope stands beside it where the schema promises one."""

    def normalised():  # type: ignore[no-untyped-def]  # without an annotation the envelope is listed for it
        return aerogram.normalize_tool_result(value)

    async with asking(framework, normalised) as server:
        result = await server.call("normalised", {})
    assert not result.is_error
    assert aerogram.read(result.structured_content).data == value


def named_rows() -> dict[str, Any]:
    """Rows under a name of their own."""
    return {"tasks": TASKS}


def two_lists() -> dict[str, Any]:
    """Rows under two names."""
    return {"tasks": TASKS, "others": TASKS}


@frameworks
async def test_a_page_size_that_is_not_used_is_told(framework: str) -> None:
    """Of two lists none is the one to be paged for the tool; the caller hears so, and only when it matters."""
    async with asking(framework, two_lists, controls=True) as server:
        cut, whole = [(await server.call("two_lists", {"page_size": size})).structured_content for size in (20, 50)]
    assert [one["code"] for one in cut["meta"]["warning_details"]] == ["CONTROL_IGNORED"]
    assert "warnings" not in whole["meta"]


def long_text() -> dict[str, str]:
    """One text that no small budget can hold."""
    return {"id": "a", "text": "words " * 2000}


@frameworks
async def test_a_text_that_was_cut_says_so_once_at_any_size(framework: str) -> None:
    """The words say how much is shown of how much, and the call that goes on; no detail repeats them."""
    for budget in (400, 700, 2000):
        async with asking(framework, long_text, budget=budget) as server:
            body = (await server.call("long_text", {})).structured_content
        [words], shown = body["meta"]["warnings"], body["data"]["text"].partition("…")[0]
        digest = body["meta"]["content_archive_hashes"]["data"].removeprefix("sha256:")
        call = f"retrieve(hash='{digest}', path='/text', offset={len(shown)})"
        assert re.fullmatch(
            rf"{len(shown)} of 12000 characters of text shown; more: {re.escape(call)}(; end: offset=-\d+)?", words
        )
        assert "warning_details" not in body["meta"]


def many() -> list[dict[str, str]]:
    """More items than a small budget can show."""
    return [{"id": f"finding-{number:03}", "text": FERRY} for number in range(600)]


def few() -> list[dict[str, str]]:
    """A few more items than a small budget can show."""
    return many()[:45]


@frameworks
async def test_items_that_are_omitted_for_size_are_truncated_content(framework: str) -> None:
    """The document's own case: the code, the severity, the counts and the reason, beside the words."""
    async with asking(framework, few, many, budget=1_200) as server:
        body, larger = [(await server.call(name, {})).structured_content for name in ("few", "many")]
    shown, [words], [told] = len(body["data"]["results"]), body["meta"]["warnings"], body["meta"]["warning_details"]
    assert words.startswith(f"{shown} of 45 shown, in less detail; whole: retrieve(hash=")
    context = {"dropped_count": 45 - shown, "total_count": 45, "reason": "token_limit_exceeded"}
    assert told == {"code": "CONTENT_TRUNCATED", "severity": "info", "message": words, "context": context}
    [words], shown = larger["meta"]["warnings"], len(larger["data"]["results"])
    assert words.startswith(f"{shown} of 600 shown, in less detail; whole: retrieve(hash=")
    [notice] = aerogram.read(body).notices
    assert (notice.code, notice.severity, notice.context) == ("CONTENT_TRUNCATED", "info", context)


def everything() -> Reply[list[dict[str, Any]]]:
    """A reply that declares what a handler can declare."""
    return Reply.partial(
        ROWS[:2],
        Notice.of("STALE_CACHE", cache_age_seconds=7200),
        page=Page("abc", True, 3, 2),
        rate_limit=RateLimit(100, 5, "2099-01-01T00:00:00Z"),
        telemetry=Telemetry(duration_ms=45),
        request_id="order-7",
    )


@frameworks
async def test_fixtures_can_check_the_version_and_each_declared_key(framework: str) -> None:
    """The version in the meta of every tool, what a handler declares, what a budget adds; and they can fail."""
    async with asking(framework, everything, budget=2_000) as server:
        declared, fitted = await server.call("everything"), await server.call("rows")
    keys = {"warnings", "warning_details", "pagination", "rate_limit", "telemetry", "request_id"}
    assert keys <= declared.structured_content["meta"].keys()
    fidelity = {"content_fidelity", "content_fidelity_schema_version", "content_archive_hashes"}
    assert fidelity <= fitted.structured_content["meta"].keys()
    for result in (declared, fitted):
        assert result.structured_content["meta"]["version"] == "response-v2"
        assert_success(result, dialect="response-v2")
        result.structured_content["meta"]["version"] = "response-v1"
        with pytest.raises(AssertionError):
            assert_success(result, dialect="response-v2")


@frameworks
async def test_the_old_shape_is_for_those_who_ask_for_it_or_whose_flag_says_so(framework: str) -> None:
    """Asked for, where a server offers it, and with the flag off the payload alone; else the envelope."""
    flags, asked = Flags(RESPONSE_CONTRACT_V2), {EXTENSION: {"dialect": "bare"}}
    async with asking(framework, offers=["bare"], flags=flags) as server:
        usual = await server.call("task", {"task_id": "t1"})
        wanted = await server.call("task", {"task_id": "t1"}, asked)
        flags.switch(RESPONSE_CONTRACT_V2.name, on=False)
        switched = await server.call("task", {"task_id": "t1"})
    assert usual.structured_content["meta"]["version"] == "response-v2"
    assert wanted.structured_content == switched.structured_content == {"task_id": "t1", "done": False}


@frameworks
async def test_a_server_of_the_standard_contract_sends_its_line_beside_the_body(framework: str) -> None:
    """Nothing is set but the dialect: a line with status and rows, or what the user is told; then the body."""

    def listed(number: int) -> list[dict[str, str]]:
        return TASKS[:number]

    async with asking(framework, listed, dialect="standard-v2") as server:
        rich, empty = await server.call("listed", {"number": 23}), await server.call("listed", {"number": 0})
        failed = await server.call("listed", {})
    error = failed.structured_content["error"]
    lines = ["rich · 23 results", "empty · 0 results", error["user_message"]]
    for result, line in zip((rich, empty, failed), lines, strict=True):
        [block] = result.content
        first, _, body = block.text.partition("\n")
        whole = result.structured_content
        silent = {"query_echo", "citations", "warnings", "suggested_actions"} - json.loads(body).keys()
        assert first == line and json.loads(body) == {name: part for name, part in whole.items() if name not in silent}
        assert not any(
            any(whole[name].values()) if name == "query_echo" else whole[name] for name in silent & whole.keys()
        )
    assert rich.structured_content["results"] == TASKS[:23]
    assert failed.is_error and error["code"] == "VALIDATION_ERROR"


@frameworks
async def test_who_asks_for_the_standard_contract_gets_its_line_too(framework: str) -> None:
    """A server keeps to the text that a contract names, unless its policy was chosen otherwise."""
    asked = {EXTENSION: {"dialect": "standard-v2"}}
    async with asking(framework, named_rows, offers=["standard-v2"]) as server:
        mine, standard = await server.call("named_rows"), await server.call("named_rows", {}, asked)
    async with asking(framework, named_rows, offers=["standard-v2"], channels="compact") as server:
        chosen = await server.call("named_rows", {}, asked)
    assert aerogram.read(mine.content[0].text).data == {"tasks": TASKS}
    assert standard.content[0].text.startswith("rich · 1 result\n{")
    assert chosen.content[0].text.startswith("{")


# --- the way back ----------------------------------------------------------------------------------------------------


@frameworks
async def test_the_hash_and_the_dropped_ids_bring_back_what_was_left_out(framework: str) -> None:
    """Both are taken from the meta as they stand and given to the retrieval tool."""
    async with asking(framework, few, budget=1_200) as server:
        body = (await server.call("few")).structured_content
        meta, shown = body["meta"], len(body["data"]["results"])
        dropped, digest = meta["dropped_content_ids"], meta["content_archive_hashes"]["data"]
        by_hash = await server.call("retrieve", {"hash": digest, "offset": shown, "page_size": 5})
        by_ids = await server.call("retrieve", {"ids": dropped[:3]})
    assert meta["content_fidelity"] != "full"
    assert dropped == [row["id"] for row in few()[shown:]] != []
    assert by_hash.structured_content["data"]["results"] == few()[shown : shown + 5] != []
    assert by_ids.structured_content["data"]["results"] == few()[shown : shown + 3]


@frameworks
async def test_ids_that_are_not_there_are_parts_that_failed_and_no_truncated_content(framework: str) -> None:
    """One of two ids is known: its item comes back, and the other is named."""
    async with asking(framework, few, budget=1_200) as server:
        known = (await server.call("few")).structured_content["meta"]["dropped_content_ids"][0]
        meta = (await server.call("retrieve", {"ids": [known, "unheard-of"]})).structured_content["meta"]
    [told] = meta["warning_details"]
    assert (told["code"], told["severity"], told["context"]) == (
        "PARTIAL_FAILURE",
        "warning",
        {"missing": ["unheard-of"]},
    )


CALL = re.compile(r"(?:more|whole): (?P<tool>\w+)\((?P<arguments>[^)]*)\)(?:; end: offset=-\d+)?$")


@frameworks
@pytest.mark.parametrize("dialect", ["standard-v2", "response-v2", "bare"])
@pytest.mark.parametrize("budget", [600, 3_000])
async def test_the_call_in_a_warning_gives_what_was_left_out_as_it_stands(
    framework: str, dialect: str, budget: int
) -> None:
    """It is made with exactly its arguments, and gives whole what was shown in less detail, from there on."""
    async with asking(framework, dialect=dialect, budget=budget, channels="mirror") as server:
        fitted = read(await server.call("rows"))
        call = CALL.search(fitted.notices[-1].message)
        arguments = eval(f"dict({call['arguments']})", {"dict": dict})
        followed = read(await server.call(call["tool"], arguments)).data
    offset = arguments.get("offset", 0)
    assert fitted.data[:offset] == ROWS[:offset] and fitted.data[offset] != ROWS[offset]
    assert followed == ROWS[offset : offset + len(followed)] != []


@frameworks
async def test_stored_content_that_does_not_match_its_hash_is_an_integrity_error(framework: str, tmp_path: Any) -> None:
    """A file of the archive is changed behind the back of a running server."""
    async with asking(framework, dialect="standard-v2", budget=2_000, archive=Archive.at(tmp_path)) as server:
        fitted = aerogram.read((await server.call("rows")).structured_content)
        digest = fitted.fidelity.archive_hashes["data"]
        [file] = tmp_path.rglob(f"*{digest.removeprefix('sha256:')}*.json")
        file.write_text(file.read_text().replace("Row 7", "Row 8"))
        result = await server.call("retrieve", {"hash": digest})
    error = result.structured_content["error"]
    assert (result.is_error, error["code"], error["retryable"]) == (True, "INTEGRITY_ERROR", True)


# --- warnings that nobody wrote --------------------------------------------------------------------------------------


async def details_of(framework: str, handler: Callable[..., Any]) -> list[dict[str, Any]]:
    """The warning details of a handler's reply as a client gets them."""
    async with asking(framework, handler) as server:
        body = (await server.call(handler.__name__)).structured_content
    assert body["success"] is True
    return list(body["meta"].get("warning_details", ()))


@frameworks
async def test_parts_that_failed_are_warned_of(framework: str) -> None:
    """Two sources are digested; where one cannot be read, the reply succeeds and names it."""

    async def one_fails() -> Reply[Any]:
        return await digested(Digester(DigestPolicy(mode="always")), good=FERRY, bad=bytes(100))

    async def none_fails() -> Reply[Any]:
        return await digested(Digester(DigestPolicy(mode="always")), good=FERRY, other=FERRY)

    [detail] = await details_of(framework, one_fails)
    assert (detail["code"], detail["severity"]) == ("PARTIAL_FAILURE", "warning")
    assert detail["context"]["failed_sources"] == ["bad"]
    assert await details_of(framework, none_fails) == []


@frameworks
async def test_a_fallback_is_told(framework: str) -> None:
    """Where the writer of summaries fails, the text itself answers, and the reply says so."""

    def fails(_: Any) -> Any:
        raise TimeoutError

    async def falls_back() -> Reply[Any]:
        return await digested(Digester(DigestPolicy(mode="always"), writer=fails), good=FERRY)

    [detail] = await details_of(framework, falls_back)
    assert (detail["code"], detail["severity"]) == ("FALLBACK_USED", "info")
