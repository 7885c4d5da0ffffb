"""The slider: a reply fitted into a budget, counted in every mode and dialect; and all that was left out back."""

from __future__ import annotations

import asyncio
import hashlib

import fastmcp
import pytest

from aerogram import dialects
from aerogram._mcp.negotiation import EXTENSION
from aerogram.content.jsontext import dumps
from aerogram.tokens import best_counter
from page.conftest import QUESTION, SEARCH

VENDOR = {"call": {"operation": "find_vendor_info", "arguments": {"vendor_name": "Kestrelgate"}}}
DIALECTS = ("response-v2", "standard-v2", "knowledge-1.0")


def tokens(body) -> int:
    return best_counter().count(dumps(body).decode())


def test_without_a_budget_the_reply_is_whole(shrink):
    told = shrink(mode="full", dialect="knowledge-1.0")
    assert (told["before"]["items"], told["after"]["whole"], told["after"]["fidelity"]) == (10, 10, "full")
    assert told["before"]["size"] == told["after"]["size"] == tokens(told["body"])
    assert told["pieces"] == {"total": 0, "counts": {}, "listed": []}
    assert told["archives"] == []


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("budget", [2500, 1200, 700])
def test_the_reply_is_within_the_budget_valid_and_counted(shrink, dialect, budget):
    told = shrink(budget, mode="full", dialect=dialect)
    assert dialects.validate(told["body"]).name == dialect
    assert told["after"]["size"] == tokens(told["body"]) <= budget < told["before"]["size"]
    assert told["after"]["bytes"] == len(dumps(told["body"]))
    assert told["after"]["items"] == told["after"]["whole"] + told["after"]["shortened"]
    assert told["after"]["items"] + told["after"]["dropped"] == 10


def test_of_two_channels_the_larger_counts(shrink):
    told = shrink(2500, mode="full", way="mcp")
    assert (told["way"], told["channels"]) == ("mcp", "mirror")
    assert told["after"]["size"] == max(tokens(told["body"]), best_counter().count(told["text"])) <= 2500


def test_the_summary_channel_names_ids_cursor_and_what_was_left_out(shrink):
    told = shrink(1_500, mode="full", channels="summary")
    ids = ", ".join(str(row["chunk_id"]) for row in told["body"]["results"])
    assert told["text"].startswith(f"partial · {told['after']['items']} results\nids: {ids}\n")
    assert f"cursor={told['page']['cursor']}" in told["text"]
    told = shrink(900, mode="full", channels="summary", source=VENDOR)
    hashes = dialects.read(told["body"]).fidelity.archive_hashes
    assert hashes and all(f"{name}={digest}" in told["text"] for name, digest in hashes.items())


@pytest.mark.parametrize("budget", ["claude-desktop", "10240 bytes", "codex"])
def test_budgets_may_be_clients_or_bytes(shrink, budget):
    told = shrink(budget, mode="full")
    assert told["budget"]["asked"] == budget
    assert told["after"]["size"] <= told["budget"]["room"]


def test_the_counts_beside_modes_and_dialects_are_those_of_the_real_replies(shrink):
    first = shrink(1500, mode="full", dialect="standard-v2")
    for mode in ("ids_only", "metadata", "preview", "full"):
        whole = shrink(None, mode=mode, dialect="standard-v2")
        counted = next(row["size"] for row in first["modes"] if row["mode"] == mode)
        assert counted == first["table"][mode]["standard-v2"] == whole["after"]["size"]
    sizes = [row["size"] for row in first["modes"]]
    assert sizes == sorted(sizes)
    fitted = {row["dialect"]: row["size"] for row in first["dialects"]}
    assert fitted["problem"] is None
    assert fitted["standard-v2"] == first["after"]["size"]
    for name in (*DIALECTS, "bare"):
        size = shrink(1500, mode="full", dialect=name)["after"]["size"]
        assert abs(fitted[name] - size) <= 6 and size <= 1500  # an id and a cursor of its own may cost some tokens more


def test_a_dialect_that_has_no_room_in_the_budget_has_no_size(shrink):
    told = shrink(60, mode="full")
    assert {row["size"] for row in told["dialects"] if row["dialect"] != "bare"} == {None}


@pytest.fixture
def over_mcp(search_page):
    """What a tool call of a real client gives, and how many tokens the larger of its two channels takes."""

    def call(max_tokens: int, **said) -> tuple[dict, int]:
        async def asked():
            async with fastmcp.Client(search_page.mcp) as client:
                given = {**QUESTION, "response_mode": "full", "max_tokens": max_tokens}
                return await client.call_tool("semantic_search", given, meta=said or None)

        result = asyncio.run(asked())
        size = max(best_counter().count(result.content[0].text), tokens(result.structured_content))
        return result.structured_content, size

    return call


def over_http(http, max_tokens: int) -> tuple[dict, int]:
    """The same for a request, whose body is all that there is."""
    params = {"q": QUESTION["query"], "page_size": 10, "response_mode": "full", "max_tokens": max_tokens}
    answer = http.get("/v1/search", params={**params, "envelope": "v2"})
    return answer.json(), best_counter().count(answer.text)


def about(size: int):
    """Request ids, timestamps and durations differ from reply to reply, and a few tokens with them."""
    return pytest.approx(size, rel=0.04)


def shown(body: dict) -> list[int]:
    """The passages of a reply, whose texts may be a few letters longer or shorter."""
    return [row["chunk_id"] for row in body["results"]]


@pytest.mark.parametrize("budget", [1500, 2000, 4000])
def test_the_figures_of_the_mcp_way_are_those_of_a_tool_call(shrink, over_mcp, budget):
    told = shrink(budget, mode="full", dialect="knowledge-1.0", way=None)
    body, size = over_mcp(budget)
    assert told["way"] == "mcp"
    assert told["after"]["size"] == about(size)
    assert max(told["after"]["size"], size) <= budget
    assert shown(told["body"]) == shown(body)
    assert tokens(told["body"]) == about(tokens(body))


@pytest.mark.parametrize("budget", [900, 1600, 2000])
def test_the_figures_of_the_http_way_are_those_of_a_request(shrink, http, budget):
    told = shrink(budget, mode="full", dialect="standard-v2", way="http")
    body, size = over_http(http, budget)
    assert told["after"]["size"] == about(size)
    assert max(told["after"]["size"], size) <= budget
    assert shown(told["body"]) == shown(body)
    assert [row["message"] for row in told["body"]["warnings"]] == [row["message"] for row in body["warnings"]]


def test_a_dialect_that_a_client_asks_for_is_counted_as_it_is_sent(shrink, over_mcp):
    told = shrink(2000, mode="full", dialect="response-v2", way="mcp")
    body, size = over_mcp(2000, **{EXTENSION: {"dialect": "response-v2"}})
    assert dialects.validate(body).name == "response-v2"
    assert told["after"]["size"] == about(size)


def test_the_context_names_the_ways_and_begins_with_that_of_the_servers_tools(http):
    told = http.get("/page/api/context").json()
    assert told["defaults"]["way"] == "mcp"
    assert told["ways"] == [
        {"name": "mcp", "channels": "mirror", "dialect": "knowledge-1.0"},
        {"name": "http", "channels": "text", "dialect": "standard-v2"},
    ]


def test_the_server_itself_sends_what_the_page_shows(shrink, http):
    shown = shrink(None, mode="metadata", dialect="standard-v2")["body"]
    params = {"q": QUESTION["query"], "page_size": 10, "response_mode": "metadata", "envelope": "v2"}
    sent = http.get("/v1/search", params=params).json()
    assert shown["results"] == sent["results"]


def test_every_piece_that_was_left_out_comes_back_with_its_hash(shrink, ask):
    whole = shrink(None, mode="full")["body"]["results"]
    told = shrink(900, mode="full")
    rows = told["pieces"]["listed"]
    assert told["pieces"]["total"] == len(rows) == told["after"]["shortened"] + told["after"]["dropped"] > 0
    counts = told["pieces"]["counts"]
    assert [counts.get(what, 0) for what in ("shortened", "dropped")] == [
        told["after"]["shortened"],
        told["after"]["dropped"],
    ]
    for row in rows:
        back = ask("piece", source=SEARCH, mode="full", **{name: row[name] for name in ("archive", "pointer", "hash")})
        assert back["matches"] is True
        assert back["archive"]["matches"] is True
        assert back["hash"] == row["hash"] == "sha256:" + hashlib.sha256(back["text"].encode()).hexdigest()
        assert back["value"] == whole[int(row["pointer"][1:])]
        assert row["id"] == str(back["value"]["chunk_id"])


@pytest.mark.parametrize("budget", range(240, 480, 20))
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_reply_with_no_room_to_name_its_archive_is_not_complete_and_comes_back_all_the_same(
    shrink, ask, dialect, budget
):
    told = shrink(budget, mode="full", dialect=dialect)
    after, rows = told["after"], told["pieces"]["listed"]
    if told["refused"]:
        assert (after["fidelity"], after["items"], after["dropped"], rows) == (None, 0, 10, [])
        return
    assert after["fidelity"] in ("partial", "summary")
    assert len(rows) == after["shortened"] + after["dropped"] == 10 - after["whole"] > 0
    assert {row["archive"] for row in rows} == {told["archives"][0]["hash"]}
    row = rows[-1]
    back = ask("piece", source=SEARCH, mode="full", **{name: row[name] for name in ("archive", "pointer", "hash")})
    assert back["matches"] is True


def test_dropped_items_are_listed_first_and_shortened_ones_with_what_they_lost(shrink):
    told = shrink(450, mode="full", dialect="response-v2")
    whats = [row["what"] for row in told["pieces"]["listed"]]
    assert whats == sorted(whats)
    told = shrink(1800, mode="full", dialect="response-v2")
    lost = [row["lost"] for row in told["pieces"]["listed"] if row["what"] == "shortened"]
    assert lost
    assert all(lost)


def test_what_was_left_out_is_in_the_servers_own_archive(shrink, http):
    archived = shrink(900, mode="full")["archives"][0]
    text = ""
    params = {"as_text": True, "envelope": "v2"}
    while True:
        body = http.get(archived["fetch"], params=params).json()
        text += body["results"][0]
        page = body["aerogram"]["page"]
        if not page.get("has_more"):
            break
        params["cursor"] = page["cursor"]
    assert "sha256:" + hashlib.sha256(text.encode()).hexdigest() == archived["hash"]


def test_a_wrong_hash_is_seen_because_it_is_computed(shrink, ask):
    row = shrink(900, mode="full")["pieces"]["listed"][0]
    wrong = "sha256:" + "0" * 64
    back = ask("piece", source=SEARCH, mode="full", archive=row["archive"], pointer=row["pointer"], hash=wrong)
    assert back["matches"] is False
    assert (back["expected"], back["hash"]) == (wrong, row["hash"])


def test_a_piece_that_is_nowhere_is_not_found(http, shrink):
    row = shrink(900, mode="full")["pieces"]["listed"][0]
    for wrong in ({"archive": "sha256:" + "1" * 64}, {"pointer": "/999"}, {"pointer": "no pointer"}):
        said = {"source": SEARCH, "mode": "full", "archive": row["archive"], "pointer": row["pointer"], **wrong}
        answer = http.post("/page/api/piece", json=said)
        assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")


def test_a_budget_below_the_smallest_is_refused_with_one_that_works(shrink):
    told = shrink(60, mode="full")
    assert told["refused"]["code"] == "TOKEN_LIMIT_EXCEEDED"
    assert dialects.read(told["body"]).problem.code == "TOKEN_LIMIT_EXCEEDED"
    assert shrink(told["refused"]["needed"], mode="full")["refused"] is None


def test_a_call_that_fails_is_shown_as_the_failure_that_it_is(ask):
    nobody = {"call": {"operation": "find_vendor_info", "arguments": {"vendor_name": "Nobody at all"}}}
    told = ask("shrink", source=nobody, budget=900)
    assert (told["before"]["status"], told["problem"]["code"]) == ("error", "NOT_FOUND")
    bad = {"call": {"operation": "semantic_search", "arguments": {"query": "x", "page_size": 900}}}
    assert ask("shrink", source=bad)["problem"]["code"] == "VALIDATION_ERROR"
    stale = {"call": {"operation": "semantic_search", "arguments": {**QUESTION, "cursor": "from yesterday"}}}
    assert ask("shrink", source=stale)["problem"]["code"] == "INVALID_CURSOR"


def test_a_page_by_its_cursor_can_be_shrunk_in_its_own_mode(shrink, ask):
    cursor = shrink(None, mode="preview")["page"]["cursor"]
    onward = {"call": {"operation": "semantic_search", "arguments": {**QUESTION, "cursor": cursor}}}
    told = ask("shrink", source=onward, mode="preview", budget=1000)
    assert told["problem"] is None
    assert {row["mode"]: row["size"] is None for row in told["modes"]} == {
        "ids_only": True,
        "metadata": True,
        "preview": False,
        "full": True,
    }


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("find_vendor_info", {"vendor_name": "Kestrelgate Inc."}),
        ("get_chunks", {"chunk_ids": [1, 2, 3]}),
        ("digest_document", {"source_file": "security/jwt-guide.md", "query": "How long is a token valid?"}),
    ],
)
def test_every_operation_can_be_shrunk(ask, operation, arguments):
    source = {"call": {"operation": operation, "arguments": arguments}}
    whole = ask("shrink", source=source, mode="full")
    assert whole["problem"] is None
    tight = ask("shrink", source=source, mode="full", budget=whole["before"]["size"] * 2 // 3)
    assert tight["after"]["size"] < whole["after"]["size"]
    assert tight["pieces"]["total"] > 0
    row = tight["pieces"]["listed"][0]
    back = ask("piece", source=source, mode="full", **{name: row[name] for name in ("archive", "pointer", "hash")})
    assert back["matches"] is True


def test_the_curve_rises_with_the_budget_and_ends_with_the_whole(ask):
    told = ask("curve", source=SEARCH, dialect="standard-v2")
    assert [one["mode"] for one in told["series"]] == ["ids_only", "metadata", "preview", "full"]
    for series in told["series"]:
        points = series["points"]
        assert [point["budget"] for point in points] == told["budgets"] == sorted(told["budgets"])
        assert points[0]["refused"] is True
        assert points[-1]["size"] == series["whole"]
        assert points[-1]["whole"] == series["total"] == 10
        shown = [point["shown"] for point in points]
        assert shown == sorted(shown)
        assert all(point["refused"] or point["size"] <= point["budget"] for point in points)


def test_an_operation_that_does_not_exist_and_a_dialect_that_nobody_speaks_are_told(http, ask):
    unknown = {"call": {"operation": "make_coffee", "arguments": {}}}
    assert ask("shrink", source=unknown)["problem"]["code"] == "NOT_FOUND"
    for wrong in ({"dialect": "klingon"}, {"dialect": "problem"}, {"budget": 0}, {"budget": "plenty"}, {"mode": "x"}):
        answer = http.post("/page/api/shrink", json={"source": SEARCH, **wrong})
        assert answer.status_code == 400
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["kind"] == "validation"
