"""Clocks that jump: by a year ahead, and back."""

from __future__ import annotations

import asyncio
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from gateway.access.authority import Access
from gateway.adapter import NOT_ALLOWED, TELL_AGAIN
from gateway.base.clock import DOUBT, ClockTrust
from gateway.config.routes import Route
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.events import HumanText, InputRequested, InputResolved, MessageFinished, TurnStarted
from gateway.gateway import Gateway, Limits
from gateway.inbound.policy import BOT_MESSAGES
from gateway.registry import ToolRule
from gateway.sessions import expiry as deadlines
from gateway.sessions.expiry import EXPIRED, EXPIRED_QUESTION
from gateway.store.units import events as event_units
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent, UserProxyAgent
from teams.conditions import MaxMessageTermination
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import ChangedStore
from tests.gateway.scripted import ScriptedTeams, calls, ends, model, of, solo, turn, until

YEAR = 365 * 86400.0
DAY = 86400.0
HOUR = 3600.0
KEY = ConversationKey(platform="slack", workspace="T1", channel="C1", root="1")
EVE = Author(id="slack:T1:eve", name="Eve")
BOT = Author(id="slack:T1:bot", name="Bot", kind="bot")


class Clock:
    """The time of day, set by hand."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


async def test_a_conversation_keeps_its_order_whatever_the_clock_says(tmp_path: Path) -> None:
    clock = Clock()
    shared = model("One.", "Two.", "Three.", "Four.")
    teams = ScriptedTeams(lambda: solo(shared))
    store = new_store(tmp_path, clock=clock)
    async with Gateway(store, teams, limits=Limits(retention=90 * DAY), clock=clock) as gateway:
        thread = (await gateway.client.create_thread()).id
        for n, jump in enumerate((0.0, YEAR, -2 * YEAR, YEAR), start=1):
            clock.now += jump
            await turn(gateway, thread, f"question {n}")
        events = await store.run(event_units.events, thread)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    asked = [message for event in of(TurnStarted, events) for message in event.messages]
    assert [text.text for text in asked if isinstance(text, HumanText)] == [
        f"question {n}" for n in (1, 2, 3, 4)
    ]
    assert [e.text for e in of(MessageFinished, events)] == ["One.", "Two.", "Three.", "Four."]


def test_a_clock_that_jumped_ahead_is_not_believed_until_it_went_on_for_hours() -> None:
    clock, steady = Clock(), Clock()
    trust = ClockTrust(clock, steady)

    def pass_by(seconds: float) -> bool:
        clock.now += seconds
        steady.now += seconds
        return trust.holds()

    assert pass_by(60)
    clock.now += YEAR
    assert not pass_by(60)
    assert not pass_by(DOUBT / 2)
    assert pass_by(DOUBT / 2)


def test_a_clock_that_was_put_right_deletes_nothing_that_is_young() -> None:
    clock, steady = Clock(), Clock()
    trust = ClockTrust(clock, steady)
    clock.now += YEAR
    assert not trust.holds()
    clock.now -= YEAR
    steady.now += DOUBT
    clock.now += DOUBT
    assert trust.holds()


class WatchedStore(ChangedStore):
    """A store that says when it has looked at what is due."""

    @cached_property
    def _looked(self) -> asyncio.Event:
        return asyncio.Event()

    async def around(self, name: str, args: tuple[Any, ...], go: Any) -> Any:
        done = await go()
        if name == "settle_due":
            self._looked.set()
        return done

    async def looks_again(self) -> None:
        """Until it has looked once more from beginning to end."""
        for _ in range(2):
            self._looked.clear()
            await self._looked.wait()


class Watched(Gateway):
    """A gateway on such a store."""

    def __init__(self, folder: Path, teams: ScriptedTeams, clock: Clock, steady: Clock) -> None:
        watched = WatchedStore.of(folder, clock=clock)
        super().__init__(watched, teams, clock=clock, steady=steady)
        self.looks_again = watched.looks_again


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Poll for due work all the time."""
    monkeypatch.setattr(deadlines, "LONGEST", 0.01)
    monkeypatch.setattr(deadlines, "SHORTEST", 0.01)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("passes", [True, False], ids=["time-passes", "the-clock-jumps"])
async def test_a_clock_that_jumps_ahead_denies_no_approval_that_is_open(
    tmp_path: Path, *, passes: bool
) -> None:
    async def send() -> str:
        return "sent"

    clock, steady = Clock(), Clock()
    shared = model(calls("send"), "done")
    teams = ScriptedTeams(
        lambda: solo(shared, tools=[send]),
        rules={"send": ToolRule(action="ask", expires=24 * HOUR)},
    )
    async with Watched(tmp_path, teams, clock, steady) as gateway:
        thread = (await gateway.client.create_thread()).id
        asked = of(InputRequested, await turn(gateway, thread, "go"))[0]
        clock.now += YEAR
        steady.now += YEAR * passes
        await gateway.looks_again()
        if not passes:
            await gateway.client.send(thread, f"/approve {asked.request}")
        events = await until(gateway, thread, lambda e: ends(e) and e.outcome == "done")
    outcomes = [event.outcome for event in of(InputResolved, events)]
    assert outcomes == [EXPIRED if passes else "approved"]


def asks_to_send(*answers: str) -> ScriptedTeams:
    async def send() -> str:
        return "sent"

    shared = model(*(answers or (calls("send"), "done")))
    rules = {"send": ToolRule(action="ask", expires=24 * HOUR)}
    return ScriptedTeams(lambda: solo(shared, tools=[send]), rules=rules)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("jump", [YEAR, -YEAR], ids=["ahead", "back"])
@pytest.mark.parametrize("asked", ["before", "after"])
async def test_requests_expire_in_time_whatever_the_clock_is_set_to(
    tmp_path: Path, jump: float, asked: str
) -> None:
    clock, steady = Clock(), Clock()
    async with Watched(tmp_path, asks_to_send(), clock, steady) as gateway:
        thread = (await gateway.client.create_thread()).id
        if asked == "before":
            await turn(gateway, thread, "go")
        clock.now += jump
        await gateway.looks_again()
        if asked == "after":
            await turn(gateway, thread, "go")
        clock.now += 24 * HOUR - 1
        steady.now += 24 * HOUR - 1
        await gateway.looks_again()
        assert (await gateway.client.thread(thread)).state == "waiting"
        clock.now += 1
        steady.now += 1
        events = await until(gateway, thread, lambda e: ends(e) and e.outcome == "done")
    assert [event.outcome for event in of(InputResolved, events)] == [EXPIRED]


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("jump", [YEAR, -YEAR], ids=["ahead", "back"])
async def test_a_request_outlives_a_restart_after_the_clock_was_put_right(
    tmp_path: Path, jump: float
) -> None:
    clock, steady = Clock(), Clock()
    async with Watched(tmp_path, asks_to_send(), clock, steady) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "go")
        clock.now += jump
        await gateway.looks_again()
    async with Watched(tmp_path, asks_to_send("done"), clock, steady) as gateway:
        await gateway.looks_again()
        assert (await gateway.client.thread(thread)).state == "waiting"
        clock.now += 24 * HOUR
        steady.now += 24 * HOUR
        events = await until(gateway, thread, lambda e: ends(e) and e.outcome == "done")
    assert [event.outcome for event in of(InputResolved, events)] == [EXPIRED]


@pytest.mark.usefixtures("soon")
async def test_a_request_of_a_time_to_come_lasts_as_long_as_it_was_to_last(tmp_path: Path) -> None:
    clock, steady = Clock(), Clock()
    async with Watched(tmp_path, asks_to_send(), clock, steady) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "go")
    clock.now -= YEAR
    async with Watched(tmp_path, asks_to_send("done"), clock, steady) as gateway:
        await gateway.looks_again()
        assert (await gateway.client.thread(thread)).state == "waiting"
        clock.now += 24 * HOUR
        steady.now += 24 * HOUR
        events = await until(gateway, thread, lambda e: ends(e) and e.outcome == "done")
    assert [event.outcome for event in of(InputResolved, events)] == [EXPIRED]


async def test_words_that_come_after_a_question_has_expired_are_no_answer(tmp_path: Path) -> None:
    clock, steady = Clock(), Clock()
    shared = model("Which?", "Go on, then.", "About that.")

    def make() -> RoundRobinGroupChat:
        return RoundRobinGroupChat(
            [AssistantAgent("solo", shared), UserProxyAgent("person")],
            termination_condition=MaxMessageTermination(4),
        )

    store = new_store(tmp_path, clock=clock)
    teams = ScriptedTeams(make, participants=("solo", "person"))
    async with Gateway(
        store, teams, clock=clock, steady=steady, limits=Limits(requests_expire=HOUR)
    ) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "go")
        seq = (await gateway.client.thread(thread)).last_seq
        clock.now += HOUR
        steady.now += HOUR
        receipt = await gateway.client.send(thread, "the red one")
        assert receipt.outcome == "queued"
        first = await until(gateway, thread, ends, after=seq)
        events = await until(gateway, thread, ends, after=first[-1].seq)
    assert [event.outcome for event in of(InputResolved, first)] == [EXPIRED_QUESTION]
    assert [event.text for event in of(MessageFinished, first)] == ["Go on, then."]
    told = [message.text for event in of(TurnStarted, events) for message in event.messages]
    assert told == ["the red one"]


async def test_words_that_come_just_before_a_question_expires_are_the_answer(
    tmp_path: Path,
) -> None:
    clock, steady = Clock(), Clock()
    shared = model("Which?", "Red, then.")

    def make() -> RoundRobinGroupChat:
        return RoundRobinGroupChat(
            [AssistantAgent("solo", shared), UserProxyAgent("person")],
            termination_condition=MaxMessageTermination(4),
        )

    store = new_store(tmp_path, clock=clock)
    teams = ScriptedTeams(make, participants=("solo", "person"))
    async with Gateway(
        store, teams, clock=clock, steady=steady, limits=Limits(requests_expire=HOUR)
    ) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "go")
        clock.now += HOUR - 1
        clock.now += YEAR
        steady.now += HOUR - 1
        receipt = await gateway.client.send(thread, "the red one")
        assert receipt.outcome == "answer"


def routed() -> Access:
    route = {"adapter": "slack", "channels": ["*"], "users": ["ann"], "bots": ["bot"]}
    return Access(routes=[Route.model_validate(route)])


async def test_who_was_refused_before_a_clock_was_set_back_is_told_so_again(tmp_path: Path) -> None:
    clock = Clock()
    store = new_store(tmp_path, clock=clock)
    teams = ScriptedTeams(lambda: solo("never"))
    async with Gateway(store, teams, access=routed(), clock=clock) as gateway:
        told: list[str] = []
        for step in (0.0, 60.0, -YEAR, 60.0, TELL_AGAIN):
            clock.now += step
            told.append((await gateway.accept(InboundMessage(key=KEY, author=EVE))).reply)
    assert told == [NOT_ALLOWED, "", NOT_ALLOWED, "", NOT_ALLOWED]


async def test_bots_that_wrote_before_a_clock_was_set_back_need_not_rest(
    tmp_path: Path,
) -> None:
    clock = Clock()
    store = new_store(tmp_path, clock=clock)
    teams = ScriptedTeams(lambda: solo(model(*["well"] * 60)))
    limits = Limits(waiting_messages=100)
    async with Gateway(store, teams, access=routed(), clock=clock, limits=limits) as gateway:
        said = InboundMessage(key=KEY, author=BOT, text="and you?")
        for _ in range(BOT_MESSAGES):
            assert (await gateway.accept(said)).outcome != "refused"
        assert (await gateway.accept(said)).outcome == "refused"
        clock.now -= DAY
        assert (await gateway.accept(said)).outcome != "refused"
