"""Turns that begin in the transaction of their message."""

import asyncio

import pytest

from benchmarks.gateway.teams import DoNothing
from gateway.conversation import LOCAL_OPERATOR, ConversationKey, InboundMessage
from gateway.events import TurnFinished, TurnStarted
from gateway.gateway import Gateway, Limits
from gateway.store.sqlite.store import SqliteStore
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from tests.gateway.scripted import ScriptedTeams, ends, of, until


class Watched(DoNothing):
    """Counts its requests, and those that stand side by side."""

    def __init__(self) -> None:
        super().__init__("yes")
        self.asked = self.running = self.most = 0

    async def create(self, messages, **_):
        self.asked += 1
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        return await super().create(messages)


def message(thread: int, number: int = 0) -> InboundMessage:
    return InboundMessage(
        key=ConversationKey(platform="slack", workspace="T", root=str(thread)),
        author=LOCAL_OPERATOR,
        dedupe=(f"{thread}/{number}",),
        text=f"message {number}",
    )


def gateway_on(folder, model: Watched, **limits) -> Gateway:
    def team():
        return RoundRobinGroupChat([AssistantAgent("solo", model)], max_turns=1)

    return Gateway(SqliteStore(folder), ScriptedTeams(team), limits=Limits(**limits))


async def test_a_burst_runs_no_more_turns_than_may_and_each_message_once(tmp_path):
    model = Watched()
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
