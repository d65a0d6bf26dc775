"""Searches find threads by the words of their titles and texts."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from gateway.conversation import LOCAL, ConversationKey
from gateway.events import MessageFinished, dump_event
from gateway.store.connection import Connection
from gateway.store.decisions import NewThread
from gateway.store.sqlite.migrate import SEARCHED, migrations
from gateway.store.sqlite.store import SqliteStore, connect_to_read
from gateway.store.sqlite.writer import SqliteConnection
from gateway.store.units import search
from gateway.store.units.invariants import broken_laws
from gateway.store.units.search_index import TEXTS
from gateway.store.units.threads import threads

SAID = {
    "t1": ("Deploy to production", "It failed at 12:30, with ÄRGER and 100% load.", "Rolled back."),
    "t2": ("", "What does gateway/store.py download?", "See https://example.com/a-b?id=7f3a9c."),
    "t3": ("東京", "数据库迁移失败了", "Straße gesperrt"),
    "t4": (
        "Lunch",
        "Pizza 🍕 or \u0939\u093f\u0928\u094d\u0926\u0940?",
        "Failed: nobody is hungry.",
    ),
}
INBOX = (
    "INSERT INTO inbox (conversation, thread, kind, outcome, author, author_name, text,"
    " received_at) VALUES ('', :thread, 'answer', 'answer', 'x:ann', 'Ann', :text, 0)"
)
EVENT = (
    "INSERT INTO events (thread, seq, turn, kind, body)"
    " VALUES (:thread, :seq, '', 'message_finished', :body)"
)


def say(connection: Connection, thread: str, text: str) -> None:
    connection.execute(INBOX, {"thread": thread, "text": text})


def answer(connection: Connection, thread: str, seq: int, text: str) -> None:
    event = MessageFinished(thread=thread, seq=seq, agent="a", message=f"m{seq}", text=text)
    connection.execute(EVENT, {"thread": thread, "seq": seq, "body": dump_event(event)})
    connection.execute(
        "UPDATE threads SET last_seq = :seq WHERE id = :thread", {"thread": thread, "seq": seq}
    )


async def make(store: AnyStore, thread: str, title: str, asked: str, answered: str) -> None:
    key = ConversationKey(platform="x", workspace="W", root=thread)
    await store.create_thread(
        NewThread(id=thread, team="demo", definition="d"), key=key, title=title
    )
    await store.write(lambda connection: say(connection, thread, asked))
    await store.write(lambda connection: answer(connection, thread, 1, answered))


async def filled(folder: Path) -> AnyStore:
    store = new_store(folder, clock=iter(range(1, 100)).__next__)
    async with store.own():
        for thread, said in SAID.items():
            await make(store, thread, *said)
    return store


async def index(store: AnyStore) -> None:
    while await store.index_words():
        pass


async def found(store: AnyStore, words: str, **more) -> str:
    return " ".join(thread.id for thread in await store.threads(search=words, **more))


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
async def test_what_is_changed_or_deleted_leaves_no_word_in_the_file(
    tmp_path: Path, change: Callable[[SqliteStore], Awaitable[None]], gone: str
):
    store = await filled(tmp_path)
    async with store.own():
        await index(store)
        await store.clear([])
        assert gone.encode() in store.path.read_bytes()  # as the index has it: in small letters
        await change(store)
        await store.clear([])
        assert await found(store, gone) == ""
        assert gone.encode() not in store.path.read_bytes()
        if change not in (delete, delete_person):
            assert await found(store, "failed" if change is rename else "production") != ""
        await index(store)
        assert await found(store, gone) == ""
        assert await store.read(broken_laws) == []


async def test_a_store_of_an_earlier_version_is_searched_by_its_texts(tmp_path):
    steps = {version: step for version, step in migrations().items() if version < SEARCHED}
    old = new_store(tmp_path, steps=steps)
    async with old.own():
        for thread, said in SAID.items():
            await make(old, thread, *said)
    store = new_store(tmp_path)
    assert await found(store, "ownload") == "t2"
    async with store.own():
        assert await store.unindexed()
        assert await found(store, "ownload") == "t2"
        await index(store)
        assert await found(store, "ownload") == "t2"


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


async def test_a_repaired_store_is_searched_by_its_texts_until_they_are_indexed(tmp_path):
    store = await filled(tmp_path / "old")
    async with store.own():
        await index(store)
    made = await store.repair()
    (tmp_path / "new").mkdir()
    made.path.rename(tmp_path / "new" / "parley.db")
    store = new_store(tmp_path / "new")
    async with store.own():
        assert await found(store, "failed") == "t4 t1"
        await index(store)
        assert await found(store, "failed") == "t4 t1"
        assert FAULT not in {fault.text for fault in await store.read(broken_laws)}


def steps_of(path: Path, words: str) -> int:
    """Hundreds of SQLite's steps that a search takes."""
    taken = 0

    def step() -> None:
        nonlocal taken
        taken += 1

    with closing(connect_to_read(path)) as raw:
        raw.set_progress_handler(step, 100)
        threads(SqliteConnection(raw), search=words)
    return taken


def talk(path: Path, texts: int) -> None:
    """Give 200 threads so many texts each, with one own word."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(
            "INSERT INTO threads (id, key, team, definition, created_at, updated_at)"
            " VALUES (?, ?, '', '', ?, ?)",
            [(f"t{n}", f"x/W/C/{n}/", n, n) for n in range(200)],
        )
        connection.executemany(
            INBOX,
            [
                {"thread": f"t{n}", "text": f"the word{m % 9} of own{n}"}
                for n in range(200)
                for m in range(texts)
            ],
        )


@pytest.mark.parametrize("recent", [0, 100], ids=["old", "recent"])
async def test_a_search_takes_no_more_steps_in_longer_threads(tmp_path, monkeypatch, recent):
    monkeypatch.setattr(search, "RECENT", recent)
    taken: list[list[int]] = []
    for texts in (10, 60):
        store = new_store(tmp_path / str(texts))
        async with store.own():
            talk(store.path, texts)
            await index(store)
        searches = ("the", "own7", "own77 word3", "nowhere", "the nowhere")
        taken.append([steps_of(store.path, words) for words in searches])
    short, long = taken
    assert all(b <= a + 2 for a, b in zip(short, long, strict=True)), taken
    assert max(long) < 200
