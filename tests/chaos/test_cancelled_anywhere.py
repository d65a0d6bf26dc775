"""Cancellation at every await of a turn loses and doubles nothing.

The turn's task is cancelled at the first of its awaits, in another run at the second, and so on
until it ends without being cancelled. Each time the store is opened again and the turn goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.events import MessageFinished, Notice, ToolFinished, TurnFinished
from gateway.gateway import Gateway, Limits
from gateway.store.units import events as event_units
from teams import DiGraphBuilder, GraphFlow, RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import Team
from teams.conditions import TextMessageTermination
from teams.models import CreateResult
from teams.tools import TeamTool
from tests.fakes.new_store import new_store
from tests.fakes.scripted_model import ScriptedModel, calls, says
from tests.gateway.scripted import ScriptedTeams, ends, of, until

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(120)]


class CancellableCoroutine(Coroutine[Any, Any, Any]):
    """A coroutine whose task, if a lane, is cancelled at one await."""

    def __init__(self, inner: Coroutine[Any, Any, Any], awaits: Awaits):
        self._inner = inner
        self._awaits = awaits

    def send(self, value: Any) -> Any:
        awaited = self._inner.send(value)
        task = asyncio.current_task()
        # A task has its name only once it runs.
        if task is not None and task.get_name().startswith("lane ") and self._awaits.is_last():
            asyncio.get_running_loop().call_soon(task.cancel)
        return awaited

    def throw(self, *error: Any) -> Any:
        return self._inner.throw(*error)

    def close(self) -> None:
        self._inner.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        raise NotImplementedError


class Awaits:
    """Counts awaits down to the last one."""

    def __init__(self, last: int) -> None:
        self._left = last
        self.reached = asyncio.Event()

    def is_last(self) -> bool:
        """Count one."""
        self._left -= 1
        if self._left == 0:
            self.reached.set()
        return self._left == 0


@contextmanager
def cancelling(last: int) -> Generator[asyncio.Event]:
    """Cancel a lane at this await; the event is set then."""
    awaits = Awaits(last)

    def factory(loop: asyncio.AbstractEventLoop, inner: Any, **options: Any) -> asyncio.Task[Any]:
        return asyncio.Task(CancellableCoroutine(inner, awaits), loop=loop, **options)

    loop = asyncio.get_running_loop()
    loop.set_task_factory(factory)
    try:
        yield awaits.reached
    finally:
        loop.set_task_factory(None)


class Marks:
    """A tool, and how often it was at work."""

    def __init__(self) -> None:
        self.made = 0

    async def mark(self) -> str:
        """Leave a mark."""
        self.made += 1
        await asyncio.sleep(0)
        return "marked"


class Model(ScriptedModel):
    """One that is waited for."""

    async def create(self, *arguments: Any, **options: Any) -> CreateResult:
        await asyncio.sleep(0)
        answer = await super().create(*arguments, **options)
        await asyncio.sleep(0)
        return answer


def agent(name: str, *answers: Any, **options: Any) -> AssistantAgent:
    return AssistantAgent(name, Model(*answers, speaker=name), description=name, **options)


def worker(marks: Marks) -> AssistantAgent:
    answers = (calls(("mark", {})), says("worked"))
    return agent("worker", *answers, tools=[marks.mark], max_tool_iterations=3)


def nested(marks: Marks) -> Team:
    inner = RoundRobinGroupChat(
        [worker(marks)], name="inner", termination_condition=TextMessageTermination("worker")
    )
    ends = TextMessageTermination("closer")
    return RoundRobinGroupChat([inner, agent("closer", "done")], termination_condition=ends)


def graph(marks: Marks) -> Team:
    begin, other = agent("begin", "begun"), agent("other", "thought")
    join, left = agent("join", "done"), worker(marks)
    builder = DiGraphBuilder()
    for node in (begin, left, other, join):
        builder.add_node(node)
    for side in (left, other):
        builder.add_edge(begin, side).add_edge(side, join)
    return GraphFlow(builder.get_participants(), builder.build())


def with_team_tool(marks: Marks) -> Team:
    ends = TextMessageTermination("worker")
    crew = TeamTool(RoundRobinGroupChat([worker(marks)], termination_condition=ends), "crew", "it")
    chief = agent("chief", calls(("crew", {"task": "do it"})), says("done"), tools=[crew])
    return RoundRobinGroupChat([chief], termination_condition=TextMessageTermination("chief"))


async def first_of(*works: Coroutine[Any, Any, Any]) -> None:
    """Return when one of them has ended; the others are cancelled."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work) for work in works]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()


async def one(folder: Path, make: Callable[[Marks], Team], last: int) -> bool:
    """Cancel a turn at one await, resume it, and check the result.

    False if it has no such await.
    """
    marks = Marks()
    teams = ScriptedTeams(lambda: make(marks))
    with cancelling(last) as reached:
        async with Gateway(new_store(folder), teams, limits=Limits(shutdown=0.5)) as first:
            client = first.client
            thread = (await client.create_thread()).id
            await client.send(thread, "go")
            await first_of(until(client, thread, ends), reached.wait())
    async with Gateway(new_store(folder), teams) as second:
        client = second.client
        await until(client, thread, ends)
    async with Gateway(new_store(folder), teams) as third:
        info = await third.client.thread(thread)
        events = await third.store.run(event_units.events, thread)
        assert info.state == "idle"
    assert len(of(TurnFinished, events)) == 1, (last, events)
    said = [event.text for event in of(MessageFinished, events) if event.text]
    assert said.count("worked") == 1, (last, said)
    assert said[-1] == "done", (last, said)
    assert len(said) == len(set(said)), (last, said)
    assert marks.made <= 1, f"cancelled at {last}: the tool was at work {marks.made} times"
    unknown = [
        event for event in of(ToolFinished, events) if event.unknown and event.tool == "mark"
    ]
    assert marks.made == 1 or unknown, f"cancelled at {last}: the tool never was at work"
    assert not [event for event in of(Notice, events) if event.level == "error"], (last, events)
    return reached.is_set()


@pytest.mark.parametrize("make", [nested, graph, with_team_tool])
async def test_a_turn_that_is_cancelled_at_any_of_its_awaits_goes_on(
    tmp_path: Path, make: Callable[[Marks], Team]
) -> None:
    last = 1
    while await one(tmp_path / str(last), make, last):
        last += 1
    assert last > 10, last  # it was cancelled at many places
