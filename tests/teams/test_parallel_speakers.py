"""Parallel speakers wait until their item was taken, and all count."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from teams import BaseGroupChat
from teams.agents import AssistantAgent
from teams.base import ChatAgent, Response, TaskResult, Team, TeamError
from teams.conditions import FunctionalTermination
from teams.messages import BaseAgentEvent, BaseChatMessage, TextMessage
from tests.fakes.agents import Streamer, Talker
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.fakes.streams import everything, take, texts


class Together(BaseGroupChat):
    """Everyone at once, round after round."""

    manager_name = "Together"

    def __init__(
        self, participants: Sequence[ChatAgent | Team], max_turns: int = 1, **options: Any
    ) -> None:
        super().__init__("together", "", participants, max_turns=max_turns, **options)

    async def select_speaker(
        self, thread: Sequence[BaseAgentEvent | BaseChatMessage]
    ) -> str | list[str]:
        return [name for name in self._places for _ in range(2)]  # named twice, speaks once


class Counter:
    """An agent that says numbers, and how far it has come."""

    def __init__(self, name: str, numbers: int = 3) -> None:
        self.at = 0
        self.name, self._numbers = name, numbers
        self.agent = Streamer(name, self._script)

    async def _script(self) -> AsyncGenerator[Any, None]:
        while True:
            self.at += 1
            message = TextMessage(content=f"{self.name}{self.at}", source=self.name)
            if self.at == self._numbers:
                yield Response(chat_message=message)
            else:
                yield message
                await asyncio.sleep(0)


async def idle() -> None:
    """Let everything run that can."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_nobody_runs_further_than_its_own_next_item():
    left, right = Counter("l"), Counter("r")
    stream = Together([left.agent, right.agent]).run_stream(task="hi")
    await take(stream, 1)
    await idle()
    assert (left.at, right.at) == (0, 0)
    said = {"l": 0, "r": 0}
    for _ in range(6):
        item = (await take(stream, 1))[0]
        said[item.source] += 1
        await idle()
        # The one whose item is held stands still; the other has at most its next one ready.
        for counter in (left, right):
            held = counter.name == item.source
            assert counter.at == min(said[counter.name] + (0 if held else 1), 3)
    assert isinstance((await everything(stream))[0], TaskResult)


async def test_all_that_was_said_reaches_the_result_the_thread_the_condition_and_the_others():
    judged: list[list[str]] = []

    def note(delta: Sequence[BaseAgentEvent | BaseChatMessage]) -> bool:
        judged.append(sorted(item.to_text() for item in delta))
        return False

    left, right = Talker("left", "l1", "l2"), Talker("right", "r1", "r2")
    team = Together([left, right], termination_condition=FunctionalTermination(note), max_turns=2)
    result = await team.run(task="hi")
    assert sorted(texts(result)) == ["hi", "l1", "l2", "r1", "r2"]
    assert judged == [["hi"], ["l1", "r1"], ["l2", "r2"]]
    assert left.given == [["hi"], ["r1"]]
    assert right.given == [["hi"], ["l1"]]


async def test_who_finishes_first_is_heard_first():
    gate = asyncio.Event()

    async def late() -> str:
        await gate.wait()
        return "late"

    team = Together([Talker("slow", late), Talker("quick", "quick")])
    stream = team.run_stream(task="hi")
    assert [item.to_text() for item in await take(stream, 2)] == ["hi", "quick"]
    gate.set()
    assert [item.to_text() for item in await take(stream, 1)] == ["late"]
    await stream.aclose()


async def test_what_a_sibling_had_ready_is_saved_and_yielded_first_on_resume():
    def build() -> tuple[Together, list[Counter]]:
        counters = [Counter("l"), Counter("r")]
        return Together([counter.agent for counter in counters]), counters

    team, _ = build()
    stream = team.run_stream(task="hi")
    taken = await take(stream, 2)
    await idle()
    state = json.loads(json.dumps(await team.save_state()))
    other = "r1" if taken[1].source == "l" else "l1"
    ready = state["agent_states"]["Together"]["run"]["produced"]
    assert [item["content"] for item in ready] == [other]
    await stream.aclose()
    fresh, _ = build()
    await fresh.load_state(state)
    resumed = fresh.run_stream()
    assert [item.to_text() for item in await take(resumed, 1)] == [other]
    await resumed.aclose()


class Boom(Exception):
    pass


async def test_an_error_of_one_ends_the_run_and_both_go_on_with_the_next():
    gate = asyncio.Event()

    async def late() -> str:
        await gate.wait()
        return "late"

    quick = Talker("quick", "quick")
    failing = Talker("failing", Boom("no luck"), "better")
    slow = Talker("slow", late, late)
    team = Together([quick, failing, slow])
    stream = team.run_stream(task="hi")
    assert [item.to_text() for item in await take(stream, 2)] == ["hi", "quick"]
    with pytest.raises(TeamError, match="no luck") as caught:
        await anext(stream)
    assert isinstance(caught.value.__cause__, Boom)
    gate.set()
    assert sorted(texts(await team.run())) == ["better", "late"]
    assert len(quick.given) == 1
    assert failing.given == [["hi"], ["hi"]]
    assert slow.given == [["hi"], ["hi"]]


async def test_an_error_of_one_does_not_lose_what_an_assistants_turn_had_done():
    ran: list[str] = []

    async def tool() -> str:
        ran.append("tool")
        return "done"

    gate = asyncio.Event()
    model = ScriptedModel(calls(("tool", {})), [gate, "fine"], "fine")
    agent = AssistantAgent("a", model, tools=[tool], reflect_on_tool_use=True)

    async def fail() -> Any:
        await model.asked(2)
        return Boom("no luck")

    failing = Talker("failing", fail, "better")
    team = Together([failing, agent])
    with pytest.raises(TeamError, match="no luck"):
        await team.run(task="hi")
    assert sorted(texts(await team.run())) == ["better", "fine"]
    assert ran == ["tool"]
    assert model.requests[1] == model.requests[2]


async def test_a_wrong_item_of_one_is_not_kept_for_the_next_run():
    async def script() -> AsyncGenerator[Any, None]:
        yield "not a message"

    team = Together([Streamer("odd", script), Talker("good", "g")])
    with pytest.raises(TeamError, match="str"):
        await team.run(task="hi")
    state = await team.save_state()
    assert all(
        isinstance(item, dict) for item in state["agent_states"]["Together"]["run"]["produced"]
    )


async def test_leaving_the_run_stops_all_speakers():
    started, stopped = asyncio.Event(), []

    async def stand() -> str:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(True)
        return "never"

    before = asyncio.all_tasks()
    stream = Together([Talker("quick", "q"), Talker("slow", stand)]).run_stream(task="hi")
    await take(stream, 2)
    await started.wait()
    await stream.aclose()
    assert stopped == [True]
    assert asyncio.all_tasks() == before


async def test_chunks_of_several_speakers_name_the_messages_they_build():
    agents = [
        AssistantAgent(name, ScriptedModel(f"{name} says so"), model_client_stream=True)
        for name in ("x", "y")
    ]
    items = await everything(Together(agents).run_stream(task="hi"))
    built: dict[str, str] = {}
    for item in items[:-1]:
        if (full := getattr(item, "full_message_id", None)) is not None:
            built[full] = built.get(full, "") + item.content
    assert built == {item.id: item.content for item in items[:-1] if item.id in built}
    assert sorted(built.values()) == ["x says so", "y says so"]
