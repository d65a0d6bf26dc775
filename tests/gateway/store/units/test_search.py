"""Searches find threads by the words of their titles and texts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from gateway.conversation import LOCAL, ConversationKey
from gateway.store.connection import Connection
from gateway.store.decisions import NewThread
from gateway.store.units import search
from gateway.store.units.invariants import broken_laws
from gateway.store.units.search_index import TEXTS
from tests.fakes.tested_store import AnyStore, everything_in
from tests.gateway.store.texts import answer, filled, found, index, make, say

pytestmark = pytest.mark.usefixtures("database")

EVERYWHERE = [
    ("failed", "t4 t1"),
    ("FAIL", "t4 t1"),
    ("failed nobody", "t4"),
    ("production failed", "t1"),
    ("ärger", "t1"),
    ("arger", ""),
    ("100%", "t1"),
    ("12:30", "t1"),
    ("gateway/store", "t2"),
    ("store.py", "t2"),
    ("py", "t2"),
    ("example.com/a-b", "t2"),
    ("7f3", "t2"),
    ("strasse", "t3"),
    ("STRAẞE", "t3"),
    ("东京", ""),
    ("東", "t3"),
    ("据库迁移", "t3"),
    ("了", "t3"),
    ("🍕", "t4"),
    ("\u0939\u093f\u0928\u094d", "t4"),
    ("...", "t4 t3 t2 t1"),
    ("nowhere", ""),
    ("failed nowhere", ""),
]
INSIDE = [("load", "t2 t1"), ("ownload", "t2"), ("0%", "t1"), ("3a9", "t2"), ("ed", "t4 t1")]


@pytest.mark.parametrize("indexed", [False, True], ids=["texts", "index"])
async def test_a_thread_is_found_by_each_part_of_its_words(tmp_path, indexed):
    store = await filled(tmp_path)
    async with store.own():
        if indexed:
            await index(store)
            assert not await store.unindexed()
        for words, expected in EVERYWHERE + INSIDE:
            assert (words, await found(store, words)) == (words, expected)
        assert await store.read(broken_laws) == []


@pytest.mark.parametrize(
    ("few", "many"), [(1000, 20_000), (0, 20_000), (0, 1)], ids=["few", "some", "many"]
)
async def test_one_used_long_ago_is_found_by_the_beginnings_of_its_words(
    tmp_path, monkeypatch, few, many
):
    for name, value in {"RECENT": 0, "FEW": few, "MANY": many}.items():
        monkeypatch.setattr(search, name, value)
    store = await filled(tmp_path)
    async with store.own():
        await index(store)
        for words, expected in EVERYWHERE:
            assert (words, await found(store, words)) == (words, expected)


async def test_results_come_in_pages_newest_first_of_one_platform(tmp_path):
    store = await filled(tmp_path)
    async with store.own():
        await index(store)
        await make(store, "t5", "Failed, too", "again", "and again")
        local = NewThread(id="t6", team="demo", definition="d")
        await store.create_thread(local, key=ConversationKey.local("t6"), title="It failed here")
        assert await found(store, "failed") == "t6 t5 t4 t1"
        assert await found(store, "failed", platform="x") == "t5 t4 t1"
        assert await found(store, "failed", platform=LOCAL) == "t6"
        assert await found(store, "failed", limit=2) == "t6 t5"
        assert await found(store, "failed", limit=2, offset=1) == "t5 t4"
        assert await found(store, "failed", limit=9, offset=3) == "t1"


async def test_words_of_new_texts_and_of_known_ones_are_found_together(tmp_path):
    store = await filled(tmp_path)
    async with store.own():
        await index(store)
        await store.write(lambda connection: say(connection, "t4", "A salad, rather."))
        assert await found(store, "pizza salad") == "t4"
        await index(store)
        assert await found(store, "pizza salad") == "t4"
        assert await store.read(broken_laws) == []


async def test_a_long_thread_is_indexed_in_portions(tmp_path):
    store = await filled(tmp_path)

    def talk(connection: Connection) -> None:
        for n in range(TEXTS + 10):
            say(connection, "t1", f"said{n}")
            answer(connection, "t1", n + 2, f"answered{n}")

    async with store.own():
        await store.write(talk)
        assert await store.index_words()
        words = f"said{TEXTS + 9} answered{TEXTS + 9} deploy"
        assert await found(store, words) == "t1"
        await index(store)
        assert await found(store, words) == "t1"
        assert await store.read(broken_laws) == []


async def test_an_unreadable_event_keeps_no_other_text_from_being_found(tmp_path):
    store = await filled(tmp_path)
    async with store.own():
        damaged = "UPDATE events SET body = 'no JSON' WHERE thread = 't1'"
        await store.write(lambda connection: connection.execute(damaged))
        assert await found(store, "failed") == "t4 t1"
        await index(store)
        assert await found(store, "failed") == "t4 t1"


async def rename(store: AnyStore) -> None:
    await store.rename_thread("t1", "Another")


async def edit(store: AnyStore) -> None:
    await store.write(
        lambda c: c.execute("UPDATE inbox SET text = 'Another' WHERE thread = 't1' AND text <> ''")
    )


async def withdraw(store: AnyStore) -> None:
    await store.write(lambda c: c.execute("UPDATE inbox SET text = NULL WHERE thread = 't1'"))


async def remove(store: AnyStore) -> None:
    await store.write(lambda c: c.execute("DELETE FROM inbox WHERE thread = 't1'"))


async def delete(store: AnyStore) -> None:
    await store.delete_thread("t1")


async def delete_person(store: AnyStore) -> None:
    await store.delete_person("x:ann")


@pytest.mark.parametrize(
    ("change", "gone"),
    [
        (rename, "production"),
        (edit, "ärger"),
        (withdraw, "ärger"),
        (remove, "ärger"),
        (delete, "rolled"),
        (delete_person, "rolled"),
    ],
)
async def test_what_is_changed_or_deleted_leaves_no_word_in_the_store(
    tmp_path: Path, change: Callable[[AnyStore], Awaitable[None]], gone: str
):
    store = await filled(tmp_path)
    async with store.own():
        await index(store)
        await store.clear([])
        assert gone.encode() in everything_in(tmp_path)  # as the index has it: in small letters
        await change(store)
        await store.clear([])
        assert await found(store, gone) == ""
        assert gone.encode() not in everything_in(tmp_path)
        if change not in (delete, delete_person):
            assert await found(store, "failed" if change is rename else "production") != ""
        await index(store)
        assert await found(store, gone) == ""
        assert await store.read(broken_laws) == []


FAULT = "its words are not all found, or others are"


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM word_threads WHERE word = 'lunch'",
        "INSERT INTO word_threads VALUES (0, 'left', 77)",
        "UPDATE threads SET number = 77 WHERE id = 't4'",
        "DELETE FROM searched WHERE thread = 't4'",
    ],
)
async def test_a_check_sees_an_index_that_is_not_that_of_the_texts(tmp_path, damage):
    store = await filled(tmp_path)
    async with store.own():
        await index(store)
        await store.write(lambda connection: connection.execute(damage))
        assert FAULT in {fault.text for fault in await store.read(broken_laws)}
