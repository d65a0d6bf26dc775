"""Stores of files that earlier versions made open as they were left.

A sample is a store as `sqlite3` dumps it, after the two pragmas of its header.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gateway.app.operator import owner_status
from gateway.client import Answer
from gateway.events import (
    InputRequested,
    MessageFinished,
    SessionEvent,
    ToolFinished,
    TurnStarted,
)
from gateway.registry import ToolRule
from gateway.store.formats import OLDEST, newest_format, upgrades
from gateway.store.sqlite.store import SqliteStore
from gateway.store.sqlite.upgrade import bring_up_to_date
from gateway.store.units import audit, counts
from gateway.store.units import events as event_units
from gateway.store.units import rows as row_units
from gateway.store.units import threads as thread_units
from gateway.store.units.copies import broken_promises
from tests.gateway.scripted import ScriptedTeams, ends, model, of, opened, solo, until

pytestmark = pytest.mark.sqlite

SAMPLES = Path("tests/data/stores")
PLACES = {
    "threads": 2,
    "turns": 9,
    "inbox": 15,
    "events": 40,
    "checkpoints": 44,
    "outbox": 75,
    "known_tools": 119,
    "commits": 121,
    "used_days": 123,
}
"""First pages of some tables in a new store."""
MADE_AT = 1_700_000_000.0
"""The time of day of the gateway that made the sample: its request is still open."""


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """The folder of a store of the oldest format that is upgraded.

    "Greetings" has two turns and a file. In "Deleting" a tool waits to be approved, and a message
    waits for that.
    """
    with closing(sqlite3.connect(tmp_path / "parley.db")) as connection:
        connection.executescript((SAMPLES / f"sqlite-{OLDEST}.sql").read_text())
    return tmp_path


def schema(folder: Path) -> list[tuple[str, str, str]]:
    """The database's schema, without comments and insignificant quotes and spaces."""
    with closing(sqlite3.connect(folder / "parley.db")) as connection:
        rows = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    return sorted((kind, name, normal(sql or "")) for kind, name, sql in rows)


def rows(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """The rows of each table; an upgrade adds columns at the end."""
    with closing(sqlite3.connect(folder / "parley.db")) as connection:
        tables = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        ).fetchall()
        return {
            table: connection.execute(f"SELECT * FROM {table}").fetchall()
            for (table,) in tables
            if not table.startswith("sqlite_")
        }


def normal(sql: str) -> str:
    text = re.sub(r"--[^\n]*|/\*.*?\*/", "", sql, flags=re.DOTALL).replace('"', "")
    text = re.sub(r"\s*([(),;])\s*", r"\1", re.sub(r"\s+", " ", text)).strip()
    # The schema of today has a word for what SQLite stores as a number.
    return text.replace("BOOLEAN", "INTEGER").replace("FALSE", "0").replace("TRUE", "1")


def test_scripts_stand_in_one_place_for_both_databases():
    folder = Path("gateway/store")
    found = {str(path.relative_to(folder)) for path in folder.rglob("*.sql")}
    steps = {name for name in found if name.startswith("upgrades/")}
    assert found - steps == {"schema.sql", "sqlite/triggers.sql", "postgres/triggers.sql"}
    assert len(steps) == len(upgrades())
    assert [*upgrades()] == list(range(OLDEST + 1, newest_format() + 1))


def test_each_upgrade_has_a_number_of_its_own() -> None:
    """Two scripts of one number would leave one of them out."""
    scripts = [*Path("gateway/store/upgrades").glob("*.sql")]
    numbers = sorted(int(script.name[:4]) for script in scripts)
    assert numbers == [*range(numbers[0], numbers[0] + len(scripts))]
    assert [*upgrades()] == numbers


async def test_tables_have_the_places_at_which_a_repair_looks_for_them(tmp_path):
    """Scripts in `upgrades` make later formats, and `schema.sql` is never changed."""
    await bring_up_to_date(tmp_path / "parley.db", {})
    with closing(sqlite3.connect(tmp_path / "parley.db")) as connection:
        query = "SELECT name, rootpage FROM sqlite_master WHERE rootpage > 0"
        found = dict(connection.execute(query).fetchall())
    assert (len(found), PLACES.items() - found.items()) == (113, set())


async def test_a_new_store_has_the_schema_of_one_that_was_upgraded(sample, tmp_path):
    async with SqliteStore(tmp_path / "new").own():
        pass
    async with SqliteStore(sample).own():
        pass
    assert schema(tmp_path / "new") == schema(sample)


async def test_an_upgrade_keeps_every_row_and_a_copy_before_each_step(sample):
    before, store = rows(sample), SqliteStore(sample)
    assert not await store.is_current()
    async with store.own():
        assert await store.is_current()
    after = rows(sample)
    for table, kept in before.items():
        if table != "commits":  # counts what is done now
            assert [row[: len(old)] for old, row in zip(kept, after[table], strict=True)] == kept
    copies = sorted(path.name for path in sample.glob("parley.v*.db"))
    assert copies == [f"parley.v{n}.db" for n in range(OLDEST, newest_format())]


async def test_messages_that_an_earlier_version_took_as_one_break_no_promise(sample):
    with closing(sqlite3.connect(sample / "parley.db")) as connection, connection:
        inbox, one = connection.execute(
            "SELECT id, message_id FROM inbox WHERE outcome = 'turn'"
        ).fetchone()
        keys = [f"x/w/c/create/{message}/" for message in (one or "1", "further")]
        connection.execute("UPDATE inbox SET message_id = '1' WHERE message_id = ''")
        connection.execute("UPDATE inbox SET missed = 2 WHERE id = ?", [inbox])  # as it noted that
        connection.executemany("INSERT INTO dedupe VALUES (?, ?)", [(key, inbox) for key in keys])
    store = SqliteStore(sample)
    async with store.own():
        assert await store.read(broken_promises) == []


async def test_what_a_store_of_an_earlier_version_holds_is_read_and_goes_on(sample):
    answers = model("Done.", "And b.")
    done = []

    async def delete(name: str = "") -> str:
        """Delete something."""
        done.append(name)
        return f"deleted {name}"

    teams = ScriptedTeams(
        lambda: solo(answers, tools=[delete]), rules={"delete": ToolRule(action="ask")}
    )
    async with opened(sample, teams, clock=lambda: MADE_AT) as gateway:
        threads = {thread.title: thread.id for thread in await gateway.client.threads()}
        said = of(TurnStarted, await until(gateway, threads["Greetings"], keeps))
        assert [event.messages[0].text for event in said] == ["Hello", "Keep this"]
        waiting = threads["Deleting"]
        [request] = of(InputRequested, await until(gateway, waiting, ends))
        after = (await gateway.client.thread(waiting)).last_seq
        assert await gateway.client.answer(request.request, Answer(kind="approve")) is None
        events = await until(gateway, waiting, ends, after)
        assert [event.result for event in of(ToolFinished, events)] == ["deleted a"]
        then = await until(gateway, waiting, ends, events[-1].seq)
        assert [event.messages[0].text for event in of(TurnStarted, then)] == ["And then b"]
    assert done == ["a"]


def keeps(event: SessionEvent) -> bool:
    return isinstance(event, MessageFinished) and event.text == "I keep it."


async def test_a_status_is_told_of_a_store_that_is_not_upgraded_yet(sample: Path) -> None:
    assert "2 threads" in (await owner_status(SqliteStore(sample)))[1]


@pytest.mark.parametrize("version", range(OLDEST, newest_format()))
async def test_each_earlier_version_is_read_without_an_upgrade(sample: Path, version: int) -> None:
    if steps := {n: script for n, script in upgrades().items() if n <= version}:
        await bring_up_to_date(sample / "parley.db", steps)
    store = SqliteStore(sample)
    found = await store.run(thread_units.threads)
    assert sorted(each.title for each in found) == ["Deleting", "Greetings"]
    assert {each.config for each in found} == {""}
    for each in found:
        assert (await store.run(thread_units.thread, each.id)).title == each.title
        assert await store.run(event_units.events, each.id)
        await store.run(event_units.checkpoints, each.id)
        await store.run(row_units.open_messages, each.id)
    await store.run(audit.whole_audit, after=0, since=0.0, until=2e9, limit=9, longest=9)
    assert (await store.run(counts.counts)).held == {}
