"""The resources of a thread's team are released once nobody needs it."""

import asyncio

import pytest

from gateway.gateway import Limits
from gateway.sessions.live_team import LiveTeam, TeamCloser
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent, CodeExecutorAgent
from teams.base import Response
from teams.conditions import MaxMessageTermination
from teams.messages import TextMessage
from teams.tools import TeamTool
from teams.tools.code_execution import PythonCodeExecutionTool
from tests.fakes.scripted_executor import ScriptedExecutor
from tests.gateway.scripted import ScriptedTeams, model, opened, turn


class Executor(ScriptedExecutor):
    """Says when it was stopped; `stuck` ones never end."""

    def __init__(self, *, stuck: bool = False) -> None:
        super().__init__()
        self.stuck = stuck
        self.stops = 0
        self.stopped = asyncio.Event()

    async def stop(self) -> None:
        self.stops += 1
        self.stopped.set()
        if self.stuck:
            await asyncio.Event().wait()


class World:
    """Executors' teams: in an agent, in a tool, and behind a tool."""

    def __init__(self, **more: bool) -> None:
        self.executors: list[Executor] = []
        self._more = more
        self.teams = ScriptedTeams(self._team)

    def _executor(self) -> Executor:
        self.executors.append(Executor(**self._more))
        return self.executors[-1]

    def _team(self):
        inner = RoundRobinGroupChat([CodeExecutorAgent("inner", self._executor())], max_turns=1)
        tools = [
            PythonCodeExecutionTool(self._executor()),
            TeamTool(inner, "helpers", "Helpers."),
        ]
        agents = [
            AssistantAgent("a", model("one", "two", "three"), tools=tools),
            CodeExecutorAgent("b", self._executor()),
        ]
        return RoundRobinGroupChat(agents, termination_condition=MaxMessageTermination(2))

    async def all_stopped(self, count: int = 3) -> bool:
        async with asyncio.timeout(5):
            for executor in self.executors[:count]:
                await executor.stopped.wait()
        return [executor.stops for executor in self.executors[:count]] == [1] * count


@pytest.mark.parametrize("how", ["evicted", "deleted", "too many", "ended", "failed"])
async def test_a_team_is_closed_once_it_is_let_go(tmp_path, how):
    world = World()
    limits = Limits(live_teams=0 if how == "too many" else 10)
    async with opened(tmp_path, world.teams, limits=limits) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "go")
        match how:
            case "evicted":
                await gateway._dispatcher.rest()
                gateway._sessions.evict(idle=-1)
            case "deleted":
                await gateway.client.delete_thread(thread)
            case "failed":
                while (await turn(gateway, thread, "go"))[-1].outcome == "done":
                    pass  # until the model has nothing to say any more
            case _:
                pass
        if how != "ended":
            assert await world.all_stopped()
    assert await world.all_stopped()


async def test_a_thread_that_goes_on_keeps_its_team(tmp_path):
    world = World()
    async with opened(tmp_path, world.teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        for _ in range(3):
            await turn(gateway, thread, "go")
        assert not any(executor.stops for executor in world.executors)
        assert len(world.executors) == 3


async def test_what_does_not_end_is_left_after_a_while(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("gateway.sessions.live_team.AT_THE_END", 0.05)
    world = World(stuck=True)
    async with opened(tmp_path, world.teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "go")
    assert await world.all_stopped()
    assert "Executor.stop did not end within 0.05 s" in caplog.text


async def test_what_fails_is_logged_and_the_rest_is_closed(caplog):
    closed = asyncio.Event()

    async def fails() -> None:
        raise RuntimeError("a bug of somebody's")

    async def works() -> None:
        closed.set()

    team = LiveTeam(RoundRobinGroupChat([AssistantAgent("a", model("one"))]))
    team.closes = (fails, works)
    closing = TeamCloser()
    task = asyncio.ensure_future(closing.run())
    closing.add(team)
    await closed.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert "a bug of somebody's" in caplog.text


async def test_an_agent_of_somebody_s_is_closed_by_its_own_way(tmp_path):
    closed = asyncio.Event()

    class Own(AssistantAgent):
        async def on_messages(self, messages, cancellation_token):
            return Response(chat_message=TextMessage(content="done", source=self.name))

        async def on_messages_stream(self, messages, cancellation_token):
            yield await self.on_messages(messages, cancellation_token)

        async def close(self) -> None:
            closed.set()

    teams = ScriptedTeams(
        lambda: RoundRobinGroupChat(
            [Own("own", model("x"))], termination_condition=MaxMessageTermination(2)
        )
    )
    async with opened(tmp_path, teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "go")
        await gateway.client.delete_thread(thread)
        await closed.wait()
