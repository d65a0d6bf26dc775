"""Positions and deletion of the audit's rows."""

from math import inf
from typing import Any

import pytest

from gateway.app.stores import AnyStore
from gateway.conversation import ConversationKey
from gateway.errors import NotFound
from gateway.store.decisions import NewThread
from gateway.store.records import AuditRow
from gateway.store.units import audit, deletion
from gateway.store.units import rows as row_units
from gateway.store.units.audit import AT_ONCE, note
from gateway.store.units.invariants import broken_laws
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import at

pytestmark = pytest.mark.usefixtures("database")

DAY = 86400.0


async def rows(store: AnyStore, after: int = 0, **bounds) -> list[AuditRow]:
    wanted: dict[str, Any] = {"since": 0.0, "until": inf, "limit": 1000, "longest": 100} | bounds
    return await store.run(audit.whole_audit, after=after, **wanted)


async def whats(store: AnyStore, after: int = 0, **bounds) -> list[str]:
    return [row.what for row in await rows(store, after, **bounds)]


async def test_rows_have_positions_in_the_order_of_their_commits(tmp_path):
    store = new_store(tmp_path)

    def fails(connection):
        note(at(connection, 1.0), "thread.muted")
        raise NotFound("undone")

    async with store.own():
        await store.run(audit.note, "thread.muted", thread="a")
        with pytest.raises(NotFound):
            await store.write(fails)
        await store.run(audit.note, "thread.unmuted", thread="a")
        found = await rows(store)
        assert [row.what for row in found] == ["thread.muted", "thread.unmuted"]
        first, second = (row.position for row in found)
        assert first < second
        assert await whats(store, first) == ["thread.unmuted"]
        assert await whats(store, second) == []


async def test_rows_are_read_by_time_and_number(tmp_path):
    now = [10.0]
    store = new_store(tmp_path, clock=lambda: now[0])
    async with store.own():
        for now[0] in (10.0, 20.0, 30.0):
            await store.run(audit.note, f"at.{now[0]:.0f}")
        assert await whats(store, since=20.0) == ["at.20", "at.30"]
        assert await whats(store, until=20.0) == ["at.10"]
        assert await whats(store, limit=1) == ["at.10"]


async def test_no_position_comes_again_once_all_rows_are_old(tmp_path):
    now = [10.0]
    store = new_store(tmp_path, clock=lambda: now[0])
    async with store.own():
        await store.run(audit.note, "thread.muted")
        [old] = await rows(store)
        await store.run(audit.drop_audit, before=10.0)
        assert await whats(store) == ["thread.muted"]
        await store.run(audit.drop_audit, before=11.0)
        assert await whats(store) == []
        await store.run(audit.note, "thread.unmuted")
        [new] = await rows(store)
    assert new.position > old.position


async def test_old_rows_are_dropped_so_many_at_once_the_first_ones_first(tmp_path):
    store = new_store(tmp_path)

    def fill(connection):
        for n in range(AT_ONCE + 2):
            note(at(connection, float(n)), "thread.muted")

    async with store.own():
        await store.write(fill)
        await store.run(audit.drop_audit, before=inf)
        assert [row.at for row in await rows(store)] == [AT_ONCE, AT_ONCE + 1]


async def test_an_unreadable_event_keeps_no_row_from_being_read(tmp_path):
    store = new_store(tmp_path)
    new = NewThread(id="t", team="demo", definition="1")
    damaged = (
        "INSERT INTO events (thread, seq, kind, body) VALUES ('t', 9, 'tool_started', 'no JSON')"
    )

    def work(connection):
        connection.execute(damaged)
        note(at(connection, 1.0), "tool.started", thread="t", call="c", shown=9)

    async with store.own():
        await store.run(row_units.create_thread, new, key=ConversationKey.local("t"), title="")
        await store.write(work)
        found = [(row.what, row.arguments) for row in await rows(store)]
    assert found == [("thread.created", ""), ("tool.started", "")]


async def test_a_deleted_thread_keeps_its_rows_without_a_word(tmp_path):
    store = new_store(tmp_path)
    new = NewThread(id="t", team="demo", definition="1")

    def work(connection):
        note(
            at(connection, 1.0),
            "answered",
            thread="t",
            request="r",
            outcome="denied: SAID",
            place="P",
        )
        note(
            at(connection, 1.0),
            "tool.started",
            thread="t",
            arguments_hash="HASH",
            outcome="allowed",
        )

    async with store.own():
        await store.run(row_units.create_thread, new, key=ConversationKey.local("t"), title="SAID")
        await store.write(work)
        await store.run(deletion.delete_thread, "t")
        found = [
            (row.what, row.outcome, row.arguments_hash, row.place) for row in await rows(store)
        ]
        assert found == [
            ("thread.created", "", "", ""),
            ("answered", "", "", ""),
            ("tool.started", "allowed", "", ""),
            ("thread.deleted", "", "", ""),
        ]
        assert {row.thread for row in await rows(store)} == {"t"}
    assert await store.read(broken_laws) == []


async def test_a_deleted_person_is_in_no_row_and_others_stay(tmp_path):
    store = new_store(tmp_path)

    def work(connection):
        for person in ("x:ann", "x:bob"):
            note(at(connection, 1.0), "message.refused", person=person, place=f"x/D1/{person}")
        note(at(connection, 1.0), "pairing.let_in", object="x:ann")

    async with store.own():
        await store.write(work)
        await store.run(deletion.delete_person, "x:ann")
        found = [(row.what, row.person, row.object, row.place) for row in await rows(store)]
    assert found == [
        ("message.refused", "deleted", "", ""),
        ("message.refused", "x:bob", "", "x/D1/x:bob"),
        ("pairing.let_in", "local:operator", "deleted", ""),
        ("person.deleted", "local:operator", "", ""),
    ]
