"""The addresses of the page: the document and its files, who may ask what, and failures in shape."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

import aerogram
import aerogram_page
from page.conftest import SEARCH
from programs import run_program
from serving import clean_environment, serving

ASSETS = Path(aerogram_page.__file__).parent / "assets"
POSTS = ("shrink", "curve", "piece", "dialects", "digest", "check", "replies", "provoke/CONFLICT", "copy")


def test_the_document_lets_nothing_run_that_it_does_not_bring(http):
    answer = http.get("/")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_document_and_its_files_name_no_other_host_and_hold_no_inline_script(http):
    page = http.get("/").text
    for reference in re.findall(r'(?:src|href)="([^"]+)"', page):
        assert not re.match(r"(?:[a-z]+:)?//", reference), reference
    assert not re.search(r"<script(?![^>]*\bsrc=)[^>]*>", page)
    assert not re.search(r"<style|\sstyle=|\son\w+=", page)


@pytest.mark.parametrize("path", sorted(str(one.relative_to(ASSETS)) for one in ASSETS.rglob("*") if one.is_file()))
def test_every_file_of_the_page_is_served_with_its_type_and_is_not_sent_twice(http, path):
    first = http.get(f"/page/assets/{path}")
    assert (first.status_code, first.content) == (200, (ASSETS / path).read_bytes())
    assert not first.headers["content-type"].startswith("application/octet-stream")
    again = http.get(f"/page/assets/{path}", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    "path", ["../routes.py", "%2e%2e/routes.py", "no.js", "..%5croutes.py", "/etc/passwd", "", "n" * 300 + ".js"]
)
def test_no_other_file_is_served(http, path):
    assert http.get(f"/page/assets/{path}").status_code == 404


def test_the_context_says_what_this_is_and_what_there_is(http):
    told = http.get("/page/api/context").json()
    assert (told["kind"], told["owner"], told["needs_key"]) == ("server", True, False)
    assert told["version"] == aerogram.__version__
    assert told["modes"] == ["ids_only", "metadata", "preview", "full"]
    assert told["mcp_url"] == f"{http.base_url}".rstrip("/") + "/mcp"
    assert {"search", "vendors", "digests", "content"} <= set(told["mounted"])
    found = http.get("/v1/search", params={"q": told["suggestion"]}).json()
    assert found["total"] > 0


def test_the_contents_name_what_filters_and_vendors_there_are(http):
    told = http.get("/page/api/contents").json()
    assert "security" in told["categories"]
    assert "Kestrelgate Inc." in told["vendors"]
    assert told["total_files"] == len(told["files"]) > 10


@pytest.mark.parametrize("what", [*POSTS, "context", "contents", "errors", "live", "calls/1"])
def test_pages_of_other_origins_may_ask_nothing(http, what):
    method, body = ("POST", {"json": {"source": SEARCH}}) if what in POSTS else ("GET", {})
    for headers in (
        {"origin": "http://evil.example"},
        {"origin": "http://localhost:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "null"},
    ):
        answer = http.request(method, f"/page/api/{what}", headers=headers, **body)
        assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")


def test_the_pages_own_origin_may_ask(http):
    own = {"origin": f"{http.base_url}".rstrip("/"), "sec-fetch-site": "same-origin"}
    assert http.post("/page/api/shrink", json={"source": SEARCH}, headers=own).status_code == 200


@pytest.mark.parametrize("what", [one for one in POSTS if not one.startswith("provoke")])
def test_a_body_of_another_type_is_refused(http, what):
    answer = http.post(f"/page/api/{what}", content=b"a=1", headers={"content-type": "text/html"})
    assert (answer.status_code, answer.json()["code"]) == (415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"7",
        b'"text"',
        b"[" * 5_000,
        b'{"source": NaN}',
        b"\xff\xfe",
        b'{"source": {}}',
        b'{"source": {"reply": 3}}',
        b'{"source": {"call": {"operation": "semantic_search"}}, "nonsense": 1}',
        b'{"source": {"reply": "r-1", "failure": "CONFLICT"}}',
        b'{"source": {"call": {"operation": "\\ud800", "arguments": {}}}}',
    ],
)
@pytest.mark.parametrize("what", ["shrink", "curve", "piece", "dialects", "digest", "check", "copy"])
def test_whatever_is_sent_the_answer_is_a_problem_in_shape(http, what, body):
    answer = http.post(f"/page/api/{what}", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    told = answer.json()
    assert told["code"] in {"VALIDATION_ERROR", "MISSING_REQUIRED", "INVALID_FORMAT"}
    assert told["remediation"]
    assert "Traceback" not in answer.text


def test_a_body_beyond_its_limit_is_refused_with_the_limit(http):
    large = b'"' + b"x" * (17 * 1024 * 1024) + b'"'
    answer = http.post("/page/api/replies", content=large, headers={"content-type": "application/json"})
    assert answer.status_code == 413
    assert answer.json()["details"]["max_bytes"] == 16 * 1024 * 1024
    answer = http.post("/page/api/shrink", content=large[:2_000_000], headers={"content-type": "application/json"})
    assert answer.json()["details"]["max_bytes"] == 2**20


def test_other_methods_and_addresses_are_told_so(http):
    assert http.get("/page/api/shrink").status_code == 405
    assert http.delete("/").status_code == 405
    assert http.get("/page/api/nothing").status_code == 404


def test_a_reply_that_is_not_open_has_to_be_opened_again(http):
    answer = http.post("/page/api/shrink", json={"source": {"reply": "r-gone"}})
    assert (answer.status_code, answer.json()["remediation"]) == (404, "Open it again")


@pytest.fixture(scope="module")
def locked(search_page, tmp_path_factory):
    """A server that asks for keys, one key, and the address of its owner."""
    index = tmp_path_factory.mktemp("locked") / "index"
    made = run_program(["keys", "create", "ada", "--json"], text=True, check=True, env=clean_environment(index))
    secret = re.search(r"aero_[0-9a-f]{8}_[\w-]{43}", made.stdout)[0]
    with serving(index, "--auth", "keys", documents=Path(__file__).parents[2] / "samples" / "security") as server:
        owner = next(line.split()[1] for line in server.said if line.startswith("  page"))
        with httpx.Client(base_url=server.address, timeout=60) as client:
            yield client, secret, owner.partition("#owner=")[2]


def test_where_keys_are_needed_the_page_opens_and_says_so(locked):
    client, secret, _ = locked
    assert client.get("/").status_code == 200
    assert client.get("/page/assets/app.js").status_code == 200
    told = client.get("/page/api/context").json()
    assert (told["needs_key"], told["authenticated"], told["owner"]) == (True, False, False)
    assert "suggestion" not in told
    known = client.get("/page/api/context", headers={"x-api-key": secret}).json()
    assert (known["authenticated"], known["owner"]) == (True, False)
    assert known["suggestion"]


def test_where_keys_are_needed_nothing_else_is_answered_without_one(locked):
    client, secret, _ = locked
    for path in ("contents", "errors", "live"):
        assert client.get(f"/page/api/{path}").status_code == 401
    for what in POSTS:
        assert client.post(f"/page/api/{what}", json={}).status_code == 401
    told = client.post("/page/api/shrink", json={"source": SEARCH}, headers={"x-api-key": secret}).json()
    assert told["before"]["items"] > 0


def test_a_key_alone_does_not_make_an_owner_but_the_printed_token_does(locked):
    client, secret, token = locked
    refused = client.get("/page/api/live", headers={"x-api-key": secret})
    assert (refused.status_code, refused.json()["code"]) == (403, "FORBIDDEN")
    assert refused.headers["content-type"] == "application/problem+json"
    guessed = client.get("/page/api/live", headers={"x-api-key": secret, "x-owner-token": "guess"})
    assert guessed.status_code == 403
    with client.stream("GET", "/page/api/live", headers={"x-api-key": secret, "x-owner-token": token}) as stream:
        assert stream.status_code == 200
        assert stream.headers["content-type"].startswith("text/event-stream")


def test_snippets_for_a_server_with_keys_name_the_variable_and_no_key(locked):
    client, secret, _ = locked
    said = {"call": SEARCH["call"]}
    told = client.post("/page/api/copy", json=said, headers={"x-api-key": secret}).json()
    for text in (told["curl"], told["python"], told["typescript"]):
        assert "AEROGRAM_API_KEY" in text
        assert secret not in text
