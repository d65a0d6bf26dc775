"""Turns that begin in the transaction of their message."""

import asyncio
from threading import Event

import pytest

from benchmarks.gateway.teams import DoNothing
from gateway.client import Answer
from gateway.config.budgets import Budget
from gateway.conversation import LOCAL_OPERATOR, ConversationKey, InboundMessage
from gateway.errors import StoreFull
from gateway.events import InputRequested, MessageJoined, TurnFinished, TurnStarted
from gateway.gateway import Gateway, Limits
from gateway.registry import ToolRule
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import ChangedStore, UnitStore
from tests.gateway.scripted import ScriptedTeams, calls, ends, of, solo, until
from tests.gateway.scripted import model as replay

A_LOT = Budget(per="thread", tokens=1_000_000)


class Watched(DoNothing):
    """Counts its requests, and those that stand side by side."""

    def __init__(self, together: int = 1) -> None:
        super().__init__("yes")
        self.asked = self.running = self.most = 0
        self._together, self._full = together, asyncio.Event()

    async def create(self, messages, **_):
        """Answer, the first ones once so many stand there."""
        self.asked += 1
        self.running += 1
        self.most = max(self.most, self.running)
        if self.running == self._together:
            self._full.set()
        await self._full.wait()
        await asyncio.sleep(0)
        self.running -= 1
        return await super().create(messages)


def message(thread: int, number: int = 0, text: str = "") -> InboundMessage:
    return InboundMessage(
        key=ConversationKey(platform="slack", workspace="T", root=str(thread)),
        author=LOCAL_OPERATOR,
        dedupe=(f"{thread}/{number}",),
        text=text or f"message {number}",
    )


async def accept_together(gateway: Gateway, *messages: InboundMessage):
    """Accept them in one commit, before the first one's turn can run."""
    door = Event()
    assert isinstance(gateway.store, UnitStore)
    waits = gateway.store.write_in_group(lambda _: door.wait(5), lambda _: None)
    held = asyncio.ensure_future(waits)
    accepting = [asyncio.ensure_future(gateway.accept(each)) for each in messages]
    await asyncio.sleep(0)  # they are on their way to the store
    door.set()
    await held
    return await asyncio.gather(*accepting)


def gateway_on(folder, model: Watched, make=new_store, **limits) -> Gateway:
    def team():
        return RoundRobinGroupChat([AssistantAgent("solo", model)], max_turns=1)

    return Gateway(make(folder), ScriptedTeams(team), limits=Limits(**limits))


async def test_a_burst_runs_no_more_turns_than_may_and_each_message_once(tmp_path):
    model = Watched(together=3)
    async with gateway_on(tmp_path, model, parallel_turns=3) as gateway:
        sent = [message(thread, number) for number in range(3) for thread in range(12)]
        receipts = await asyncio.gather(*map(gateway.accept, [*sent, *sent]))
        for thread in {receipt.thread for receipt in receipts}:
            seen, said = 0, []
            while len(said) < 3:
                events = await until(gateway, thread, ends, seen)
                seen = events[-1].seq
                said += [each.text for turn in of(TurnStarted, events) for each in turn.messages]
            assert said == ["message 0", "message 1", "message 2"]
    assert (model.asked, model.most) == (36, 3)


async def test_a_shutdown_while_a_message_is_stored_is_no_interruption(tmp_path):
    model = Watched()
    async with gateway_on(tmp_path, model) as gateway:
        accepting = [asyncio.ensure_future(gateway.accept(message(n))) for n in range(8)]
        await asyncio.sleep(0)  # they are on their way to the store
    receipts = await asyncio.gather(*accepting)
    async with gateway_on(tmp_path, model) as gateway:
        for receipt in receipts:
            events = await until(gateway, receipt.thread, ends)
            assert of(TurnFinished, events)[-1].outcome == "done"
            assert not [each for each in events if each.kind == "notice"]
    assert model.asked == 8


async def test_who_leaves_while_the_message_is_stored_still_gets_the_turn(tmp_path):
    model = Watched()
    async with gateway_on(tmp_path, model, parallel_turns=1) as gateway:
        accepting = asyncio.ensure_future(gateway.accept(message(1)))
        await asyncio.sleep(0)
        accepting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await accepting
        receipt = await gateway.accept(message(1))
        events = await until(gateway, receipt.thread, ends)
        assert [turn.outcome for turn in of(TurnFinished, events)] == ["done"]
    assert model.asked == 1


async def test_a_stop_beside_its_message_ends_the_turn_once_and_the_thread_goes_on(tmp_path):
    model = Watched()
    async with gateway_on(tmp_path, model) as gateway:
        receipt, _ = await accept_together(gateway, message(1), message(1, 1, "/stop"))
        events = await until(gateway, receipt.thread, ends)
        assert [turn.outcome for turn in of(TurnFinished, events)] == ["stopped"]
        await gateway.accept(message(1, 2))
        after = await until(gateway, receipt.thread, ends, events[-1].seq)
        assert [turn.outcome for turn in of(TurnFinished, after)] == ["done"]


async def test_a_grant_that_ends_beside_a_message_does_not_hold_in_its_turn(tmp_path):
    client = replay(calls("send"), "done", calls("send"), "done")
    sent: list[str] = []

    async def send() -> str:
        sent.append("")
        return "sent"

    teams = ScriptedTeams(
        lambda: solo(client, tools=[send]), rules={"send": ToolRule(action="ask", output="trusted")}
    )
    async with Gateway(new_store(tmp_path), teams) as gateway:
        receipt = await gateway.accept(message(1))
        asked = await until(gateway, receipt.thread, ends)
        request = of(InputRequested, asked)[0].request
        assert await gateway.client.answer(request, Answer(kind="approve_always")) is None
        done = await until(gateway, receipt.thread, ends, asked[-1].seq)
        await accept_together(gateway, message(1, 1), message(1, 2, "/revoke send"))
        events = await until(gateway, receipt.thread, ends, done[-1].seq)
        assert [turn.outcome for turn in of(TurnFinished, events)] == ["waiting"]
    assert sent == [""]


async def test_what_is_to_join_a_turn_from_its_beginning_joins_it(tmp_path):
    def team():
        return RoundRobinGroupChat([AssistantAgent(name, Watched()) for name in "ab"], max_turns=2)

    async with Gateway(new_store(tmp_path), ScriptedTeams(team)) as gateway:
        together = message(1), message(1, 1, "/queue mode steer"), message(1, 2)
        receipt, *_ = await accept_together(gateway, *together)
        events = await until(gateway, receipt.thread, ends)
    assert [joined.message.text for joined in of(MessageJoined, events)] == ["message 2"]


class FullOnce(ChangedStore):
    """Can't be read when the first turn's budget is."""

    asked = 0

    async def around(self, name, args, go):
        if name == "spent":
            self.asked += 1
            if self.asked == 1:
                raise StoreFull
        return await go()


async def test_a_claimed_turn_that_the_store_holds_up_runs_later_and_once(tmp_path, monkeypatch):
    monkeypatch.setattr("gateway.sessions.lanes.FIRST_RETRY", 0.01)
    model = Watched()
    async with gateway_on(tmp_path, model, make=FullOnce.of, budgets=[A_LOT]) as gateway:
        receipt = await gateway.accept(message(1))
        events = await until(gateway, receipt.thread, ends)
        assert [turn.outcome for turn in of(TurnFinished, events)] == ["done"]
        await gateway.accept(message(1, 1))
        await until(gateway, receipt.thread, ends, events[-1].seq)
    assert model.asked == 2


async def test_a_message_whose_turn_can_not_begin_is_refused_as_a_whole(tmp_path, monkeypatch):
    def full() -> str:
        raise StoreFull

    model = Watched()
    async with gateway_on(tmp_path, model) as gateway:
        with monkeypatch.context() as patched:
            patched.setattr("gateway.store.units.claims.next_id", full)
            with pytest.raises(StoreFull):
                await gateway.accept(message(1))
        assert await gateway.client.threads() == []
        receipt = await gateway.accept(message(1))
        await until(gateway, receipt.thread, ends)
    assert model.asked == 1
