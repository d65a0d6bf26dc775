"""A team that is dropped leaves nothing behind."""

import asyncio
import gc
import json
import sys
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from teams import (
    DiGraphBuilder,
    GraphFlow,
    MagenticOneGroupChat,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from teams.agents import AssistantAgent, SocietyOfMindAgent, UserProxyAgent
from teams.conditions import MaxMessageTermination
from teams.core import CancellationToken
from teams.memory import ListMemory
from teams.messages import ToolCallRequestEvent
from teams.tools import TeamTool
from tests.fakes.agents import Talker
from tests.fakes.scripted_model import ScriptedModel, calls

TOKEN = CancellationToken()
"""The token of a process that keeps one for all of its runs."""


async def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def assistant(name: str, *answers: Any, **options: Any) -> AssistantAgent:
    return AssistantAgent(name, ScriptedModel(*answers), **options)


def round_robin() -> Any:
    worker = assistant(
        "a",
        calls(("add", {"a": 1, "b": 2})),
        "three",
        tools=[add],
        memory=[ListMemory()],
        reflect_on_tool_use=True,
        model_client_stream=True,
    )
    condition = MaxMessageTermination(20)
    return RoundRobinGroupChat(
        [worker, assistant("b", "fine")], max_turns=2, termination_condition=condition
    )


def selector() -> Any:
    members = [Talker("a", "x"), Talker("b", "y")]
    return SelectorGroupChat(members, ScriptedModel("a", "b"), max_turns=2)


def swarm() -> Any:
    first = assistant("a", calls(("transfer_to_b", {})), handoffs=["b"])
    return Swarm([first, assistant("b", "done", handoffs=["a"])], max_turns=2)


def graph() -> Any:
    a, b, c, d = (Talker(name, name) for name in "abcd")
    builder = DiGraphBuilder().add_node(a).add_node(b).add_node(c).add_node(d)
    builder.add_edge(a, b).add_edge(a, c).add_edge(b, d).add_edge(c, d)
    return GraphFlow([a, b, c, d], graph=builder.build())


def magentic_one() -> Any:
    answers = {
        "is_request_satisfied": True,
        "is_in_loop": False,
        "is_progress_being_made": True,
        "next_speaker": "a",
        "instruction_or_question": "go",
    }
    ledger = json.dumps({key: {"reason": "", "answer": value} for key, value in answers.items()})
    return MagenticOneGroupChat(
        [Talker("a", "x")], ScriptedModel("facts", "plan", ledger, "the answer")
    )


def nested() -> Any:
    inner = RoundRobinGroupChat([Talker("a", "x")], name="inner", max_turns=1)
    minds = SocietyOfMindAgent(
        "minds", RoundRobinGroupChat([Talker("b", "y")], max_turns=1), ScriptedModel("z")
    )
    crew = RoundRobinGroupChat([Talker("c", "w")], max_turns=1)
    chief = assistant("chief", calls(("crew", {"task": "go"})), tools=[TeamTool(crew, "crew", "")])
    human = UserProxyAgent("human", input_func=lambda prompt: "yes")
    return RoundRobinGroupChat([inner, minds, chief, human], max_turns=4)


@pytest.fixture(scope="module", autouse=True)
def nothing_older() -> None:
    """Spare the collector what other tests have left.

    It would look at all of that each time.
    """
    gc.collect()
    gc.freeze()


TEAMS = [round_robin, selector, swarm, graph, magentic_one, nested]


async def use(build: Callable[[], Any]) -> list[weakref.ref[Any]]:
    """Run, save in both formats, load, drop."""
    team, fresh = build(), build()
    await team.run(task="hi", cancellation_token=TOKEN)
    await fresh.load_state(await team.save_state())
    await fresh.load_snapshot([await team.save_snapshot()])
    dropped = [team, fresh, *team._participants]
    return [weakref.ref(each) for each in dropped]


async def leave_early(build: Callable[[], Any]) -> list[weakref.ref[Any]]:
    """Run and walk away in the middle of it."""
    team = build()
    async for item in team.run_stream(task="hi", cancellation_token=TOKEN):
        if isinstance(item, ToolCallRequestEvent) or item.source != "user":
            break
    dropped = [weakref.ref(team)]
    del team, item  # pyright: ignore[reportPossiblyUnboundVariable]
    for _ in range(10):
        await asyncio.sleep(0)  # the event loop closes what was left
    return dropped


async def cancel(build: Callable[[], Any]) -> list[weakref.ref[Any]]:
    """Run and cancel."""
    team, token = build(), CancellationToken()
    stream = team.run_stream(task="hi", cancellation_token=token)
    await anext(stream)
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await anext(stream)
    return [weakref.ref(team)]


@pytest.mark.parametrize("way", [use, leave_early, cancel], ids=lambda way: way.__name__)
@pytest.mark.parametrize("build", TEAMS, ids=lambda build: build.__name__)
async def test_a_team_that_is_dropped_is_released_with_all_in_it(build: Any, way: Any):
    dropped = await way(build)
    gc.collect()
    assert [reference() for reference in dropped if reference() is not None] == []


@pytest.mark.timeout(60)
async def test_the_memory_is_flat_after_hundreds_of_teams():
    async def blocks_after(number: int) -> int:
        for _ in range(number):
            for build in TEAMS:
                await build().run(task="hi", cancellation_token=TOKEN)
        gc.collect()
        return sys.getallocatedblocks()

    before = await blocks_after(20)
    after = await blocks_after(-(-300 // len(TEAMS)))
    assert after - before < 300  # less than one block for each
