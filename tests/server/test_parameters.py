"""Parameters of a query: those that an address does not have are told, those that contradict themselves are refused."""

from __future__ import annotations

from urllib.parse import quote

import httpx
import pytest

from aerogram import dialects
from aerogram.client.reading import read
from aerogram.tokens import Vocabulary
from serving import serving

EVERYTHING = {
    "q": "token",
    "page_size": "5",
    "response_mode": "preview",
    "fields": "chunk_id,rank",
    "category": "security",
    "path": "security",
    "license": "CC0-1.0",
    "after": "2020-01-01",
    "before": "2030-01-01",
    "max_tokens": "2000",
    "format": "json",
    "envelope": "v2",
}


@pytest.fixture(scope="module")
def addresses(served):
    """An address of each kind with what it needs, and the hash of something that was left out."""
    with httpx.Client(base_url=served.address, timeout=30) as http:
        tight = http.get("/v1/vendors/Kestrelgate", params={"response_mode": "full", "max_tokens": 900})
        identity = http.get("/v1/search", params={"q": "token"}).json()["results"][0]["chunk_id"]
    return {
        "search": ("/v1/search", {"q": "token"}),
        "vendor": ("/v1/vendors/Kestrelgate", {}),
        "chunk": (f"/v1/chunks/{identity}", {}),
        "digest": ("/v1/digests", {"source_file": "security/jwt-guide.md", "query": "token"}),
        "content": (tight.links["alternate"]["url"], {}),
        "health": ("/v1/health", {}),
        "deep health": ("/v1/health/deep", {}),
    }


ASKED = ("search", "vendor", "chunk", "digest", "content")
"""Those whose newer envelope has a place for what is to be said of a request."""


def warned(answer):
    """The names of the parameters that an answer says it did not use."""
    return [one.context["field"] for one in read(answer).notices if one.code == "CONTROL_IGNORED"]


@pytest.mark.parametrize("kind", ASKED)
def test_a_misspelt_parameter_is_answered_and_told_with_the_nearest_name(http, addresses, kind):
    path, needed = addresses[kind]
    plain = http.get(path, params={**needed, "envelope": "v2"})
    slip = http.get(path, params={**needed, "envelope": "v2", "max_tokns": "9"})
    assert slip.status_code == 200
    assert dialects.validate(slip.json()).name == "standard-v2"
    assert slip.json()["results"] == plain.json()["results"]
    assert (warned(plain), warned(slip)) == ([], ["max_tokns"])
    notice = read(slip).notices[-1]
    assert (notice.severity, notice.suggestion) == ("warning", "did you mean 'max_tokens'?")
    assert "X-Warning" not in plain.headers


@pytest.mark.parametrize("kind", [*ASKED, "health", "deep health"])
def test_a_legacy_body_stays_as_it_is_and_a_header_tells(http, addresses, kind):
    path, needed = addresses[kind]
    plain = http.get(path, params=needed)
    slip = http.get(path, params={**needed, "envelop": "v2"})
    assert slip.headers["X-Envelope-Version"] == "v1"
    if "health" not in kind:  # which tells the time
        assert slip.content == plain.content
    said = "'envelop' is no parameter of this address, so it was not used; did you mean 'envelope'?"
    assert (slip.headers["X-Warning"], plain.headers.get("X-Warning")) == (said, None)
    assert http.head(path, params={**needed, "envelop": "v2"}).headers["X-Warning"] == said


def test_a_table_tells_in_its_header(http):
    slip = http.get("/v1/search", params={"q": "token", "format": "csv", "catgory": "security"})
    assert slip.headers["Content-Type"].startswith("text/csv")
    assert "did you mean 'category'?" in slip.headers["X-Warning"]


def test_a_posted_question_has_its_parameters_read_too(http):
    asked = {"source_file": "security/jwt-guide.md", "query": "token"}
    slip = http.post("/v1/digests", params={"envelope": "v2", "max_token": "700"}, json=asked)
    assert warned(slip) == ["max_token"]


def test_where_nothing_is_near_the_names_are_told_that_there_are(http):
    slip = http.get("/v1/search", params={"q": "token", "zzz": "", "envelope": "v2"})
    assert read(slip).notices[-1].suggestion.startswith("there are after, before, category, cursor, envelope, fields")


def test_what_an_address_takes_is_not_warned_of(http):
    whole = http.get("/v1/search", params=EVERYTHING)
    assert whole.status_code == 200
    assert "X-Warning" not in whole.headers
    assert warned(whole) == []


def test_names_of_any_kind_are_told_in_headers_of_plain_letters(http):
    odd = {"größe": "1", "a\r\nSet-Cookie: b": "1", "🦀" * 100: "1"}
    slip = http.get("/v1/search", params={"q": "token", "envelope": "v2", **odd})
    assert slip.status_code == 200
    assert slip.headers["X-Warning"].isascii() and "Set-Cookie" not in slip.headers
    assert len(warned(slip)) == 3 and max(map(len, warned(slip))) <= 60
    many = http.get("/v1/search", params={"q": "token", "envelope": "v2", **{f"p{one}": "" for one in range(500)}})
    assert (many.status_code, len(warned(many))) == (200, 5)


@pytest.mark.parametrize("budget", [800, 1_200])
@pytest.mark.parametrize("kind", ["search", "content"])
def test_a_budget_holds_what_is_said_of_parameters_too(http, addresses, kind, budget):
    path, needed = addresses[kind]
    asked = {**needed, "envelope": "v2", "response_mode": "full", "max_tokens": budget, "page_sise": "5"}
    slip = http.get(path, params=asked)
    assert Vocabulary().count(slip.text) <= budget
    assert "'page_sise'" in slip.headers["X-Warning"]
    assert budget < 1_000 or warned(slip) == ["page_sise"]  # the smallest replies have room for rows alone


@pytest.mark.parametrize("envelope", ["v1", "v2"])
@pytest.mark.parametrize(
    ("kind", "name", "values"),
    [
        ("search", "response_mode", ("full", "ids_only")),
        ("search", "page_size", ("5", "6")),
        ("search", "q", ("key",)),
        ("search", "format", ("json", "csv")),
        ("vendor", "response_mode", ("full", "preview")),
        ("chunk", "max_tokens", ("500", "600")),
        ("digest", "query", ("key",)),
        ("content", "path", ("/0", "/1")),
    ],
)
def test_what_is_given_twice_and_differently_is_refused(http, addresses, kind, name, values, envelope):
    path, needed = addresses[kind]
    asked = [*needed.items(), *((name, value) for value in values), ("envelope", envelope)]
    refused = http.get(path, params=asked)
    assert refused.status_code == 400
    problem = read(refused).problem
    assert (problem.code, problem.message) == ("VALIDATION_ERROR", f"{name} is given twice and differently")
    if envelope == "v2":
        assert (problem.remediation, problem.details["field"]) == (f"Send {name} once", name)


@pytest.mark.parametrize("spelt", ["1_0", " 10", "10 ", "+10", "010", "10.0", "1e1", "-0", "\u0661\u0660", "\uff11"])
def test_a_number_that_is_not_written_in_digits_is_refused(http, spelt):
    assert http.get("/v1/chunks/10").json()["chunk_id"] == 10
    assert http.get(f"/v1/chunks/{quote(spelt)}").status_code == 422
    for name in ("page_size", "max_tokens"):
        assert http.get("/v1/search", params={"q": "token", name: spelt}).status_code == 422


def test_what_is_given_twice_and_alike_or_takes_several_values_is_not_refused(http):
    twice = [("q", "token"), ("q", "token"), ("page_size", "3"), ("page_size", "3")]
    several = [("fields", "rank"), ("fields", "chunk_id"), ("category", "security"), ("category", "apis")]
    answer = http.get("/v1/search", params=[*twice, *several])
    assert answer.status_code == 200
    assert len(answer.json()["results"]) == 3
    assert set(answer.json()["results"][0]) == {"rank", "chunk_id"}


def test_a_cache_gives_the_warning_to_those_whom_it_concerns(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "one.md").write_text("# One\n\nA token is valid for a day.\n", encoding="utf-8")
    with (
        serving(tmp_path / "index", "--cache", "60", documents=tmp_path / "docs") as served,
        httpx.Client(base_url=served.address, timeout=30) as http,
    ):
        identity = http.get("/v1/search", params={"q": "token"}).json()["results"][0]["chunk_id"]
        right = {"envelope": "v2"}
        asked = (right, {**right, "max_token": "1"}) * 2
        answers = [http.get(f"/v1/chunks/{identity}", params=one) for one in asked]
    assert [warned(one) for one in answers] == [[], ["max_token"]] * 2
    assert ["X-Warning" in one.headers for one in answers] == [False, True] * 2
    assert [read(one).telemetry.cache_hit for one in answers] == [False, False, True, True]
