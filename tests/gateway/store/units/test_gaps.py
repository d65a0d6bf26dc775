"""Gaps on the work list stay, and are read in order."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.app.stores import AnyStore
from gateway.conversation import ConversationKey
from gateway.missed import DAY, Gap, MissedOutcome, OpenGap, ReadPage
from gateway.store.decisions import NewThread
from gateway.store.units import adapters as adapter_units
from gateway.store.units import deletion
from gateway.store.units import gaps as gap_units
from gateway.store.units import rows as row_units
from tests.fakes.new_store import new_store

pytestmark = pytest.mark.usefixtures("database")

TEAM = ConversationKey(platform="slack", workspace="T1")
ROOM = replace(TEAM, channel="C1")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[AnyStore]:
    store = new_store(tmp_path)
    async with store.own():
        yield store


async def add(store: AnyStore, place: ConversationKey, since: float, until: float) -> None:
    await store.run(
        gap_units.add_gaps, "slack", [Gap(place=place, since=since, until=until, newest=until)], {}
    )


async def rows(store: AnyStore, *, threads: bool = False) -> list[OpenGap]:
    return await store.run(gap_units.open_gaps, "slack", "T1", threads=threads, limit=9)


async def test_a_mark_moves_with_what_it_leaves_behind(store: AnyStore) -> None:
    gap = Gap(place=ROOM, since=10.0, until=50.0)
    await store.run(gap_units.add_gaps, "slack", [gap], {"alive": "50"})
    assert await store.run(adapter_units.marks, "slack") == {"alive": "50"}
    assert [(each.since, each.until) for each in await rows(store)] == [(10.0, 50.0)]


async def test_the_newest_is_read_first_and_channels_apart_from_threads(store: AnyStore) -> None:
    for name, newest in (("C1", 5.0), ("C2", 9.0), ("C3", 7.0)):
        room = replace(TEAM, channel=name)
        thread = replace(room, root=f"{newest}")
        gaps = [Gap(place=place, since=1.0, until=9.0, newest=newest) for place in (room, thread)]
        await store.run(gap_units.add_gaps, "slack", gaps, {})
    assert [each.place.channel for each in await rows(store)] == ["C2", "C3", "C1"]
    assert [each.place.root for each in await rows(store, threads=True)] == ["9.0", "7.0", "5.0"]
    assert await store.run(gap_units.open_gaps, "slack", "T2", threads=False, limit=9) == []


async def test_a_later_gap_waits_for_the_one_that_is_begun(store: AnyStore) -> None:
    await add(store, ROOM, 10, 50)
    await add(store, ROOM, 60, 90)  # not begun: one gap, whose first return counts
    (gap,) = await rows(store)
    assert (gap.since, gap.until, gap.returned) == (10, 90, 50)
    await store.run(gap_units.finish_page, ReadPage(gap=gap, cursor="70", newest=70))
    await add(store, ROOM, 20, 80)  # is being read
    await add(store, ROOM, 100, 200)
    assert [(each.cursor, each.until) for each in await rows(store)] == [("70", 90)]
    await store.run(gap_units.finish_page, ReadPage(gap=gap, cursor=None))
    assert [(each.cursor, each.since, each.until) for each in await rows(store)] == [("", 100, 200)]
    await store.run(gap_units.finish_page, ReadPage(gap=gap, cursor="1"))  # it is closed already
    assert len(await rows(store)) == 1


@pytest.mark.parametrize("cursor", [None, "70"])
@pytest.mark.parametrize(
    ("more", "grown"),
    [((60, 90), (10, 90)), ((5, 50), (5, 50)), ((5, 90), (5, 90)), ((5, 8), (5, 50))],
)
async def test_a_gap_that_grew_while_its_page_was_read_is_read_anew(
    store: AnyStore, cursor: str | None, more: tuple[int, int], grown: tuple[int, int]
) -> None:
    await add(store, ROOM, 10, 50)
    (asked,) = await rows(store)
    await add(store, ROOM, *more)  # what was said then is not on the page
    found: dict[MissedOutcome, int] = {"answer": 2, "offer": 1, "too_old": 1}
    thread = replace(ROOM, root="20.0")
    page = ReadPage(gap=asked, cursor=cursor, newest=70, found=found, further={thread: 30.0})
    await store.run(gap_units.finish_page, page)
    (gap,) = await rows(store)
    assert (gap.cursor, gap.since, gap.until) == ("", *grown)
    assert [each.place for each in await rows(store, threads=True)] == [thread]
    await store.run(
        gap_units.finish_page, replace(page, gap=gap, cursor=None, found={"offer": 1, "too_old": 1})
    )
    assert await rows(store) == []
    assert (await store.run(gap_units.missed_counts)).found == {
        "answer": 2,
        "offer": 1,
        "too_old": 1,
    }


async def test_what_came_back_before_a_long_pause_is_counted_with_it(store: AnyStore) -> None:
    await add(store, ROOM, 10, 50)
    await add(store, ROOM, 50, 50 + 9 * DAY)
    (gap,) = await rows(store)
    assert (gap.returned, gap.until) == (50, 50 + 9 * DAY)
    await store.run(gap_units.finish_page, ReadPage(gap=gap, cursor=None, found={"too_old": 3}))
    await add(store, ROOM, 60 + 9 * DAY, 90 + 9 * DAY)
    assert (await store.run(gap_units.missed_counts)).found == {"too_old": 3}


async def test_a_page_shows_further_places_and_is_counted(store: AnyStore) -> None:
    await add(store, ROOM, 10, 50)
    (gap,) = await rows(store)
    thread = replace(ROOM, root="20.0")
    await store.run(
        gap_units.finish_page,
        ReadPage(gap=gap, cursor=None, found={"answer": 2, "offer": 1}, further={thread: 30.0}),
    )
    (found,) = await rows(store, threads=True)
    assert (found.place, found.since, found.until, found.returned) == (thread, 10, 50, 50)
    assert found.newest == 30.0
    await store.run(
        gap_units.finish_page, ReadPage(gap=found, cursor="x", newest=1.0, found={"answer": 1})
    )
    counts = await store.run(gap_units.missed_counts)
    assert (counts.unread, counts.found) == ({"slack": 1}, {"answer": 3, "offer": 1})
    await store.run(gap_units.finish_page, ReadPage(gap=found, cursor=None))
    assert (await store.run(gap_units.missed_counts)).unread == {}
    await add(store, ROOM, 60, 90)  # a short pause hides no long one
    assert (await store.run(gap_units.missed_counts)).found == {"answer": 3, "offer": 1}
    (gap,) = await rows(store)
    await store.run(gap_units.finish_page, ReadPage(gap=gap, cursor=None))
    await add(store, ROOM, 90, 90 + 8 * DAY)
    assert (await store.run(gap_units.missed_counts)).found == {}


async def test_known_channels_and_threads_are_found_by_their_keys(store: AnyStore) -> None:
    for channel, root in (("C1", "1.0"), ("C1", "3.0"), ("C1", "2.0"), ("C10", "9.0"), ("D1", "4")):
        key = replace(TEAM, channel=channel, root=root)
        new = NewThread(id=f"{channel}{root}", team="demo", definition="")
        await store.run(row_units.create_thread, new, key=key)
    other = ConversationKey(platform="slack", workspace="T10", channel="C1", root="1.0")
    await store.run(
        row_units.create_thread, NewThread(id="other", team="demo", definition=""), key=other
    )
    channels = await store.run(gap_units.known_channels, "slack", "T1")
    assert [each.place.channel for each in channels] == ["C1", "C10", "D1"]
    assert all(each.used for each in channels)
    threads = await store.run(gap_units.known_threads, ROOM, before="", limit=9)
    assert [each.place.root for each in threads] == ["3.0", "2.0", "1.0"]
    threads = await store.run(gap_units.known_threads, ROOM, before="3.0", limit=1)
    assert [each.place.root for each in threads] == ["2.0"]


async def test_a_deleted_thread_is_not_read(store: AnyStore) -> None:
    thread = replace(ROOM, root="20.0")
    await store.run(
        row_units.create_thread, NewThread(id="t", team="demo", definition=""), key=thread
    )
    await add(store, thread, 10, 50)
    await store.run(deletion.delete_thread, "t")
    assert await rows(store, threads=True) == []
