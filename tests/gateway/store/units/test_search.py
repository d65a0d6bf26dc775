"""Searches find threads by the words of their titles and texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.app.stores import AnyStore
from gateway.conversation import LOCAL, ConversationKey
from gateway.errors import NotFound
from gateway.store.connection import Connection
from gateway.store.decisions import NewThread
from gateway.store.units import deletion, rows, search, search_index, threads
from gateway.store.units.invariants import broken_laws
from gateway.store.units.search_index import TEXTS
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import everything_in
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


async def test_a_thread_is_found_by_each_part_of_its_words(tmp_path):
    store = await filled(tmp_path)
    async with store.own():
        for indexed in (False, True):
            if indexed:
                await index(store)
            assert indexed != await store.run(search_index.unindexed)
            for words, expected in EVERYWHERE + INSIDE:
                assert (words, await found(store, words)) == (words, expected)
            assert await store.read(broken_laws) == []


async def test_one_used_long_ago_is_found_by_the_beginnings_of_its_words(tmp_path, monkeypatch):
    monkeypatch.setattr(search, "RECENT", 0)
    store = await filled(tmp_path)
    async with store.own():
        await index(store)
        for few, many in ((1000, 20_000), (0, 20_000), (0, 1)):
            monkeypatch.setattr(search, "FEW", few)
            monkeypatch.setattr(search, "MANY", many)
            for words, expected in EVERYWHERE:
                assert (few, many, words, await found(store, words)) == (
                    *(few, many, words),
                    expected,
                )


async def test_results_come_in_pages_newest_first_of_one_platform(tmp_path):
    store = await filled(tmp_path)
    async with store.own():
        await index(store)
        await make(store, "t5", "Failed, too", "again", "and again")
        local = NewThread(id="t6", team="demo", definition="d")
        await store.run(
            rows.create_thread, local, key=ConversationKey.local("t6"), title="It failed here"
        )
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
        assert await store.run(search_index.index_words)
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


EDIT = "UPDATE inbox SET text = 'Another' WHERE thread = :thread AND text <> ''"
WITHDRAW = "UPDATE inbox SET text = NULL WHERE thread = :thread"
REMOVE = "DELETE FROM inbox WHERE thread = :thread"


async def change(store: AnyStore, thread: str) -> None:
    """Change or delete texts of a thread as it is named."""
    match thread:
        case "rename":
            await store.run(threads.rename_thread, thread, "Another")
        case "delete":
            await store.run(deletion.delete_thread, thread)
        case "person":
            await store.run(deletion.delete_person, "x:ann")
        case _:
            statement = {"edit": EDIT, "withdraw": WITHDRAW, "remove": REMOVE}[thread]
            await store.write(lambda c: c.execute(statement, {"thread": thread}))


GONE = {
    "rename": "title",
    "edit": "question",
    "withdraw": "question",
    "remove": "question",
    "delete": "answer",
    "person": "answer",
}
"""The text that is gone after each change; its word begins with the change's name."""


async def test_what_is_changed_or_deleted_leaves_no_word_in_the_store(tmp_path: Path):
    store = new_store(tmp_path)
    async with store.own():
        for thread in GONE:
            texts = (f"{thread}{kind}" for kind in ("title", "question", "answer"))
            await make(store, thread, *texts)
        await index(store)
        for thread, kind in GONE.items():
            gone = f"{thread}{kind}"
            await store.clear([])
            assert gone.encode() in everything_in(tmp_path)
            await change(store, thread)
            await store.clear([])
            assert await found(store, gone) == ""
            assert gone.encode() not in everything_in(tmp_path)
            if thread in ("rename", "edit", "withdraw", "remove"):
                assert await found(store, f"{thread}answer") == thread
            await index(store)
            assert await found(store, gone) == ""
            assert await store.read(broken_laws) == []


FAULT = "its words are not all found, or others are"


DAMAGES = (
    "DELETE FROM word_threads WHERE word = 'lunch'",
    "INSERT INTO word_threads (slice, word, thread) VALUES (0, 'left', 77)",
    "UPDATE threads SET number = 77 WHERE id = 't4'",
    "DELETE FROM searched WHERE thread = 't4'",
)


async def test_a_check_sees_an_index_that_is_not_that_of_the_texts(tmp_path):
    store = await filled(tmp_path)

    def look(connection: Connection, damage: str) -> None:
        connection.execute(damage)
        seen.append({fault.text for fault in broken_laws(connection)})
        raise NotFound("undone")

    seen: list[set[str]] = []
    async with store.own():
        await index(store)
        for damage in DAMAGES:
            with pytest.raises(NotFound):
                await store.write(lambda connection, damage=damage: look(connection, damage))
            assert FAULT in seen[-1], damage
        assert FAULT not in {fault.text for fault in await store.read(broken_laws)}
