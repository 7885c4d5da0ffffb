"""Hypothesis strategies for replies: every field, every status, JSON data of any shape."""

from __future__ import annotations

import datetime as dt

from hypothesis import strategies as st

from aerogram import TABLE, Action, Citation, Fidelity, Notice, Page, Problem, QueryEcho, RateLimit, Reply, Telemetry
from aerogram.codes import KINDS

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
WORDS_OF_CONTRACTS = """
aerogram args billable_units box code context cursor data detail endpoint error error_code execution_time_ms has_more
instance kind latency_ms level message meta operation origin page_size pagination request_id result results retry_after
retryable severity status suggestion timestamp title tool type version warnings
"""
names = st.sampled_from(WORDS_OF_CONTRACTS.split()) | st.text("abcxyz_~/", min_size=1, max_size=6)
integers = st.integers(-(2**53), 2**53)
counts = st.integers(0, 2**31)
numbers = integers | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | texts
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4), max_leaves=12
)
objects = st.dictionaries(names, json_values, max_size=4)
moments = st.datetimes(dt.datetime(2000, 1, 1), dt.datetime(2090, 1, 1), timezones=st.just(dt.UTC)).map(  # noqa: DTZ001
    lambda moment: moment.isoformat().replace("+00:00", "Z")
)
durations = st.integers(0, 10**6) | st.floats(0, 1e6)


def maybe(strategy):
    return st.none() | strategy


notices = st.builds(
    Notice,
    texts,
    code=maybe(st.sampled_from(["CONTENT_TRUNCATED", "PARTIAL_RESULTS", "MY_OWN", "odd code"])),
    severity=maybe(st.sampled_from(["info", "warning", "error"])),
    suggestion=maybe(texts),
    context=maybe(objects),
    extra=maybe(objects),
)
problems = st.builds(
    Problem,
    st.sampled_from([*TABLE, "MY_OWN_CODE", "lower case"]),
    texts,
    kind=maybe(st.sampled_from(KINDS)),
    retry=maybe(st.sampled_from(["yes", "no", "check"])),
    title=maybe(texts),
    user_message=maybe(texts),
    remediation=maybe(texts),
    details=maybe(objects | st.fixed_dictionaries({"feature": texts})),
    retry_after=maybe(durations),
    documentation=maybe(texts),
)
pages = st.builds(
    Page,
    cursor=maybe(texts),
    has_more=maybe(st.booleans()),
    total=maybe(counts),
    page_size=maybe(st.integers(0, 100)),
    extra=maybe(objects),
)
rate_limits = st.builds(
    RateLimit,
    limit=maybe(counts),
    remaining=maybe(counts),
    reset_at=maybe(texts | durations),
    retry_after=maybe(durations),
    extra=maybe(objects),
)
telemetries = st.builds(
    Telemetry,
    duration_ms=maybe(durations),
    cache_hit=maybe(st.booleans()),
    tokens_estimated=maybe(counts),
    tokens_used=maybe(counts),
    billable_units=maybe(counts),
    extra=maybe(objects),
)
fidelities = st.builds(
    Fidelity,
    st.sampled_from(["full", "partial", "summary", "reference_only"]),
    dropped_ids=st.lists(texts, max_size=3),
    archive_hashes=maybe(st.dictionaries(names, texts, max_size=2)),
    schema_version=maybe(texts),
    extra=maybe(objects),
)
citations = st.builds(
    Citation,
    source_id=maybe(texts),
    source_url=maybe(texts),
    publisher=maybe(texts),
    title=maybe(texts),
    fetched_at=maybe(moments),
    checksum=maybe(texts),
    license=maybe(texts),
    field_paths=st.lists(texts, max_size=2),
    verification_status=maybe(texts),
    extra=maybe(objects),
)
actions = st.builds(Action, tool=words, args=maybe(objects), extra=maybe(objects)) | st.builds(
    Action, endpoint=words, args=maybe(objects)
)
echoes = st.builds(
    QueryEcho,
    normalized_input=maybe(objects),
    applied_filters=maybe(objects),
    unparsed_terms=st.lists(texts, max_size=2),
    extra=maybe(objects),
)

_common = {
    "page": pages,
    "rate_limit": rate_limits,
    "telemetry": telemetries,
    "fidelity": fidelities,
    "citations": st.lists(citations, max_size=2),
    "actions": st.lists(actions, max_size=2),
    "query_echo": echoes,
    "retry_with": objects,
    "request_id": words,
    "operation": texts,
    "timestamp": moments,
    "client_tag": texts,
    "extra": objects,
}
_notices = st.lists(notices, max_size=3)
_some_notices = st.lists(notices, min_size=1, max_size=3)
_fields = st.fixed_dictionaries({}, optional={**_common, "notices": _notices, "message": texts})
_warned = st.fixed_dictionaries({"notices": _some_notices}, optional={**_common, "message": texts})
_failing = st.fixed_dictionaries({}, optional={**_common, "notices": _notices})
_reasons = st.sampled_from(["no_match", "filters_too_narrow", "source_unavailable", "license_blocked"])

failures = st.builds(
    lambda data, problem, said: Reply(data, status="error", problem=problem, **said), json_values, problems, _failing
)
successes = (
    st.builds(lambda data, said: Reply(data, **said), json_values, _fields)
    | st.builds(
        lambda data, why, said: Reply(data, status="empty", empty_reason=why, **said), json_values, _reasons, _fields
    )
    | st.builds(
        lambda data, status, said: Reply(data, status=status, **said),
        json_values,
        st.sampled_from(["partial", "blocked"]),
        _warned,
    )
)
replies = successes | failures
