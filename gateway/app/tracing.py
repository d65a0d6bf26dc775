"""Export of traces over OTLP/HTTP. Importing this needs the extra `otel`."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from threading import Thread

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http import trace_exporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.util.re import parse_env_headers

from gateway.app.findings import Finding
from gateway.base.redaction import REDACTION
from gateway.config.tracing import PATH, TracingConfig
from gateway.sessions.tracing import ROOT, TRACES

LOG = logging.getLogger("gateway")
HEADERS = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")
"""Variables with secrets, such as a key of the collector."""
LAST = 1.0
"""Seconds at the end for what was not sent yet."""
PROBE = 5.0
"""Seconds in which the collector has to answer a check."""


@contextmanager
def exporting(config: TracingConfig) -> Generator[None]:
    """Trace turns within the context; only its end may wait shortly.

    Raises ValueError for a variable of OpenTelemetry's that is wrong.
    """
    provider = provider_of(config)
    trace.set_tracer_provider(provider)  # there the engine's spans find it
    TRACES.use(provider)
    try:
        yield
    finally:
        TRACES.use(None)
        last = Thread(target=provider.shutdown, name="last traces", daemon=True)
        last.start()
        last.join(LAST)


def provider_of(config: TracingConfig) -> TracerProvider:
    """A sender of spans. Raises ValueError for a wrong variable."""
    named = OTELResourceDetector().detect().attributes.get("service.name", "parley")
    provider = TracerProvider(
        sampler=None if config.sample is None else ParentBased(TraceIdRatioBased(config.sample)),
        resource=Resource.create({"service.name": config.service_name or named}),
        shutdown_on_exit=False,
        id_generator=_TurnIds(),
        span_limits=SpanLimits(max_events=0),  # texts of errors are for the log
    )
    provider.add_span_processor(BatchSpanProcessor(_Exporter(config)))
    return provider


async def probe(config: TracingConfig) -> Finding:
    """Send the collector an empty request."""
    failure = await asyncio.to_thread(_Exporter(config, timeout=PROBE).attempt, ())
    name, text = config.endpoint or "collector", failure or "the collector answers"
    return Finding(kind="traces", name=name, good=not failure, text=REDACTION.all(text))


class _TurnIds(RandomIdGenerator):
    """Random ids, but for the roots of turns."""

    def generate_trace_id(self) -> int:
        """The id of a trace that begins."""
        return super().generate_trace_id() if (ids := ROOT.get()) is None else ids[0]

    def generate_span_id(self) -> int:
        """The id of a span."""
        return super().generate_span_id() if (ids := ROOT.get()) is None else ids[1]


class _Exporter(trace_exporter.OTLPSpanExporter):
    """Exporter that tells once when the collector fails, and when it returns."""

    def __init__(self, config: TracingConfig, *, timeout: float | None = None) -> None:
        # Before the variables are read: warnings quote them, and there is one for each batch.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        for name in HEADERS:
            REDACTION.add(parse_env_headers(os.environ.get(name, ""), liberal=True).values())
        endpoint = config.endpoint and config.endpoint.rstrip("/").removesuffix(PATH) + PATH
        headers = {name: value.get_secret_value() for name, value in config.headers.items()}
        super().__init__(endpoint=endpoint, headers=headers or None, timeout=timeout)
        self._failing = False
        self._reason = ""
        self._log = logging.getLogger(trace_exporter.__name__)
        self._log.setLevel(logging.WARNING)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send spans, in a worker of their own."""
        failure = self.attempt(spans)
        if failure and not self._failing:
            LOG.warning("traces are dropped until the collector answers: %s", failure)
        elif self._failing and not failure:
            LOG.info("traces are sent again")
        self._failing = bool(failure)
        return SpanExportResult.FAILURE if failure else SpanExportResult.SUCCESS

    def attempt(self, spans: Sequence[ReadableSpan]) -> str:
        """Why spans could not be sent; "" if they were."""
        self._reason = ""
        self._log.addFilter(self._keep_reason)
        result = super().export(spans)
        self._log.removeFilter(self._keep_reason)
        return "" if result is SpanExportResult.SUCCESS else self._reason or "no answer"

    def _keep_reason(self, record: logging.LogRecord) -> bool:
        """Keep the first word on a failure, and log none."""
        said = record.getMessage().partition(" encountered while exporting")[0]  # and "retrying"
        self._reason = self._reason or said.removeprefix("Transient error ")
        return False
