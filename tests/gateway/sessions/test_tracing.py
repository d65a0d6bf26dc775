"""Traces of turns, from acceptance to delivery."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import time_ns

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from gateway.sessions.tracing import TRACES, DeliveryTrace, Traces
from gateway.store.turn_records import ClaimedTurn
from tests.fakes.new_store import new_store
from tests.gateway.store.talk import begun


@pytest.fixture
async def work(tmp_path: Path) -> ClaimedTurn:
    store = new_store(tmp_path)
    async with store.own():
        return await begun(store)


@pytest.fixture
def exporter() -> Iterator[InMemorySpanExporter]:
    """Where the process's traces go during the test."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    TRACES.use(provider)
    yield exporter
    TRACES.use(None)


def spans(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in exporter.get_finished_spans()}


async def test_a_run_is_traced_from_its_acceptance(
    work: ClaimedTurn, exporter: InMemorySpanExporter
) -> None:
    began = time_ns() - 1_000_000
    TRACES.note_accepted("t", work.messages[0].inbox, began)
    with TRACES.run(work, time_ns()):
        TRACES.note({"parley.outcome": "done"})
    found = spans(exporter)
    assert {*found} == {"accept", "wait", "claim", "run", "turn"}
    assert found["accept"].start_time == began
    assert (found["run"].attributes or {})["parley.outcome"] == "done"
    trace = {
        span.context and span.context.trace_id for name, span in found.items() if name != "turn"
    }
    assert len(trace) == 1


async def test_a_run_that_fails_or_goes_on_is_told_so(
    work: ClaimedTurn, exporter: InMemorySpanExporter
) -> None:
    with pytest.raises(ValueError, match="no"), TRACES.run(work, time_ns()):
        raise ValueError("no")
    found = spans(exporter)
    assert (found["run"].attributes or {})["error.type"] == "ValueError"
    assert "turn" not in found


async def test_without_a_provider_nothing_is_traced(work: ClaimedTurn) -> None:
    traces = Traces()
    with traces.run(work, time_ns()):
        traces.note({"parley.outcome": "done"})
    assert not traces.start("u", "run", time_ns(), {}).is_recording()


def test_another_provider_knows_nothing_of_what_was_accepted(
    exporter: InMemorySpanExporter,
) -> None:
    traces = Traces()
    traces.use(TRACES.provider)
    assert traces.provider is TRACES.provider
    traces.start("u", "turn", 5, {"a": 1}, root=True).end()
    assert spans(exporter)["turn"].start_time == 5


def test_a_delivery_counts_the_calls_of_each_turn(exporter: InMemorySpanExporter) -> None:
    trace = DeliveryTrace("t", "slack")
    trace.count(1, "posts", 1)
    trace.note(2, "u1")
    trace.note(5, "u2")
    trace.count(3, "posts", 1)
    trace.count(4, "posts", 1)
    trace.count(6, "failed", 1)
    assert spans(exporter) == {}
    trace.end()
    one, two = exporter.get_finished_spans()
    assert (one.attributes or {})["parley.turn.id"] == "u1"
    assert (one.attributes or {})["parley.delivery.posts"] == 2
    assert (two.attributes or {})["error.type"] == "undelivered"
