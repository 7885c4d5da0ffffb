"""Spans and metrics, read back from the OpenTelemetry SDK."""

from __future__ import annotations

import subprocess
import sys

import fastmcp
import httpx
import pytest
from mcp.server.mcpserver import MCPServer
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

import aerogram.fastmcp
import aerogram.mcp
from aerogram import Fidelity, Reply, Telemetry
from aerogram.telemetry import Observer, trace_parent

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Backend:
    """An observer whose spans and metrics stay here."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.reader = InMemoryMetricReader()
        self.observer = Observer(
            tracer_provider=self.tracers, meter_provider=MeterProvider(metric_readers=[self.reader])
        )

    def span(self):
        return self.exporter.get_finished_spans()[-1]

    def metrics(self) -> dict:
        """Each metric's points as (attributes, sum)."""
        found = {}
        for resource in self.reader.get_metrics_data().resource_metrics:
            for metric in resource.scope_metrics[0].metrics:
                points = metric.data.data_points
                found[metric.name] = [
                    (dict(point.attributes), getattr(point, "value", None) or getattr(point, "sum", None))
                    for point in points
                ]
        return found


@pytest.fixture
def backend():
    return Backend()


FITTED = Reply.partial(
    [1],
    "2 of 3 items left out",
    fidelity=Fidelity("partial", ("2", "3"), extra={"size_before": 900, "size_after": 300, "counter": "o200k_base"}),
    telemetry=Telemetry(tokens_used=300, cache_hit=True),
)


def test_a_reply_leaves_a_span_with_its_sizes(backend):
    with backend.observer.observe("search", request_id="req_1") as observation:
        observation.report_reply(FITTED, dialect="response-v2", size=1234)
    span = backend.span()
    assert span.name == "aerogram.reply"
    assert dict(span.attributes) | {"aerogram.duration": 0} == {
        "aerogram.operation": "search",
        "aerogram.request_id": "req_1",
        "aerogram.status": "partial",
        "aerogram.dialect": "response-v2",
        "aerogram.fidelity": "partial",
        "aerogram.cache_hit": True,
        "aerogram.size": 1234,
        "aerogram.tokens": 300,
        "aerogram.tokens.before": 900,
        "aerogram.dropped": 2,
        "aerogram.duration": 0,
    }
    assert span.status.status_code is StatusCode.UNSET


def test_a_reply_is_counted_and_measured(backend):
    with backend.observer.observe("search") as observation:
        observation.report_reply(FITTED, dialect="response-v2", size=1234)
    metrics = backend.metrics()
    facts = {
        "operation": "search",
        "status": "partial",
        "dialect": "response-v2",
        "fidelity": "partial",
        "cache_hit": True,
    }
    assert metrics["aerogram.replies"] == [(facts, 1)]
    assert metrics["aerogram.reply.dropped"] == [(facts, 2)]
    assert metrics["aerogram.reply.size"] == [(facts, 1234)]
    assert metrics["aerogram.reply.tokens"] == [(facts, 300)]
    assert metrics["aerogram.reply.tokens.before"] == [(facts, 900)]
    assert metrics["aerogram.reply.duration"][0][1] > 0


def test_a_failed_reply_is_an_error_under_its_code(backend):
    with backend.observer.observe("search") as observation:
        observation.report_reply(Reply.failed("NOT_FOUND", "no such thing"))
    span = backend.span()
    assert (span.status.status_code, span.attributes["error.type"]) == (StatusCode.ERROR, "NOT_FOUND")
    ((facts, count),) = backend.metrics()["aerogram.replies"]
    assert (facts["status"], facts["error.type"], count) == ("error", "NOT_FOUND", 1)


def test_the_span_continues_the_callers_trace_and_the_reply_carries_it_back(backend):
    with backend.observer.observe("search", carrier={"traceparent": PARENT, "other": 1}) as observation:
        carried = observation.traceparent
    span = backend.span()
    assert format(span.context.trace_id, "032x") == PARENT.split("-")[1]
    assert format(span.parent.span_id, "016x") == PARENT.split("-")[2]
    assert carried == f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-01"


def test_inside_a_span_of_the_framework_it_is_that_spans_child(backend):
    with (
        backend.tracers.get_tracer("framework").start_as_current_span("tools/call") as outer,
        backend.observer.observe("search", carrier={"traceparent": PARENT}),
    ):
        pass
    assert backend.exporter.get_finished_spans()[0].parent.span_id == outer.get_span_context().span_id


def test_spans_of_the_handler_are_children_of_the_reply(backend):
    with backend.observer.observe("search"):
        inner = trace.get_current_span().get_span_context()
    assert inner.span_id == backend.span().context.span_id


@pytest.mark.parametrize(
    "text",
    [
        "",
        "garbage",
        PARENT.upper(),
        "ff" + PARENT[2:],
        PARENT + "\n",
        "00-" + "0" * 32 + "-b7ad6b7169203331-01",
        7,
        None,
    ],
)
def test_a_trace_that_is_not_one_is_ignored(backend, text):
    assert trace_parent({"traceparent": text}) is None
    with backend.observer.observe("search", carrier={"traceparent": text}):
        pass
    assert backend.span().parent is None


@pytest.mark.parametrize("state", [7, True, [7], {"a": 1}, "a=b," * 5_000])
def test_a_trace_goes_on_although_its_state_is_none(backend, state):
    """What stands in `_meta` may be of any type."""
    with backend.observer.observe("search", carrier={"traceparent": PARENT, "tracestate": state}):
        pass
    assert format(backend.span().context.trace_id, "032x") == PARENT.split("-")[1]


def test_sizes_that_are_not_tokens_are_not_taken_for_tokens(backend):
    fidelity = Fidelity("partial", extra={"size_before": 900, "counter": "bytes", "dropped_count": 7})
    reply = Reply.ok([1], fidelity=fidelity, telemetry=Telemetry(tokens_used=300))
    with backend.observer.observe("search") as observation:
        observation.report_reply(reply)
    assert "aerogram.tokens" not in backend.span().attributes
    assert backend.span().attributes["aerogram.dropped"] == 7


WITHOUT = """
import sys
sys.modules["opentelemetry"] = None
from aerogram import Reply
from aerogram.telemetry import Observer, current_request_id
with Observer().observe("search", request_id="req_1", carrier={"traceparent": sys.argv[1]}) as observation:
    observation.report_reply(Reply.failed("NOT_FOUND"), size=10)
    print(observation.traceparent, current_request_id())
"""


def test_without_the_package_nothing_is_measured_and_the_trace_is_still_carried():
    done = subprocess.run([sys.executable, "-c", WITHOUT, PARENT], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"{PARENT} req_1\n", "")


def test_without_an_sdk_the_callers_trace_is_carried_too():
    with Observer().observe("search", carrier={"traceparent": PARENT}) as observation:
        assert observation.traceparent.split("-")[1] == PARENT.split("-")[1]
        observation.report_reply(FITTED)


FRAMEWORKS = {
    "fastmcp": (fastmcp.FastMCP, aerogram.fastmcp.install, lambda server: server.http_app()),
    "sdk": (MCPServer, aerogram.mcp.install, lambda server: server.streamable_http_app()),
}
HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tester", "version": "1"}}


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_a_span_of_a_tool_has_the_names_of_opentelemetry(backend, framework):
    made, install, application = FRAMEWORKS[framework]
    server = made("named")
    server.tool()(add)
    install(server, observer=backend.observer)
    app = application(server)
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000", headers=HEADERS) as client,
    ):

        async def post(method: str, **params: object) -> httpx.Response:
            message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            return (await client.post("/mcp", json=message)).raise_for_status()

        session = (await post("initialize", **HELLO)).headers["mcp-session-id"]
        client.headers["mcp-session-id"] = session
        await post("tools/call", name="add", arguments={"a": 1, "b": "two"})
    told = {name: value for name, value in backend.span().attributes.items() if not name.startswith("aerogram.")}
    assert told == {
        "mcp.method.name": "tools/call",
        "mcp.session.id": session,
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "add",
        "error.type": "INVALID_FORMAT",
    }


def add(a: int, b: int) -> int:
    return a + b


async def test_a_span_of_a_resource_has_no_tool(backend):
    server = fastmcp.FastMCP("named")
    server.resource("data://one")(lambda: "one")
    aerogram.fastmcp.install(server, observer=backend.observer)
    async with fastmcp.Client(server) as client:
        await client.read_resource("data://one")
    found = backend.span().attributes
    assert found["mcp.method.name"] == "resources/read" and "gen_ai.tool.name" not in found
