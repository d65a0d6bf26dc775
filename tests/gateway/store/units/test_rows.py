"""Rows as values, and statements that units share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gateway.conversation import Quote
from gateway.errors import NotFound
from gateway.store.connection import Connection
from gateway.store.decisions import ModeChange, MuteChange, NewThread
from gateway.store.records import OpenMessage
from gateway.store.turn_records import TurnUpdate
from gateway.store.units import rows
from tests.fakes.new_store import new_store
from tests.gateway.store.talk import ANN, KEY, approval, begun, take

pytestmark = pytest.mark.usefixtures("database")


async def test_values_are_looked_up_by_a_list(tmp_path: Path) -> None:
    store = new_store(tmp_path)

    def read(connection: Connection) -> None:
        names, parameters = rows.listed("id", ["t", "none"])
        query = f"SELECT id, team FROM threads WHERE id IN {names}"
        row = rows.first(connection, query, parameters)
        assert row is not None
        assert tuple(row) == ("t", "demo")
        assert rows.scalar(connection, query, parameters) == "t"
        empty, parameters = rows.listed("id", [])
        query = f"SELECT id FROM threads WHERE id IN {empty}"
        assert rows.first(connection, query, parameters) is None
        assert rows.scalar(connection, query, parameters) is None

    async with store.own():
        await take(store)
        await store.read(read)


async def test_a_thread_is_read_from_its_row(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    new = NewThread(id="t", team="demo", definition="d", participants=("a", "b"))

    def read(connection: Connection) -> None:
        row = rows.first(connection, rows.THREADS)
        assert row is not None
        assert rows.thread_of(row) == rows.find_thread(connection, "t")
        begun = rows.thread_of(row, begun=True)
        assert (begun.state, begun.epoch, begun.last_seq) == ("working", 1, 1)
        with pytest.raises(NotFound):
            rows.find_thread(connection, "none")

    async with store.own():
        made = await store.run(rows.create_thread, new, key=KEY, title="Lunch")
        await store.read(read)
        assert await store.read(lambda it: rows.find_thread(it, "t")) == made
        assert (made.title, made.participants, made.channel) == ("Lunch", ("a", "b"), "C1")


async def test_a_muted_thread_keeps_its_mode(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    mute = MuteChange(muted=True, notice="Muted.")
    async with store.own():
        await take(store)
        await take(store, "/mode", ModeChange(mode="steer", reply=""), kind="command")
        await take(store, "/mute", mute, kind="command")
        thread = await store.read(lambda it: rows.find_thread(it, "t"))
        assert (thread.mode, thread.muted) == ("steer", True)


async def test_an_author_is_read_as_they_were(tmp_path: Path) -> None:
    store = new_store(tmp_path)

    def read(connection: Connection) -> Any:
        row = rows.first(connection, "SELECT * FROM inbox")
        assert row is not None
        return rows.author_of(row)

    async with store.own():
        await take(store)
        assert await store.read(read) == ANN == rows.author(ANN.id, "Ann", "", "member", "[]")


def test_foreign_text_is_read_from_its_column() -> None:
    assert rows.quotes_of("[]") == ()
    assert rows.quotes_of('[{"text": "a", "author": "Eve"}]') == (Quote(text="a", author="Eve"),)


async def test_what_a_turn_leaves_open_is_found(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store)
        shown = OpenMessage(message="m1", turn=work.lease.turn, agent="solo", text="so far")
        update = TurnUpdate(shown=(shown,), requests=(approval(work),))
        await store.record(work.lease, update)
        assert await store.run(rows.open_messages, "t") == (shown,)
        request = await store.read(lambda it: rows.find_request(it, "r1"))
        assert request is not None
        assert (request.tool, request.asker) == ("send", ANN.id)
        assert await store.read(lambda it: rows.find_request(it, "none")) is None


async def test_a_fence_gives_the_thread_to_a_new_boot(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store)
        assert await store.write(lambda it: rows.fence(it, "t", "next")) == work.lease.epoch + 1
        owner = await store.read(lambda it: rows.scalar(it, "SELECT owner FROM threads"))
        assert owner == "next"
