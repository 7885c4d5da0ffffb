"""Metrics: what a server tells Prometheus and OpenTelemetry about itself.

    --metrics 127.0.0.1:9464           Prometheus fetches them from there, at /metrics, without a key
    OTEL_EXPORTER_OTLP_ENDPOINT=URL    they are sent there every minute (OTEL_METRIC_EXPORT_INTERVAL says otherwise)

Both are the same instruments: those of each reply (`aerogram.replies`, `aerogram.reply.*`), and these:

    counter        aerogram.requests            by status, everything that came in over HTTP
    up-down        aerogram.requests.running    what is being answered now
    gauge          aerogram.server.draining     1 while this server is about to end

No metric names a caller, a question or a document.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final
from wsgiref.simple_server import WSGIServer

from aerogram._http.exchange import START, App, Message, Receive, Scope, Send
from aerogram.errors import AerogramError, MissingExtra
from aerogram_knowledge.hosting.drain import Drain

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics import MeterProvider

__all__ = ["Metrics", "RequestCounter"]

log = logging.getLogger("aerogram.server")

SCOPE: Final = "aerogram"
_PUSH: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT")
_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """The instruments of one server, and where they are told; with nobody to tell, there are none."""

    def __init__(self, listener: str | None, drain: Drain) -> None:
        self._address = listener
        self._http: WSGIServer | None = None
        self._drain = drain
        self._registry: Any = None
        self.provider: MeterProvider | None = None
        if listener is not None or any(os.environ.get(name) for name in _PUSH):
            self.provider = self._provide()

    @contextlib.contextmanager
    def reporting(self) -> Iterator[None]:
        """Tell whoever asks, as long as this lasts."""
        self._listen()
        try:
            yield
        finally:
            self._end()

    def _listen(self) -> None:
        """Listen for Prometheus, in a thread, so that a busy server is still measured."""
        if self._address is None:
            return
        from prometheus_client import start_http_server

        host, _, port = self._address.rpartition(":")
        try:
            self._http, _ = start_http_server(int(port), host.strip("[]"), registry=self._registry)
        except OSError as error:
            raise AerogramError(f"metrics cannot be told at {self._address}: {error.strerror or error}") from error
        log.info("metrics are at http://%s:%d/metrics", host, self._http.server_port)

    def _end(self) -> None:
        """Send what has not been sent, and close the socket."""
        if self.provider is not None:
            self.provider.shutdown()
        if self._http is not None:
            self._http.shutdown()
            self._http.server_close()

    def count(self, app: App) -> App:
        """The application with its requests counted."""
        return app if self.provider is None else RequestCounter(app, self.provider)

    def _provide(self) -> MeterProvider:
        try:
            from opentelemetry.metrics import CallbackOptions, Observation
            from opentelemetry.sdk.metrics import MeterProvider
            from opentelemetry.sdk.metrics.view import ExplicitBucketHistogramAggregation, View
            from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        except ImportError:
            raise MissingExtra("metrics", "opentelemetry-sdk") from None
        in_seconds = View(
            instrument_name="aerogram.reply.duration", aggregation=ExplicitBucketHistogramAggregation(_SECONDS)
        )
        named = Resource.create({"service.name": "aerogram"}).merge(OTELResourceDetector().detect())  # theirs counts
        provider = MeterProvider(self._readers(), resource=named, views=[in_seconds])

        def observe_draining(_: CallbackOptions) -> Iterable[Observation]:
            return [Observation(int(self._drain.has_begun))]

        about = "Whether this server is about to end"
        provider.get_meter(SCOPE).create_observable_gauge("aerogram.server.draining", [observe_draining], "1", about)
        return provider

    def _readers(self) -> list[Any]:
        readers: list[Any] = []
        if self._address is not None:
            readers.append(self._for_prometheus())
        if any(os.environ.get(name) for name in _PUSH):
            readers.append(_for_collectors())
        return readers

    def _for_prometheus(self) -> Any:
        try:
            from opentelemetry.exporter.prometheus import PrometheusMetricReader
            from prometheus_client import CollectorRegistry
        except ImportError:
            raise MissingExtra("metrics", "opentelemetry-exporter-prometheus") from None
        self._registry = CollectorRegistry()
        return PrometheusMetricReader(registry=self._registry)


def _for_collectors() -> Any:
    try:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    except ImportError:
        raise MissingExtra("metrics", "opentelemetry-exporter-otlp-proto-http") from None
    return PeriodicExportingMetricReader(OTLPMetricExporter())


class RequestCounter:
    """Counts requests as they come and go. Plain ASGI."""

    def __init__(self, app: App, provider: MeterProvider) -> None:
        meter = provider.get_meter(SCOPE)
        self._app = app
        self._requests = meter.create_counter("aerogram.requests", "{request}", "Requests answered")
        self._running = meter.create_up_down_counter("aerogram.requests.running", "{request}", "Requests in work")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count it by the status of its answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 0

        async def say(message: Message) -> None:
            nonlocal status
            if message["type"] == START:
                status = message["status"]
            await send(message)

        self._running.add(1)
        try:
            await self._app(scope, receive, say)
        finally:
            self._running.add(-1)
            self._requests.add(1, {"status": status})
