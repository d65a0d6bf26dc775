"""The documented loggers and events, which are free without a listener."""

import json
import logging
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest
from pydantic import BaseModel

import teams
from teams import MagenticOneGroupChat, RoundRobinGroupChat, SelectorGroupChat
from teams.agents import AssistantAgent, SocietyOfMindAgent
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
from tests.fakes.scripted_model import ScriptedModel, calls


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
