"""Telemetry: what replies cost and how they went, as OpenTelemetry spans and metrics, and as structured logs.

    with observer.observe("search", request_id=…, carrier=meta_or_headers) as observation:
        …                                                  the whole way of a call
        observation.report_reply(reply, size=len(body))    its last step, when the reply is on its wire

A contract opens an observation around each call. Without the OpenTelemetry API there are no spans and no metrics;
a caller's `traceparent` is carried on all the same, and logs have the request id.

    span      aerogram.reply                operation, status, dialect, fidelity, sizes; a failed reply is an error
    counter   aerogram.replies              by operation, status, dialect, fidelity, cache_hit and error.type
    counter   aerogram.reply.dropped        items that were left out
    histogram aerogram.reply.duration       seconds
    histogram aerogram.reply.size           bytes
    histogram aerogram.reply.tokens         as sent, and aerogram.reply.tokens.before fitting
"""

from __future__ import annotations

import datetime as dt
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from aerogram.content.jsontext import dumps
from aerogram.reply import Reply, utc_timestamp

__all__ = [
    "OBSERVATION",
    "JsonLines",
    "Listener",
    "Observation",
    "Observer",
    "RequestIds",
    "current_request_id",
    "trace_parent",
]

log = logging.getLogger("aerogram.reply")

SCOPE: Final = "aerogram"
_TRACE_PARENT: Final = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_SERVER_FAULTS: Final = frozenset({"internal", "unavailable"})
_NOT_TOKENS: Final = frozenset({"bytes", "characters"})
_REQUEST_ID: Final[ContextVar[str | None]] = ContextVar("aerogram_request_id", default=None)


OBSERVATION: Final[ContextVar[Observation | None]] = ContextVar("aerogram_observation", default=None)
"""The call that is observed here, if one is."""
Listener: TypeAlias = Callable[["Observation", Reply[Any], Mapping[str, Any], Mapping[str, float]], None]
"""What may hear of each reply that is sent: its observation, the reply, the words and the numbers about it."""


def current_request_id() -> str | None:
    """The id of the request that is being answered here, if one is."""
    return _REQUEST_ID.get()


def trace_parent(carrier: Mapping[str, Any] | None) -> str | None:
    """The caller's `traceparent` in a `_meta` object or among headers, if it is a valid one."""
    found = (carrier or {}).get("traceparent")
    return found if isinstance(found, str) and _TRACE_PARENT.fullmatch(found) else None


@dataclass(slots=True)
class Observation:
    """One call under observation; `traceparent` goes back with its reply."""

    operation: str
    request_id: str | None = None
    traceparent: str | None = None
    _record: Callable[[dict[str, Any], dict[str, float]], None] | None = None
    _listener: Listener | None = None
    _started: float = field(default_factory=time.perf_counter)
    size_before: int | None = None
    """The tokens of the reply before it was fitted, if it had to be; small replies do not say it themselves."""
    is_told: bool = False
    """Whether an answer was reported, or is by somebody else."""

    def report_reply(self, reply: Reply[Any], *, dialect: str | None = None, size: int | None = None) -> None:
        """Report the finished reply: what it says, and how many bytes it takes on the wire."""
        self._report(reply, self._listener, dialect, size)

    def report_success(self, *, size: int | None = None) -> None:
        """Report a success in a framework's own words; there is no reply of which a listener could hear."""
        self._report(Reply(), None, None, size)

    def _report(self, reply: Reply[Any], listener: Listener | None, dialect: str | None, size: int | None) -> None:
        self.is_told = True
        facts = _facts(self.operation, reply, dialect)
        readings = {"duration": time.perf_counter() - self._started, **_readings(reply, size)}
        if self.size_before is not None:
            readings["tokens.before"] = max(self.size_before, readings.get("tokens.before", 0))
        if self._record is not None:
            self._record(facts, readings)
        if listener is not None:
            listener(self, reply, facts, readings)
        is_ours = reply.problem is not None and reply.problem.kind in _SERVER_FAULTS
        level = logging.WARNING if is_ours else logging.INFO
        if log.isEnabledFor(level):
            said = {**facts, **readings, "duration": round(readings["duration"], 6)}
            words = f"{self.operation}: {facts.get('error.type') or reply.status}"
            log.log(level, words, extra={"request_id": reply.request_id or self.request_id, "reply": said})


def _facts(operation: str, reply: Reply[Any], dialect: str | None) -> dict[str, Any]:
    """The words by which replies are counted."""
    told = {
        "dialect": dialect,
        "fidelity": reply.fidelity.level if reply.fidelity else "partial" if reply.status == "partial" else "full",
        "cache_hit": reply.telemetry.cache_hit if reply.telemetry else None,
        "error.type": reply.problem.code if reply.problem else None,
    }
    known = {name: value for name, value in told.items() if value is not None}
    return {"operation": operation, "status": reply.status, **known}


def _readings(reply: Reply[Any], size: int | None) -> dict[str, float]:
    """The numbers: bytes, tokens before and after, dropped items, notices."""
    fidelity, telemetry = reply.fidelity, reply.telemetry
    extra = (fidelity.extra if fidelity else None) or {}
    tokens = (telemetry.tokens_used or telemetry.tokens_estimated) if telemetry else None
    before = extra.get("size_before", tokens)
    if extra.get("counter") in _NOT_TOKENS:
        tokens = before = None
    told = {
        "size": size,
        "tokens": tokens,
        "tokens.before": before,
        "dropped": extra.get("dropped_count", len(fidelity.dropped_ids)) if fidelity else None,
    }
    return {name: value for name, value in told.items() if isinstance(value, (int, float)) and value}


class Observer:
    """Observes calls; with the OpenTelemetry API installed, through its providers (the global ones by default)."""

    def __init__(self, *, tracer_provider: Any = None, meter_provider: Any = None) -> None:
        self._instruments = _instruments(tracer_provider, meter_provider)
        self._listener: Listener | None = None

    def with_listener(self, listener: Listener) -> Observer:
        """The same observer, that also tells a listener of each reply: what was observed, its words, its numbers."""
        observer = copy(self)
        observer._listener = listener
        return observer

    @contextmanager
    def observe(
        self,
        operation: str,
        *,
        request_id: str | None = None,
        carrier: Mapping[str, Any] | None = None,
        attributes: Mapping[str, str] | None = None,
    ) -> Iterator[Observation]:
        """The observation of one call; `carrier` is the request's `_meta` or its headers (names in lower case).

        `attributes` are what its span says besides, by the names that OpenTelemetry has for them.
        """
        token = _REQUEST_ID.set(request_id)
        try:
            if self._instruments is None:
                observation = Observation(operation, request_id, trace_parent(carrier), _listener=self._listener)
                with _observing(observation):
                    yield observation
            else:
                with self._instruments.span(operation, request_id, carrier, attributes or {}) as observation:
                    observation._listener = self._listener
                    with _observing(observation):
                        yield observation
        finally:
            _REQUEST_ID.reset(token)


@contextmanager
def _observing(observation: Observation) -> Iterator[None]:
    token = OBSERVATION.set(observation)
    try:
        yield
    finally:
        OBSERVATION.reset(token)


class _Instruments:
    """The tracer and the meters of the OpenTelemetry API."""

    def __init__(self, tracer: Any, meter: Any) -> None:
        self._tracer = tracer
        self._replies = meter.create_counter("aerogram.replies", "{reply}", "Replies sent")
        self._dropped = meter.create_counter("aerogram.reply.dropped", "{item}", "Items left out of replies")
        self._histograms = {
            name: meter.create_histogram(f"aerogram.reply.{name}", unit, about)
            for name, unit, about in (
                ("duration", "s", "Time from the call to its reply"),
                ("size", "By", "Size of the reply on the wire"),
                ("tokens", "{token}", "Tokens of the reply as sent"),
                ("tokens.before", "{token}", "Tokens of the reply before fitting"),
            )
        }

    @contextmanager
    def span(
        self,
        operation: str,
        request_id: str | None,
        carrier: Mapping[str, Any] | None,
        attributes: Mapping[str, str],
    ) -> Iterator[Observation]:
        """A span inside the one that is open, or else inside the caller's."""
        from opentelemetry import trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        context = None
        if not trace.get_current_span().get_span_context().is_valid and trace_parent(carrier):
            texts = {name: value for name, value in (carrier or {}).items() if isinstance(value, str)}
            context = TraceContextTextMapPropagator().extract(texts)
        own = {"aerogram.operation": operation, **({"aerogram.request_id": request_id} if request_id else {})}
        begin = {**attributes, **own}
        with self._tracer.start_as_current_span("aerogram.reply", context=context, attributes=begin) as span:
            written: dict[str, str] = {}
            TraceContextTextMapPropagator().inject(written)
            parent = written.get("traceparent") or trace_parent(carrier)

            def record(facts: dict[str, Any], readings: dict[str, float]) -> None:
                self._describe(span, facts, readings)
                self._count(facts, readings)

            yield Observation(operation, request_id, parent, record)

    def _describe(self, span: Any, facts: dict[str, Any], readings: dict[str, float]) -> None:
        from opentelemetry.trace import Status, StatusCode

        named = {name if name == "error.type" else f"aerogram.{name}": value for name, value in facts.items()}
        span.set_attributes({**named, **{f"aerogram.{name}": value for name, value in readings.items()}})
        if "error.type" in facts:
            span.set_status(Status(StatusCode.ERROR, facts["error.type"]))

    def _count(self, facts: dict[str, Any], readings: dict[str, float]) -> None:
        self._replies.add(1, facts)
        for name, value in readings.items():
            if name == "dropped":
                self._dropped.add(value, facts)
            else:
                self._histograms[name].record(value, facts)


def _instruments(tracer_provider: Any, meter_provider: Any) -> _Instruments | None:
    try:
        from opentelemetry import metrics, trace
    except ImportError:
        return None
    return _Instruments(
        trace.get_tracer(SCOPE, tracer_provider=tracer_provider),
        metrics.get_meter(SCOPE, meter_provider=meter_provider),
    )


class RequestIds(logging.Filter):
    """Gives every log record that passes the id of the request it was written for, as `request_id`."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the id unless the record has one; nothing is held back."""
        if getattr(record, "request_id", None) is None:
            record.request_id = current_request_id()
        return True


class JsonLines(logging.Formatter):
    """Log records as one JSON object a line: time, level, logger, message, request id, and what a reply was."""

    def format(self, record: logging.LogRecord) -> str:
        """The line; whatever a record holds, it is JSON."""
        said: dict[str, Any] = {
            "time": utc_timestamp(dt.datetime.fromtimestamp(record.created, dt.UTC)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        request_id = getattr(record, "request_id", None) or current_request_id()
        if request_id is not None:
            said["request_id"] = request_id
        if isinstance(reply := getattr(record, "reply", None), dict):
            said["reply"] = reply
        if record.exc_info:
            said["exception"] = self.formatException(record.exc_info)
        return _line(said)


def _line(said: dict[str, Any]) -> str:
    clean = {
        name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
        for name, value in said.items()
    }
    return dumps(clean).decode()
