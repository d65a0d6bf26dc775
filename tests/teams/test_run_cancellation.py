"""A cancelled run ends soon in any phase; its team still works."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

import pytest

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent, UserProxyAgent
from teams.base import Response, TaskResult, TeamError
from teams.conditions import FunctionalTermination, MaxMessageTermination
from teams.core import CancellationToken
from teams.memory import ListMemory
from teams.messages import (
    BaseChatMessage,
    ModelClientStreamingChunkEvent,
    TextMessage,
    ToolCallRequestEvent,
)
from teams.tools import AgentTool, FunctionTool, StaticWorkbench
from tests.fakes.agents import Streamer, Talker
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.fakes.streams import everything, take, take_until, texts
from tests.fakes.traps import (
    CANCELS,
    Talk,
    Trap,
    cancel_by_token,
    worker,
)


def in_model(trap: Trap) -> Any:
    class Slow(ScriptedModel):
        async def create(self, *args: Any, **options: Any) -> Any:
            await trap.stand()
            return await super().create(*args, **options)

    return AssistantAgent("worker", Slow("next"))


def in_stream(trap: Trap) -> Any:
    class Slow(ScriptedModel):
        async def create_stream(self, *args: Any, **options: Any) -> AsyncGenerator[Any, None]:
            yield "be"
            await trap.stand()
            async for piece in super().create_stream(*args, **options):
                yield piece

    return AssistantAgent("worker", Slow("next"), model_client_stream=True)


def in_tool(trap: Trap) -> Any:
    async def slow() -> str:
        await trap.stand()
        return "late"

    return worker(slow)


def in_workbench(trap: Trap) -> Any:
    class Slow(StaticWorkbench):
        async def call_tool(self, *args: Any, **options: Any) -> Any:
            await trap.stand()

    async def slow() -> str:
        return "never"

    wanted = calls(("slow", {}))
    return AssistantAgent(
        "worker", ScriptedModel(wanted, "next"), workbench=Slow([FunctionTool(slow, "")])
    )


def in_stream_tool(trap: Trap) -> Any:
    return worker(Talk(trap))


def in_input(trap: Trap) -> Any:
    async def ask(prompt: str, cancellation_token: CancellationToken | None) -> str:
        await trap.stand()
        return "next"

    return UserProxyAgent("human", input_func=ask)


def in_agent(trap: Trap) -> Any:
    async def slow() -> str:
        await trap.stand()
        return "next"

    return Talker("own", slow, "next")


def in_memory(trap: Trap) -> Any:
    class Slow(ListMemory):
        async def update_context(self, model_context: Any) -> Any:
            await trap.stand()
            return await super().update_context(model_context)

    return AssistantAgent("worker", ScriptedModel("next"), memory=[Slow()])


def in_nested_tool(trap: Trap) -> Any:
    return RoundRobinGroupChat([in_tool(trap)], name="inner", max_turns=1)


def in_agent_tool(trap: Trap) -> Any:
    inner = in_model(trap)
    model = ScriptedModel(calls(("worker", {"task": "do it"})), "next")
    return AssistantAgent("outer", model, tools=[AgentTool(inner)])


class Inside(Talker):
    """An agent that runs its own team, as in the guide."""

    def __init__(self, team: RoundRobinGroupChat) -> None:
        super().__init__("inside")
        self._team = team

    async def on_messages(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> Response:
        result = await self._team.run(task=[*messages], cancellation_token=cancellation_token)
        text = result.messages[-1].to_text()
        return Response(chat_message=TextMessage(content=text, source=self.name))


def in_own_team(trap: Trap) -> Any:
    return Inside(RoundRobinGroupChat([in_tool(trap)], max_turns=1))


PHASES: list[Callable[[Trap], Any]] = [
    in_model,
    in_stream,
    in_tool,
    in_workbench,
    in_stream_tool,
    in_input,
    in_agent,
    in_memory,
    in_nested_tool,
    in_agent_tool,
    in_own_team,
]
every_phase = pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase.__name__)


@every_phase
@pytest.mark.parametrize("cancel", CANCELS, ids=lambda cancel: cancel.__name__)
async def test_a_cancelled_run_ends_leaves_no_task_and_the_team_runs_on(phase: Any, cancel: Any):
    before = asyncio.all_tasks()
    trap = Trap()
    team = RoundRobinGroupChat([phase(trap)], max_turns=1)
    async with asyncio.timeout(3):
        await cancel(team, trap)
    assert asyncio.all_tasks() == before
    assert trap.ended == ["cancelled"]
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    result = await team.run(task="again")  # the scripted model refuses an invalid context
    assert (texts(result)[0], texts(result)[-1]) == ("again", "next")
    assert result.stop_reason == "Maximum number of turns 1 reached."


@pytest.mark.parametrize("cancel", CANCELS, ids=lambda cancel: cancel.__name__)
async def test_cancelling_in_the_condition_or_the_selection_ends_the_run(cancel: Any):
    for place in ("condition", "selection"):
        trap = Trap()

        async def judge(delta: Any, trap: Trap = trap, place: str = place) -> bool:
            if place == "condition":
                await trap.stand()
            return False

        class Slow(RoundRobinGroupChat):
            async def select_speaker(self, thread: Any) -> str:
                if place == "selection":  # noqa: B023 (called before the loop goes on)
                    await trap.stand()  # noqa: B023
                return await super().select_speaker(thread)

        condition = FunctionalTermination(judge)
        team = Slow([Talker("a", "1")], termination_condition=condition, max_turns=1)
        async with asyncio.timeout(3):
            await cancel(team, trap)
        assert texts(await team.run(task="again")) == ["again", "1"]


@every_phase
async def test_after_a_cancellation_the_same_speaker_is_on_turn(phase: Any):
    trap = Trap()
    team = RoundRobinGroupChat([phase(trap), Talker("other", "o")], max_turns=1)
    await cancel_by_token(team, trap)
    assert texts(await team.run())[-1] == "next"
    assert texts(await team.run()) == ["o"]


async def test_finished_calls_keep_their_results_and_broken_ones_get_an_error_result():
    trap = Trap()
    agent = in_tool(trap)
    team = RoundRobinGroupChat([agent], max_turns=1)
    await cancel_by_token(team, trap)
    await team.run(task="again")
    results = agent.model_client.messages()[2]["content"]
    assert [(r["name"], r["is_error"]) for r in results] == [("fine", False), ("slow", True)]
    assert results[0]["content"] == "fine"
    assert agent.model_client.texts() == ["hi", "again"]


# When the token is cancelled


async def test_a_token_cancelled_before_the_start_changes_nothing():
    talker = Talker("a", "1")
    team = RoundRobinGroupChat([talker], max_turns=1)
    token = CancellationToken()
    token.cancel()
    before = await team.save_state()
    with pytest.raises(asyncio.CancelledError):
        await team.run(task="hi", cancellation_token=token)
    assert await team.save_state() == before
    assert texts(await team.run(task="again")) == ["again", "1"]
    assert talker.given == [["again"]]
    agent = AssistantAgent("b", ScriptedModel("fine"))
    with pytest.raises(asyncio.CancelledError):
        await agent.run(task="hi", cancellation_token=token)
    assert texts(await agent.run(task="again")) == ["again", "fine"]


async def test_a_token_cancelled_while_the_consumer_holds_an_item_ends_the_run_at_its_next_pull():
    team = RoundRobinGroupChat([in_stream(Trap())], max_turns=1)
    token = CancellationToken()
    stream = team.run_stream(task="hi", cancellation_token=token)
    await take_until(stream, ModelClientStreamingChunkEvent)
    token.cancel()
    await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await anext(stream)
    assert await everything(stream) == []
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_nothing_that_was_ready_is_yielded_after_a_cancellation():
    said = [TextMessage(content=text, source="user") for text in "abc"]
    team = RoundRobinGroupChat([Talker("a")], max_turns=1)
    token = CancellationToken()
    stream = team.run_stream(task=said, cancellation_token=token)
    await take(stream, 1)
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await anext(stream)
    assert texts(await team.run()) == ["hm"]


async def test_a_token_cancelled_after_the_result_has_nothing_to_cancel():
    token = CancellationToken()
    items: list[Any] = []
    async for item in RoundRobinGroupChat([Talker("a")], max_turns=1).run_stream(
        task="hi", cancellation_token=token
    ):
        items.append(item)
        if isinstance(item, TaskResult):
            token.cancel()
    assert isinstance(items[-1], TaskResult)


async def test_a_tool_may_cancel_the_run_it_is_part_of():
    token = CancellationToken()

    async def stop() -> str:
        token.cancel()
        return "stopped"

    def stop_in_a_thread() -> str:
        token.cancel()
        return "stopped"

    for tool in (stop, stop_in_a_thread):
        token = CancellationToken()
        agent = worker(tool, reflect_on_tool_use=True)
        team = RoundRobinGroupChat([agent], max_turns=1)
        with pytest.raises(asyncio.CancelledError):
            await team.run(task="hi", cancellation_token=token)
        assert texts(await team.run(task="again")) == ["again", "next"]


async def test_an_agent_that_cancels_the_run_and_goes_on_regardless_is_not_heard():
    token = CancellationToken()

    def cancel_and_answer() -> str:
        token.cancel()
        return "never heard"

    team = RoundRobinGroupChat([Talker("own", cancel_and_answer, "next")], max_turns=1)
    with pytest.raises(asyncio.CancelledError):
        await team.run(task="hi", cancellation_token=token)
    await asyncio.sleep(0)  # the request was withdrawn, it does not hit the next await
    assert texts(await team.run(task="again"))[0] == "again"


async def test_an_agent_that_cancels_the_run_and_then_fails_leaves_the_consumer_uncancelled():
    token = CancellationToken()

    def cancel_and_fail() -> str:
        token.cancel()
        raise ValueError("no luck")

    team = RoundRobinGroupChat([Talker("own", cancel_and_fail)], max_turns=1)
    with pytest.raises(TeamError, match="no luck"):
        await team.run(task="hi", cancellation_token=token)
    await asyncio.sleep(0)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_a_token_and_the_consumers_own_cancellation_at_once_stay_apart():
    trap, token = Trap(), CancellationToken()
    team = RoundRobinGroupChat([in_model(trap)], max_turns=1)
    counts: list[int] = []

    async def consume() -> None:
        try:
            await team.run(task="hi", cancellation_token=token)
        finally:
            task = asyncio.current_task()
            counts.append(task.cancelling() if task is not None else -1)

    task = asyncio.get_running_loop().create_task(consume())
    await trap.entered.wait()
    token.cancel()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert counts == [1]


async def nothing() -> str:
    return "nothing"


async def test_a_long_lived_token_forgets_the_runs_it_was_given_to():
    token = CancellationToken()
    agent = worker(nothing)
    team = RoundRobinGroupChat([agent], max_turns=1)
    await team.run(task="hi", cancellation_token=token)
    async for _ in team.run_stream(task="hi", cancellation_token=token):
        break
    await team.run(cancellation_token=token)
    assert token._callbacks == []
    assert token._futures == set()


# What is left


async def test_a_cancelled_run_resets_the_condition_and_the_turn_count():
    trap = Trap()
    team = RoundRobinGroupChat(
        [Talker("first", "1"), in_agent(trap)],
        termination_condition=MaxMessageTermination(4),
        max_turns=3,
    )
    await cancel_by_token(team, trap)
    assert texts(await team.run(task="again")) == ["again", "next", "1", "next"]


async def test_what_an_agent_took_is_not_given_again_and_the_rest_is():
    trap = Trap()
    own, model = in_agent(trap), ScriptedModel("b1", "b2")
    team = RoundRobinGroupChat([own, AssistantAgent("b", model)], max_turns=2)
    await cancel_by_token(team, trap)
    await team.run(task="again")
    assert own.given == [["hi"], ["hi", "again"]]
    assert model.texts() == ["hi", "again", "next"]


async def test_a_loaded_run_that_is_cancelled_before_it_moved_keeps_its_context_once():
    def build(*answers: Any) -> tuple[RoundRobinGroupChat, ScriptedModel]:
        model = ScriptedModel(*answers)
        team = RoundRobinGroupChat([AssistantAgent("a", model, tools=[nothing])], max_turns=1)
        return team, model

    team, _ = build(calls(("nothing", {})))
    stream = team.run_stream(task="hi")
    await take_until(stream, ToolCallRequestEvent)
    for save in ("state", "snapshot"):
        fresh, model = build("fine")
        if save == "state":
            await fresh.load_state(await team.save_state())
        else:
            await fresh.load_snapshot([await team.save_snapshot()])
        token = CancellationToken()
        loaded = fresh.run_stream(
            task=[TextMessage(content=text, source="user") for text in "xy"],
            cancellation_token=token,
        )
        await take(loaded, 1)
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await anext(loaded)
        assert texts(await fresh.run())[-1] == "fine"
        assert model.texts() == ["hi", "x", "y"]
    await stream.aclose()


@pytest.mark.parametrize("leave", ["close", "token"])
async def test_leaving_a_run_in_a_batch_stops_its_calls_before_the_stream_is_closed(leave: str):
    trap, token = Trap(), CancellationToken()

    async def stuck() -> str:
        await trap.stand()
        return "late"

    wanted = calls(("talk", {}), ("stuck", {}))
    agent = AssistantAgent("a", ScriptedModel(wanted, "next"), tools=[Talk(Trap()), stuck])
    team = RoundRobinGroupChat([agent], max_turns=1)
    stream = team.run_stream(task="hi", cancellation_token=token)
    while not (isinstance(item := await anext(stream), TextMessage) and item.source == "tool"):
        pass
    await trap.entered.wait()
    if leave == "token":
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await anext(stream)
    else:
        await stream.aclose()
    assert trap.ended == ["cancelled"]


async def test_an_agents_own_stream_is_closed_when_its_run_is_left():
    closed: list[str] = []

    async def script() -> AsyncGenerator[Any, None]:
        try:
            yield TextMessage(content="begun", source="own")
            yield TextMessage(content="more", source="own")
        finally:
            await asyncio.sleep(0)
            closed.append("own")

    inner = RoundRobinGroupChat([Streamer("own", script)], name="inner")
    for team in (RoundRobinGroupChat([Streamer("own", script)]), RoundRobinGroupChat([inner])):
        stream = team.run_stream(task="hi")
        await take(stream, 2)
        await stream.aclose()
        assert closed.pop() == "own"


# An agent alone


@pytest.mark.parametrize("streamed", [False, True])
async def test_an_agent_alone_is_cancelled_as_a_team_is(streamed: bool):
    trap = Trap()
    agent = in_tool(trap)
    token = CancellationToken()

    async def cancel() -> None:
        await trap.entered.wait()
        token.cancel()

    async with asyncio.TaskGroup() as group:
        group.create_task(cancel())
        said = [TextMessage(content="hi", source="user")]
        stream = agent.on_messages_stream(said, token)
        with pytest.raises(asyncio.CancelledError):
            await (everything(stream) if streamed else agent.on_messages(said, token))
    assert texts(await agent.run(task="again")) == ["again", "next"]


async def test_a_direct_call_that_times_out_leaves_a_valid_context():
    trap = Trap()
    agent = in_tool(trap)
    task = asyncio.get_running_loop().create_task(
        agent.on_messages([TextMessage(content="hi", source="user")], CancellationToken())
    )
    await trap.entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert texts(await agent.run(task="again")) == ["again", "next"]
