"""Several nodes at one database: each message once, in order."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from benchmarks.gateway.teams import DoNothing
from gateway.access.authority import Access, Admission
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.events import MessageFinished, TurnFinished
from gateway.gateway import Gateway, Limits
from gateway.sessions import job_dispatcher
from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.conditions import MaxMessageTermination
from tests.gateway.scripted import ScriptedTeams

ANN = Author(id="local:operator", name="Ann")


class Collecting(Access):
    """Everybody may write, and messages are collected."""

    def judge(self, message):
        return Admission(mode="collect", may_set_mode=False)


def team(client):
    agent = AssistantAgent("solo", client)
    return RoundRobinGroupChat([agent], termination_condition=MaxMessageTermination(2))


@asynccontextmanager
async def nodes(
    url: str, folder: Path, count: int, *, client=None, access=None, **limits
) -> AsyncGenerator[list[Gateway]]:
    """Gateways at one database, each with a folder of its own."""
    client = client or DoNothing("yes")
    async with AsyncExitStack() as stack:
        opened = []
        for n in range(count):
            store = PostgresStore(Database(url=url), folder / str(n))
            teams = ScriptedTeams(lambda: team(client))
            gateway = Gateway(
                store, teams, access=access, platforms=("slack",), limits=Limits(**limits)
            )
            opened.append(await stack.enter_async_context(gateway))
        yield opened


def message(thread: int, number: int, author: Author = ANN) -> InboundMessage:
    return InboundMessage(
        key=ConversationKey(platform="slack", workspace="T", root=str(thread)),
        author=author,
        dedupe=(f"{thread}/{number}",),
        order_key=f"{number:05}",
        text=f"message {number}",
    )


async def until_done(gateway: Gateway, thread: str, turns: int) -> list:
    """Events of the thread until so many turns have ended."""
    events, ended = [], 0
    async with asyncio.timeout(30):
        async for event in gateway.client.events(thread):
            events.append(event)
            ended += isinstance(event, TurnFinished)
            if ended == turns:
                return events
    raise AssertionError("the events ended")


async def test_messages_that_come_in_at_any_node_have_one_turn_each_in_order(
    tmp_path, postgres_url
):
    async with nodes(postgres_url, tmp_path, 3) as gateways:
        receipts = {}
        for number in range(4):
            for thread in range(6):
                gateway = gateways[(thread + number) % 3]
                receipts[thread] = await gateway.accept(message(thread, number))
        for thread, receipt in receipts.items():
            events = await until_done(gateways[thread % 3], receipt.thread, 4)
            turns = [event for event in events if isinstance(event, TurnFinished)]
            assert [turn.outcome for turn in turns] == ["done"] * 4
            answers = [event for event in events if isinstance(event, MessageFinished)]
            assert len(answers) == 4


async def test_what_one_node_has_no_room_for_runs_on_another(tmp_path, postgres_url):
    together, running = asyncio.Event(), 0

    class Slow(DoNothing):
        async def create(self, messages, **options):
            nonlocal running
            running += 1
            if running == 3:
                together.set()
            async with asyncio.timeout(20):
                await together.wait()
            return await super().create(messages, **options)

    async with nodes(postgres_url, tmp_path, 3, client=Slow("yes"), parallel_turns=1) as gateways:
        receipts = [await gateways[0].accept(message(thread, 0)) for thread in range(3)]
        for receipt in receipts:
            await until_done(gateways[1], receipt.thread, 1)
    assert running == 3


async def test_a_lease_has_one_holder_until_that_node_is_gone(tmp_path, postgres_url):
    async with nodes(postgres_url, tmp_path, 1) as (first,):
        async with nodes(postgres_url, tmp_path / "b", 1) as (second,):
            assert await second.leases.hold("shard 0")
            assert not await first.leases.hold("shard 0")
        assert await first.leases.hold("shard 0")


async def test_what_waits_for_a_time_begins_without_a_look_by_chance(
    tmp_path, postgres_url, monkeypatch
):
    monkeypatch.setattr(job_dispatcher, "LOOK", 3600)
    collecting = Collecting()
    async with nodes(postgres_url, tmp_path, 1, access=collecting, collect=0.05) as (node,):
        receipt = await node.accept(message(1, 0))
        await node.accept(message(1, 1))
        events = await until_done(node, receipt.thread, 1)
    assert isinstance(events[-1], TurnFinished)
    assert events[-1].outcome == "done"
