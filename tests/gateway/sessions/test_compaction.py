"""`/compact`: agents summarise what was said, in a turn of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.config.budgets import Budget
from gateway.conversation import Author
from gateway.events import (
    COMPACT,
    ContextSummarised,
    MessageFinished,
    Notice,
    SessionEvent,
    TurnFinished,
    TurnHeld,
    TurnStarted,
)
from gateway.gateway import Gateway, Limits
from gateway.sessions.compaction import NOBODY, NOTHING, STILL_FAILED, UNHEARD
from teams import MagenticOneGroupChat, RoundRobinGroupChat, SelectorGroupChat
from teams.agents import AssistantAgent
from teams.base import Team
from teams.conditions import MaxMessageTermination
from teams.model_context import AutoChatCompletionContext
from teams.models import ModelRefused, RateLimited
from tests.fakes.narrow_model import NarrowModel
from tests.fakes.new_store import new_store
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.summarising import SUMMARY, agent, summarising
from tests.gateway.journeys.test_access import ALLOWED, ROUTE, STAFF, access, message
from tests.gateway.journeys.test_magentic_one import ledger
from tests.gateway.journeys.test_resume import Crash
from tests.gateway.scripted import ScriptedTeams, ends, of, opened, turn, until

FOX = "The fox is called Reinhard. " * 20


def texts(events: Sequence[SessionEvent]) -> list[str]:
    return [each.text for each in of(MessageFinished, events)]


def notices(events: Sequence[SessionEvent]) -> list[str]:
    return [each.text for each in of(Notice, events)]


def marks(events: Sequence[SessionEvent]) -> list[str]:
    return [each.agent for each in of(ContextSummarised, events)]


def outcomes(events: Sequence[SessionEvent]) -> list[str]:
    return [each.outcome for each in of(TurnFinished, events)]


@pytest.mark.parametrize("restarted", [False, True], ids=["at once", "after a restart"])
async def test_what_was_said_gives_way_to_a_summary(tmp_path: Path, restarted: bool) -> None:
    model = ScriptedModel("Nice.", "Hm.", SUMMARY, "Reinhard.")

    def make() -> Team:
        return summarising(model)

    async with opened(tmp_path, make) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, FOX)
        before = await turn(gateway, thread, "And?")
        made = [] if restarted else await turn(gateway, thread, "/compact names of foxes")
    if restarted:
        async with opened(tmp_path, make) as gateway:
            made = await turn(gateway, thread, "/compact names of foxes")
    async with opened(tmp_path, make) as gateway:
        after = await turn(gateway, thread, "Its name?")
    (begun,) = of(TurnStarted, made)
    assert (begun.messages, begun.resumed) == ((), False)
    assert (marks(made), texts(made), notices(made), outcomes(made)) == (["solo"], [], [], ["done"])
    asked = str(model.requests[2]["messages"])
    assert "names of foxes" in asked
    assert FOX.strip() in asked
    assert texts(after) == ["Reinhard."]
    sent = str(model.messages())
    assert SUMMARY in sent
    assert FOX.strip() not in sent
    fills = [of(TurnFinished, each)[0].fill for each in (before, made, after)]
    (full,), (left,), (more,) = fills
    assert full.agent == "solo"
    assert full.window == left.window == more.window
    assert left.used < full.used
    assert more.used


async def test_every_agent_at_any_depth_summarises_its_own(tmp_path: Path) -> None:
    inner, outer = (
        ScriptedModel("a", "b", f"{SUMMARY} 1", "c"),
        ScriptedModel("d", "e", f"{SUMMARY} 2", "f"),
    )

    def make() -> Team:
        desk = RoundRobinGroupChat([agent("writer", inner)], name="desk", max_turns=1)
        return RoundRobinGroupChat([desk, agent("critic", outer)], max_turns=2)

    async with opened(tmp_path, make) as gateway:
        thread = (await gateway.client.create_thread()).id
        for text in (FOX, "And?"):
            await turn(gateway, thread, text)
        made = await turn(gateway, thread, COMPACT)
        await turn(gateway, thread, "Now?")
    assert sorted(marks(made)) == ["critic", "writer"]
    assert f"{SUMMARY} 1" in str(inner.messages())
    assert f"{SUMMARY} 2" in str(outer.messages())
    (end,) = of(TurnFinished, made)
    assert sorted(each.agent for each in end.fill) == ["critic", "writer"]


@pytest.mark.parametrize("restarted", [False, True], ids=["at once", "after a restart"])
async def test_a_selector_summarises_what_it_reads(tmp_path: Path, restarted: bool) -> None:
    chooser = ScriptedModel("ann", "bob", SUMMARY, "ann")
    ann, bob = ScriptedModel("Nice.", "Yes."), ScriptedModel("Hm.")

    def make() -> Team:
        agents = [AssistantAgent("ann", ann), AssistantAgent("bob", bob)]
        context = AutoChatCompletionContext(chooser)
        return SelectorGroupChat(
            [*agents], chooser, model_context=context, max_turns=1, allow_repeated_speaker=True
        )

    async with opened(tmp_path, make) as gateway:
        thread = (await gateway.client.create_thread()).id
        for text in (FOX, "And?"):
            await turn(gateway, thread, text)
        made = [] if restarted else await turn(gateway, thread, COMPACT)
    if restarted:
        async with opened(tmp_path, make) as gateway:
            made = await turn(gateway, thread, COMPACT)
    async with opened(tmp_path, make) as gateway:
        used = (await gateway.client.send(thread, "/usage")).reply
        after = await turn(gateway, thread, "Its name?")
    (mark,) = of(ContextSummarised, made)
    assert mark.text.endswith("summarised in what the selector reads.")
    assert texts(after) == ["Yes."]
    asked = str(chooser.requests[-1]["messages"])
    assert SUMMARY in asked
    assert FOX.strip() not in asked
    assert "\nContext of the selector: " in used


@pytest.mark.parametrize("restarted", [False, True], ids=["at once", "after a restart"])
async def test_an_orchestrator_summarises_what_it_reads(tmp_path: Path, restarted: bool) -> None:
    judged = (str(ledger("ann", "Speak.").text), str(ledger("ann", done=True).text))
    task = ["Facts.", "Plan.", *judged, "Done."]
    orchestrator, ann = ScriptedModel(*task, *task, SUMMARY, *task), ScriptedModel(*["Nice."] * 3)

    def make() -> Team:
        team = MagenticOneGroupChat([AssistantAgent("ann", ann)], orchestrator)
        team.use_context(AutoChatCompletionContext(orchestrator))
        return team

    async with opened(tmp_path, make) as gateway:
        thread = (await gateway.client.create_thread()).id
        for text in (FOX, "And?"):
            await turn(gateway, thread, text)
        made = [] if restarted else await turn(gateway, thread, COMPACT)
    if restarted:
        async with opened(tmp_path, make) as gateway:
            made = await turn(gateway, thread, COMPACT)
    async with opened(tmp_path, make) as gateway:
        used = (await gateway.client.send(thread, "/usage")).reply
        after = await turn(gateway, thread, "Its name?")
    (mark,) = of(ContextSummarised, made)
    assert mark.text.endswith("summarised in what the orchestrator reads.")
    assert texts(after)[-1] == "Done."
    asked = str(orchestrator.requests[-1]["messages"])
    assert SUMMARY in asked
    assert FOX.strip() not in asked
    assert "\nContext of the orchestrator: " in used


def unbounded(model: ScriptedModel) -> Team:
    return RoundRobinGroupChat(
        [AssistantAgent("solo", model)], termination_condition=MaxMessageTermination(2)
    )


@pytest.mark.parametrize(
    ("make", "said"), [(unbounded, NOBODY), (summarising, NOTHING)], ids=["unbounded", "one turn"]
)
async def test_where_there_is_nothing_to_do_one_sentence_says_so(
    tmp_path: Path, make: Callable[[ScriptedModel], Team], said: str
) -> None:
    model = ScriptedModel("Hello.", "Bye.")
    async with opened(tmp_path, lambda: make(model)) as gateway:
        thread = (await gateway.client.create_thread()).id
        early = await gateway.client.send(thread, COMPACT)
        await turn(gateway, thread, "hi")
        made = await turn(gateway, thread, COMPACT)
        again = await gateway.client.send(thread, "/retry")
        after = await turn(gateway, thread, "bye")
    assert early.reply == "There are no messages here yet."
    assert (notices(made), outcomes(made), texts(made)) == ([said], ["done"], [])
    assert again.reply == "No turn has failed, so there is none to try again."
    assert texts(after) == ["Bye."]


async def test_a_second_time_there_is_nothing_to_do(tmp_path: Path) -> None:
    model = ScriptedModel("Nice.", "Hm.", SUMMARY)
    async with opened(tmp_path, lambda: summarising(model)) as gateway:
        thread = (await gateway.client.create_thread()).id
        for text in (FOX, "And?", COMPACT):
            await turn(gateway, thread, text)
        again = await turn(gateway, thread, COMPACT)
    assert (marks(again), notices(again)) == ([], [NOTHING])


async def test_a_turn_that_runs_goes_first_and_stop_ends_it(tmp_path: Path) -> None:
    held = asyncio.Event()
    model = ScriptedModel("Nice.", "Hm.", held, SUMMARY, "Yes.")
    async with opened(tmp_path, lambda: summarising(model)) as gateway:
        thread = (await gateway.client.create_thread()).id
        for text in (FOX, "And?"):
            last = (await turn(gateway, thread, text))[-1].seq
        await gateway.client.send(thread, COMPACT)
        await model.asked(3)
        busy = await gateway.client.send(thread, COMPACT)
        await gateway.client.stop(thread)
        stopped = await until(gateway, thread, ends, last)
        made = await turn(gateway, thread, COMPACT)
    assert busy.reply == "The team is already working."
    assert (outcomes(stopped), marks(stopped)) == (["stopped"], [])
    assert (outcomes(made), marks(made)) == (["done"], ["solo"])


async def test_a_kill_leaves_what_is_done_and_makes_the_rest(tmp_path: Path) -> None:
    held = asyncio.Event()
    first = ScriptedModel("a", "b", f"{SUMMARY} 1", "c")
    second = ScriptedModel("d", "e", [held, "lost"], f"{SUMMARY} 2", "f")

    def make() -> Team:
        agents = [agent("writer", first), agent("critic", second)]
        return RoundRobinGroupChat(agents, max_turns=2)

    async with Crash(tmp_path, ScriptedTeams(make)) as (crash, gateway):
        thread = (await gateway.client.create_thread()).id
        for text in (FOX, "And?"):
            last = (await turn(gateway, thread, text))[-1].seq
        await gateway.client.send(thread, COMPACT)
        await until(gateway, thread, lambda event: isinstance(event, ContextSummarised), last)
        await second.asked(3)
        crash.kill()
    held.set()
    async with opened(tmp_path, make) as gateway:
        events = await until(gateway, thread, ends, last)
        await turn(gateway, thread, "Now?")
    assert [each.resumed for each in of(TurnStarted, events)] == [False, True]
    assert marks(events) == ["writer", "critic"]
    assert (len(first.requests), len(second.requests)) == (4, 5)
    assert f"{SUMMARY} 1" in str(first.messages())
    assert f"{SUMMARY} 2" in str(second.messages())


async def test_a_kill_before_the_summary_makes_it_once_more(tmp_path: Path) -> None:
    held = asyncio.Event()
    model = ScriptedModel("Nice.", "Hm.", [held, "lost"], SUMMARY)
    async with Crash(tmp_path, ScriptedTeams(lambda: summarising(model))) as (crash, gateway):
        thread = (await gateway.client.create_thread()).id
        for text in (FOX, "And?"):
            last = (await turn(gateway, thread, text))[-1].seq
        await gateway.client.send(thread, "/compact names")
        await model.asked(3)
        crash.kill()
    held.set()
    async with opened(tmp_path, lambda: summarising(model)) as gateway:
        events = await until(gateway, thread, ends, last)
    assert (marks(events), outcomes(events)) == (["solo"], ["done"])
    asked = [str(request["messages"]) for request in model.requests]
    assert [("names" in each) for each in asked] == [False, False, True, True]


async def test_without_a_budget_it_waits_for_a_try_again(tmp_path: Path) -> None:
    model = ScriptedModel("Nice.", "Hm.", SUMMARY)
    teams = ScriptedTeams(lambda: summarising(model))
    poor = Budget(per="thread", tokens=30)
    async with Gateway(new_store(tmp_path), teams, limits=Limits(budgets=[poor])) as gateway:
        thread = (await gateway.client.create_thread()).id
        for text in (FOX, "And?"):
            await turn(gateway, thread, text)
        failed = await turn(gateway, thread, COMPACT)
    async with Gateway(new_store(tmp_path), teams) as gateway:
        again = await turn(gateway, thread, "/retry")
        used = (await gateway.client.send(thread, "/usage")).reply
    assert outcomes(failed) == ["failed"]
    assert [each.command for each in of(Notice, failed)] == ["/retry"]
    assert (marks(again), outcomes(again)) == (["solo"], ["done"])
    assert "45 tokens (30 read, 15 written) in 3 turns" in used


FAILURES = {
    "failed": RuntimeError("down"),
    "busy": RateLimited("No."),
    "refused": ModelRefused("No."),
}


@pytest.mark.parametrize("how", FAILURES)
@pytest.mark.parametrize("restarted", [False, True], ids=["at once", "after a restart"])
async def test_a_failed_turn_can_be_tried_again_afterwards(
    tmp_path: Path, how: str, restarted: bool
) -> None:
    model = ScriptedModel("Nice.", FAILURES[how], SUMMARY, "Yes.")

    def make() -> Team:
        return summarising(model)

    async with opened(tmp_path, make) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, FOX)
        failed = await turn(gateway, thread, "Of the wolf?")
        made = await turn(gateway, thread, "/compact foxes")
        after = [] if restarted else await turn(gateway, thread, "/retry")
    if restarted:
        async with opened(tmp_path, make) as gateway:
            after = await turn(gateway, thread, "/retry")
    assert outcomes([*failed, *made, *after]) == ["failed", "failed", "done"]
    assert (marks(made), notices(made), texts(after)) == (["solo"], [STILL_FAILED], ["Yes."])
    assert [each.command for each in of(Notice, made)] == ["/retry"]
    assert "foxes" in str(model.requests[2]["messages"])
    sent = str(model.messages())
    assert (sent.count("Of the wolf?"), SUMMARY in sent) == (1, True)
    assert len(model.requests) == 4


async def test_what_was_too_long_can_be_decided_about_afterwards(tmp_path: Path) -> None:
    model = NarrowModel("42.", most=20_000)
    async with opened(tmp_path, lambda: unbounded(model)) as gateway:
        thread = (await gateway.client.create_thread()).id
        (before,) = of(Notice, await turn(gateway, thread, "Dear diary. " * 10_000))
        nobody, notice = of(Notice, await turn(gateway, thread, COMPACT))
        after = await turn(gateway, thread, "/aside attach")
    assert (nobody.text, notice.text) == (NOBODY, STILL_FAILED)
    assert (notice.aside, notice.agent) == (before.aside, before.agent) == ("message", "solo")
    assert texts(after) == ["42."]


@pytest.mark.parametrize("end", ["stop", "kill", "failure"])
async def test_a_failed_turn_stays_so_however_its_summary_ends(tmp_path: Path, end: str) -> None:
    held = asyncio.Event()
    made = [RuntimeError("down")] if end == "failure" else [[held, "lost"]]
    model = ScriptedModel(
        "Nice.", RuntimeError("down"), *made, *([SUMMARY] * (end == "kill")), "Yes."
    )
    async with Crash(tmp_path, ScriptedTeams(lambda: summarising(model))) as (crash, gateway):
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, FOX)
        last = (await turn(gateway, thread, "Of the wolf?"))[-1].seq
        await gateway.client.send(thread, COMPACT)
        await model.asked(3)
        if end == "stop":
            await gateway.client.stop(thread)
        if end == "kill":
            crash.kill()
        else:
            assert outcomes(await until(gateway, thread, ends, last)) == ["failed"]
    held.set()
    async with opened(tmp_path, lambda: summarising(model)) as gateway:
        if end == "kill":
            events = await until(gateway, thread, ends, last)
            assert (outcomes(events), marks(events)) == (["failed"], ["solo"])
        assert texts(await turn(gateway, thread, "/retry")) == ["Yes."]


async def test_without_a_try_again_the_next_message_is_told_what_failed(tmp_path: Path) -> None:
    model = ScriptedModel("Nice.", RuntimeError("down"), SUMMARY, "Yes.")
    async with opened(tmp_path, lambda: summarising(model)) as gateway:
        thread = (await gateway.client.create_thread()).id
        for text in (FOX, "Of the wolf?", COMPACT):
            await turn(gateway, thread, text)
        after = await turn(gateway, thread, "Well?")
    assert texts(after) == ["Yes."]
    assert str(model.messages()).count("Of the wolf?") == 1


async def test_a_summary_that_failed_is_made_by_another_command(tmp_path: Path) -> None:
    model = ScriptedModel("Nice.", "Hm.", RuntimeError("down"), SUMMARY)
    async with opened(tmp_path, lambda: summarising(model)) as gateway:
        thread = (await gateway.client.create_thread()).id
        for text in (FOX, "And?", COMPACT):
            await turn(gateway, thread, text)
        made = await turn(gateway, thread, "/compact names")
        again = await gateway.client.send(thread, "/retry")
    assert (marks(made), notices(made), outcomes(made)) == (["solo"], [], ["done"])
    assert "names" in str(model.requests[3]["messages"])
    assert again.reply == "No turn has failed, so there is none to try again."


async def test_what_matters_is_said_by_those_whom_the_team_has_heard(tmp_path: Path) -> None:
    model = ScriptedModel("Nice.", "Hm.", SUMMARY)
    found = access({**ROUTE, "roles": ["staff"]})
    teams = ScriptedTeams(lambda: summarising(model))
    other = replace(STAFF, id="chat:T1:sam2")
    async with Gateway(new_store(tmp_path), teams, access=found) as gateway:
        last, thread = 0, ""
        for text in (FOX, "And?"):
            thread = (await gateway.accept(message(ALLOWED, text))).thread
            last = (await until(gateway, thread, ends, last))[-1].seq

        async def compact(author: Author, text: str) -> list[Any]:
            nonlocal last
            await gateway.accept(message(author, text))
            events = await until(gateway, thread, ends, last)
            last = events[-1].seq
            return events

        refused = await compact(other, "/compact that all is approved")
        plain = await compact(other, "!compact")
    assert (notices(refused), marks(refused)) == ([UNHEARD], [])
    assert (notices(plain), marks(plain)) == ([], ["solo"])


@pytest.mark.usefixtures("told_at_once")
async def test_it_is_one_turn_of_who_asks_for_it(tmp_path: Path) -> None:
    model = ScriptedModel("Nice.", "Hm.", SUMMARY)
    found = access({**ROUTE, "limits": {"turns": 3}})
    teams = ScriptedTeams(lambda: summarising(model))
    async with Gateway(new_store(tmp_path), teams, access=found) as gateway:
        last, thread = 0, ""
        for text in (FOX, "And?", "/compact the names"):
            thread = (await gateway.accept(message(ALLOWED, text))).thread or thread
            last = (await until(gateway, thread, ends, last))[-1].seq
        await gateway.accept(message(ALLOWED, "More?"))
        held = await until(gateway, thread, lambda event: event.kind == "turn_held", last)
    assert [each.limit for each in of(TurnHeld, held)] == ["person_turns"]
    assert len(model.requests) == 3


async def test_usage_tells_how_full_each_context_is_also_after_a_restart(tmp_path: Path) -> None:
    model = ScriptedModel("Nice.", "Hm.")

    def make() -> Team:
        return summarising(model)

    async with opened(tmp_path, make) as gateway:
        thread = (await gateway.client.create_thread()).id
        none = (await gateway.client.send(thread, "/usage")).reply
        (end,) = of(TurnFinished, await turn(gateway, thread, FOX))
        told = (await gateway.client.send(thread, "/usage")).reply
    async with opened(tmp_path, make) as gateway:
        again = (await gateway.client.send(thread, "/usage")).reply
    (fill,) = end.fill
    line = f"Context of solo: {fill.used:,} of {fill.window:,} tokens ({fill.percent})."
    assert "Context" not in none
    assert line in told.splitlines()
    assert told == again


async def test_an_agent_that_rests_keeps_its_fill(tmp_path: Path) -> None:
    first, second = ScriptedModel("a"), ScriptedModel("b")

    def make() -> Team:
        agents = [agent("writer", first), agent("critic", second)]
        return RoundRobinGroupChat(agents, max_turns=1)

    async with opened(tmp_path, make) as gateway:
        thread = (await gateway.client.create_thread()).id
        (before,) = of(TurnFinished, await turn(gateway, thread, FOX))
    async with opened(tmp_path, make) as gateway:
        (after,) = of(TurnFinished, await turn(gateway, thread, "And?"))
    assert [each.agent for each in before.fill] == ["writer"]
    assert {each.agent for each in after.fill} == {"writer", "critic"}
    assert before.fill[0] in after.fill
