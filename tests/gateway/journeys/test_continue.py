"""Agents go on from answers that were cut."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from gateway.conversation import Author
from gateway.events import (
    CONTINUE,
    MessageFinished,
    Notice,
    SessionEvent,
    TurnFinished,
    TurnHeld,
    TurnStarted,
)
from gateway.gateway import Gateway
from gateway.registry import ToolRule
from teams import DiGraphBuilder, GraphFlow, RoundRobinGroupChat, SelectorGroupChat, Swarm
from teams.agents import AssistantAgent, SocietyOfMindAgent
from teams.base import Team, ToolCall
from teams.conditions import MaxMessageTermination
from tests.fakes.cut_answers import HALF, cut, writing
from tests.fakes.new_store import new_store
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.gateway.journeys.test_access import ALLOWED, GUEST, ROUTE, access, message
from tests.gateway.journeys.test_resume import Crash
from tests.gateway.scripted import ScriptedTeams, ends, of, opened, solo, turn, until

REST = "queen, who slept."
NOTHING = "The last answer was not cut off, so it can't continue."


def texts(events: Sequence[SessionEvent]) -> list[tuple[str, str]]:
    return [(each.agent, each.text) for each in of(MessageFinished, events)]


def offers(events: Sequence[SessionEvent]) -> list[str]:
    return [each.text for each in of(Notice, events) if each.command == CONTINUE]


@pytest.mark.parametrize("restarted", [False, True], ids=["at once", "after a restart"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_the_agent_goes_on_in_a_turn_of_its_own(
    tmp_path: Path, restarted: bool, stream: bool
) -> None:
    model = ScriptedModel([HALF, cut()] if stream else cut(), REST)

    def make() -> Team:
        return writing(model, stream=stream)

    async with opened(tmp_path, make) as gateway:
        thread = (await gateway.client.create_thread()).id
        first = await turn(gateway, thread, "tell")
        second = [] if restarted else await turn(gateway, thread, CONTINUE)
    if restarted:
        async with opened(tmp_path, make) as gateway:
            second = await turn(gateway, thread, CONTINUE)
    assert (texts(first), offers(first)) == ([("solo", HALF)], ["solo can go on from there."])
    assert (texts(second), offers(second)) == ([("solo", REST)], [])
    (begun,) = of(TurnStarted, second)
    assert (begun.messages, begun.resumed) == ((), False)
    assert begun.turn != of(TurnStarted, first)[0].turn
    task, half, note = model.messages()
    assert (task["source"], half["content"]) == ("user", HALF)
    assert note["source"] == "parley"
    assert "solo goes on exactly where it stopped" in note["content"]


async def test_an_answer_that_is_cut_again_can_go_on_again(tmp_path: Path) -> None:
    model = ScriptedModel(cut("One, "), cut("two, "), "three.")
    async with opened(tmp_path, lambda: writing(model, stream=False)) as gateway:
        thread = (await gateway.client.create_thread()).id
        said = [texts(await turn(gateway, thread, text)) for text in ("go", CONTINUE, CONTINUE)]
        refused = await gateway.client.send(thread, CONTINUE)
    assert said == [[("solo", "One, ")], [("solo", "two, ")], [("solo", "three.")]]
    assert refused.reply == NOTHING


@pytest.mark.parametrize("end", ["stop", "content_filter", "unknown"])
async def test_nothing_else_can_be_continued(tmp_path: Path, end: Any) -> None:
    model = ScriptedModel(cut().model_copy(update={"finish_reason": end}))
    async with opened(tmp_path, lambda: writing(model, stream=False)) as gateway:
        thread = (await gateway.client.create_thread()).id
        early = await gateway.client.send(thread, CONTINUE)
        events = await turn(gateway, thread, "tell")
        again = await gateway.client.send(thread, "/Continue")
    assert [each.reply for each in (early, again)] == [NOTHING] * 2
    assert offers(events) == []


def pair(model: ScriptedModel, critic: ScriptedModel) -> dict[str, Callable[[], Team]]:
    def agents() -> list[AssistantAgent]:
        return [
            AssistantAgent("writer", model, handoffs=["critic"]),
            AssistantAgent("critic", critic),
        ]

    end = MaxMessageTermination(3)
    return {
        "round robin": lambda: RoundRobinGroupChat(agents(), max_turns=2),
        "selector": lambda: SelectorGroupChat(
            agents(),
            ScriptedModel(),
            termination_condition=end,
            selector_func=lambda thread: "critic" if thread[-1].source == "writer" else "writer",
        ),
        "society": lambda: RoundRobinGroupChat(
            [
                SocietyOfMindAgent(
                    "writer",
                    RoundRobinGroupChat(
                        [AssistantAgent("inner", ScriptedModel(*["hm"] * 9))], max_turns=1
                    ),
                    model,
                ),
                AssistantAgent("critic", critic),
            ],
            max_turns=2,
        ),
        "nested": lambda: RoundRobinGroupChat(
            [
                RoundRobinGroupChat(agents()[:1], name="desk", max_turns=1),
                AssistantAgent("critic", critic),
            ],
            max_turns=2,
        ),
    }


@pytest.mark.parametrize("kind", ["round robin", "selector", "society", "nested"])
async def test_in_a_group_the_same_agent_speaks_first(tmp_path: Path, kind: str) -> None:
    model, critic = ScriptedModel(cut(), REST), ScriptedModel("Half?", "Whole.")
    make = pair(model, critic)[kind]
    async with opened(tmp_path, make) as gateway:
        thread = (await gateway.client.create_thread()).id
        first = await turn(gateway, thread, "tell")
        second = await turn(gateway, thread, CONTINUE)
    speakers = [each for each in texts(first + second) if each[0] != "inner"]
    assert speakers == [
        ("writer", HALF),
        ("critic", "Half?"),
        ("writer", REST),
        ("critic", "Whole."),
    ]


async def test_in_a_swarm_the_same_agent_goes_on(tmp_path: Path) -> None:
    model, critic = ScriptedModel(cut(), REST), ScriptedModel("Whole.")

    def make() -> Team:
        agents = [
            AssistantAgent("writer", model, handoffs=["critic"]),
            AssistantAgent("critic", critic),
        ]
        return Swarm(agents, termination_condition=MaxMessageTermination(2))

    teams = ScriptedTeams(make, participants=("writer", "critic"))
    async with opened(tmp_path, teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        first = await turn(gateway, thread, "tell")
        second = await turn(gateway, thread, CONTINUE)
    assert texts(first + second) == [("writer", HALF), ("writer", REST)]


async def test_where_others_decide_who_speaks_it_is_not_offered(tmp_path: Path) -> None:
    model = ScriptedModel(cut())

    def make() -> Team:
        writer = AssistantAgent("writer", model)
        return GraphFlow([writer], DiGraphBuilder().add_node(writer).build())

    async with opened(tmp_path, make) as gateway:
        thread = (await gateway.client.create_thread()).id
        first = await turn(gateway, thread, "tell")
        second = await turn(gateway, thread, CONTINUE)
    assert (offers(first), texts(second)) == ([], [])
    (end,) = of(TurnFinished, second)
    assert end.outcome == "failed"
    assert end.reason == "writer can't go on from there: its graph decides who speaks."


@pytest.mark.parametrize("shown", [False, True], ids=["before its text", "in its text"])
async def test_a_kill_before_its_end_lets_it_go_on(tmp_path: Path, shown: bool) -> None:
    held = asyncio.Event()
    model = ScriptedModel([HALF, cut()], [*(["queen, "] if shown else []), held, "who"], [REST])
    teams = ScriptedTeams(lambda: writing(model))
    async with Crash(tmp_path, teams) as (crash, gateway):
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "tell")
        await gateway.client.send(thread, CONTINUE)
        await model.asked(2)
        if shown:
            await until(gateway, thread, lambda event: getattr(event, "text", "") == "queen, ")
        crash.kill()
    held.set()
    async with opened(tmp_path, lambda: writing(model)) as gateway:
        rests = iter([False, True])
        events = await until(gateway, thread, lambda event: ends(event) and next(rests))
        refused = await gateway.client.send(thread, CONTINUE)
    assert texts(events) == [("solo", HALF), ("solo", REST)]
    assert [each.resumed for each in of(TurnStarted, events)] == [False, False, True]
    assert model.messages(1) == model.messages(2)
    assert refused.reply == NOTHING


@pytest.mark.usefixtures("told_at_once")
async def test_it_is_one_turn_of_who_asks_for_it(tmp_path: Path) -> None:
    model = ScriptedModel(*[cut(f"{n}") for n in range(9)])
    found = access({**ROUTE, "limits": {"turns": 3}})
    teams = ScriptedTeams(lambda: writing(model, stream=False))
    async with Gateway(new_store(tmp_path), teams, access=found) as gateway:
        thread = (await gateway.accept(message(ALLOWED, "go"))).thread
        last = 0
        for _ in range(2):
            last = (await until(gateway, thread, ends, last))[-1].seq
            await gateway.accept(message(ALLOWED, CONTINUE))
        last = (await until(gateway, thread, ends, last))[-1].seq
        await gateway.accept(message(ALLOWED, CONTINUE))
        held = await until(gateway, thread, lambda event: event.kind == "turn_held", last)
        stopped = await gateway.accept(message(ALLOWED, "/stop"))
        await until(gateway, thread, ends, last)
    assert [each.limit for each in of(TurnHeld, held)] == ["person_turns"]
    assert of(TurnStarted, held) == []
    assert stopped.outcome == "command"
    assert len(model.requests) == 3


async def test_their_rules_hold_in_it(tmp_path: Path) -> None:
    asked: list[Author] = []

    class Rules(ScriptedTeams):
        def rule(self, team: str, call: ToolCall, asker: Author) -> ToolRule:
            asked.append(asker)
            return super().rule(team, call, asker)

    async def look() -> str:
        """Look."""
        return "seen"

    model = ScriptedModel(cut(), calls(("look", {})), REST)
    found = access({**ROUTE, "guests": True})
    async with Gateway(
        new_store(tmp_path), Rules(lambda: solo(model, tools=[look])), access=found
    ) as gateway:
        thread = (await gateway.accept(message(GUEST, "go"))).thread
        first = await until(gateway, thread, ends)
        await gateway.accept(message(GUEST, CONTINUE))
        second = await until(gateway, thread, ends, first[-1].seq)
    assert texts(second) == [("solo", REST)]
    assert asked
    assert {(each.id, each.kind, each.groups) for each in asked} == {
        (GUEST.id, "guest", GUEST.groups)
    }
