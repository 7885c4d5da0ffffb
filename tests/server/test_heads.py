"""HEAD: the headers of the GET, and nothing after them."""

from __future__ import annotations

import pytest

LENGTHS = {"content-length", "date", "x-request-id"}
"""Headers that tell two calls from each other: the time that an answer took is in it."""


@pytest.fixture
def passage(http):
    return http.get("/v1/search", params={"q": "token", "envelope": "v2"}).json()["results"][0]["chunk_id"]


@pytest.mark.parametrize("envelope", ["v1", "v2"])
@pytest.mark.parametrize(
    "path",
    [
        "/v1/health",
        "/v1/health/deep",
        "/v1/search?q=token",
        "/v1/search?q=token&format=csv",
        "/v1/search?q=token&page_size=1000",
        "/v1/vendors/Quillon",
        "/v1/vendors/nobody",
        "/v1/chunks/{passage}",
        "/v1/chunks/99999999",
        "/v1/content/sha256:0000000000000000",
        "/v1/nowhere",
        "/docs",
    ],
)
def test_a_head_has_the_status_and_the_headers_of_the_get_and_no_body(http, passage, path, envelope):
    address = path.format(passage=passage) + ("&" if "?" in path else "?") + f"envelope={envelope}"
    got, head = http.get(address), http.head(address)
    assert (head.status_code, head.content) == (got.status_code, b"")
    assert int(head.headers["content-length"]) > 0
    same = {name: value for name, value in got.headers.items() if name not in LENGTHS}
    told = {name: value for name, value in head.headers.items() if name not in LENGTHS}
    assert told.keys() == same.keys()
    assert told["content-type"] == same["content-type"]
    if "/health" not in path and envelope == "v1":  # what is said of health and in envelopes is new each time
        assert told.get("etag") == same.get("etag")


def test_the_connection_goes_on_after_a_head(http):
    for _ in range(3):
        assert http.head("/v1/search", params={"q": "token"}).status_code == 200
        assert http.get("/v1/health").json()["status"] == "ok"


def test_other_methods_are_told_which_there_are(http):
    for method in ("PUT", "DELETE", "OPTIONS", "BREW"):
        refused = http.request(method, "/v1/digests")
        assert (refused.status_code, refused.headers["Allow"]) == (405, "GET, POST")


def test_a_digest_has_a_head(http):
    asked = {"source_file": "security/passkeys.md", "query": "What is a passkey?"}
    assert (
        http.head("/v1/digests", params=asked).headers["ETag"] == http.get("/v1/digests", params=asked).headers["ETag"]
    )
