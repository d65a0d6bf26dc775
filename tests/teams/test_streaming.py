"""A run moves only on demand, and costs nothing beyond the demand."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

import pytest

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import TaskResult
from teams.core import CancellationToken
from teams.messages import (
    BaseTextChatMessage,
    ModelClientStreamingChunkEvent,
    TextMessage,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
)
from tests.fakes.agents import Talker
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.fakes.streams import everything, take, take_until


async def idle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def streaming(*answers: Any) -> tuple[AssistantAgent, ScriptedModel]:
    model = ScriptedModel(*answers)
    return AssistantAgent("a", model, model_client_stream=True), model


class Told(ScriptedModel):
    """Notes each piece before it gives it away."""

    def __init__(self, *answers: Any) -> None:
        super().__init__(*answers)
        self.given: list[Any] = []

    async def create_stream(self, *args: Any, **options: Any) -> AsyncGenerator[Any, None]:
        async with aclosing(super().create_stream(*args, **options)) as pieces:
            async for piece in pieces:
                self.given.append(piece)
                yield piece


@pytest.mark.parametrize("kind", ["agent", "team", "nested"])
async def test_the_first_chunk_is_there_before_the_second_is_requested(kind: str):
    model = Told(["one", "two", "three"])
    runner: Any = AssistantAgent("a", model, model_client_stream=True)
    if kind != "agent":
        runner = RoundRobinGroupChat([runner], name="inner", max_turns=1)
    if kind == "nested":
        runner = RoundRobinGroupChat([runner], max_turns=1)
    stream = runner.run_stream(task="hi")
    await take(stream, 1)
    for number, text in enumerate(("one", "two", "three"), start=1):
        (chunk,) = await take(stream, 1)
        await idle()
        assert chunk.content == text
        assert len(model.given) == number
    await stream.aclose()


async def test_a_chunk_reaches_the_consumer_while_the_model_still_thinks():
    gate = asyncio.Event()
    agent, _ = streaming(["one ", gate, "two"])
    inner = RoundRobinGroupChat([agent], name="inner", max_turns=1)
    stream = RoundRobinGroupChat([inner], max_turns=1).run_stream(task="hi")
    _, chunk = await take(stream, 2)
    assert chunk.content == "one "
    gate.set()
    rest = await everything(stream)
    assert [item.content for item in rest[:-1]] == ["two", "one two"]


async def test_chunks_are_yielded_but_kept_nowhere():
    agent, _ = streaming("one two", "three four")
    team = RoundRobinGroupChat([agent, Talker("b")], max_turns=2)
    items = await everything(team.run_stream(task="hi"))
    chunks = [item for item in items if isinstance(item, ModelClientStreamingChunkEvent)]
    assert [chunk.content for chunk in chunks] == ["one ", "two"]
    assert [type(item) for item in items[-1].messages] == [TextMessage] * 3
    state = (await team.save_state())["agent_states"]["RoundRobinGroupChatManager"]
    assert {item["type"] for item in state["message_thread"]} == {"TextMessage"}
    assert b"Chunk" not in await team.save_snapshot()


async def test_no_task_is_made_for_what_is_streamed():
    agent, _ = streaming(["x"] * 200)
    team = RoundRobinGroupChat(
        [RoundRobinGroupChat([agent], name="inner", max_turns=1)], max_turns=1
    )
    made: list[str] = []

    def factory(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> Any:
        made.append(str(work))
        return asyncio.Task(work, loop=loop, **options)

    loop = asyncio.get_running_loop()
    loop.set_task_factory(factory)
    try:
        items = await everything(team.run_stream(task="hi", cancellation_token=CancellationToken()))
    finally:
        loop.set_task_factory(None)
    assert len(items) > 200
    assert made == []


async def test_tools_start_when_the_consumer_asks_for_more_than_the_request():
    ran: list[str] = []

    async def tool() -> str:
        ran.append("tool")
        return ""

    agent = AssistantAgent("a", ScriptedModel(calls(("tool", {})), "done"), tools=[tool])
    stream = RoundRobinGroupChat([agent], max_turns=1).run_stream(task="hi")
    await take_until(stream, ToolCallRequestEvent)
    await idle()
    assert ran == []
    await take_until(stream, ToolCallExecutionEvent)
    assert ran == ["tool"]
    await stream.aclose()


async def test_the_result_is_the_last_item_and_the_stream_ends_there():
    stream = RoundRobinGroupChat([Talker("a")], max_turns=1).run_stream(task="hi")
    items = await everything(stream)
    assert [isinstance(item, TaskResult) for item in items] == [False, False, True]
    assert await everything(stream) == []


async def test_streams_can_be_read_by_hand_and_by_several_loops():
    stream = RoundRobinGroupChat([Talker("a", "1", "2")], max_turns=2).run_stream(task="hi")
    first = await stream.asend(None)
    assert isinstance(first, TextMessage)
    assert first.source == "user"
    async for item in stream:
        assert isinstance(item, TextMessage)
        break
    assert len(await everything(stream)) == 2


class Heavy(BaseTextChatMessage):
    """A message that must not be serialised, unless somebody asks for it."""

    type: str = "Heavy"

    def dump(self) -> Mapping[str, Any]:
        raise AssertionError("dumped")

    def __repr__(self) -> str:
        raise AssertionError("shown")


async def test_nothing_is_serialised_that_nobody_asked_for():
    team = RoundRobinGroupChat(
        [Talker("a"), AssistantAgent("b", ScriptedModel("fine"))],
        max_turns=2,
        custom_message_types=[Heavy],
    )
    result = await team.run(task=Heavy(content="x", source="user"))
    assert len(result.messages) == 3
