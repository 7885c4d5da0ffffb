"""Reading bodies: any bytes in, a reply or one clear error out."""

import contextlib
import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerogram import Reply, Telemetry, dialect, read, translate, validate
from aerogram.errors import AerogramError, ContractError, InvalidReply, UnknownDialect
from replies import json_values

DEEP = 100_000


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b'{"a": 1, "a": 2}', "stands twice"),
        (b'{"success": true, "data": {"x": 1, "x": 2}}', "stands twice"),
        (b'{"a": 1e999}', "too large"),
        (b'{"a": ' + b"9" * 5000 + b"}", "too large"),
        (b'{"a": NaN}', "not a JSON number"),
        (b'{"a": "\\ud800"}', "surrogate"),
        (b"[" * DEEP, "nested deeper"),
        (b"[" * DEEP + b"]" * DEEP, "nested deeper"),
        (b'{"success": true, "data": ' + b'{"a":' * 300 + b"1" + b"}" * 301, "nested deeper"),
        (b"[1, 2]", "none of the known dialects"),
        (b"null", "none of the known dialects"),
        (b'{"hello": "world"}', "none of the known dialects"),
    ],
)
def test_text_that_cannot_be_a_body_is_refused_with_the_rule(text, rule):
    with pytest.raises(ContractError, match=rule):
        read(text)


def test_a_byte_order_mark_is_no_obstacle():
    body = orjson.dumps(dialect("response-v2").encode(Reply.ok({"a": 1})))
    assert read(b"\xef\xbb\xbf" + body).data == {"a": 1}


def test_objects_nested_too_deep_are_refused_when_parsed_already():
    data = {}
    for _ in range(5000):
        data = {"a": data}
    with pytest.raises(ContractError, match="nested deeper"):
        read({"success": True, "data": data, "error": None, "meta": {"version": "response-v2"}})


GOOD = {"success": True, "data": {}, "error": None, "meta": {"version": "response-v2"}}
FAILED = {"_metadata": {"status": "error"}}
STANDARD = {
    "status": "sparse",
    "query_echo": {},
    "results": [1],
    "citations": [],
    "warnings": [],
    "meta": {"request_id": "r", "api_version": "v2", "latency_ms": 1, "billable_units": 1},
}


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({**GOOD, "data": []}, "/data"),
        ({**GOOD, "error": "x"}, "/error"),
        ({**GOOD, "success": False}, "/error"),
        ({**GOOD, "meta": {"version": "response-v3"}}, "/meta/version"),
        ({**GOOD, "meta": {"version": "response-v2", "content_fidelity": "most"}}, "/meta/content_fidelity"),
        (
            {**GOOD, "meta": {"version": "response-v2", "warning_details": [{"message": 5}]}},
            "/meta/warning_details/0/message",
        ),
        ({**GOOD, "meta": {"version": "response-v2", "aerogram": {"status": "great"}}}, "/meta/aerogram/status"),
        ({**GOOD, "meta": {"version": "response-v2", "aerogram": {"box": "/nowhere"}}}, "/meta/aerogram"),
        ({**GOOD, "meta": {"version": "response-v2", "aerogram": {"status": "error"}}}, "/meta/aerogram"),
        ({**GOOD, "meta": {"version": "response-v2", "aerogram": 5}}, "/meta/aerogram"),
        ({**GOOD, "meta": {"version": "response-v2", "rate_limit": {"reset_at": {}}}}, "/meta/rate_limit/reset_at"),
        ({**STANDARD, "status": "rich", "results": [1, 2]}, ""),
        ({**STANDARD, "status": "empty", "results": []}, ""),
        ({**STANDARD, "status": "partial"}, ""),
        ({**STANDARD, "suggested_actions": [{"args": {}}]}, "/suggested_actions/0"),
        ({"_metadata": {"timestamp": "noon"}, "results": []}, "/_metadata/timestamp"),
        ({"_metadata": {"status": "fine"}, "results": []}, "/_metadata/status"),
        ({"title": "x", "type": "urn:x:y", "status": 200}, "/status"),
        ({"status": "rich", "results": [], "meta": {}}, ""),
        ({"status": "sparse", "results": [1, 2, 3, 4, 5, 6], "meta": {}}, ""),
        (
            {"_metadata": {"status": "error"}, "error": {"code": "X", "message": "m", "retry_after": "soon"}},
            "/error/retry_after",
        ),
        ({"_metadata": {"status": "error"}, "error": {"code": "X", "message": "m", "kind": 7}}, "/error/kind"),
        ({**GOOD, "meta": {"version": "response-v2", "pagination": {"page_size": -1}}}, "/meta/pagination/page_size"),
    ],
)
def test_a_broken_contract_names_the_rule_and_the_pointer(body, pointer):
    with pytest.raises(ContractError) as refusal:
        read(body)
    assert refusal.value.pointer == pointer
    assert refusal.value.rule and refusal.value.dialect


def test_reading_takes_fragments_and_validating_does_not():
    fragment = {"success": True, "data": {"tasks": []}}
    assert read(fragment).data == {"tasks": []}
    with pytest.raises(ContractError) as refusal:
        validate(fragment)
    assert refusal.value.pointer == "/error"


def test_validating_says_which_dialect_a_body_is_in():
    assert validate(STANDARD).name == "standard-v2"


def test_a_body_can_be_read_in_a_dialect_that_is_named():
    assert read({"anything": 1}, dialect="bare").data == {"anything": 1}
    with pytest.raises(UnknownDialect, match="response-v2"):
        read({}, dialect="response-v9")


def test_translating_fills_in_what_the_other_contract_requires():
    body = translate(json.dumps(GOOD), "knowledge-1.0")
    validate(body)
    assert body["_metadata"]["operation"] == "unknown"
    assert read(body) == read(GOOD)  # what was filled in for the contract is nothing that was said


@pytest.mark.parametrize("name", ["standard-v2", "knowledge-1.0"])
def test_translating_invents_no_time_that_nobody_measured(name):
    measured = {**GOOD, "meta": {**GOOD["meta"], "telemetry": {"duration_ms": 12.5}}}
    took = {"standard-v2": ("meta", "latency_ms"), "knowledge-1.0": ("execution_context", "execution_time_ms")}
    part, word = took[name]
    assert translate(GOOD, name)[part][word] == 0.001
    assert translate(measured, name)[part][word] == 12.5
    assert read(translate(measured, name)).telemetry == Telemetry(12.5)


def test_a_success_has_no_problem_details():
    with pytest.raises(InvalidReply, match="failures only"):
        translate(GOOD, "problem")


def test_an_incomplete_reply_is_refused_with_what_it_lacks():
    with pytest.raises(InvalidReply, match=r"operation.*timestamp.*complete"):
        dialect("knowledge-1.0").encode(Reply.ok([]))


SHAPES = ["success", "data", "error", "meta", "status", "results", "warnings", "_metadata", "title", "type", "aerogram"]
wild = st.dictionaries(st.sampled_from(SHAPES) | st.text(max_size=3), json_values, max_size=6)


@given(body=wild | st.builds(lambda known, more: {**known, **more}, st.sampled_from([GOOD, STANDARD]), wild))
def test_any_object_is_read_or_refused_and_never_a_surprise(body):
    try:
        reply = read(body)
    except ContractError:
        return
    assert isinstance(reply, Reply)


@given(text=st.binary(max_size=200) | st.text(max_size=200))
def test_any_bytes_are_read_or_refused_and_never_a_surprise(text):
    with contextlib.suppress(AerogramError):
        read(text)


def test_integers_of_any_size_are_read_and_written():
    body = {**GOOD, "data": {"n": 2**70}}
    assert read(json.dumps(body)).data == {"n": 2**70}
    assert translate(body, "standard-v2")["results"] == [{"n": 2**70}]


def test_a_number_that_json_has_no_word_for_is_refused_in_parsed_json():
    with pytest.raises(ContractError, match="NaN"):
        read({**GOOD, "data": {"n": float("nan")}})


def test_an_object_that_only_looks_a_little_like_a_problem_is_none():
    with pytest.raises(ContractError, match="none of the known dialects"):
        read({"title": "Dune", "type": "novel"})


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (404, "NOT_FOUND"),
        (410, "GONE"),
        (422, "VALIDATION_ERROR"),
        (413, "CONTENT_TOO_LARGE"),
        (502, "UNAVAILABLE"),
    ],
)
def test_a_problem_of_another_server_is_understood_by_its_status_and_keeps_its_words(status, code):
    body = {"type": "https://example.com/probs/out-of-credit", "title": "No credit", "status": status, "detail": "30"}
    reply = read(body)
    assert reply.problem.code == code
    again = dialect("problem").encode(reply)
    assert {name: again[name] for name in body} == body


def test_a_partial_body_without_warnings_is_a_reply_too():
    body = translate(GOOD, "knowledge-1.0")
    body["_metadata"]["status"] = "partial"
    reply = read(body)
    assert reply.status == "partial" and read(translate(body, "standard-v2")).notices == ()


@pytest.mark.parametrize("name", ["success", "problem", "_metadata", "title"])
def test_an_extra_member_never_makes_one_dialect_out_of_another(name):
    reply = Reply.ok([1], extra={name: {"x": 1} if name == "_metadata" else True}).complete(operation="x")
    for speaker in map(dialect, ("response-v2", "standard-v2", "knowledge-1.0")):
        assert read(speaker.encode(reply)) == reply


def test_warnings_keep_their_order_when_only_some_have_details():
    meta = {"version": "response-v2", "warnings": ["a", "b"], "warning_details": [{"message": "b", "code": "B"}]}
    assert [notice.message for notice in read({**GOOD, "meta": meta}).notices] == ["a", "b"]


def test_dropped_ids_without_a_level_are_partial_content():
    meta = {"version": "response-v2", "dropped_content_ids": ["x"]}
    fidelity = read({**GOOD, "meta": meta}).fidelity
    assert (fidelity.level, fidelity.dropped_ids) == ("partial", ("x",))


FOREIGN = {
    "response-v2": {
        "success": True,
        "data": {"a": 1},
        "error": None,
        "meta": {
            "version": "response-v2",
            "warnings": ["m"],
            "warning_details": [{"code": "X", "message": "m", "since": 3}],
        },
    },
    "standard-v2": {
        "status": "sparse",
        "query_echo": {"normalized_input": {}, "applied_filters": {}, "unparsed_terms": []},
        "results": [{"a": 1}],
        "citations": [],
        "warnings": [{"message": "m", "since": 3}],
        "suggested_actions": [],
        "meta": {"request_id": "r", "api_version": "v2", "latency_ms": 1, "billable_units": 1},
    },
    "knowledge-1.0": {
        "_metadata": {
            "operation": "o",
            "version": "1.0.0",
            "timestamp": "2026-11-15T10:00:00Z",
            "request_id": "r",
            "status": "success",
        },
        "results": [{"a": 1}],
        "pagination": None,
        "execution_context": {
            "tokens_estimated": 1,
            "cache_hit": False,
            "execution_time_ms": 1,
            "request_id": "r",
        },
        "warnings": [{"level": "info", "code": "X", "message": "m", "since": 3}],
    },
}


@pytest.mark.parametrize("name", FOREIGN)
def test_what_a_warning_says_beyond_its_contract_is_written_again_in_its_place(name):
    assert dialect(name).encode(read(FOREIGN[name])) == FOREIGN[name]


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("other", FOREIGN)
def test_what_a_warning_says_beyond_its_contract_survives_every_other_dialect(name, other):
    there = translate(FOREIGN[name], to=other)
    assert [notice.extra for notice in read(there).notices] == [{"since": 3}]
    assert read(translate(there, to=name)).notices == read(FOREIGN[name]).notices


def test_a_member_beside_the_four_of_an_envelope_is_kept_where_additions_are_allowed():
    body = {**FOREIGN["response-v2"], "trace": {"id": 7}}
    reply = read(body)
    assert reply.extra == {"trace": {"id": 7}}
    written = dialect("response-v2").encode(reply)
    assert written["meta"]["trace"] == {"id": 7} and read(written) == reply


def test_what_a_refusal_repeats_of_a_body_is_short():
    with pytest.raises(ContractError) as caught:
        read({"x" * 100_000: 1, "success": "y" * 100_000, "data": {}, "meta": {"version": "response-v2"}})
    assert len(str(caught.value)) < 3_000
    assert len(str(ContractError("z" * 100_000, "/" + "a" * 100_000))) < 3_000
