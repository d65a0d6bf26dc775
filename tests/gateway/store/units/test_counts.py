"""Kept figures stay those of the rows, whatever is done with these."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.conversation import ConversationKey
from gateway.errors import NotFound
from gateway.gateway import Gateway
from gateway.missed import Gap, ReadPage
from gateway.store.connection import Connection
from gateway.store.protocols import SessionStore
from gateway.store.records import Counts
from gateway.store.units import counts as count_units
from gateway.store.units import deletion, people
from gateway.store.units import gaps as gap_units
from gateway.store.units.invariants import broken_laws
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import UnitStore
from tests.gateway.scripted import opened, solo, turn

pytestmark = pytest.mark.usefixtures("database")

OPERATOR = "local:operator"
ROOM = ConversationKey(platform="slack", workspace="T1", channel="C1")
DAY = 86400.0
USED = (
    "INSERT INTO usage (thread, turn, model, person, team, workspace, prompt_tokens,"
    " completion_tokens, cost, turns, at)"
    f" VALUES (:thread, :thread, 'gpt', '{OPERATOR}', 'team', '', 60, 40, 0.5, 1, :at)"
)
TABLES = {
    "sqlite": {"tallies": "tallies", "used": "used_days"},
    "postgres": {"tallies": "counted", "used": "used"},
}
"""Tables with kept figures, by database."""
FAULT = "a kept figure is not the number of rows"


async def faults(store: SessionStore) -> list[str]:
    assert isinstance(store, UnitStore)
    return [fault.text for fault in await store.read(broken_laws)]


async def two_threads(gateway: Gateway) -> list[str]:
    """Threads with a turn, its usage, a command and a rating each."""
    threads: list[str] = []
    store = gateway.store
    assert isinstance(store, UnitStore)
    for good in (True, False):
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "hello")
        await gateway.client.send(thread, "/status")
        await store.run(people.rate, thread, f"part of {thread}", OPERATOR, good=good)
        threads.append(thread)
        used = {"thread": thread, "at": time.time()}
        await store.write(lambda connection, used=used: connection.execute(USED, used))
    return threads


async def delete_one(gateway: Gateway, threads: list[str]) -> None:
    await gateway.client.delete_thread(threads[0])


async def delete_person(gateway: Gateway, threads: list[str]) -> None:
    assert sorted(await gateway.client.delete_person(OPERATOR)) == sorted(threads)


async def retention(gateway: Gateway, threads: list[str]) -> None:
    later = (await gateway.client.thread(threads[0])).updated_at + DAY
    assert sorted((await gateway.store.run(deletion.expire, later)).threads) == sorted(threads)
    await gateway.store.run(deletion.expire, later + 400 * DAY)


async def change_of_mind(gateway: Gateway, threads: list[str]) -> None:
    await gateway.store.run(people.rate, threads[1], f"part of {threads[1]}", OPERATOR, good=True)


@pytest.mark.parametrize(
    ("change", "threads", "ratings"),
    [
        (delete_one, {"idle": 1}, {"bad": 1}),
        (delete_person, {}, {}),
        (retention, {}, {}),
        (change_of_mind, {"idle": 2}, {"good": 2}),
    ],
)
async def test_figures_follow_what_is_deleted_or_changed(
    tmp_path: Path,
    change: Callable[[Gateway, list[str]], Awaitable[None]],
    threads: dict[str, int],
    ratings: dict[str, int],
):
    async with opened(tmp_path, lambda: solo("Hi", "Hi")) as gateway:
        made = await two_threads(gateway)
        used = (await gateway.store.run(count_units.counts)).tokens
        await change(gateway, made)
        counts: Counts = await gateway.store.run(count_units.counts)
        assert (counts.threads, counts.feedback) == (threads, ratings)
        assert counts.inbox.get("turn", 0) == sum(threads.values())
        assert counts.tokens == used  # they stay in the sums
        assert used["today"]
        assert await faults(gateway.store) == []


async def test_conversations_to_read_are_counted_as_they_come_and_go(tmp_path: Path):
    store = new_store(tmp_path)
    async with store.own():
        gaps = [Gap(place=replace(ROOM, root=n), since=1, until=9, newest=9) for n in ("1", "2")]
        await store.run(gap_units.add_gaps, "slack", gaps, {})
        one, two = await store.run(gap_units.open_gaps, "slack", "T1", threads=True, limit=9)
        await store.run(gap_units.finish_page, ReadPage(gap=one, cursor="x", newest=5))
        await store.run(gap_units.add_gaps, "slack", [replace(gaps[0], since=20, until=30)], {})
        await store.run(gap_units.add_gaps, "slack", [replace(gaps[1], since=20, until=30)], {})
        assert (await store.run(gap_units.missed_counts)).unread == {"slack": 2}
        await store.run(gap_units.finish_page, ReadPage(gap=two, cursor=None))
        assert await faults(store) == []
        while found := await store.run(gap_units.open_gaps, "slack", "T1", threads=True, limit=9):
            await store.run(gap_units.finish_page, ReadPage(gap=found[0], cursor=None))
        assert (await store.run(gap_units.missed_counts)).unread == {}
        assert await faults(store) == []


HARMS = (
    "UPDATE {tallies} SET n = n + 1 WHERE name = 'inbox' AND value = 'turn'",
    "DELETE FROM {tallies} WHERE name = 'threads'",
    "UPDATE {tallies} SET name = 'unread' WHERE name = 'feedback'",
    "UPDATE {used} SET tokens = tokens + 1",
    "DELETE FROM {used}",
)


async def test_a_figure_that_is_not_that_of_the_rows_is_a_fault(tmp_path: Path, database: str):
    seen: list[list[str]] = []

    def look(connection: Connection, harm: str) -> None:
        connection.execute(harm.format(**TABLES[database]))
        seen.append([fault.text for fault in broken_laws(connection)])
        raise NotFound("undone")

    async with opened(tmp_path, lambda: solo("Hi", "Hi")) as gateway:
        await two_threads(gateway)
        store = gateway.store
        assert isinstance(store, UnitStore)
        for harm in HARMS:
            with pytest.raises(NotFound):
                await store.write(lambda connection, harm=harm: look(connection, harm))
            assert FAULT in seen[-1], harm
