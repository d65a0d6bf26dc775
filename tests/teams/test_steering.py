"""Messages that are added while a team works."""

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from teams import RoundRobinGroupChat, Swarm
from teams.agents import AssistantAgent
from teams.base import TaskResult
from teams.conditions import FunctionalTermination, TextMentionTermination
from teams.messages import (
    HandoffMessage,
    TextMessage,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
)
from tests.fakes.agents import Talker
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.fakes.streams import everything, take, take_until, texts


def note(text: str) -> TextMessage:
    return TextMessage(content=text, source="user")


async def tool() -> str:
    return "result"


def looper(model: ScriptedModel, **options: Any) -> AssistantAgent:
    return AssistantAgent("worker", model, tools=[tool], max_tool_iterations=3, **options)


@pytest.mark.parametrize("held", [ToolCallRequestEvent, ToolCallExecutionEvent])
@pytest.mark.parametrize("depth", [0, 1, 2])
async def test_an_agent_in_a_tool_loop_takes_it_just_before_its_next_model_call(
    held: Any, depth: int
):
    model = ScriptedModel(calls(("tool", {})), "done")
    team = RoundRobinGroupChat([looper(model)], max_turns=1)
    for level in range(depth):
        team = RoundRobinGroupChat([team], name=f"level{level}", max_turns=1)
    stream = team.run_stream(task="hi")
    await take_until(stream, held)
    team.add_messages([note("also")])
    await everything(stream)
    assert [message["type"] for message in model.messages()] == [
        "UserMessage",
        "AssistantMessage",
        "FunctionExecutionResultMessage",
        "UserMessage",
    ]
    assert model.texts() == ["hi", "also"]


async def test_it_is_given_once_and_to_everyone():
    model = ScriptedModel(calls(("tool", {})), "done", "again")
    other = Talker("other", "ok")
    team = RoundRobinGroupChat([looper(model), other], max_turns=3)
    stream = team.run_stream(task="hi")
    await take_until(stream, ToolCallRequestEvent)
    team.add_messages([note("also"), note("and")])
    await everything(stream)
    assert model.texts() == ["hi", "also", "and", "done", "ok"]
    assert other.given == [["hi", "also", "and", "done"]]


async def test_it_stands_in_the_thread_and_is_judged_with_the_next_delta_but_not_yielded():
    judged: list[list[str]] = []

    def judge(delta: Any) -> bool:
        judged.append([item.to_text() for item in delta])
        return False

    team = RoundRobinGroupChat(
        [Talker("a", "1")], termination_condition=FunctionalTermination(judge), max_turns=1
    )
    stream = team.run_stream(task="hi")
    await take(stream, 1)
    team.add_messages([note("also")])
    items = await everything(stream)
    assert [getattr(item, "content", "end") for item in items] == ["1", "end"]
    assert judged == [["hi", "also"], ["1"]]
    thread = (await team.save_state())["agent_states"]["RoundRobinGroupChatManager"]
    assert [item["content"] for item in thread["message_thread"]] == ["hi", "also", "1"]


async def test_it_can_end_the_run():
    team = RoundRobinGroupChat(
        [Talker("a", "1", "2")], termination_condition=TextMentionTermination("STOP"), max_turns=9
    )
    stream = team.run_stream(task="hi")
    await take(stream, 2)
    team.add_messages([note("STOP")])
    (result,) = await everything(stream)
    assert isinstance(result, TaskResult)
    assert result.stop_reason == "Text 'STOP' mentioned"


async def test_what_comes_too_late_for_a_turn_is_there_for_the_next():
    model = ScriptedModel(calls(("tool", {})), "again")
    agent = AssistantAgent("worker", model, tools=[tool])
    team = RoundRobinGroupChat([agent], max_turns=2)
    stream = team.run_stream(task="hi")
    await take_until(stream, ToolCallExecutionEvent)
    team.add_messages([note("also")])
    await everything(stream)
    assert model.texts() == ["hi", "also"]


async def test_it_survives_a_break_before_it_was_taken():
    for way in ("state", "snapshot"):
        model = ScriptedModel(calls(("tool", {})), "done", speaker="worker")
        team = RoundRobinGroupChat([looper(model)], max_turns=1)
        stream = team.run_stream(task="hi")
        await take_until(stream, ToolCallRequestEvent)
        team.add_messages([note("also")])
        fresh_model = ScriptedModel(calls(("tool", {})), "done", speaker="worker")
        fresh = RoundRobinGroupChat([looper(fresh_model)], max_turns=1)
        if way == "state":
            await fresh.load_state(json.loads(json.dumps(await team.save_state())))
        else:
            await fresh.load_snapshot([await team.save_snapshot()])
        await stream.aclose()
        assert texts(await fresh.run())[-1] == "done"
        assert fresh_model.texts() == ["hi", "also"]


async def test_between_runs_it_waits_for_the_next_one():
    talker = Talker("a", "1")
    team = RoundRobinGroupChat([talker], max_turns=1)
    team.add_messages([note("early")])
    assert texts(await team.run(task="hi")) == ["hi", "1"]
    assert talker.given == [["early", "hi"]]


async def test_a_handoff_that_is_added_turns_a_swarm():
    model = ScriptedModel("one", "two")
    desk = AssistantAgent("desk", model, handoffs=["expert"])
    team = Swarm(
        [desk, Talker("expert", "DONE")], termination_condition=TextMentionTermination("DONE")
    )
    stream = team.run_stream(task="hi")
    await take(stream, 2)
    team.add_messages([HandoffMessage(content="go", target="expert", source="user")])
    items = await everything(stream)
    assert items[0].to_text() == "DONE"


async def test_an_agent_with_a_turn_of_its_own_gets_it_with_its_next_turn():
    class Loud(AssistantAgent):
        """Gives its model other messages than it was given."""

        async def on_messages_stream(
            self, messages: Any, cancellation_token: Any
        ) -> AsyncGenerator[Any, None]:
            loud = [TextMessage(content=m.to_text().upper(), source=m.source) for m in messages]
            async for item in super().on_messages_stream(loud, cancellation_token):
                yield item

    model = ScriptedModel("one", "two", "three")
    team = RoundRobinGroupChat([Loud("loud", model), Talker("other", "ok")], max_turns=4)
    stream = team.run_stream(task="hi")
    await take(stream, 1)
    team.add_messages([note("also")])
    await everything(stream)
    assert model.texts() == ["HI", "ALSO", "one", "OK"]
