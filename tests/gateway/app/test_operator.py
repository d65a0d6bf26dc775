"""Changes and figures of a store, with or without a running gateway."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from time import time
from typing import Any

import pytest

from gateway.access.pairing import draw_code
from gateway.app import operator
from gateway.control.socket_client import SocketClient
from gateway.errors import GatewayClosed, GatewayError, NotFound, StoreNotUpgraded
from gateway.store.decisions import MessageRefusal
from gateway.store.formats import newest_format
from gateway.store.sqlite.store import SqliteStore
from gateway.store.units import audit, threads
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import rows_of
from tests.gateway.scripted import opened, solo
from tests.gateway.store.talk import ANN, begun, end, place, take


@pytest.fixture
async def store(tmp_path: Path) -> Any:
    """A store with a thread that nobody owns."""
    store = new_store(tmp_path)
    async with store.own():
        await end(store, await begun(store))
    return store


async def thread_ids(store: Any) -> list[str]:
    return [thread.id for thread in await store.run(threads.threads)]


async def test_the_store_is_owned_here_if_no_gateway_has_it(store: Any, tmp_path: Path) -> None:
    async with operator.writing(store) as writable:
        assert writable is store
    async with opened(tmp_path, lambda: solo("unused")), operator.writing(store) as writable:
        assert isinstance(writable, SocketClient)


@pytest.mark.parametrize("owned", [True, False])
async def test_threads_and_people_are_deleted_here_or_by_the_owner(
    owned: bool, store: Any, tmp_path: Path
) -> None:
    async with store.own():
        await end(store, await begun(store, thread="u", key=place("2")))
    if owned:
        async with opened(tmp_path, lambda: solo("unused")):
            await operator.delete_thread(store, "t")
            assert await operator.delete_person(store, ANN.id) == ["u"]
    else:
        await operator.delete_thread(store, "t")
        assert await thread_ids(store) == ["u"]
        assert await operator.delete_person(store, ANN.id) == ["u"]
    assert await thread_ids(store) == []


async def test_a_reload_needs_a_process(store: Any, tmp_path: Path) -> None:
    with pytest.raises(GatewayClosed):
        await operator.reload(store, dry_run=True)
    async with opened(tmp_path, lambda: solo("unused")):
        with pytest.raises(GatewayError, match="only at its start"):
            await operator.reload(store, dry_run=True)


async def test_a_backup_is_restored_and_both_are_noted(store: Any, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    await operator.backup(store, copy)
    assert await rows_of(store, "SELECT what FROM audit WHERE what LIKE 'store.%'") == [
        ("store.backed_up",)
    ]
    await operator.delete_thread(store, "t")
    said = await operator.restore(store, copy)
    assert "The old store" in said
    assert await thread_ids(SqliteStore(tmp_path)) == ["t"]


async def test_an_export_is_noted(store: Any) -> None:
    await operator.note_export(store, "t")
    rows = await store.run(audit.whole_audit, after=0, since=0, until=2.0**40, limit=100, longest=0)
    assert "thread.exported" in [row.what for row in rows]


async def test_an_export_of_an_earlier_format_is_said_not_to_be_noted(
    store: Any, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(tmp_path / "parley.db")) as connection:
        connection.execute(f"PRAGMA user_version = {newest_format() - 1}")
    with pytest.raises(StoreNotUpgraded):
        await operator.note_export(store, "t")


async def test_people_are_let_in_by_their_code_and_shut_out(store: Any) -> None:
    assert await operator.pair(store, "ABCD-1234") is None
    assert await operator.people_table(store) == "No one was let in with a code."
    code = draw_code()
    async with store.own():
        refused = MessageRefusal(reason="not allowed", pair=code.kept(time()))
        await take(store, "Let me in.", refused, thread="v", key=place("3"))
    person = await operator.pair(store, code.text)
    assert person is not None
    assert person.id == ANN.id
    assert await operator.people_table(store) in operator.paired_sentence(person)
    assert operator.paired_sentence(person).endswith("may now write to the teams.")
    assert await operator.unpair(store, ANN.id)
    assert not await operator.unpair(store, ANN.id)


async def test_figures_are_told_with_and_without_an_owner(store: Any, tmp_path: Path) -> None:
    runs, told = await operator.owner_status(store)
    assert not runs
    assert "1 thread" in told
    runs, told = await operator.status_json(store)
    assert not runs
    assert json.loads(told)["counts"]["threads"] == {"idle": 1}
    async with opened(tmp_path, lambda: solo("unused")):
        runs, told = await operator.owner_status(store)
        assert runs
        assert "0 turns running" in told
        runs, told = await operator.status_json(store)
        assert runs
        assert json.loads(told)["running"] == 0


def test_a_number_has_its_noun() -> None:
    assert [operator.number(n, "turn") for n in (0, 1, 2)] == ["0 turns", "1 turn", "2 turns"]


async def test_a_backup_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        await operator.backup(SqliteStore(tmp_path / "none"), tmp_path / "copy.db")
