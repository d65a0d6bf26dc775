"""A lane always ends in a word, whatever can't be written."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from itertools import chain

import pytest

from gateway.access.authority import Access
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.errors import OUR_FAULT, StatementRefused, StoreFull, Unstorable
from gateway.events import Notice, SessionEvent, ToolStarted, TurnFinished
from gateway.gateway import Gateway
from gateway.sessions import lanes
from gateway.store.connection import Connection
from gateway.store.turn_records import Lease, StoredUpdate, TurnUpdate
from gateway.store.units.invariants import broken_laws
from teams.base import Team
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import ChangedStore, rows_in
from tests.gateway.scripted import ScriptedTeams, calls, ends, of, solo, until

ANN = Author(id="chat:ann", name="Ann")
KEY = ConversationKey(platform="chat", channel="C", root="1")
Failing = Callable[[int, TurnUpdate], BaseException | None]
"""The error of the write with this number, if it is to fail."""


class Refusing(ChangedStore):
    failing: Failing
    writes = 0

    async def record(self, lease: Lease, record: TurnUpdate) -> StoredUpdate:
        number, self.writes = self.writes, self.writes + 1
        if (error := self.failing(number, record)) is not None:
            raise error
        return await super().record(lease, record)


async def send() -> str:
    """Send."""
    return "sent"


def talking() -> Team:
    return solo("one", "two", "three")


def calling() -> Team:
    return solo(calls("send"), "sent", "again", tools=[send])


def streaming() -> Team:
    return solo("some words", "more words", "last", model_client_stream=True)


TEAMS = [talking, calling, streaming]
ERRORS = [
    Unstorable("too large"),
    StatementRefused("A statement was refused."),
    ValueError("no text"),
    KeyError("agent"),
    UnicodeEncodeError("utf-8", "\ud83d", 0, 1, "surrogates"),
]


async def say(gateway: Gateway, text: str, after: int = 0) -> list[SessionEvent]:
    receipt = await gateway.accept(InboundMessage(key=KEY, author=ANN, text=text))
    return await until(gateway, receipt.thread, ends, after)


def check_ended(events: list[SessionEvent], *, failed: bool) -> None:
    finished = of(TurnFinished, events)[-1]
    assert finished.outcome == ("failed" if failed else "done")
    told = [each for each in of(Notice, events) if each.level == "error"]
    assert [(each.text, bool(each.incident)) for each in told] == [(OUR_FAULT, True)] * failed


async def count_writes(tmp_path, make) -> int:
    store = Refusing.of(tmp_path / "counted")
    store.failing = lambda number, record: None
    async with Gateway(store, ScriptedTeams(make), access=Access([ANN.id])) as gateway:
        check_ended(await say(gateway, "hello"), failed=False)
    return store.writes


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("make", TEAMS)
async def test_each_write_of_a_turn_may_fail_for_good(tmp_path, make, error, caplog):
    writes = await count_writes(tmp_path, make)
    assert writes >= 1
    for failing in range(writes):
        folder = tmp_path / str(failing)
        store = Refusing.of(folder)
        store.failing = lambda number, record, n=failing: error if number == n else None
        async with Gateway(store, ScriptedTeams(make), access=Access([ANN.id])) as gateway:
            events = await say(gateway, "hello")
            check_ended(events, failed=True)
            check_ended(await say(gateway, "and now?", events[-1].seq), failed=False)
        assert rows_in(folder, "SELECT 1 FROM turns WHERE status = 'running'") == []
        assert rows_in(folder, "SELECT 1 FROM open_messages") == []
    assert str(error) in caplog.text


@pytest.mark.parametrize("make", TEAMS)
async def test_each_write_of_a_turn_may_fail_for_a_while(tmp_path, make, monkeypatch):
    monkeypatch.setattr(lanes, "FIRST_RETRY", 0.01)
    for failing in range(await count_writes(tmp_path, make)):
        store = Refusing.of(tmp_path / str(failing))
        store.failing = lambda number, record, n=failing: StoreFull() if number == n else None
        async with Gateway(store, ScriptedTeams(make), access=Access([ANN.id])) as gateway:
            check_ended(await say(gateway, "hello"), failed=False)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_an_end_that_can_t_be_written_asks_no_model_again(tmp_path, error, monkeypatch):
    monkeypatch.setattr(lanes, "FIRST_RETRY", 0.01)
    store, teams = Refusing.of(tmp_path), ScriptedTeams(talking)
    store.failing = lambda number, record: error if number < 4 else None
    async with Gateway(store, teams, access=Access([ANN.id])) as gateway:
        check_ended(await say(gateway, "hello"), failed=True)
        assert teams.built == 1


def refuse(_: Connection) -> None:
    raise StatementRefused("A statement was refused.")


class RefusingOne(ChangedStore):
    """Refuses some writes of the first turn, and remembers that."""

    refusals = 0
    first = ""

    async def record(self, lease: Lease, record: TurnUpdate) -> StoredUpdate:
        self.first = self.first or lease.thread
        if lease.thread == self.first and self.refusals:
            self.refusals -= 1
            await self.write(refuse)
        return await super().record(lease, record)


async def test_an_end_that_the_store_refuses_for_a_while_is_written_soon(tmp_path, monkeypatch):
    monkeypatch.setattr(lanes, "FIRST_RETRY", 0.01)
    store = RefusingOne.of(tmp_path)
    store.refusals = 4
    async with Gateway(store, ScriptedTeams(talking), access=Access([ANN.id])) as gateway:
        check_ended(await say(gateway, "hello"), failed=True)


async def test_a_thread_whose_writes_are_refused_holds_up_no_other(tmp_path):
    store = RefusingOne.of(tmp_path)
    store.refusals = 1_000
    async with Gateway(store, ScriptedTeams(talking), access=Access([ANN.id])) as gateway:
        thread = (await gateway.accept(InboundMessage(key=KEY, author=ANN, text="a"))).thread
        await until(gateway, thread, lambda event: isinstance(event, Notice))
        beside = InboundMessage(key=replace(KEY, root="2"), author=ANN, text="b")
        thread = (await gateway.accept(beside)).thread
        check_ended(await until(gateway, thread, ends), failed=False)


BROKEN = "UPDATE inbox SET author_groups = '{' WHERE text = 'b'"


async def test_a_turn_that_can_t_be_begun_ends_with_a_word(tmp_path):
    go = asyncio.Event()

    async def hold() -> str:
        """Hold."""
        await go.wait()
        return "held"

    store = new_store(tmp_path)
    teams = ScriptedTeams(lambda: solo(calls("hold"), *"abcd", tools=[hold]))
    async with Gateway(store, teams, access=Access([ANN.id])) as gateway:
        messages = [InboundMessage(key=KEY, author=ANN, text=text) for text in "abc"]
        thread = (await gateway.accept(messages[0])).thread
        await gateway.accept(messages[1])
        await store.write(lambda connection: connection.execute(BROKEN))
        await gateway.accept(messages[2])
        go.set()
        over = await until(gateway, thread, ends)
        heard = [*over, *await until(gateway, thread, ends, over[-1].seq)]
        assert await store.read(broken_laws) == []
    rows = rows_in(tmp_path, "SELECT outcome FROM inbox ORDER BY id")
    assert [*chain(*rows)] == ["turn", "refused", "turn"]
    told = [each for each in of(Notice, heard) if each.level == "error"]
    assert [(each.text, bool(each.incident)) for each in told] == [(OUR_FAULT, True)]


@pytest.mark.parametrize("damage", ["participants = '{'", "key = '{'"])
async def test_a_damaged_thread_holds_nobody_up(tmp_path, damage):
    async def spoil() -> None:
        sql = f"UPDATE threads SET {damage}"
        await store.write(lambda connection: connection.execute(sql))

    go = asyncio.Event()

    async def hold() -> str:
        """Hold."""
        await go.wait()
        return "held"

    held = asyncio.Event()

    def is_over(event: SessionEvent) -> bool:
        if isinstance(event, ToolStarted):
            held.set()
        return isinstance(event, Notice)

    store = new_store(tmp_path)
    teams = ScriptedTeams(lambda: solo(calls("hold"), *"abcd", tools=[hold]))
    async with Gateway(store, teams, access=Access([ANN.id])) as gateway:
        thread = (await gateway.accept(InboundMessage(key=KEY, author=ANN, text="a"))).thread
        await gateway.accept(InboundMessage(key=KEY, author=ANN, text="b"))
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(until(gateway, thread, is_over))
            await held.wait()
            await spoil()
            go.set()
        heard = watching.result()
        assert [each.text for each in of(Notice, heard)] == [OUR_FAULT]
        await spoil()
        receipt = await gateway.accept(InboundMessage(key=KEY, author=ANN, text="c"))
        after = heard[-1].seq if receipt.thread == thread else 0
        check_ended(await until(gateway, receipt.thread, ends, after), failed=False)
        await spoil()
    async with Gateway(store, teams, access=Access([ANN.id])) as gateway:
        assert len(await gateway.client.threads()) == 1 + (receipt.thread != thread)


async def test_what_a_model_says_in_halves_of_a_character_ends_the_turn_with_a_word(tmp_path):
    store = Refusing.of(tmp_path)
    store.failing = lambda number, record: None
    async with Gateway(
        store, ScriptedTeams(lambda: solo("half \ud83d of it", "whole")), access=Access([ANN.id])
    ) as gateway:
        events = await say(gateway, "hello")
        assert of(TurnFinished, events)
        assert of(TurnFinished, await say(gateway, "again", events[-1].seq))
