"""The routes over HTTP: legacy shapes, the newer envelope, CSV, errors in every shape, and the OpenAPI document."""

import base64
import csv
import hashlib
import io
import json
import re
from urllib.parse import quote

import fastmcp
import httpx
import pytest

from aerogram import dialects
from aerogram.client import Client
from aerogram.client.reading import read
from aerogram.digest import payload_of, verify
from aerogram.digest import read as read_document
from aerogram.errors import ValidationFailed
from aerogram.tokens import Vocabulary
from serving import SAMPLES, serving

V2 = {"Accept": "application/vnd.aerogram.v2+json"}
LONGER_CURSOR = 30
ROUTES = {
    "/v1/search",
    "/v1/vendors/{name}",
    "/v1/chunks/{id}",
    "/v1/digests",
    "/v1/content/{hash}",
    "/v1/health",
    "/v1/health/deep",
}


def test_search_in_its_legacy_shape_tells_total_limit_and_offset(http):
    first = http.get("/v1/search", params={"q": "token", "page_size": 5})
    assert first.headers["X-Envelope-Version"] == "v1"
    assert list(first.json()) == ["total", "limit", "offset", "results"]
    assert (first.json()["limit"], first.json()["offset"], len(first.json()["results"])) == (5, 0, 5)
    second = http.get(first.links["next"]["url"])
    assert second.json()["offset"] == 5
    assert second.json()["results"][0]["rank"] == 6


@pytest.mark.parametrize("asked", [{"params": {"envelope": "v2"}}, {"headers": V2}])
def test_search_in_the_newer_envelope_by_query_or_by_header(http, asked):
    params = {"q": "token", **asked.get("params", {})}
    answer = http.get("/v1/search", params=params, headers=asked.get("headers"))
    body = answer.json()
    assert answer.headers["X-Envelope-Version"] == "v2"
    assert dialects.validate(body).name == "standard-v2"
    assert (body["status"], len(body["results"])) == ("rich", 10)
    assert body["query_echo"]["normalized_input"] == {"q": "token"}
    endpoints = {action["endpoint"] for action in body["suggested_actions"]}
    assert endpoints == {"/v1/chunks/{id}", "/v1/digests"}


def test_a_search_without_results_says_why_and_what_to_try(http):
    body = http.get("/v1/search", params={"q": "qqxxyyzz", "envelope": "v2"}).json()
    assert (body["status"], body["empty_reason"], body["results"]) == ("empty", "no_match", [])
    narrow = {"q": "token", "category": "security", "after": "2999-01-01", "envelope": "v2"}
    body = http.get("/v1/search", params=narrow).json()
    assert (body["empty_reason"], body["retry_with"]) == ("filters_too_narrow", {"q": "token"})
    assert body["query_echo"]["applied_filters"] == {"category": ["security"], "after": "2999-01-01"}


def test_fields_are_said_with_commas_or_several_times(http):
    asked = [("q", "token"), ("fields", "chunk_id,rank"), ("fields", "source_file")]
    rows = http.get("/v1/search", params=asked).json()["results"]
    assert all(set(row) == {"chunk_id", "rank", "source_file"} for row in rows)
    record = http.get(f"/v1/chunks/{rows[0]['chunk_id']}", params=[*asked[2:], ("fields", "chunk_text")]).json()
    assert {"source_file", "chunk_text"} <= set(record)
    assert "locator" not in record


def test_a_client_pages_to_the_end_and_gets_each_result_once(http):
    client = Client(http)
    rows = list(client.items("/v1/search", {"q": "token", "page_size": 7, "envelope": "v2"}))
    total = http.get("/v1/search", params={"q": "token"}).json()["total"]
    assert [row["rank"] for row in rows] == list(range(1, total + 1))


def without_additions(row):
    """A result without what it says about itself, which a budget takes first."""
    return {name: value for name, value in row.items() if name not in ("confidence", "ranking", "deduplication")}


def test_what_a_budget_leaves_out_is_on_the_next_pages_or_fetched_by_its_hash(http):
    client = Client(http)
    free = {"q": "token", "response_mode": "full", "envelope": "v2"}
    asked = {**free, "max_tokens": 1_200}
    tight = client.call("/v1/search", asked)
    assert (tight.status, tight.page.has_more) == ("partial", True)
    with pytest.raises(ValidationFailed, match="page of several"):
        client.whole(tight)
    walk = [without_additions(row) for row in client.items("/v1/search", asked)]
    assert walk == [without_additions(row) for row in client.items("/v1/search", free)]
    vendor = {"response_mode": "full", "envelope": "v2"}
    part = client.call("/v1/vendors/Kestrelgate", {**vendor, "max_tokens": 900})
    assert client.whole(part).data == client.call("/v1/vendors/Kestrelgate", vendor).data != part.data


@pytest.mark.parametrize("budget", [1_500, 1_000])
def test_a_reply_within_a_budget_still_says_which_filters_it_was_asked_with(http, budget):
    asked = {"q": "token", "category": "apis", "response_mode": "full", "max_tokens": budget, "envelope": "v2"}
    body = http.get("/v1/search", params=asked).json()
    assert body["query_echo"]["applied_filters"] == {"category": ["apis"]}


def test_a_legacy_answer_that_is_shortened_says_so_in_its_headers_and_where_the_whole_is(http):
    asked = {"q": "token", "response_mode": "full"}
    whole = http.get("/v1/search", params=asked)
    tight = http.get("/v1/search", params={**asked, "max_tokens": 900})
    assert "X-Fidelity" not in whole.headers
    assert tight.headers["X-Envelope-Version"] == "v1"
    level, *counts = tight.headers["X-Fidelity"].split("; ")
    shown = len(tight.json()["results"])
    assert (level, counts, shown < 10) == ("partial", [f"shown={shown}", "of=10"], True)
    assert http.get(tight.links["next"]["url"]).json()["offset"] == shown


@pytest.mark.parametrize("budget", [150, 200, 400, 600, 1_200])
@pytest.mark.parametrize("envelope", ["v1", "v2"])
def test_a_budget_is_that_of_the_body_that_is_sent(http, envelope, budget):
    """In either shape: what fits is sent; for the next result there is no room, with the longest cursor of the walk."""
    asked = {"q": "token", "response_mode": "full", "envelope": envelope}
    answer = http.get("/v1/search", params={**asked, "max_tokens": budget})
    size = Vocabulary().count(answer.text)
    if answer.status_code == 200:
        shown = len(answer.json()["results"])
        following = without_additions(http.get("/v1/search", params=asked).json()["results"][shown])
        assert size <= budget < size + Vocabulary().count(json.dumps(following)) + LONGER_CURSOR
    else:
        assert (envelope, read(answer).problem.code) == ("v2", "TOKEN_LIMIT_EXCEEDED")
        assert budget < 600


def test_a_legacy_record_that_is_shortened_says_so_too(http):
    identity = http.get("/v1/search", params={"q": "token"}).json()["results"][0]["chunk_id"]
    alone = http.get(f"/v1/chunks/{identity}")
    less = Vocabulary().count(alone.text) * 2 // 3
    tight = http.get(f"/v1/chunks/{identity}", params={"max_tokens": less})
    assert "X-Fidelity" in tight.headers
    whole = http.get(tight.links["alternate"]["url"]).json()
    assert whole == alone.json()
    part = http.get(tight.links["alternate"]["url"], params={"max_tokens": less})
    assert "X-Fidelity" in part.headers
    assert json.loads(http.get(part.links["alternate"]["url"]).json()) == whole


async def test_single_records_of_what_was_left_out_are_had_by_their_ids(http, served):
    """As replies offer it: by the hash and ids; one that is not there is told."""
    asked = {"chunk_ids": list(range(1, 20)), "response_mode": "full", "max_tokens": 900}
    async with fastmcp.Client(served.mcp) as client:
        tight = read(await client.call_tool("get_chunks", asked))
    address = f"/v1/content/{tight.fidelity.archive_hashes['data']}"
    wanted = [http.get(f"/v1/chunks/{number}").json() for number in (17, 12)]
    assert http.get(address, params={"ids": "17,12"}).json() == wanted
    newer = http.get(address, params={"ids": "17,12,nope"}, headers=V2).json()
    assert (newer["status"], len(newer["results"])) == ("partial", 2)
    alone = http.get(address, params={"ids": "nope"})
    assert alone.status_code == 404


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("text/csv, */*", "text/csv"),
        ("text/csv, application/json", "text/csv"),
        ("application/json;q=0.5, text/csv", "text/csv"),
        ("application/json, text/csv", "application/json"),
        ("text/csv;q=0.1, application/json", "application/json"),
        ("text/csv;q=0, */*", "application/json"),
    ],
)
def test_results_come_as_what_is_asked_for_most(http, accept, kind):
    found = http.get("/v1/search", params={"q": "token"}, headers={"Accept": accept})
    assert found.headers["Content-Type"].partition(";")[0] == kind


def test_results_come_as_csv_for_spreadsheets(http):
    by_parameter = http.get("/v1/search", params={"q": "token", "format": "csv"})
    by_header = http.get("/v1/search", params={"q": "token"}, headers={"Accept": "text/csv"})
    assert by_parameter.headers["Content-Type"].startswith("text/csv")
    assert by_parameter.text == by_header.text
    rows = list(csv.DictReader(io.StringIO(by_parameter.text)))
    assert len(rows) == http.get("/v1/search", params={"q": "token"}).json()["total"] > 10
    assert rows[0]["source_file"].startswith("security/")
    texts = http.get("/v1/search", params={"q": "token", "format": "csv", "response_mode": "full"}).text
    cells = [row["chunk_text"] for row in csv.DictReader(io.StringIO(texts))]
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)


def test_a_table_begins_at_its_cursor_and_says_what_it_cannot_keep_to(http):
    asked = {"q": "token", "format": "csv"}
    page = read(http.get("/v1/search", params={"q": "token", "page_size": 10}, headers=V2)).page
    cursor, total = page.cursor, page.total
    rest = http.get("/v1/search", params={**asked, "cursor": cursor})
    assert len(list(csv.DictReader(io.StringIO(rest.text)))) == total - 10
    assert "X-Warning" not in rest.headers
    refused = http.get("/v1/search", params={**asked, "cursor": "abc"})
    assert (refused.status_code, refused.json()["error"]) == (400, "INVALID_CURSOR")
    tight = http.get("/v1/search", params={**asked, "max_tokens": 50, "page_size": 3})
    assert tight.text == http.get("/v1/search", params=asked).text
    assert "'page_size' was not used" in tight.headers["X-Warning"]
    assert "'max_tokens' was not used" in tight.headers["X-Warning"]


def test_a_single_record_is_itself_or_one_result(http):
    identity = http.get("/v1/search", params={"q": "token"}).json()["results"][0]["chunk_id"]
    legacy = http.get(f"/v1/chunks/{identity}").json()
    assert legacy["chunk_id"] == identity
    newer = http.get(f"/v1/chunks/{identity}", headers=V2).json()
    assert (newer["results"], newer["status"]) == ([legacy], "rich")
    assert newer["citations"][0]["verification_status"] == "verified"
    vendor = http.get("/v1/vendors/kestrelgate").json()
    assert vendor["vendor_name"] == "Kestrelgate Inc."
    assert http.get("/v1/vendors/kestrelgate", headers=V2).json()["results"] == [vendor]


def test_a_vendor_whose_name_has_a_slash_is_found_by_it(tmp_path):
    """What the page copies as a call has the name in the path, with each of its signs escaped."""
    folder = tmp_path / "docs"
    folder.mkdir()
    name = "Nordlys A/S #1?"
    (folder / "vendors.json").write_text(json.dumps({"entities": [{"id": "e_1", "name": name, "type": "COMPANY"}]}))
    with serving(tmp_path / "index", documents=folder) as server, httpx.Client(base_url=server.address) as client:
        assert client.get("/v1/vendors/" + quote(name, safe="")).json()["vendor_name"] == name
        assert client.get("/v1/vendors/" + quote(name, safe="/")).json()["vendor_name"] == name
        assert client.get("/v1/vendors/nobody/at-all").json()["error"] == "NOT_FOUND"


def test_a_digest_can_be_verified_against_the_text_it_was_made_from(http):
    asked = {"source_file": "security/jwt-guide.md", "query": "Where may a token be stored?"}
    body = http.post("/v1/digests", json=asked).json()
    digest = payload_of(body["sources"][0])
    text = http.get(f"/v1/content/{digest.source_text_hash}").json()
    assert verify(digest, text)
    assert read(http.post("/v1/digests", json=asked, headers=V2)).citations


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(SAMPLES.rglob("*")) if path.suffix in (".md", ".rst", ".html", ".txt", ".pdf")],
    ids=lambda path: path.name,
)
def test_a_digest_can_be_verified_against_the_file_it_was_made_from(http, path):
    asked = {"source_file": path.relative_to(SAMPLES).as_posix(), "query": "Which days, pages, tokens and terms?"}
    digest = payload_of(http.post("/v1/digests", json=asked).json()["sources"][0])
    assert verify(digest, read_document(path)).mismatches == ()


def test_a_digest_can_be_asked_for_by_its_address(http):
    asked = {"source_file": "security/jwt-guide.md", "query": "Where may a token be stored?"}
    assert http.get("/v1/digests", params=asked).json() == http.post("/v1/digests", json=asked).json()
    newer = http.get("/v1/digests", params={**asked, "envelope": "v2"}).json()
    assert (newer["status"], newer["query_echo"]["normalized_input"]) == ("rich", asked)


def test_what_a_search_suggests_works_as_it_stands(http):
    for q in ("token", "How long is the notice period?"):
        for action in http.get("/v1/search", params={"q": q, "envelope": "v2"}).json()["suggested_actions"]:
            address = action["endpoint"].format(**action["args"])
            rest = {name: value for name, value in action["args"].items() if f"{{{name}}}" not in action["endpoint"]}
            assert http.get(address, params=rest).status_code == 200, action


def test_health_in_both_shapes(http):
    brief, deep = http.get("/v1/health").json(), http.get("/v1/health/deep").json()
    for body in (brief, deep):
        assert list(body) == ["status", "version", "checks", "timestamp_utc"]
        assert body["status"] == "ok"
    assert set(deep["checks"]) == {"store", "embedder", "archive", "disk"}
    assert deep["checks"]["store"]["chunks"] > 200
    newer = http.get("/v1/health/deep?envelope=v2").json()
    assert (newer["status"], newer["results"][0]["status"]) == ("rich", "ok")


BAD = [
    ("/v1/search", 422, "MISSING_REQUIRED"),
    ("/v1/search?q=", 422, "VALIDATION_ERROR"),
    ("/v1/search?q=%00", 400, "VALIDATION_ERROR"),
    ("/v1/search?q=" + "x" * 501, 422, "VALIDATION_ERROR"),
    ("/v1/search?q=x&page_size=0", 422, "VALIDATION_ERROR"),
    ("/v1/search?q=x&page_size=many", 422, "INVALID_FORMAT"),
    ("/v1/search?q=x&response_mode=all", 422, "VALIDATION_ERROR"),
    ("/v1/search?q=x&cursor=nonsense", 400, "INVALID_CURSOR"),
    ("/v1/search?q=token&fields=password", 400, "INVALID_FIELDS"),
    ("/v1/search?q=x&path=../etc", 400, "VALIDATION_ERROR"),
    ("/v1/search?q=x&after=soon", 400, "VALIDATION_ERROR"),
    ("/v1/search?q=x&max_tokens=-1", 422, "VALIDATION_ERROR"),
    ("/v1/vendors/zzyzx-qqfoo", 404, "NOT_FOUND"),
    ("/v1/vendors/merrowdata", 409, "CONFLICT"),
    ("/v1/chunks/999999999", 404, "NOT_FOUND"),
    ("/v1/chunks/first", 422, "INVALID_FORMAT"),
    ("/v1/content/sha256:" + "0" * 64, 404, "NOT_FOUND"),
    ("/v1/nothing", 404, "NOT_FOUND"),
]


@pytest.mark.parametrize(("path", "status", "code"), BAD, ids=[path[:60] for path, _, _ in BAD])
def test_bad_input_is_answered_in_the_shape_that_was_asked_for(http, path, status, code):
    newer = http.get(path, headers=V2)
    assert newer.status_code == status
    assert dialects.validate(newer.json()).name == "standard-v2"
    assert read(newer).problem.code == code
    problem = http.get(path, headers={"Accept": "application/problem+json"})
    assert (problem.status_code, problem.headers["Content-Type"]) == (status, "application/problem+json")
    legacy = http.get(path)
    assert (legacy.status_code, "detail" in legacy.json()) == (status, True)


def test_bodies_that_are_not_what_they_claim_are_refused(http):
    assert http.post("/v1/digests", content=b"{", headers={"Content-Type": "application/json"}).status_code == 422
    assert http.post("/v1/digests", json={"source_file": "x"}).status_code == 422
    assert http.get("/v1/digests", params={"source_file": "x"}).status_code == 422
    assert http.post("/v1/digests", json={"source_file": "x", "query": "y", "z": 1}).status_code == 422
    assert http.post("/v1/digests", json=["x"], headers=V2).json()["error"]["code"] == "VALIDATION_ERROR"
    huge = http.post("/v1/digests", content=b"x" * (2**20 + 1), headers=V2)
    assert (huge.status_code, huge.json()["status"]) == (413, "error")
    assert http.delete("/v1/search", headers=V2).status_code == 405


def test_the_openapi_document_shows_every_shape_and_every_error(http):
    document = http.get("/openapi.json").json()
    assert set(document["paths"]) == ROUTES
    for path, operations in document["paths"].items():
        for operation in operations.values():
            content = operation["responses"]["200"]["content"]
            newer = content["application/vnd.aerogram.v2+json"]["example"]
            assert dialects.validate(newer).name == "standard-v2", path
            assert "example" in content["application/json"], path
    for name, response in document["components"]["responses"].items():
        assert all(content["examples"] for content in response["content"].values()), name
    refused = document["components"]["responses"]["aerogram.429"]["content"]
    assert {"RATE_LIMITED", "QUOTA_EXCEEDED"} <= refused["application/problem+json"]["examples"].keys()
    assert "text/csv" in document["paths"]["/v1/search"]["get"]["responses"]["200"]["content"]


def test_the_reference_is_whole_without_a_network_and_runs_no_script(http):
    page = http.get("/docs", headers={"Accept": "text/html"})
    assert page.headers["Content-Type"].startswith("text/html")
    for path in ROUTES:
        assert f"{path}</code></h2>" in page.text
    assert {"RATE_LIMIT_EXCEEDED", "CONTENT_TOO_LARGE", "MISSING_REQUIRED"} <= set(re.findall(r"[A-Z_]{8,}", page.text))
    assert set(re.findall(r'(?:src|href|action)="([^"#]+)', page.text)) == {
        "/openapi.json",
        "/v1/search",
        "/v1/digests",
        "/v1/health",
        "/v1/health/deep",
    }
    assert "<script" not in page.text
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    style = re.search(r"<style>(.*?)</style>", page.text, re.DOTALL)[1]
    assert base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() in policy


def test_the_page_at_the_root_loads_nothing_from_elsewhere(http):
    page = http.get("/", headers={"Accept": "text/html"})
    assert page.headers["Content-Type"].startswith("text/html")
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page.text)
    assert "default-src" in page.headers["Content-Security-Policy"]
