"""Threads too long for their model go on with a summary."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gateway.events import (
    READERS,
    ContextSummarised,
    MessageFinished,
    SessionEvent,
    SpeakerStarted,
    TurnFinished,
    Usage,
)
from gateway.gateway import Gateway
from gateway.store.units import events as event_units
from gateway.transcript import markdown
from teams import SelectorGroupChat
from teams.agents import AssistantAgent
from teams.base import Team
from teams.model_context import AutoChatCompletionContext, UnboundedChatCompletionContext
from tests.fakes.small_model import FACT, WINDOW, Model, texts
from tests.gateway.journeys.test_resume import Crash
from tests.gateway.scripted import Door, ScriptedTeams, ends, of, opened, solo, turn, until

LONG = "and so on " * 30


class Steps(Model):
    """A model that stops at its first summary, or after it."""

    def __init__(self, step: str = "") -> None:
        super().__init__()
        self.step = step
        self.door = Door()
        self.summaries = 0

    async def create(self, messages, **asked: Any):
        made = "keep the memory" in str(messages[0].content)
        self.summaries += made and "[summary of what came before]" not in str(messages[-1].content)
        if (made and self.step == "making") or (
            not made and self.summaries and self.step == "made"
        ):
            await self.door.pass_through()
        return await super().create(messages, **asked)


def team(model: Model) -> Team:
    return solo(model, model_context=AutoChatCompletionContext(model), system_message="Help.")


async def talk(gateway: Gateway, thread: str, rounds: int) -> list[SessionEvent]:
    events = await turn(gateway, thread, f"Remember that {FACT}.")
    for number in range(rounds):
        events += await turn(gateway, thread, f"Question {number}: {LONG}")
    return events


async def stored(gateway: Gateway, thread: str) -> Sequence[SessionEvent]:
    return await gateway.store.run(event_units.events, thread, after=0)


async def test_a_thread_goes_on_and_its_export_keeps_what_was_said(tmp_path: Path) -> None:
    model = Model()
    async with opened(tmp_path, lambda: team(model)) as gateway:
        thread = (await gateway.client.create_thread()).id
        events = await talk(gateway, thread, 30)
        kept = await stored(gateway, thread)
        text = markdown(await gateway.client.thread(thread), kept)
    assert {each.outcome for each in of(TurnFinished, events)} == {"done"}
    made = of(ContextSummarised, events)
    assert len(made) > 3
    assert made[0].text == f"{made[0].covered} earlier messages are summarised in what solo reads."
    assert of(ContextSummarised, kept) == made
    assert FACT in texts(model.asked[-1])
    assert max(map(model.count_tokens, model.asked)) < WINDOW
    assert f"Remember that {FACT}." in text
    assert made[0].text in text
    assert "Question 0" in text
    read = sum(each.prompt_tokens for each in of(Usage, events))
    assert read == sum(map(model.count_tokens, model.asked))


@pytest.mark.parametrize(("step", "asked"), [("making", 2), ("made", 1)])
async def test_after_a_kill_a_summary_that_was_made_is_not_made_again(
    tmp_path: Path, step: str, asked: int
) -> None:
    model = Steps(step)
    teams = ScriptedTeams(lambda: team(model))
    async with Crash(tmp_path, teams) as (crash, gateway):
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, f"Remember that {FACT}.")
        while not model.door.reached.is_set():
            async with asyncio.TaskGroup() as group:
                stopped = group.create_task(model.door.reached.wait())
                over = group.create_task(turn(gateway, thread, f"Go on: {LONG}"))
                await asyncio.wait([stopped, over], return_when=asyncio.FIRST_COMPLETED)
                stopped.cancel()
                over.cancel()
        after = (await gateway.client.thread(thread)).last_seq
        crash.kill()
    model.door.open()
    async with opened(tmp_path, teams) as gateway:
        events = await until(gateway, thread, ends, after)
        kept = await stored(gateway, thread)
    assert of(TurnFinished, events)[-1].outcome == "done"
    assert of(MessageFinished, events)
    assert model.summaries == asked
    assert len(of(ContextSummarised, kept)) == 1
    assert FACT in texts(model.asked[-1])


async def test_a_thread_of_an_unbounded_context_loads_whole_and_goes_on(tmp_path: Path) -> None:
    wide, model = Model(100_000), Model()
    async with opened(
        tmp_path, lambda: solo(wide, model_context=UnboundedChatCompletionContext())
    ) as gateway:
        thread = (await gateway.client.create_thread()).id
        await talk(gateway, thread, 30)
    async with opened(tmp_path, lambda: team(model)) as gateway:
        events = await turn(gateway, thread, "What do you know?")
    assert of(TurnFinished, events)[-1].outcome == "done"
    assert len(of(ContextSummarised, events)) == 1
    assert FACT in texts(model.asked[-1])


class Choosing(Model):
    """A small model that chooses its agents in turn."""

    def __init__(self) -> None:
        super().__init__()
        self.chosen = 0

    async def create(self, messages, **asked: Any):
        answer = await super().create(messages, **asked)
        if "Several participants" in str(messages[0].content):
            self.chosen += 1
            answer.content = ("ann", "bob")[self.chosen % 2]
        return answer


async def test_a_team_whose_model_chooses_goes_on_with_a_summary(tmp_path: Path) -> None:
    model, wide = Choosing(), Model(100_000)

    def chosen() -> Team:
        agents = [AssistantAgent(name, wide) for name in ("ann", "bob", "cyd")]
        context = AutoChatCompletionContext(model)
        return SelectorGroupChat([*agents], model, model_context=context, max_turns=1)

    teams = ScriptedTeams(chosen, participants=("ann", "bob", "cyd"))
    async with opened(tmp_path, teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        events = await talk(gateway, thread, 15)
    async with opened(tmp_path, teams) as gateway:
        events += [
            event
            for number in range(15, 30)
            for event in await turn(gateway, thread, f"Question {number}: {LONG}")
        ]
        kept = await stored(gateway, thread)
    assert {each.outcome for each in of(TurnFinished, events)} == {"done"}
    made = of(ContextSummarised, events)
    assert len(made) > 2
    reader = READERS[SelectorGroupChat.manager_name]
    assert (
        made[0].text == f"{made[0].covered} earlier messages are summarised in what {reader} reads."
    )
    assert of(ContextSummarised, kept) == made
    assert {each.agent for each in of(SpeakerStarted, events)} == {"ann", "bob"}
    assert FACT in texts(model.asked[-1])
    assert max(map(model.count_tokens, model.asked)) < WINDOW
