"""The audit of a store restored or repaired."""

import sqlite3
from contextlib import closing
from math import inf
from typing import Any

import pytest

from gateway.app.stores import AnyStore
from gateway.store.records import AuditRow
from gateway.store.sqlite.store import SqliteStore
from gateway.store.units import audit

pytestmark = pytest.mark.sqlite


async def rows(store: AnyStore, after: int = 0, **bounds) -> list[AuditRow]:
    wanted: dict[str, Any] = {"since": 0.0, "until": inf, "limit": 1000, "longest": 100} | bounds
    return await store.run(audit.whole_audit, after=after, **wanted)


async def whats(store: AnyStore, after: int = 0, **bounds) -> list[str]:
    return [row.what for row in await rows(store, after, **bounds)]


async def test_positions_go_on_behind_those_that_a_restored_store_has_lost(tmp_path):
    store = SqliteStore(tmp_path / "store")
    async with store.own():
        await store.run(audit.note, "thread.muted")
        await store.backup(tmp_path / "backup.db")
        for _ in range(3):
            await store.run(audit.note, "thread.unmuted")
        last = (await rows(store))[-1].position
    await store.stage(tmp_path / "backup.db")
    await store.restore()
    async with store.own():
        await store.run(audit.note, "thread.muted")
        new = await rows(store, last)
        assert [row.what for row in new] == ["store.restored", "thread.muted"]
        assert (new[0].person, new[0].outcome) == ("", "3 commits are missing")
        assert await whats(store) == ["thread.muted", "store.restored", "thread.muted"]
    assert await store.check(in_use=False) == []


async def test_a_check_finds_words_of_a_deleted_thread_and_a_repair_drops_them(tmp_path):
    store = SqliteStore(tmp_path)
    async with store.own():
        await store.run(audit.note, "thread.muted", thread="gone", place="P")
    [fault] = await store.check(in_use=False)
    assert (fault.thread, fault.text) == ("gone", "the audit has words of a deleted thread")
    mended = (await store.repair()).path
    with closing(sqlite3.connect(mended)) as raw:
        assert raw.execute("SELECT thread, place FROM audit").fetchall() == [("gone", "")]
        [(number,)] = raw.execute("SELECT seq FROM sqlite_sequence WHERE name = 'audit'")
    assert number == 1
