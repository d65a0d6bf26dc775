"""Saved rows of a damaged store, made sound."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from gateway.conversation import ConversationKey
from gateway.events import Notice, load_event
from gateway.store.decisions import NewThread
from gateway.store.formats import upgrades
from gateway.store.records import StoreFault
from gateway.store.sqlite.mend import LOST, mend
from gateway.store.sqlite.upgrade import bring_up_to_date
from gateway.store.sqlite.writer import SqliteConnection, prepare
from gateway.store.units.events import add_events
from gateway.store.units.rows import create_thread


@pytest.fixture
async def raw(tmp_path: Path) -> AsyncIterator[sqlite3.Connection]:
    """A store with a thread of three events."""
    path = tmp_path / "store.db"
    await bring_up_to_date(path, upgrades())
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        prepare(raw)
        connection = SqliteConnection(raw, 1.0)
        key = ConversationKey(platform="x", root="1")
        create_thread(connection, NewThread(id="t", team="demo", definition=""), key=key)
        add_events(connection, "t", [Notice(thread="t", text=text) for text in "abc"])
        yield raw


def texts(raw: sqlite3.Connection) -> list[str]:
    events = [load_event(row[0]) for row in raw.execute("SELECT body FROM events ORDER BY seq")]
    return [event.text for event in events if isinstance(event, Notice)]


def test_a_sound_store_stays_as_it_is(raw: sqlite3.Connection) -> None:
    assert mend(raw) == []
    assert texts(raw) == ["a", "b", "c"]


def test_a_lost_event_has_a_notice_in_its_place(raw: sqlite3.Connection) -> None:
    raw.execute("DELETE FROM events WHERE seq = 2")
    assert mend(raw) == [StoreFault(thread="t", text="an event is lost: 2")]
    assert texts(raw) == ["a", LOST, "c"]


def test_a_lost_thread_is_made_for_what_is_left_of_it(raw: sqlite3.Connection) -> None:
    raw.execute("PRAGMA foreign_keys = OFF")
    raw.execute("DELETE FROM threads")
    assert [fault.text for fault in mend(raw)] == ["its title, its team and its settings are lost"]
    assert texts(raw) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("saved", "kept"),
    [
        ("1s 2 3 4s 5", "1 2 3 4 5"),
        ("1s 3 4s 5", "4 5"),
        ("1s 2 3 5", "1 2 3"),
        ("1s 2 4s 6", "4"),
        ("2 3s 4", "3 4"),
        ("2 3", ""),
    ],
)
def test_of_a_teams_states_the_newest_counts(
    raw: sqlite3.Connection, saved: str, kept: str
) -> None:
    """Parts with their numbers; an "s" marks a snapshot."""
    add = "INSERT INTO checkpoints VALUES ('t', ?, ?, x'00')"
    for part in saved.split():
        kind = "snapshot" if part.endswith("s") else "delta"
        raw.execute(add, (int(part.removesuffix("s")), kind))
    mend(raw)
    found = raw.execute("SELECT n FROM checkpoints ORDER BY n")
    assert " ".join(str(row[0]) for row in found) == kept
