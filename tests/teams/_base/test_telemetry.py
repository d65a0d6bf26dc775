"""Events in the log and OpenTelemetry spans; nothing without a listener."""

import asyncio
import json
import logging
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
from pydantic import BaseModel

import teams
from teams import MagenticOneGroupChat, RoundRobinGroupChat, SelectorGroupChat
from teams.agents import AssistantAgent, CodeExecutorAgent, SocietyOfMindAgent
from teams.base import InputRequired, TeamError, run_hooks
from teams.core import EVENT_LOGGER_NAME, ROOT_LOGGER_NAME, TRACE_LOGGER_NAME, CancellationToken
from teams.logging import (
    LLMCallEvent,
    LLMStreamEndEvent,
    LLMStreamStartEvent,
    MessageEvent,
    ToolCallEvent,
)
from teams.messages import TextMessage
from teams.models import UserMessage
from teams.models.openai import OpenAIChatCompletionClient
from teams.models.replay import ReplayChatCompletionClient
from teams.tools import BaseStreamTool, FunctionTool
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
        model="gpt-4o", api_key="sk-secret-key", base_url=openai_server.url, max_retries=0
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


class Listener(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[Any] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.events.append(record.msg)

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture
def listener() -> Iterator[Listener]:
    logger, listener = logging.getLogger(EVENT_LOGGER_NAME), Listener()
    logger.addHandler(listener)
    logger.setLevel(logging.INFO)
    yield listener
    logger.removeHandler(listener)
    logger.setLevel(logging.NOTSET)


QUESTION = [UserMessage(content="How are you?", source="user")]


def test_the_documented_names():
    assert teams.EVENT_LOGGER_NAME == EVENT_LOGGER_NAME
    assert teams.TRACE_LOGGER_NAME == TRACE_LOGGER_NAME
    assert EVENT_LOGGER_NAME.startswith(f"{ROOT_LOGGER_NAME}.")
    assert TRACE_LOGGER_NAME.startswith(f"{ROOT_LOGGER_NAME}.")


async def test_a_model_call_is_logged_as_it_went_over_the_wire(openai_server, client, listener):
    openai_server.script(Reply(text="Fine."))
    result = await client.create(QUESTION)
    [event] = listener.of(LLMCallEvent)
    assert event.prompt_tokens == result.usage.prompt_tokens > 0
    assert event.completion_tokens == result.usage.completion_tokens > 0
    said = json.loads(str(event))
    assert said["type"] == "LLMCall"
    assert said["messages"] == openai_server.requests[0].body["messages"]
    assert said["response"]["choices"][0]["message"]["content"] == "Fine."
    assert "sk-secret-key" not in str(event)


async def test_a_stream_is_logged_when_it_begins_and_when_it_ends(openai_server, client, listener):
    openai_server.script(Reply(text="I am fine."))
    stream = client.create_stream(QUESTION)
    await anext(stream)
    [start] = listener.events
    assert isinstance(start, LLMStreamStartEvent)
    assert json.loads(str(start))["messages"][0]["content"] == "How are you?"
    *_, result = [piece async for piece in stream]
    [_, end] = listener.events
    assert isinstance(end, LLMStreamEndEvent)
    assert (end.prompt_tokens, end.completion_tokens) == (
        result.usage.prompt_tokens,  # type: ignore
        result.usage.completion_tokens,  # type: ignore
    )
    assert json.loads(str(end))["response"]["content"] == "I am fine."


async def test_a_failed_call_is_no_event(openai_server, client, listener):
    openai_server.script(Fail(status=500, message="broken"))
    with pytest.raises(Exception, match="broken"):
        await client.create(QUESTION)
    assert listener.events == []


async def test_a_tool_call_is_logged_with_its_caller(listener):
    model = ScriptedModel(calls(("add", {"a": 1, "b": 2})))
    agent = AssistantAgent("worker", model, tools=[add])
    await RoundRobinGroupChat([agent], max_turns=1).run(task="go")
    [event] = listener.of(ToolCallEvent)
    assert json.loads(str(event)) == {
        "type": "ToolCall",
        "agent_id": "worker",
        "tool_name": "add",
        "arguments": {"a": 1, "b": 2},
        "result": "3",
    }


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_model_call_is_logged_with_who_asks(openai_server, client, listener, streamed):
    openai_server.script(*(Reply(text=text) for text in ("two", "2", "Two.", "It is two.")))
    clerk = AssistantAgent("clerk", client, model_client_stream=streamed)
    crew = RoundRobinGroupChat([clerk], max_turns=1, name="crew")
    others = [
        AssistantAgent("two", client, model_client_stream=streamed),
        SocietyOfMindAgent("office", crew, client),
    ]
    chat = SelectorGroupChat(
        others, client, max_turns=1, model_client_streaming=streamed, emit_team_events=True
    )
    await chat.run(task="go")
    await others[1].run(task="go")
    kinds = (LLMCallEvent, LLMStreamStartEvent)
    asked = [event.kwargs["agent_id"] for event in listener.events if isinstance(event, kinds)]
    assert asked == ["SelectorGroupChatManager", "two", "office/clerk", "office"]


async def test_outside_of_a_run_a_tool_call_has_no_caller(listener):
    await FunctionTool(add).run_json({"a": 1, "b": 2}, CancellationToken())
    [event] = listener.of(ToolCallEvent)
    assert event.kwargs["agent_id"] is None


class Text(BaseModel):
    text: str


class Spell(BaseStreamTool[Text, TextMessage, Text]):
    def __init__(self) -> None:
        super().__init__(Text, Text, "spell", "Spell.")

    async def run(self, args: Text, cancellation_token: CancellationToken) -> Text:
        return args

    async def run_stream(
        self, args: Text, cancellation_token: CancellationToken
    ) -> AsyncGenerator[Any, None]:
        for letter in args.text:
            yield TextMessage(content=letter, source="speller")
        yield args


async def test_a_streaming_tool_is_logged_with_its_result(listener):
    stream = Spell().run_json_stream({"text": "ab"}, CancellationToken())
    assert len([item async for item in stream]) == 3
    [event] = listener.of(ToolCallEvent)
    assert event.kwargs["result"] == '{"text": "ab"}'


async def test_messages_between_agents_are_logged_as_they_come(listener):
    team = RoundRobinGroupChat(
        [AssistantAgent("one", ScriptedModel("uno")), AssistantAgent("two", ScriptedModel("due"))],
        max_turns=2,
        name="pair",
    )
    result = await team.run(task="go")
    logged = listener.of(MessageEvent)
    assert [event.kwargs["message"]["content"] for event in logged] == ["go", "uno", "due"]
    assert json.loads(str(logged[1]))["team"] == "pair"
    assert json.loads(str(logged[1]))["message"]["id"] == result.messages[1].id


async def test_what_an_orchestrator_says_is_logged_too(listener):
    team = MagenticOneGroupChat(
        [AssistantAgent("one", ScriptedModel())],
        ReplayChatCompletionClient(["F", "P", *["no ledger"] * 10]),
        name="led",
    )
    with pytest.raises(RuntimeError):
        await team.run(task="go")
    sources = [event.kwargs["message"]["source"] for event in listener.of(MessageEvent)]
    assert sources == ["user", "MagenticOneOrchestrator"]


async def test_an_orchestrators_thoughts_are_in_the_trace(caplog):
    team = MagenticOneGroupChat(
        [AssistantAgent("one", ScriptedModel())],
        ReplayChatCompletionClient(["F", "P", *["no ledger"] * 10]),
    )
    with caplog.at_level(logging.DEBUG, logger=TRACE_LOGGER_NAME), pytest.raises(RuntimeError):
        await team.run(task="go")
    assert "no JSON object" in caplog.text


async def test_nothing_is_built_while_nobody_listens(openai_server, client, monkeypatch):
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("an event was built")

    monkeypatch.setattr("teams._base.telemetry._Event.__init__", refuse)
    openai_server.script(Reply(text="Fine."), Reply(text="Fine."))
    await client.create(QUESTION)
    async for _ in client.create_stream(QUESTION):
        pass
    model = ScriptedModel(calls(("add", {"a": 1, "b": 2})))
    await RoundRobinGroupChat([AssistantAgent("worker", model, tools=[add])], max_turns=1).run(
        task="go"
    )
