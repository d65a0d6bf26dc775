"""Resumption by the next process after one that was not closed."""

import asyncio
import math
from collections.abc import Mapping
from pathlib import Path

import pytest

from gateway.client import Answer
from gateway.content.attachments import MISSING
from gateway.errors import LeaseLost, StoreFull
from gateway.events import (
    InputRequested,
    MessageFinished,
    Notice,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from gateway.gateway import Gateway, Limits
from gateway.registry import ToolRule
from gateway.runtime.lifecycle import RECOVERY
from gateway.store.turn_records import MAX_RESUMES, ClaimedTurn, TurnUpdate
from gateway.store.units import claims, rows
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import Team
from teams.tools import AgentTool
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import ChangedStore, change_in
from tests.gateway.scripted import (
    Door,
    ScriptedTeams,
    calls,
    ends,
    kinds,
    model,
    of,
    opened,
    solo,
    turn,
    until,
)

AT_ONCE = Limits(shutdown=0.0)


class Crash:
    """A gateway killed as a process: it writes nothing after `kill`."""

    def __init__(self, folder: Path, teams: ScriptedTeams) -> None:
        self.store = new_store(folder)
        self._gateway = Gateway(self.store, teams, limits=AT_ONCE)

    async def __aenter__(self):
        await self._gateway.__aenter__()
        return self, self._gateway

    def kill(self) -> None:
        async def refused(lease, record):
            raise LeaseLost(lease.thread)

        self.store.record = refused

    async def __aexit__(self, *_):
        self.kill()
        await self._gateway.__aexit__(None, None, None)


class Steps:
    """Tools that note their work and stop at the test's doors."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.doors = {"second": Door(), "third": Door()}

    async def first(self) -> str:
        """First."""
        self.done.append("first")
        return "1"

    async def second(self) -> str:
        """Second."""
        await self.doors["second"].pass_through()
        self.done.append("second")
        return "2"

    async def third(self) -> str:
        """Third."""
        self.done.append("third")
        await self.doors["third"].pass_through()
        return "3"

    @property
    def all(self):
        return [self.first, self.second, self.third]


async def crashed_in_a_batch(tmp_path, steps: Steps, **rules) -> tuple[str, ScriptedTeams]:
    """A crash after `first` and `third` ended, before `second` did its work."""
    shared = model(calls("first", "second", "third"), "All done.")
    teams = ScriptedTeams(lambda: solo(shared, tools=steps.all), rules=rules)
    async with Crash(tmp_path, teams) as (crash, gateway):
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "go")
        for door in steps.doors.values():
            await door.reached.wait()
        await until(gateway, thread, lambda event: isinstance(event, ToolFinished))
        crash.kill()
    for door in steps.doors.values():
        door.open()
    return thread, teams


async def test_finished_calls_are_not_run_again_and_unfinished_ones_are_said_to_be_unknown(
    tmp_path,
):
    steps = Steps()
    thread, teams = await crashed_in_a_batch(tmp_path, steps)
    async with opened(tmp_path, teams) as client:
        events = await until(client, thread, ends)
    assert sorted(steps.done) == ["first", "third"]
    results = {event.tool: event for event in of(ToolFinished, events)}
    assert len(of(ToolFinished, events)) == len(of(ToolStarted, events)) == 3
    assert results["first"].result == "1"
    assert {name for name, event in results.items() if event.unknown} == {"second", "third"}
    assert all(results[name].failed for name in ("second", "third"))
    notices = [notice.text for notice in of(Notice, events)]
    assert notices[0] == RECOVERY.interrupted
    assert sorted(notices[1:]) == [
        f"{name} was interrupted; its effect is unknown." for name in ("second", "third")
    ]
    assert [event.text for event in of(MessageFinished, events)] == ["All done."]
    assert [event.resumed for event in of(TurnStarted, events)] == [False, True]


async def test_an_idempotent_call_is_simply_repeated(tmp_path):
    steps = Steps()
    again = ToolRule(action="allow", idempotent=True, output="trusted")
    thread, teams = await crashed_in_a_batch(tmp_path, steps, second=again, third=again)
    async with opened(tmp_path, teams) as client:
        events = await until(client, thread, ends)
    assert sorted(steps.done) == ["first", "second", "third", "third"]
    assert not any(event.unknown for event in of(ToolFinished, events))
    assert len(of(ToolStarted, events)) == len(of(ToolFinished, events)) == 3


async def crashed_beside_a_helper(tmp_path, steps: Steps, **rules) -> tuple[str, ScriptedTeams]:
    """A crash while `second` runs beside a helper that makes checkpoints."""
    shared = model(calls("helper", "second", helper='{"task": "go"}'), "All done.")
    helping = model(calls("first"), calls("third"), "Helped.")

    def team() -> Team:
        helper = AssistantAgent("helper", helping, tools=steps.all, max_tool_iterations=3)
        return solo(shared, tools=[AgentTool(helper), steps.second], messages=4)

    teams = ScriptedTeams(team, rules=rules)
    async with Crash(tmp_path, teams) as (crash, gateway):
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "go")
        for door in steps.doors.values():
            await door.reached.wait()
        crash.kill()
    for door in steps.doors.values():
        door.open()
    return thread, teams


async def test_a_call_in_flight_at_a_checkpoint_is_repeated_where_the_policy_says_so(tmp_path):
    steps = Steps()
    again = ToolRule(action="allow", idempotent=True, output="trusted")
    thread, teams = await crashed_beside_a_helper(tmp_path, steps, second=again, third=again)
    async with opened(tmp_path, teams) as client:
        events = await until(client, thread, ends)
    assert sorted(steps.done) == ["first", "second", "third", "third"]
    assert not any(event.unknown for event in of(ToolFinished, events))


@pytest.mark.parametrize("journal", ["kept", "lost"])
async def test_a_call_in_flight_at_a_checkpoint_is_unknown_also_without_its_line(
    tmp_path, journal: str
):
    steps = Steps()
    thread, teams = await crashed_beside_a_helper(tmp_path, steps)
    if journal == "lost":
        change_in(tmp_path, "DELETE FROM tool_calls WHERE tool = 'second'")
    async with opened(tmp_path, teams) as client:
        events = await until(client, thread, ends)
    assert sorted(steps.done) == ["first", "third"]
    results = {event.tool: event for event in of(ToolFinished, events)}
    assert results["second"].unknown
    assert results["second"].failed


def streaming(shared, *answers: Mapping[int, Door], tools=(), rules=None):
    """A team whose model stops at doors, by the words before them."""
    stream, left = shared.create_stream, iter(answers)

    async def halting(*args, **kwargs):
        doors, words = next(left, {}), 0
        async for chunk in stream(*args, **kwargs):
            if words in doors:
                await doors[words].pass_through()
            yield chunk
            words += 1

    shared.create_stream = halting
    return ScriptedTeams(
        lambda: solo(shared, tools=tools, model_client_stream=True), rules=rules or {}
    )


async def test_a_message_that_was_being_written_is_shown_again_and_then_replaced(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("gateway.sessions.turn.SHOW_EVERY", math.inf)  # only its beginning is kept
    old, before, new, grown = Door(), Door(), Door(), asyncio.Event()
    answers = model("The old half of an answer.", "A quite new answer.")
    teams = streaming(answers, {2: old}, {0: before, 2: new})
    async with Crash(tmp_path, teams) as (crash, gateway):
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "go")
        await old.reached.wait()
        shown = await until(gateway, thread, lambda event: isinstance(event, TextDelta))
        assert [row.text for row in await crash.store.run(rows.open_messages, thread)] == ["The "]
        crash.kill()

    def watched(event):
        if isinstance(event, TextDelta):
            before.open()
            if "quite" in event.text:
                grown.set()
        return ends(event)

    async with opened(tmp_path, teams) as gateway, asyncio.TaskGroup() as group:
        watching = group.create_task(until(gateway, thread, watched))
        await grown.wait()
        late = await until(gateway, thread, lambda event: isinstance(event, TextDelta))
        new.open()
    events = watching.result()
    message = shown[-1].message
    [finished] = of(MessageFinished, events)
    assert (finished.message, finished.text) == (message, "A quite new answer.")
    first, second, *_ = of(TextDelta, events)
    assert (first.message, first.text, first.replace) == (message, "The ", True)
    assert (second.message, second.text[:2], second.replace) == (message, "A ", True)
    assert (late[-1].message, late[-1].text, late[-1].replace) == (message, "A quite ", True)
    async with opened(tmp_path, teams) as gateway:
        assert of(TextDelta, await until(gateway, thread, ends)) == []


@pytest.mark.parametrize(
    ("action", "then", "said"),
    [
        ("allow", "Five it is.", [("Five it is.", False)]),
        ("allow", "", [("The ", True)]),
        ("ask", "Five it is.", [("", False), ("Five it is.", False)]),
    ],
    ids=["a tool", "a tool, then silence", "a question to people"],
)
async def test_a_half_text_stands_until_its_turn_says_something_else(
    tmp_path, monkeypatch, action, then, said
):
    monkeypatch.setattr("gateway.sessions.turn.SHOW_EVERY", math.inf)

    async def add() -> str:
        """Add."""
        return "5"

    def done(event):
        return ends(event) and event.outcome == "done"

    halt = Door()
    answers = model("The old half of an answer.", calls("add"), then)
    rules = {"add": ToolRule(action=action)}
    teams = streaming(answers, {2: halt}, {}, {}, tools=[add], rules=rules)
    async with Crash(tmp_path, teams) as (crash, gateway):
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "go")
        await halt.reached.wait()
        shown = await until(gateway, thread, lambda event: isinstance(event, TextDelta))
        crash.kill()
    async with opened(tmp_path, teams) as gateway:
        events = await until(gateway, thread, ends)
        for asked in of(InputRequested, events):
            await gateway.client.answer(asked.request, Answer(kind="approve"))
            events = await until(gateway, thread, done)
    finished = of(MessageFinished, events)
    assert [(event.text, event.broken) for event in finished] == said
    assert finished[0].message == shown[-1].message
    assert len({event.message for event in finished}) == len(said)


async def test_a_crash_before_the_first_checkpoint_gives_the_team_the_message_again(tmp_path):
    door = Door()
    teams = streaming(model("half of", "Hello again."), {2: door})
    async with Crash(tmp_path, teams) as (_, gateway):
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "go")
        await door.reached.wait()
    async with opened(tmp_path, teams) as gateway:
        events = await until(gateway, thread, ends)
        went_on = await turn(gateway, thread, "and on")
    assert events[-1].outcome == "done"
    assert [message.text for event in of(TurnStarted, events) for message in event.messages] == [
        "go"
    ]
    assert went_on[-1].outcome == "failed"  # the replayed model has nothing left to say


async def test_waiting_messages_survive_a_crash_in_their_order(tmp_path):
    steps = Steps()
    shared = model(calls("second"), "one", "two", "three")
    teams = ScriptedTeams(
        lambda: solo(shared, tools=steps.all),
        rule_of_others=ToolRule(action="allow", idempotent=True, output="trusted"),
    )
    async with Crash(tmp_path, teams) as (_, gateway):
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "a")
        await steps.doors["second"].reached.wait()
        for text in "bc":
            await gateway.client.send(thread, text)
    steps.doors["second"].open()
    async with opened(tmp_path, teams) as gateway:
        seen = []

        def third_end(event):
            seen.append(event)
            return len(of(TurnFinished, seen)) == 3

        events = await until(gateway, thread, third_end)
    told = [m.text for event in of(TurnStarted, events) for m in event.messages]
    assert told == ["a", "b", "c"]
    assert [event.text for event in of(MessageFinished, events)] == ["one", "two", "three"]


async def test_a_turn_that_keeps_crashing_is_parked_and_the_next_message_goes_on(tmp_path):
    doors = [Door() for _ in range(MAX_RESUMES + 1)]
    left = iter(doors)
    shared = model(calls("poison"), "Better now.")

    async def poison() -> str:
        if (door := next(left, None)) is not None:
            await door.pass_through()
        return "ok"

    teams = ScriptedTeams(
        lambda: solo(shared, tools=[poison], messages=3),
        rule_of_others=ToolRule(action="allow", idempotent=True, output="trusted"),
    )
    thread = ""
    for door in doors:
        async with Crash(tmp_path, teams) as (_, gateway):
            if not thread:
                thread = (await gateway.client.create_thread()).id
                await gateway.client.send(thread, "go")
            await door.reached.wait()
    async with opened(tmp_path, teams) as gateway:
        parked = await until(gateway, thread, ends)
        assert (await gateway.client.thread(thread)).state == "parked"
        went_on = await turn(gateway, thread, "try something else")
        assert (await gateway.client.thread(thread)).state == "idle"
    assert parked[-1].outcome == "interrupted"
    assert [notice.text for notice in of(Notice, parked)] == [
        RECOVERY.interrupted
    ] * MAX_RESUMES + [RECOVERY.parked]
    assert [event.text for event in of(MessageFinished, went_on)] == ["Better now."]


async def test_a_shutdown_lets_the_turn_reach_a_safe_point_and_the_next_start_goes_on(tmp_path):
    door = Door()
    done = []
    shared = model(calls("wait"), "There.")

    async def wait() -> str:
        await door.pass_through()
        done.append("waited")
        return "ok"

    teams = ScriptedTeams(lambda: solo(shared, tools=[wait]))
    async with opened(tmp_path, teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "go")
        await door.reached.wait()
        asyncio.get_running_loop().call_later(0.05, door.open)
    async with opened(tmp_path, teams) as gateway:
        events = await until(gateway, thread, ends)
    assert done == ["waited"]
    assert of(Notice, events) == []
    assert [event.resumed for event in of(TurnStarted, events)] == [False, True]
    assert [event.text for event in of(MessageFinished, events)] == ["There."]


async def test_a_turn_that_reaches_no_safe_point_in_time_is_cut_short_and_not_counted(tmp_path):
    again = ToolRule(action="allow", idempotent=True, output="trusted")
    shared = model(calls("wait"), "There.")
    doors = iter([Door() for _ in range(MAX_RESUMES + 2)])
    reached = asyncio.Event()

    async def wait() -> str:
        reached.set()
        if (door := next(doors, None)) is not None:
            await door.pass_through()
        return "ok"

    teams = ScriptedTeams(lambda: solo(shared, tools=[wait]), rule_of_others=again)
    thread = ""
    for _ in range(MAX_RESUMES + 2):
        reached.clear()
        async with opened(tmp_path, teams, limits=AT_ONCE) as gateway:
            if not thread:
                thread = (await gateway.client.create_thread()).id
                await gateway.client.send(thread, "go")
            await reached.wait()
    async with opened(tmp_path, teams) as gateway:
        events = await until(gateway, thread, ends)
    assert events[-1].outcome == "done"
    assert of(Notice, events) == []


async def test_a_turn_whose_lease_is_lost_writes_nothing_more(tmp_path):
    door = Door()

    async def wait() -> str:
        await door.pass_through()
        return "ok"

    store = new_store(tmp_path)
    teams = ScriptedTeams(lambda: solo(calls("wait"), "too late", tools=[wait]))
    async with Gateway(store, teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "go")
        await door.reached.wait()
        work = await store.run(claims.begin, thread, gateway.boot, words=MISSING)
        assert isinstance(work, ClaimedTurn)
        door.open()
        while gateway._sessions.running:  # noqa: ASYNC110 (nothing tells of it)
            await asyncio.sleep(0)
        seq = (await gateway.client.thread(thread)).last_seq
        await store.record(work.lease, TurnUpdate())
        with pytest.raises(LeaseLost):
            await store.record(
                type(work.lease)(thread=thread, turn=work.lease.turn, epoch=work.lease.epoch - 1),
                TurnUpdate(),
            )
    assert "message_finished" not in kinds(work.events)
    assert seq == work.thread.last_seq


class FullOnce(ChangedStore):
    """Has no room for the first message that an agent has finished."""

    refused = False

    async def record(self, lease, record):
        if not self.refused and of(MessageFinished, record.events):
            self.refused = True
            raise StoreFull
        return await super().record(lease, record)


async def test_a_message_that_found_no_room_while_the_next_agent_was_asked_is_said_anew(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("gateway.sessions.lanes.FIRST_RETRY", 0.01)
    door = Door()  # nobody opens it: the run must not wait for who stands there
    first, second = model("one", "one"), model("two", "two")

    class Slow(AssistantAgent):
        async def on_messages_stream(self, messages, cancellation_token):
            if not store.refused:
                await door.pass_through()
            async for item in super().on_messages_stream(messages, cancellation_token):
                yield item

    def make():
        agents = [AssistantAgent("quick", first), Slow("slow", second)]
        return RoundRobinGroupChat(agents, max_turns=2)

    store = FullOnce.of(tmp_path)
    async with Gateway(store, ScriptedTeams(make), limits=AT_ONCE) as gateway:
        thread = (await gateway.client.create_thread()).id
        async with asyncio.timeout(5):
            events = await turn(gateway, thread, "go")
    assert store.refused
    assert [event.text for event in of(MessageFinished, events)] == ["one", "two"]
    assert len(of(TurnStarted, events)) == 2
