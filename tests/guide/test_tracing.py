"""The page on tracing: a run's OpenTelemetry spans within another span."""

from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.util._once import Once

from teams import SelectorGroupChat
from teams.agents import AssistantAgent
from teams.conditions import TextMentionTermination
from tests.fakes.openai_script import Call, Reply
from tests.guide.harness import calls_tools, conversations, goes_on_alike, watch


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """The exporter of spans; its provider is removed after the test."""
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER_SET_ONCE", Once())
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    yield exporter
    provider.shutdown()


def search(query: str) -> str:
    """Search the results."""
    return "Ada won."


def research(model) -> SelectorGroupChat:
    return SelectorGroupChat(
        [
            AssistantAgent("planner", model, description="Plans.", system_message="Plan."),
            AssistantAgent("searcher", model, description="Searches.", tools=[search]),
        ],
        model_client=model,
        name="research",
        termination_condition=TextMentionTermination("TERMINATE"),
    )


async def test_a_team_is_traced_below_a_span_of_ones_own(openai_server, model, exporter):
    openai_server.script(
        Reply(text="planner"),
        Reply(text="searcher: who won?"),
        Reply(calls=[Call(name="search", arguments={"query": "won"})]),
        Reply(text="Ada. TERMINATE"),
    )
    team = research(model)

    with trace.get_tracer("my program").start_as_current_span("my task"):
        run = await watch(team.run_stream(task="Who won?"))

    assert run.trace == [
        ("TextMessage", "user"),
        ("TextMessage", "planner"),
        *calls_tools("searcher"),
        ("TextMessage", "planner"),
    ]
    spans = sorted(exporter.get_finished_spans(), key=lambda span: span.start_time or 0)
    names = {span.context.span_id: span.name for span in spans if span.context}
    assert [(span.name, names[span.parent.span_id] if span.parent else None) for span in spans] == [
        ("my task", None),
        ("invoke_workflow research", "my task"),
        ("chat gpt-4o", "invoke_workflow research"),
        ("invoke_agent planner", "invoke_workflow research"),
        ("chat gpt-4o", "invoke_agent planner"),
        ("invoke_agent searcher", "invoke_workflow research"),
        ("chat gpt-4o", "invoke_agent searcher"),
        ("execute_tool search", "invoke_agent searcher"),
        ("invoke_agent planner", "invoke_workflow research"),
        ("chat gpt-4o", "invoke_agent planner"),
    ]
    chat = spans[2].attributes or {}
    assert chat["gen_ai.request.model"] == "gpt-4o"
    assert chat["gen_ai.usage.input_tokens"] == 10

    again = await goes_on_alike(
        team, research, openai_server, Reply(text="Bye."), Reply(text="TERMINATE"), task="Thanks."
    )
    assert again.trace == [
        ("TextMessage", "user"),
        ("TextMessage", "searcher"),
        ("TextMessage", "planner"),
    ]
    assert len(conversations(openai_server)) == 4 + 3 * 2
