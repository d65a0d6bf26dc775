"""The base class for agents: everything but what the agent says."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from teams import RoundRobinGroupChat
from teams.agents._base import StreamingChatAgent, custom_types
from teams.base import InputRequired, Response, TaskResult
from teams.core import CancellationToken
from teams.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    ModelClientStreamingChunkEvent,
    StructuredMessage,
    TextMessage,
    ThoughtEvent,
)
from tests.fakes.agents import Streamer, Talker
from tests.fakes.streams import texts

TOKEN = CancellationToken()


def said(text: str, source: str = "al") -> TextMessage:
    return TextMessage(content=text, source=source)


def test_a_name_is_an_identifier():
    agent = Talker("al", description="Talks.")
    assert (agent.name, agent.description) == ("al", "Talks.")
    with pytest.raises(ValueError, match="found 'a b'"):
        Talker("a b")


async def test_a_turn_yields_inner_messages_before_the_response():
    thought = ThoughtEvent(content="hm", source="al")
    agent = Talker("al", Response(chat_message=said("so"), inner_messages=[thought]))
    items = [item async for item in agent.on_messages_stream([said("hi", "user")], TOKEN)]
    assert items[0] is thought
    assert isinstance(items[1], Response)


async def test_a_run_ends_with_its_items():
    agent = Talker("al", "so")
    assert texts(await agent.run(task="hi")) == ["hi", "so"]
    result = await agent.run(task="hi", output_task_messages=False)
    assert texts(result) == ["so"]
    assert agent.given == [["hi"], ["hi"]]


async def test_a_turn_without_a_response_is_an_error():
    async def nothing() -> AsyncGenerator[Any, None]:
        yield ThoughtEvent(content="hm", source="al")

    with pytest.raises(RuntimeError, match="'al' ended without a response"):
        await Streamer("al", nothing).run(task="hi")


async def test_a_run_that_waits_for_a_person_says_so():
    agent = Talker("al", InputRequired("May I?"), "so")
    result = await agent.run(task="hi")
    assert [(each.prompt, each.agent) for each in result.pending] == [("May I?", ("al",))]
    assert result.stop_reason == "Waiting for input: May I?"


async def half() -> AsyncGenerator[Any, None]:
    yield ModelClientStreamingChunkEvent(content="so f", source="al", full_message_id="m")
    raise OSError("gone")


async def test_how_far_an_answer_came_is_told_with_the_next_task():
    agent = Streamer("al", half)
    with pytest.raises(OSError, match="gone"):
        await agent.run(task="hi")
    state = json.loads(json.dumps(await agent.save_state()))
    assert state["half"] == "so f"
    again = Streamer("al", half)
    await again.load_state(state)
    with pytest.raises(OSError, match="gone"):
        await again.run(task="again")
    [told] = again.given
    assert ["so f" in text for text in told] == [True, False]


async def test_a_state_of_another_form_is_refused():
    with pytest.raises(ValueError, match="valid string"):
        await Talker("al").load_state({"type": 3})


class Counter(Talker):
    """An agent with a state of its own."""

    count = 0

    async def save_state(self) -> dict[str, Any]:
        return {"count": self.count}

    async def load_state(self, state: Any) -> None:
        self.count = state["count"]


async def test_what_a_subclass_saves_is_in_the_snapshot_of_its_team():
    agent, again = Counter("al"), Counter("al")
    agent.count = 3
    part = await RoundRobinGroupChat([agent]).save_snapshot()
    await RoundRobinGroupChat([again]).load_snapshot([part])
    assert again.count == 3


class Told(StreamingChatAgent):
    """Its turn is a stream."""

    def __init__(self, *items: Any) -> None:
        super().__init__("al", "Talks.")
        self._items = items

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (TextMessage,)

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[Any, None]:
        for item in self._items:
            if isinstance(item, Exception):
                raise item
            yield item

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        pass


async def test_a_streaming_agent_can_be_asked_directly():
    response = Response(chat_message=said("so"))
    agent = Told(ThoughtEvent(content="hm", source="al"), response)
    assert await agent.on_messages([], TOKEN) is response
    with pytest.raises(RuntimeError, match="ended its turn without a response"):
        await Told().on_messages([], TOKEN)
    with pytest.raises(InputRequired, match="May I"):
        await Told(InputRequired("May I?")).on_messages([], TOKEN)


class Place(BaseModel):
    city: str


class Typed(Talker):
    """Says messages of types of its own, and has others inside."""

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (TextMessage, StructuredMessage[Place])

    @property
    def inner_message_types(self) -> Sequence[type[BaseAgentEvent | BaseChatMessage]]:
        return [*super().inner_message_types, ThoughtEvent]


def test_types_of_one_s_own_are_known():
    assert custom_types(Typed("al")) == [StructuredMessage[Place], ThoughtEvent]
    assert custom_types(Talker("al")) == []


async def test_the_stream_of_a_run_may_be_left():
    stream = Talker("al", "so").run_stream(task="hi")
    first = await anext(stream)
    await stream.aclose()
    assert not isinstance(first, TaskResult)
