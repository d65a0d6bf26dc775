"""OpenTelemetry spans of teams, agents, models and tools; none without provider."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent, CodeExecutorAgent
from teams.base import InputRequired, TeamError, run_hooks
from teams.core import CancellationToken
from teams.models import UserMessage
from teams.models.openai import OpenAIChatCompletionClient
from tests.fakes.openai_script import Fail, Reply
from tests.fakes.scripted_executor import ScriptedExecutor
from tests.fakes.scripted_model import ScriptedModel, calls


class Spans:
    """The recorded spans."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    @property
    def all(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self.exporter.get_finished_spans()}

    def tree(self) -> list[tuple[str, str | None]]:
        """Each span and its parent, in the order they began."""
        spans = sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time or 0)
        names = {span.context.span_id: span.name for span in spans if span.context}
        return [(span.name, names[span.parent.span_id] if span.parent else None) for span in spans]


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Spans]:
    spans = Spans()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: spans.provider)
    yield spans
    spans.provider.shutdown()


@pytest.fixture
async def client(openai_server) -> AsyncGenerator[OpenAIChatCompletionClient, None]:
    client = OpenAIChatCompletionClient(
        model="gpt-4o", api_key="sk-x", base_url=openai_server.url, max_retries=0
    )
    yield client
    await client.close()


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "at once"])
async def test_a_run_is_a_tree_of_spans(openai_server, client, spans: Spans, streaming: bool):
    openai_server.script(Reply(calls=[_call("add", a=1, b=2)]), Reply(text="Three."))
    agent = AssistantAgent(
        "worker",
        client,
        tools=[add],
        reflect_on_tool_use=True,
        model_client_stream=streaming,
        description="Works.",
    )
    team = RoundRobinGroupChat([agent], max_turns=1, name="crew")
    tracer = spans.provider.get_tracer("script")
    with tracer.start_as_current_span("script"):
        await team.run(task="1 + 2?")
        assert trace.get_current_span().name == "script"  # type: ignore
    assert spans.tree() == [
        ("script", None),
        ("invoke_workflow crew", "script"),
        ("invoke_agent worker", "invoke_workflow crew"),
        ("chat gpt-4o", "invoke_agent worker"),
        ("execute_tool add", "invoke_agent worker"),
        ("chat gpt-4o", "invoke_agent worker"),
    ]
    agent_span, tool = spans.all["invoke_agent worker"], spans.all["execute_tool add"]
    assert agent_span.attributes == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "worker",
        "gen_ai.agent.description": "Works.",
    }
    assert tool.attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "add",
        "gen_ai.tool.call.id": "call_add",
        "gen_ai.tool.type": "function",
        "gen_ai.agent.name": "worker",
    }
    chat = dict(spans.all["chat gpt-4o"].attributes or {})
    assert chat.pop("gen_ai.usage.input_tokens") > 0  # type: ignore
    assert chat.pop("gen_ai.usage.output_tokens") > 0  # type: ignore
    assert chat == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.response.finish_reasons": ("stop",),
    }
    assert spans.all["chat gpt-4o"].kind is SpanKind.CLIENT
    assert tool.kind is SpanKind.INTERNAL
    assert not [span for span in spans.all.values() if span.status.status_code is StatusCode.ERROR]


def _call(name: str, **arguments: Any) -> Any:
    from tests.fakes.openai_script import Call

    return Call(name=name, arguments=arguments, id=f"call_{name}")


async def test_nested_teams_and_agents_alone(spans: Spans):
    inner = RoundRobinGroupChat(
        [AssistantAgent("one", ScriptedModel("a"))], max_turns=1, name="inner", description="In."
    )
    await RoundRobinGroupChat([inner], max_turns=1, name="outer").run(task="go")
    await AssistantAgent("alone", ScriptedModel("b")).run(task="go")
    assert spans.tree() == [
        ("invoke_workflow outer", None),
        ("invoke_workflow inner", "invoke_workflow outer"),
        ("invoke_agent one", "invoke_workflow inner"),
        ("invoke_agent alone", None),
    ]


async def test_the_consumer_of_a_stream_is_not_inside_of_its_spans(spans: Spans):
    agent = AssistantAgent("one", ScriptedModel("a b c"), model_client_stream=True)
    team = RoundRobinGroupChat([agent], max_turns=1)
    async for _ in team.run_stream(task="go"):
        assert not trace.get_current_span().get_span_context().is_valid
    async with aclosing(team.run_stream(task="go")) as stream:
        await anext(stream)
    assert [name for name, _ in spans.tree()].count("invoke_workflow RoundRobinGroupChat") == 2


async def test_execution_of_code_is_a_tool(spans: Spans):
    agent = CodeExecutorAgent("coder", ScriptedExecutor())
    await agent.run(task="```python\nx\n```")
    assert spans.tree() == [
        ("invoke_agent coder", None),
        ("execute_tool execute_code", "invoke_agent coder"),
    ]


async def test_errors_are_on_the_spans_they_went_through(openai_server, client, spans: Spans):
    openai_server.script(Fail(status=500, message="broken"))
    team = RoundRobinGroupChat([AssistantAgent("worker", client)], max_turns=1, name="crew")
    with pytest.raises(TeamError):
        await team.run(task="go")
    errors = {name: span.attributes["error.type"] for name, span in spans.all.items()}  # type: ignore
    assert errors == {
        "chat gpt-4o": "ModelUnavailable",
        "invoke_agent worker": "ModelUnavailable",
        "invoke_workflow crew": "TeamError",
    }
    assert {span.status.status_code for span in spans.all.values()} == {StatusCode.ERROR}


async def test_a_failed_tool_is_an_error_and_a_waiting_one_is_none(spans: Spans):
    def failing() -> str:
        raise ValueError("secret text")

    def asking() -> str:
        raise InputRequired("May I?")

    model = ScriptedModel(calls(("failing", {}), ("asking", {})))
    agent = AssistantAgent("worker", model, tools=[failing, asking])
    result = await RoundRobinGroupChat([agent], max_turns=1).run(task="go")
    assert len(result.pending) == 1
    failed, waiting = spans.all["execute_tool failing"], spans.all["execute_tool asking"]
    assert failed.status.status_code is StatusCode.ERROR
    assert "secret text" not in str(failed.to_json())
    assert waiting.status.status_code is StatusCode.UNSET


async def test_a_cancelled_run_ends_its_spans(spans: Spans):
    model, token = ScriptedModel(asyncio.Event()), CancellationToken()
    team = RoundRobinGroupChat([AssistantAgent("worker", model)], max_turns=1)
    running = asyncio.ensure_future(team.run(task="go", cancellation_token=token))
    await model.asked()
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert len(spans.tree()) == 2
    assert not trace.get_current_span().get_span_context().is_valid


async def test_a_call_that_was_refused_has_no_span(spans: Spans):
    async def refuse(call: Any, proceed: Any) -> Any:
        raise InputRequired("May it?", kind="approval")

    agent = AssistantAgent("worker", ScriptedModel(calls(("add", {}))), tools=[add])
    with run_hooks(intercept=refuse):
        await agent.run(task="go")
    assert [name for name, _ in spans.tree()] == ["invoke_agent worker"]


@pytest.mark.parametrize("how", ["not imported", "no provider", "a provider that does nothing"])
async def test_without_a_provider_streams_are_handed_through_as_they_are(
    monkeypatch: pytest.MonkeyPatch, openai_server, client, how: str
):
    from teams._base.telemetry import trace_team

    if how == "not imported":
        monkeypatch.delitem(sys.modules, "opentelemetry.trace")
    elif how == "a provider that does nothing":
        monkeypatch.setattr(trace, "get_tracer_provider", trace.NoOpTracerProvider)

    async def stream() -> AsyncGenerator[int, None]:
        yield 1

    given = stream()
    assert trace_team("crew", given) is given
    await given.aclose()
    openai_server.script(Reply(text="Fine."))
    assert (await client.create([UserMessage(content="hi", source="user")])).content == "Fine."
