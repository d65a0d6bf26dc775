"""Searches in mended stores, and their cost."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gateway.store.sqlite.store import SqliteStore, connect_to_read
from gateway.store.sqlite.writer import SqliteConnection
from gateway.store.units import search
from gateway.store.units.invariants import broken_laws
from gateway.store.units.threads import threads
from tests.gateway.store.texts import INBOX, filled, found, index

pytestmark = pytest.mark.sqlite

FAULT = "its words are not all found, or others are"


async def test_a_repaired_store_is_searched_by_its_texts_until_they_are_indexed(tmp_path):
    store = await filled(tmp_path / "old")
    async with store.own():
        await index(store)
    made = await SqliteStore(tmp_path / "old").repair()
    (tmp_path / "new").mkdir()
    made.path.rename(tmp_path / "new" / "parley.db")
    store = SqliteStore(tmp_path / "new")
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
        store = SqliteStore(tmp_path / str(texts))
        async with store.own():
            talk(store.path, texts)
            await index(store)
        searches = ("the", "own7", "own77 word3", "nowhere", "the nowhere")
        taken.append([steps_of(store.path, words) for words in searches])
    short, long = taken
    assert all(b <= a + 2 for a, b in zip(short, long, strict=True)), taken
    assert max(long) < 200
