"""Saved states hold messages as pydantic writes and reads them."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from itertools import chain
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.code_executor import CodeResult
from teams.core import FunctionCall, Image
from teams.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    CodeExecutionEvent,
    HandoffMessage,
    MultiModalMessage,
    StopMessage,
    StructuredMessage,
    TextMessage,
    ThoughtEvent,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
    ToolCallSummaryMessage,
)
from teams.model_context import UnboundedChatCompletionContext
from teams.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    RequestUsage,
    SystemMessage,
    UserMessage,
)
from tests.fakes.scripted_model import ScriptedModel

PIXEL = Image.from_base64(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
CALL = FunctionCall(id="1", name="add", arguments='{"a": 1}')
RESULT = FunctionExecutionResult(content="3", name="add", call_id="1")


class Weather(BaseModel):
    city: str
    degrees: float


class Loud(TextMessage):
    """A text of a user's own, with something more to say."""

    type: Any = "Loud"  # pyright: ignore[reportIncompatibleVariableOverride]
    volume: int = 11


TYPES: list[Any] = [Loud, StructuredMessage[Weather]]

texts = st.one_of(
    st.text(max_size=8), st.sampled_from(["", "\ud83d", "\u2028\x00", "🙂", "é" * 50])
)
zones = st.sampled_from([None, UTC, timezone(timedelta(hours=5, minutes=30)), timezone.min])
times = st.builds(
    lambda moment, zone, whole: (
        moment.replace(tzinfo=zone, microsecond=0) if whole else moment.replace(tzinfo=zone)
    ),
    st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)),  # noqa: DTZ001
    zones,
    st.booleans(),
)
usages = st.one_of(
    st.none(), st.builds(RequestUsage, st.integers(0, 10**12), st.integers(0, 10**12))
)


def said(kind: Any, **fields: Any) -> st.SearchStrategy[Any]:
    return st.builds(
        kind,
        source=texts,
        created_at=times,
        models_usage=usages,
        metadata=st.dictionaries(texts, texts, max_size=2),
        **fields,
    )


plain_texts = said(TextMessage, content=texts)
llm_messages = st.one_of(
    st.builds(UserMessage, content=texts, source=texts),
    st.builds(UserMessage, content=st.just(["look", PIXEL]), source=texts),
    st.builds(AssistantMessage, content=texts, thought=st.one_of(st.none(), texts), source=texts),
    st.builds(SystemMessage, content=texts),
)
answered_calls = st.tuples(
    st.builds(AssistantMessage, content=st.just([CALL]), source=texts),
    st.builds(FunctionExecutionResultMessage, content=st.just([RESULT])),
)
contexts = st.lists(st.one_of(st.tuples(llm_messages), answered_calls), max_size=5).map(
    lambda parts: list(chain.from_iterable(parts))
)
others = st.one_of(
    said(Loud, content=texts, volume=st.integers(0, 12)),
    said(StopMessage, content=texts),
    said(MultiModalMessage, content=st.just(["look", PIXEL])),
    said(HandoffMessage, content=texts, target=texts, context=st.lists(llm_messages, max_size=2)),
    said(StructuredMessage[Weather], content=st.just(Weather(city="Jena", degrees=-0.5))),
    said(
        ToolCallSummaryMessage, content=texts, tool_calls=st.just([CALL]), results=st.just([RESULT])
    ),
    said(ToolCallRequestEvent, content=st.just([CALL])),
    said(ToolCallExecutionEvent, content=st.just([RESULT])),
    said(ThoughtEvent, content=texts),
    said(
        CodeExecutionEvent,
        retry_attempt=st.just(0),
        result=st.just(CodeResult(exit_code=0, output="")),
    ),
)


def team_of(context: list[LLMMessage] | None = None) -> RoundRobinGroupChat:
    agent = AssistantAgent(
        "one", ScriptedModel("fine"), model_context=UnboundedChatCompletionContext(context)
    )
    return RoundRobinGroupChat([agent], max_turns=1, custom_message_types=TYPES)


def thread_of(state: Mapping[str, Any]) -> list[Any]:
    return state["agent_states"]["RoundRobinGroupChatManager"]["message_thread"]


def context_of(state: Mapping[str, Any]) -> list[Any]:
    return state["agent_states"]["one"]["agent_state"]["llm_context"]["messages"]


async def saved(
    items: list[BaseAgentEvent | BaseChatMessage], context: list[LLMMessage]
) -> Mapping[str, Any]:
    """The state of a team with this thread and context, loaded once."""
    blank: Any = await team_of().save_state()
    blank["agent_states"]["RoundRobinGroupChatManager"]["message_thread"] = [
        item.model_dump(mode="json") for item in items
    ]
    blank["agent_states"]["one"]["agent_state"]["llm_context"] = {
        "messages": [message.model_dump(mode="json") for message in context]
    }
    text = json.dumps(blank)
    team = team_of()
    await team.load_state(json.loads(text))
    state = await team.save_state()
    assert json.loads(json.dumps(state)) == json.loads(text)
    return state


@settings(database=None, derandomize=True, max_examples=60)
@given(
    st.lists(st.one_of(plain_texts, plain_texts, others), max_size=6),
    contexts,
)
async def test_a_state_is_what_pydantic_writes_for_each_message(
    items: list[BaseAgentEvent | BaseChatMessage], context: list[LLMMessage]
):
    await saved(items, context)
    for item in items:
        assert item.dump() == item.model_dump(mode="json")
    chat = [item for item in items if isinstance(item, BaseChatMessage)]
    team = team_of(context)
    team.add_messages(chat)
    state = await team.save_state()
    assert thread_of(state) == [item.model_dump(mode="json") for item in chat]
    assert context_of(state) == [message.model_dump(mode="json") for message in context]


async def test_editing_one_agents_state_changes_no_other_state_and_no_message():
    message = TextMessage(content="hi", source="user", metadata={"a": "b"})
    agents = [AssistantAgent(name, ScriptedModel("fine", "good")) for name in ("one", "two")]
    team = RoundRobinGroupChat([*agents], max_turns=2)
    await team.run(task=message)
    whole = json.dumps(await team.save_state())
    for _ in range(2):
        state = await team.save_state()
        edit(state)
        assert json.dumps(await team.save_state()) == whole
    assert message.metadata == {"a": "b"}
    states = (await team.save_state())["agent_states"]
    edit(states["one"])
    assert states["two"] == json.loads(whole)["agent_states"]["two"]


def edit(data: Any) -> None:
    """Change everything in it that can be changed."""
    for value in data.values() if isinstance(data, dict) else data:
        if isinstance(value, dict | list):
            edit(value)
    if isinstance(data, dict):
        data["edited"] = True
    else:
        data.append("edited")


async def test_a_loaded_team_does_not_hold_on_to_the_state_it_was_given():
    team = team_of()
    await team.run(task=TextMessage(content="hi", source="user", metadata={"a": "b"}))
    state = json.loads(json.dumps(await team.save_state()))
    whole = json.dumps(state)
    fresh = team_of()
    await fresh.load_state(state)
    edit(state)
    assert json.dumps(await fresh.save_state()) == whole


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", 1),
        ("source", None),
        ("content", ["no text"]),
        ("models_usage", {"prompt_tokens": "many", "completion_tokens": 1}),
        ("models_usage", {"prompt_tokens": 1}),
        ("metadata", {"a": 1}),
        ("metadata", []),
        ("created_at", "yesterdayZ"),
        ("created_at", "2026-13-01T00:00:00Z"),
    ],
)
async def test_a_text_that_does_not_fit_is_refused(field: str, value: Any):
    team = team_of()
    await team.run(task="hi")
    state = json.loads(json.dumps(await team.save_state()))
    thread_of(state)[-1][field] = value
    with pytest.raises(ValueError, match=field):
        await team_of().load_state(state)


@pytest.mark.parametrize("broken", [1, {"type": "Unheard"}, {"content": "x", "source": "y"}])
async def test_a_model_message_that_does_not_fit_is_refused(broken: Any):
    team = team_of()
    await team.run(task="hi")
    state = json.loads(json.dumps(await team.save_state()))
    context_of(state).append(broken)
    with pytest.raises(ValidationError):
        await team_of().load_state(state)


async def test_what_only_pydantic_reads_is_still_read():
    """Times as numbers, counts as texts, unknown fields: other programs' data."""
    team = team_of()
    await team.run(task="hi")
    state = json.loads(json.dumps(await team.save_state()))
    thread_of(state)[0] |= {"created_at": 0, "unknown": 1}
    thread_of(state)[1]["models_usage"] = {"prompt_tokens": "7", "completion_tokens": 1.0}
    fresh = team_of()
    await fresh.load_state(state)
    first, second = thread_of(await fresh.save_state())
    assert first["created_at"] == "1970-01-01T00:00:00Z"
    assert "unknown" not in first
    assert second["models_usage"] == {"prompt_tokens": 7, "completion_tokens": 1}
