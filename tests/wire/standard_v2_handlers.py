"""Handlers as a reader of the standard document writes them."""

from typing import Any

from pydantic import BaseModel

from aerogram import Reply
from aerogram.documents.standard_v2 import (
    Citation,
    QueryEcho,
    StandardError,
    StandardResponse,
    SuggestedAction,
    from_offset_page,
    wrap_for_mcp,
)
from aerogram.errors import NotFound, RateLimited

DIALECT = "standard-v2"
SETTINGS: dict[str, Any] = {}

PROGRAMS = [{"unified_id": f"UNI-{number}", "title": "IT導入補助金 " * 12} for number in range(60)]
CITATION = Citation(
    source_id="src-1",
    source_url="https://www.meti.go.jp/a",
    publisher="経済産業省",
    title="手引き",
    fetched_at="2026-04-29T03:00:00Z",
    checksum="sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    license="pdl_v1.0",
    field_paths=["/results/0/amount_max_yen"],
    verification_status="verified",
)


class Program(BaseModel):
    unified_id: str
    title: str


def sample() -> dict:
    return StandardResponse.rich(
        [{"unified_id": f"UNI-{number}"} for number in range(7)],
        query_echo=QueryEcho(
            normalized_input={"q": "IT導入"},
            applied_filters={"tier": ["S"], "fields": "default", "limit": 20, "offset": 0},
        ),
        request_id="01KQ3XQ77RR7J8XWZ8C0YR2JN2",
        latency_ms=42,
    ).to_wire()


def say_everything() -> StandardResponse[dict]:
    return StandardResponse.partial(
        [{"unified_id": "UNI-1", "amount_max_yen": 4_500_000}],
        ["One source did not answer"],
        query_echo=QueryEcho(
            normalized_input={"q": "IT導入"},
            applied_filters={"tier": ["S", "A"], "prefecture": "東京都"},
            unparsed_terms=["???"],
        ),
        citations=[CITATION],
        suggested_actions=[
            SuggestedAction(tool="get_program", args={"unified_id": "UNI-1"}),
            SuggestedAction(endpoint="/v1/programs/{unified_id}", args={"unified_id": "UNI-1"}),
        ],
        retry_with={"q": "IT"},
        request_id="01KQ3XQ77RR7J8XWZ8C0YR2JN2",
        latency_ms=42,
        billable_units=1,
        client_tag="顧問先-001",
    )


def rows(count: int) -> StandardResponse[dict]:
    return StandardResponse.of(PROGRAMS[:count])


def rich() -> StandardResponse[dict]:
    return StandardResponse[dict].rich(PROGRAMS[:5])


def sparse() -> StandardResponse[dict]:
    return StandardResponse.sparse(PROGRAMS[:2], retry_with={"tier": ["S", "A"]})


def empty(reason: str) -> StandardResponse[dict]:
    return StandardResponse.empty(reason, retry_with={"q": "IT"})


def partial() -> StandardResponse[dict]:
    return StandardResponse.partial([], ["No source answered"])


def failed() -> StandardResponse[dict]:
    return StandardResponse.error(StandardError.not_found("no program UNI-9"))


def failed_on_the_wire() -> dict:
    return StandardResponse.error(StandardError.not_found("no program UNI-9")).to_wire()


def fail(constructor: str) -> StandardResponse[dict]:
    return StandardResponse.error(getattr(StandardError, constructor)(f"why: {constructor}"))


def fail_in_words() -> StandardResponse[dict]:
    error = StandardError.of(
        "RATE_LIMITED",
        "anonymous IP quota: 3/日 (reset 2026-05-01T00:00+09:00)",
        retry_after=60,
        language="ja",
        documentation="https://jpcite.com/docs/api-reference/response_envelope#",
    )
    return StandardResponse.error(error, request_id="01KQ3XQ77RR7J8XWZ8C0YR2JN2", latency_ms=1)


def name_meta() -> StandardResponse[dict]:
    return StandardResponse.rich(
        PROGRAMS[:5],
        meta={
            "request_id": "01KQ3XQ77RR7J8XWZ8C0YR2JN2",
            "api_version": "v2",
            "latency_ms": 42,
            "billable_units": 3,
            "client_tag": "顧問先-001",
        },
    )


def add_member() -> StandardResponse[dict]:
    return StandardResponse.rich(PROGRAMS[:5], region="eu")


def typed_programs() -> StandardResponse[Program]:
    return StandardResponse[Program].rich([Program(**one) for one in PROGRAMS[:5]])


def cite_nothing() -> StandardResponse[dict]:
    return StandardResponse.rich(
        PROGRAMS[:5], citations=[Citation(source_id="src-1", field_paths=["/results/9/title"])]
    )


def offset_page() -> Reply[Any]:
    return from_offset_page({"total": 60, "limit": 5, "offset": 10, "results": PROGRAMS[10:15]})


def return_error() -> StandardError:
    return StandardError.not_found("no program UNI-9")


def fail_in_short() -> dict:
    error = {"code": "NOT_FOUND", "user_message": "There is none.", "developer_message": "no program UNI-9"}
    return {"status": "error", "results": [], "error": {**error, "retryable": False}}


def contradict() -> StandardResponse[dict]:
    return StandardResponse.partial(PROGRAMS[:3], warnings=[])


def wrapped() -> dict:
    return wrap_for_mcp(StandardResponse.rich(PROGRAMS[:23]))


def wrapped_failure() -> dict:
    return wrap_for_mcp(StandardError.unauthorized("X-API-Key is missing"))


def give_rows() -> list[dict]:
    return PROGRAMS[:7]


def give_record() -> dict:
    return PROGRAMS[0]


def give_number() -> int:
    return 42


def search(q: str, tier: str = "S", limit: int = 20) -> list[dict]:
    return PROGRAMS[:limit]


def raise_not_found() -> dict:
    raise NotFound("no program UNI-9")


def raise_rate_limited() -> dict:
    raise RateLimited("3 a day", retry_after=60)


def raise_later_code() -> dict:
    return Reply.failed("INVALID_STATE", "the program is closed")


def raise_unexpected() -> dict:
    raise RuntimeError("the password is hunter2")


def all_programs() -> StandardResponse[dict]:
    return StandardResponse.rich(PROGRAMS)


def all_cited() -> StandardResponse[dict]:
    return StandardResponse.rich(
        PROGRAMS,
        query_echo=QueryEcho(normalized_input={"q": "IT導入"}, applied_filters={"tier": ["S"]}),
        citations=[Citation(source_id=f"src-{at}", field_paths=[f"/results/{at}/title"]) for at in range(60)],
        suggested_actions=[SuggestedAction(tool="get_program", args={"unified_id": "UNI-1"})],
    )


CONSTRUCTORS = (
    *("rate_limited", "unauthorized", "forbidden", "not_found", "bad_request", "license_gate_blocked"),
    *("quota_exceeded", "integrity_error", "internal"),
)
REASONS = ("no_match", "filters_too_narrow", "source_unavailable", "license_blocked")
FOR_TOOLS = (wrapped, wrapped_failure)
"""What only a tool can return: the result of a tool."""
HANDLERS = (
    *(sample, say_everything, rows, rich, sparse, empty, partial, failed, failed_on_the_wire, fail, fail_in_words),
    *(give_rows, give_record, give_number, search, raise_not_found, raise_rate_limited, raise_later_code),
    *(raise_unexpected, all_programs, name_meta, add_member, typed_programs, cite_nothing, offset_page, return_error),
    *(contradict, fail_in_short, all_cited, *FOR_TOOLS),
)
CALLS = {
    **{handler.__name__: (handler, {}) for handler in HANDLERS if not handler.__code__.co_argcount},
    **{f"rows {count}": (rows, {"count": count}) for count in (0, 1, 4, 5)},
    **{f"empty {reason}": (empty, {"reason": reason}) for reason in REASONS},
    **{f"fail {name}": (fail, {"constructor": name}) for name in CONSTRUCTORS},
    "search": (search, {"q": "IT導入", "tier": "A", "limit": 7}),
    "search badly": (search, {}),
}
"""What is asked of every server, each under its name: a handler, and its arguments."""
FAILING = {
    *("failed", "failed_on_the_wire", "fail_in_words", "wrapped_failure", "raise_not_found", "raise_rate_limited"),
    *("raise_later_code", "raise_unexpected", "search badly", "return_error", "contradict", "fail_in_short"),
    *(name for name in CALLS if name.startswith("fail ")),
}
