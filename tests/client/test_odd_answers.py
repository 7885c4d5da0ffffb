"""Answers that are no answers: redirects that nobody followed, and JSON that ends before its end."""

from __future__ import annotations

import gzip
import time

import httpx
import httpx2
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from aerogram import Fidelity, Reply
from aerogram.client import Client, read
from aerogram.content import Content
from aerogram.errors import ContractError, IntegrityError, NotFound

LIBRARIES = {"httpx": httpx, "httpx2": httpx2}


def odd() -> Starlette:
    async def tasks(request):
        return JSONResponse([1, 2])

    async def moved(request):
        return RedirectResponse("/tasks?sorted=yes")

    async def cut(request):
        return Response('{"tasks": [1, ', media_type="application/json")

    return Starlette(routes=[Route("/tasks", tasks), Route("/moved", moved), Route("/cut", cut)])


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_redirect_that_nobody_followed_is_a_failure_that_says_where_to_ask(serve, library):
    base = serve(odd())
    with LIBRARIES[library].Client(base_url=base, timeout=60) as connection:
        client = Client(connection)
        problem = client.call("/moved").problem
        assert (problem.code, problem.retryable) == ("NOT_FOUND", False)
        assert problem.details == {"location": f"{base}/tasks?sorted=yes", "status": 307}
        assert "follow_redirects=True" in problem.remediation
        assert client.call("/tasks/").problem.details["location"] == f"{base}/tasks"  # of Starlette itself
        with pytest.raises(NotFound, match="307"):
            list(client.items("/moved"))
    with LIBRARIES[library].Client(base_url=base, follow_redirects=True, timeout=60) as connection:
        assert Client(connection).call("/moved").data == [1, 2]


def test_what_has_not_changed_is_no_redirect():
    assert read(httpx.Response(304, headers={"etag": '"a"'})).problem is None


@pytest.mark.parametrize("library", LIBRARIES)
def test_json_that_was_cut_off_is_refused_with_what_to_do(serve, library):
    base = serve(odd())
    with LIBRARIES[library].Client(base_url=base) as connection, pytest.raises(ContractError, match="/cut") as caught:
        Client(connection).call("/cut")
    assert "not JSON" in str(caught.value) and "ask again" in str(caught.value)


@pytest.mark.parametrize("meta", [1, 1.5, True, "x", [1]])
def test_meta_of_another_type_says_nothing(meta):
    assert read({"content": [{"type": "text", "text": "x"}], "isError": False, "_meta": meta}).data == "x"


@pytest.mark.parametrize("name", ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "retry-after"])
def test_numbers_without_end_in_headers_say_nothing(name):
    headers = {"content-type": "application/json", name: "9" * 5_000}
    reply = read(httpx.Response(503, headers=headers, content=b"{}", request=httpx.Request("GET", "http://h/")))
    assert (reply.rate_limit, reply.problem.retry_after) == (None, None)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("charset", ["undefined", "idna", "hex", "rot13", "punycode", "no-such", "\x00", "utf-8"])
def test_a_text_in_an_encoding_that_texts_are_not_sent_in_is_read_as_utf_8(library, charset):
    """Python has encodings that refuse, that are none of texts, and one whose time grows with the square."""
    headers = {"content-type": f"text/plain; charset={charset}"}
    content = b"a-" + b"9" * 200_000 + "é".encode()
    began = time.monotonic()
    assert read(LIBRARIES[library].Response(200, headers=headers, content=content)).data == content.decode()
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("charset", ["utf-16", "latin-1", '"windows-1252"', "ISO-8859-15", "shift_jis", "gb18030"])
def test_a_text_is_read_in_the_encoding_that_it_says(charset):
    letters = "日本" if charset in ("shift_jis", "gb18030", "utf-16") else "é"
    content = letters.encode(charset.strip('"'))
    headers = {"content-type": f"text/plain; charset={charset}"}
    assert read(httpx.Response(200, headers=headers, content=content)).data == letters


@pytest.mark.parametrize("year", ["9" * 20, "2026 00:00:00 +" + "9" * 20])
def test_a_date_that_no_clock_comes_to_is_no_time_to_wait(year):
    headers = {"retry-after": f"Mon, 01 Jan {year} 00:00:00 GMT"}
    assert read(httpx.Response(503, headers=headers)).problem.retry_after is None


FAULT = {"loc": ["body", "a"], "type": "missing", "msg": "no"}


@pytest.mark.parametrize("odd", [{"type": 5}, {"msg": {"en": "no"}}, {"ctx": 5}, {"type": ["missing"]}, {"loc": "a"}])
def test_faults_that_are_written_in_another_way_are_details(odd):
    problem = read(httpx.Response(422, json={"detail": [FAULT, FAULT | odd]})).problem
    assert problem.code == "VALIDATION_ERROR" and problem.details == {"detail": [FAULT, FAULT | odd]}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_header_with_letters_of_any_kind_keeps_nobody_from_reading(serve, library):
    async def answer(request):
        return JSONResponse([1], headers={"content-disposition": 'inline; filename="Zoë.json"', "x-request-id": "é"})

    with LIBRARIES[library].Client(base_url=serve(Starlette(routes=[Route("/", answer)]))) as connection:
        reply = Client(connection).call("/")
    assert (reply.data, reply.request_id) == ([1], None)


WORDS = "some words " * 1_000
HALVES = WORDS[:5_000].encode(), WORDS[5_000:].encode()
PACKED = {
    "in one piece": gzip.compress(WORDS.encode()),
    "in two": b"".join(map(gzip.compress, HALVES)),
    "in many": b"".join(gzip.compress(letter.encode()) for letter in WORDS),
    "with padding": gzip.compress(WORDS.encode()) + b"\0" * 100,
}


@pytest.fixture
def packed(serve):
    async def answer(request):
        way = request.path_params["way"]
        content = PACKED["in one piece"][:-9] if way == "cut" else PACKED[way]
        return Response(content, media_type="text/plain", headers={"content-encoding": request.query_params["as"]})

    with httpx.Client(base_url=serve(Starlette(routes=[Route("/{way}", answer)]))) as connection:
        yield Client(connection)


@pytest.mark.parametrize("way", PACKED)
@pytest.mark.parametrize("name", ["gzip", "GZIP", "x-gzip"])
def test_an_answer_is_unpacked_to_its_end(packed, way, name):
    """A gzip may be made of several, and its name may be written in capitals."""
    assert packed.call(f"/{way}", {"as": name}).data == WORDS


def test_a_packed_answer_that_was_cut_off_is_not_taken_for_the_whole(packed):
    with pytest.raises(ContractError, match="end is missing"):
        packed.call("/cut", {"as": "gzip"})


def test_what_an_archive_gives_for_an_envelope_is_refused_where_it_is_none():
    envelopes = [[1], "text", 5, {"page": {"cursor": 5}}, {"extra": 5}, {"box": 7}, {"no such field": 1}]
    for envelope in envelopes:
        kept = Content.of_json(envelope)

        def answer(target, arguments, kept=kept):
            if target == "retrieve":
                return {"content": [{"type": "text", "text": kept.body.decode()}], "isError": False}
            return Reply(["x"], fidelity=Fidelity("partial", archive_hashes={"envelope": kept.hash}))

        client = Client(answer, retrieve="retrieve")
        with pytest.raises(ContractError, match="/envelope"):
            client.whole(client.call("rows"))


HASH = "sha256:" + "a" * 64
ODD_META = {
    "a cursor that is an object": {"page": {"cursor": {"a": 1}, "has_more": True}},
    "a hash that is true": {"fidelity": {"level": "partial", "archive_hashes": {"data": True}}},
    "a warning that is true": {"notices": [{"message": True}], "fidelity": {"level": "partial"}},
    "a warning that is null": {"notices": [{"message": None}], "fidelity": {"level": "partial"}},
}


@pytest.mark.parametrize("meta", ODD_META.values(), ids=ODD_META)
def test_parts_beside_a_body_of_another_type_are_refused(meta):
    said = {f"dev.aerogram/{name}": part for name, part in meta.items()}
    with pytest.raises(ContractError, match="/_meta"):
        read({"content": [{"type": "text", "text": "x"}], "isError": False, "_meta": said})


def test_a_hash_of_another_type_beside_an_envelope_is_refused():
    said = {"dev.aerogram/fidelity": {"level": "partial", "archive_hashes": {"content": 5}}}
    body = {"success": True, "data": {"a": 1}, "error": None, "meta": {"version": "response-v2"}}
    with pytest.raises(ContractError, match="/_meta"):
        read({"content": [{"type": "text", "text": "x"}], "structuredContent": body, "_meta": said})


def test_a_problem_whose_code_is_null_is_refused():
    told = {"error_code": "RATE_LIMIT_EXCEEDED", "error_type": "rate_limit", "remediation": "wait", "details": {}}
    meta = {"version": "response-v2", "aerogram": {"problem": {"code": None}}}
    with pytest.raises(ContractError, match="null"):
        read({"success": False, "data": told, "error": "x", "meta": meta})


def test_the_way_to_the_rest_is_found_in_long_words_as_fast_as_they_are_long():
    """Twice the words would take four times as long, and a megabyte hours."""
    meta = {"version": "response-v2", "warnings": ["a" * 1_000_000], "content_fidelity": "partial"}
    meta |= {"content_fidelity_schema_version": "1.0", "content_archive_hashes": {"data": HASH}}
    body = {"success": True, "data": {"results": [1]}, "error": None, "meta": meta}
    with pytest.raises(IntegrityError):
        Client(lambda *_: {"content": []}, retrieve="retrieve", on_notice=lambda *_: None).whole(read(body))


DIGEST = Content.of_json([1]).hash


def partial(**names: str) -> Client:
    """A client of a server whose reply shows one item of some, and says under which names the rest is kept."""

    def answer(target, arguments):
        if target == "retrieve":
            return {"success": True, "error": None, "data": {"results": [1]}, "meta": {"version": "response-v2"}}
        meta = {"version": "response-v2", "content_fidelity": "partial", "content_archive_hashes": names}
        return {"success": True, "error": None, "data": {"results": [{"n": 1}]}, "meta": meta}

    return Client(answer, retrieve="retrieve", on_notice=lambda *_: None)


@pytest.mark.parametrize("names", [("a",), ("data/1",), ("data/-1",), ("data/0", "data/7"), ("envelope", "rest")])
def test_a_part_of_which_nobody_knows_what_it_is_of_makes_nothing_whole(names):
    client = partial(**dict.fromkeys(names, DIGEST))
    reply = client.call("rows")
    with pytest.raises(ContractError, match="cannot be made whole"):
        client.whole(reply)
    assert client.recover(reply) == {name: [1] for name in names}
    with pytest.raises(ContractError, match="cannot be made whole"):
        list(client.items("rows"))
    assert list(client.items("rows", whole=False)) == [{"n": 1}]


@pytest.mark.parametrize("names", [("data", "a"), ("data/0",), ("data/0", "content/1")])
def test_parts_that_are_known_make_a_reply_whole(names):
    client = partial(**dict.fromkeys(names, DIGEST))
    assert client.whole(client.call("rows")).fidelity.level == "full"
