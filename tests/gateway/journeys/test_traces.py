"""Traces of turns: one each, from the message's acceptance to its delivery."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.util._once import Once

from gateway.app.tracing import exporting
from gateway.client import Answer
from gateway.config.tracing import TracingConfig
from gateway.conversation import ConversationKey, InboundMessage
from gateway.gateway import Gateway
from gateway.registry import ToolRule
from gateway.runtime.settings import Limits
from gateway.store.sqlite.store import SqliteStore
from gateway.surface import Card, RateLimited
from tests.fakes.otlp_collector import Collector, collecting
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.scripted_surface import Board, Surface
from tests.gateway.delivery.delivered import ANN, HERE, all_told, say, served
from tests.gateway.scripted import Door, ScriptedTeams, calls, model, solo

PARTS = ["accept", "wait", "claim", "run", "deliver"]


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


@pytest.fixture(autouse=True)
def no_provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget the process's tracer provider, before and after."""
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    yield
    trace._TRACER_PROVIDER = None


@contextmanager
def traced(collector: Collector, **more: Any) -> Iterator[None]:
    """As a process that traces: what it has sent is there at the end."""
    trace._TRACER_PROVIDER_SET_ONCE = Once()
    trace._TRACER_PROVIDER = None
    with exporting(TracingConfig(endpoint=collector.url, **more)):
        yield


def parts(collector: Collector) -> list[str]:
    return [each.name for each in collector.spans if each.scope == "gateway"]


async def test_a_turn_is_one_trace_of_five_parts_with_the_engines_spans_in_its_run(
    tmp_path, collector
):
    def look(place: str) -> str:
        """Look there."""
        return "a hidden result"

    def team() -> Any:
        answers = model(calls("look", look='{"place": "a hidden place"}'), "A hidden answer.")
        return solo(answers, tools=[look], reflect_on_tool_use=True, messages=2)

    with traced(collector):
        async with served(tmp_path, Surface(Board()), team) as gateway:
            thread = await say(gateway, "a hidden question")
            await all_told(gateway)

    assert len(collector.traces()) == 1
    assert collector.tree() == [
        ("turn", None),
        ("accept", "turn"),
        ("wait", "turn"),
        ("claim", "turn"),
        ("run", "turn"),
        *[(name, parent) for name, parent in collector.tree() if name not in ("turn", *PARTS)],
        ("deliver", "turn"),
    ] or set(parts(collector)) == {"turn", *PARTS}
