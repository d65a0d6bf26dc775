"""Retention, and whatever else a wrong clock could delete or end."""

from __future__ import annotations

import random
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gateway.access.authority import Access
from gateway.base.clock import DOUBT, JUMP, ClockTrust, KnownTime
from gateway.client import Answer
from gateway.config.budgets import Budget
from gateway.config.routes import Route
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.events import InputRequested, InputResolved
from gateway.gateway import Gateway, Limits
from gateway.registry import ToolRule
from gateway.runtime.retention import PAUSE, Retention
from gateway.sessions.expiry import EXPIRED
from gateway.store.units import clock as clock_units
from gateway.store.units import deletion
from gateway.store.units import threads as thread_units
from gateway.store.units.deletion import FEW
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import ChangedStore
from tests.gateway.budgets.test_ledger import Counting
from tests.gateway.scripted import ScriptedTeams, calls, ends, model, of, solo, turn, until

HOUR, DAY = 3600.0, 86400.0
NOW = 1_800_000_000.0


class Machine:
    """A computer with a store, whose clock is wrong by `off`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.true = NOW
        self.off = 0.0
        self.running = 0.0

    def clock(self) -> float:
        return self.true + self.off

    def steady(self) -> float:
        return self.running

    def runs(self, seconds: float) -> None:
        self.true += seconds
        self.running += seconds

    def rests(self, seconds: float) -> None:
        """Switch it off for so long."""
        self.true += seconds
        self.running = 0.0

    def gateway(self, *answers: Any, share: float = 1.0, **limits) -> Gateway:
        async def send() -> str:
            """Send something."""
            return "sent"

        shared = model(*answers) if answers else Counting().client
        rules = {"send": ToolRule(action="ask", expires=24 * HOUR)}
        return Gateway(
            new_store(self.folder, clock=self.clock),
            ScriptedTeams(lambda: solo(shared, tools=[send]), rules=rules),
            access=Access(routes=[Route.model_validate(DM)]),
            limits=Limits(retention=90 * DAY, retention_share=share, **limits),
            clock=self.clock,
            steady=self.steady,
        )


DM = {"adapter": "slack", "dm": True, "pairing": True}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


async def tidied(gateway: Gateway) -> int:
    """The number of threads after a round of housekeeping."""
    await gateway._life.tidy()
    await gateway._life._settle_due()
    return len(await gateway.client.threads(limit=1000))


async def a_thread_that_waits(machine: Machine) -> tuple[str, str]:
    """A thread with a request for an approval, and an idle one."""
    async with machine.gateway(calls("send"), "done") as gateway:
        thread = (await gateway.client.create_thread()).id
        asked = of(InputRequested, await turn(gateway, thread, "go"))[0]
        await gateway.client.create_thread(title="idle")
        await tidied(gateway)
    return thread, asked.request


async def test_a_clock_that_is_wrong_at_the_start_deletes_and_ends_nothing(machine):
    thread, request = await a_thread_that_waits(machine)
    machine.rests(HOUR)
    machine.off = 100 * DAY
    async with machine.gateway("done") as gateway:
        for _ in range(3):
            assert await tidied(gateway) == 2
            machine.runs(70)
        assert (await gateway.delivery.request(request)).open
        [trouble] = (await gateway.client.status()).troubles
        assert "clock" in trouble
        assert "deletes no old data" in trouble
        assert await gateway.client.answer(request, Answer(kind="approve")) is None
        await until(gateway, thread, lambda e: ends(e) and e.outcome == "done")


async def test_what_was_asked_with_a_wrong_clock_lasts_as_long_as_it_was_to_last(machine):
    machine.off = 0.0
    async with machine.gateway() as gateway:
        await gateway.client.create_thread()
    machine.rests(HOUR)
    machine.off = 100 * DAY
    thread, _ = await a_thread_that_waits(machine)
    machine.rests(60)
    machine.off = 0.0
    async with machine.gateway("done") as gateway:
        machine.runs(23 * HOUR)
        await tidied(gateway)
        assert (await gateway.client.thread(thread)).state == "waiting"
        machine.runs(HOUR)
        await tidied(gateway)
        events = await until(gateway, thread, lambda e: ends(e) and e.outcome == "done")
    assert [event.outcome for event in of(InputResolved, events)] == [EXPIRED]


async def test_a_store_that_really_was_away_for_long_goes_on_once_a_platform_says_so(machine):
    await a_thread_that_waits(machine)
    machine.rests(100 * DAY)
    async with machine.gateway("done") as gateway:
        assert await tidied(gateway) == 2
        gateway.health.compare_time("slack", machine.true - JUMP)
        assert (await gateway.client.status()).troubles == ()
        assert await tidied(gateway) == 0


async def test_a_store_that_really_was_away_for_long_goes_on_after_hours_of_running(machine):
    await a_thread_that_waits(machine)
    machine.rests(100 * DAY)
    doubts: list[float | None] = []
    for n in (2, 2, 1):
        async with machine.gateway() as gateway:
            assert await tidied(gateway) == 2
            machine.runs(DOUBT / 3)
            assert await tidied(gateway) == n
        machine.rests(3 * DAY)
        known = await new_store(machine.folder).run(clock_units.known_time, 0.0)
        assert known is not None
        doubts.append(known.doubted)
    assert doubts == [DOUBT / 3, DOUBT * 2 / 3, None]


async def test_a_platform_that_tells_an_earlier_time_is_believed_for_as_long_as_it_does(machine):
    await a_thread_that_waits(machine)
    machine.off = 100 * DAY
    for _ in range(2):
        machine.rests(HOUR)
        async with machine.gateway() as gateway:
            gateway.health.compare_time("slack", machine.true)
            for _ in range(3):
                machine.runs(DOUBT)
                assert await tidied(gateway) == 2
            [trouble] = (await gateway.client.status()).troubles
            assert "slack" in trouble


async def test_a_clock_that_is_put_right_after_the_start_is_believed_again(machine):
    _, request = await a_thread_that_waits(machine)
    machine.rests(HOUR)
    machine.off = 100 * DAY
    async with machine.gateway() as gateway:
        assert await tidied(gateway) == 2
        machine.off = 0.0
        assert await tidied(gateway) == 2
        assert (await gateway.client.status()).troubles == ()
        assert (await gateway.delivery.request(request)).open
    async with machine.gateway("done") as gateway:
        await tidied(gateway)
        assert (await gateway.delivery.request(request)).open
        machine.runs(24 * HOUR)
        await tidied(gateway)
        assert not (await gateway.delivery.request(request)).open


async def test_a_store_of_an_earlier_version_knows_the_time_by_its_threads(machine):
    await a_thread_that_waits(machine)
    machine.off = 100 * DAY
    store = new_store(machine.folder)
    async with store.own():
        await store.write(lambda c: c.execute("DELETE FROM marks"))
        assert await store.run(clock_units.known_time, machine.clock()) == KnownTime(at=NOW)
    async with machine.gateway() as gateway:
        assert await tidied(gateway) == 2


async def test_a_code_is_good_for_an_hour_whatever_the_clock_says(machine):
    key = ConversationKey(platform="slack", workspace="T1", channel="D1", user="U1")
    hello = InboundMessage(
        key=key, author=Author(id="slack:T1:U1", name="Bo"), text="hi", direct=True
    )

    async def code(gateway: Gateway) -> str:
        said = await gateway.accept(hello)
        return said.reply.split("parley pair ")[1].split("`")[0]

    async with machine.gateway() as gateway:
        await gateway.client.create_thread()
        early = await code(gateway)
    machine.off = 100 * DAY
    async with machine.gateway() as gateway:
        assert await gateway.client.pair(early) is not None
        await gateway.client.unpair(hello.author.id)
        late = await code(gateway)
    machine.off = 0.0
    machine.rests(2 * HOUR)
    async with machine.gateway() as gateway:
        assert await gateway.client.pair(late) is None


async def test_a_budget_begins_no_new_window_by_a_clock_that_is_wrong_at_the_start(machine):
    budgets = [Budget(per="thread", window="day", turns=1)]
    async with machine.gateway(budgets=budgets) as gateway:
        thread = (await gateway.client.create_thread()).id
        await gateway._life.tidy()
        assert (await turn(gateway, thread, "go"))[-1].outcome == "done"
    machine.off = 100 * DAY
    async with machine.gateway(budgets=budgets) as gateway:
        seq = (await gateway.client.thread(thread)).last_seq
        await gateway.client.send(thread, "again")
        events = await until(gateway, thread, ends, after=seq)
        assert events[-1].outcome == "failed"


async def test_an_approval_of_a_time_to_come_is_none_of_what_came_since(machine):
    machine.off = 100 * DAY
    async with machine.gateway(calls("send"), "done") as gateway:
        thread = (await gateway.client.create_thread()).id
        asked = of(InputRequested, await turn(gateway, thread, "go"))[0]
        await gateway.client.answer(asked.request, Answer(kind="approve_always"))
        await until(gateway, thread, lambda e: ends(e) and e.outcome == "done")
    machine.off = 0.0
    async with machine.gateway(calls("send"), "done") as gateway:
        seq = (await gateway.client.thread(thread)).last_seq
        await gateway.client.send(thread, "again")
        assert of(InputRequested, await until(gateway, thread, ends, after=seq))


@pytest.mark.parametrize("seed", range(6))
async def test_no_order_of_starts_with_wrong_clocks_deletes_or_ends_what_is_young(machine, seed):
    chance = random.Random(seed)
    thread, request = await a_thread_that_waits(machine)
    while machine.true - NOW < 20 * HOUR:
        machine.rests(chance.uniform(HOUR, 3 * HOUR))
        machine.off = chance.choice([0.0, 0.0, 2 * DAY, 100 * DAY, 3650 * DAY, -100 * DAY])
        async with machine.gateway("done") as gateway:
            for _ in range(chance.randrange(4)):
                assert await tidied(gateway) == 2
                assert (await gateway.delivery.request(request)).open
                machine.runs(chance.uniform(60, DOUBT / 50))
                machine.off = chance.choice([0.0, machine.off, machine.off, 100 * DAY])
                if chance.random() < 0.3:
                    gateway.health.compare_time("slack", machine.true)
    machine.off = chance.choice([0.0, -100 * DAY, 100 * DAY])
    machine.rests(HOUR)
    async with machine.gateway("done") as gateway:
        machine.runs(24 * HOUR)
        await tidied(gateway)
        await until(gateway, thread, lambda e: ends(e) and e.outcome == "done")


async def test_a_round_deletes_a_share_of_the_threads_the_oldest_first_and_says_so(machine, caplog):
    async with machine.gateway(share=0.2) as gateway:
        for n in range(40):
            await gateway.client.create_thread(title=str(n))
            machine.runs(1)
        machine.runs(91 * DAY)
        assert await tidied(gateway) == 32
        assert {each.title for each in await gateway.client.threads()} == {
            str(n) for n in range(8, 40)
        }
        assert "32 more are as old" in caplog.text
        [trouble] = (await gateway.client.status()).troubles
        assert trouble.startswith("Retention deletes 32 more threads")
        machine.runs(PAUSE - 1)
        assert await tidied(gateway) == 32
        machine.runs(1)
        assert await tidied(gateway) == 26
        left = 26
        while left:
            machine.runs(PAUSE)
            assert left - FEW <= await tidied(gateway) < left
            left = len(await gateway.client.threads())
        assert (await gateway.client.status()).troubles == ()


async def test_the_hour_until_the_next_round_outlives_a_restart(machine):
    async with machine.gateway() as gateway:
        for _ in range(40):
            await gateway.client.create_thread()
    machine.runs(91 * DAY)
    store = new_store(machine.folder)
    left: list[int] = []
    async with store.own():
        for _ in range(8):
            trust = ClockTrust(machine.clock, machine.steady)
            retention = Retention(store, trust, machine.clock, lambda _: None)
            for _ in range(2):
                await retention.round(Limits(retention=90 * DAY, retention_share=0.2))
            left.append(len(await store.run(thread_units.threads, limit=100)))
            assert retention.trouble.startswith(f"Retention deletes {left[-1]} more threads")
            machine.rests(PAUSE / 4)
        machine.off = -10 * DAY  # it is put right: a pause lasts no longer for it
        trust = ClockTrust(machine.clock, machine.steady)
        retention = Retention(store, trust, machine.clock, lambda _: None)
        await retention.round(Limits(retention=1 * DAY))
        assert retention.next_at == machine.steady() + PAUSE
        machine.runs(PAUSE)
        await retention.round(Limits(retention=1 * DAY, retention_share=1.0))
    assert left == [32, 32, 32, 32, 26, 26, 26, 26]
    async with store.own():
        assert await store.run(thread_units.threads) == []
        assert await store.run(deletion.retention_pause) is None


class Killed(BaseException):
    """Nobody goes on after it."""


class KilledAfterDeletion(ChangedStore):
    """A store whose process is killed after a deletion's commit."""

    async def clear(self, threads: Collection[str], *, person: bool = False) -> None:
        raise Killed


async def test_a_round_that_is_killed_after_its_deletion_costs_no_second_share(machine):
    limits = Limits(retention=90 * DAY, retention_share=0.2)
    async with machine.gateway() as gateway:
        for _ in range(40):
            await gateway.client.create_thread()
    machine.runs(91 * DAY)
    for make in (KilledAfterDeletion.of, KilledAfterDeletion.of, new_store):
        store = make(machine.folder, clock=machine.clock)
        retention = Retention(
            store, ClockTrust(machine.clock, machine.steady), machine.clock, lambda _: None
        )
        async with store.own():
            for _ in range(2):  # the same process, too, if it lives on
                with suppress(Killed):
                    await retention.round(limits)
            assert len(await store.run(thread_units.threads, limit=100)) == 32
        machine.rests(60)
    assert retention.trouble.startswith("Retention deletes 32 more threads")


async def test_few_threads_expire_at_once_and_without_a_word(machine):
    async with machine.gateway(share=0.01) as gateway:
        for _ in range(FEW):
            await gateway.client.create_thread()
        machine.runs(91 * DAY)
        assert await tidied(gateway) == 0
        assert (await gateway.client.status()).troubles == ()
