"""Counters for Prometheus. Labels are names of ours alone: no patient, no session, no text of a model."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from wardround_schemas.function import finish_function, load_functions

from .call import CallRecord
from .sessions import SessionStore

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metrics:
    """The counters of one application, in a registry of its own."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self, sessions: SessionStore) -> None:
        self._registry = CollectorRegistry()
        self._functions = {f.name for f in load_functions()} | {finish_function().name}
        self._calls = Counter(
            "wardround_calls",
            "Calls by function and outcome",
            ("function", "outcome"),
            registry=self._registry,
        )
        self._call_seconds = Histogram(
            "wardround_call_seconds",
            "Time from call to result",
            ("function",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._result_bytes = Counter(
            "wardround_result_bytes", "Bytes of results", ("function",), registry=self._registry
        )
        self._requests = Counter(
            "wardround_http_requests", "HTTP requests", ("area", "method", "status"), registry=self._registry
        )
        self._request_seconds = Histogram(
            "wardround_http_request_seconds",
            "Time from request to the end of its answer",
            ("area",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        open_sessions = Gauge("wardround_sessions_open", "Sessions that are open", registry=self._registry)
        open_sessions.set_function(lambda: float(len(sessions)))
        sessions.on_call(self.call)

    def call(self, record: CallRecord) -> None:
        """Count one call of a session."""
        name = self._name(record.function)
        self._calls.labels(name, "ok" if record.ok else "refused").inc()
        self._call_seconds.labels(name).observe(record.seconds)
        self._result_bytes.labels(name).inc(record.result_bytes)

    def request(self, area: str, method: str, status: int, seconds: float) -> None:
        """Count one HTTP request."""
        self._requests.labels(area, method if method in _METHODS else "other", str(status)).inc()
        self._request_seconds.labels(area).observe(seconds)

    def exposition(self) -> bytes:
        """All counters in Prometheus's text format."""
        return generate_latest(self._registry)

    def _name(self, function: str) -> str:
        if function in self._functions:
            return function
        head = function.split(" ", 1)[0]
        return f"text.{head.lower()}" if head in ("GET", "POST") else "unknown"
