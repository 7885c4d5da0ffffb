"""What a contract does around a handler, seen by a client: limits, cache, deprecations, redaction, telemetry."""

import fastmcp
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from aerogram import read
from aerogram.contract.cache import Cache
from aerogram.contract.deprecation import Deprecations
from aerogram.fastmcp import install
from aerogram.limits import Limits, Plan
from aerogram.sanitize import Redaction
from aerogram.telemetry import Observer


@pytest.fixture
def server():
    server = fastmcp.FastMCP("steps")
    server.runs = 0

    @server.tool
    def find(query: str = "all", limit: int = 0) -> dict:
        """Find things."""
        server.runs += 1
        if query == "broken":
            raise RuntimeError("the index is gone")
        return {"name": query, "api_key": "sk-not-for-you", "runs": server.runs}

    return server


async def called(server, **arguments):
    async with fastmcp.Client(server) as client:
        result = await client.call_tool("find", arguments, raise_on_error=False)
    return read(result.structured_content)


async def test_a_limit_is_in_every_reply_warns_when_it_is_near_and_then_refuses(server):
    install(server, dialect="response-v2", limits=Limits.in_memory(Plan.of("5/day")))
    replies = [await called(server) for _ in range(6)]
    assert [reply.rate_limit.remaining for reply in replies] == [4, 3, 2, 1, 0, 0]
    assert any(notice.code == "RATE_LIMIT_APPROACHING" for notice in replies[4].notices)
    assert replies[5].problem.code == "QUOTA_EXCEEDED" and replies[5].problem.retry_after
    assert server.runs == 5


async def test_a_cached_answer_says_that_it_is_one_and_covers_for_a_failure(server):
    install(
        server,
        dialect="response-v2",
        cache=Cache.in_memory(fresh_for=0.0, stale_for=60, slow_after=0.0),
        cached={"find"},
    )
    first = await called(server, query="a")
    assert any(notice.code == "CACHE_MISS_SLOW" for notice in first.notices)

    server.local_provider.remove_tool("find")

    @server.tool
    def find(query: str = "all") -> dict:
        """Fail, from now on."""
        raise RuntimeError("the index is gone")

    stale = await called(server, query="a")
    assert stale.data == first.data
    notice = next(notice for notice in stale.notices if notice.code == "STALE_CACHE")
    assert notice.context["cache_age_seconds"] >= 0


async def test_what_is_deprecated_is_told_when_it_is_used(server):
    old = Deprecations.of(parameters={"limit": "page_size"}, fields={"name": "title"})
    install(server, dialect="response-v2", deprecations={"find": old})
    codes = [notice.code for notice in (await called(server, limit=3)).notices]
    assert codes == ["DEPRECATED_PARAMETER", "DEPRECATED_FIELD"]
    assert [notice.code for notice in (await called(server)).notices] == ["DEPRECATED_FIELD"]


async def test_a_secret_does_not_leave_the_server(server):
    install(server, dialect="response-v2", sanitizers=[Redaction()])
    async with fastmcp.Client(server) as client:
        result = await client.call_tool("find", {})
    assert "sk-not-for-you" not in repr(result)
    assert any(notice.code == "CONTENT_REDACTED" for notice in read(result.structured_content).notices)


async def test_every_reply_is_counted_and_an_error_reply_counts_as_an_error(server):
    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    observer = Observer(tracer_provider=tracers, meter_provider=MeterProvider([reader]))
    install(server, dialect="response-v2", observer=observer, limits=Limits.in_memory(Plan.of("2/day")))
    for query in ("fine", "broken", "fine", "refused"):
        await called(server, query=query)
    told = [span for span in spans.get_finished_spans() if span.name == "aerogram.reply"]
    assert [span.attributes.get("error.type") for span in told] == [None, "INTERNAL_ERROR", None, "QUOTA_EXCEEDED"]
    metrics = [one for scope in reader.get_metrics_data().resource_metrics[0].scope_metrics for one in scope.metrics]
    replies = next(one for one in metrics if one.name == "aerogram.replies")
    assert sum(point.value for point in replies.data.data_points) == 4
