"""Promises of every store about its owner, units and operations."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from gateway.conversation import ConversationKey
from gateway.errors import GatewayClosed, NotFound, StoreInUse, Unstorable, works_later
from gateway.store.connection import Connection
from gateway.store.decisions import NewThread
from gateway.store.units import adapters as adapter_units
from gateway.store.units import deletion, threads
from gateway.store.units import rows as row_units
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import all_operations, rows_of

pytestmark = pytest.mark.usefixtures("database")

NEW = NewThread(id="t1", team="demo", definition="d")
KEY = ConversationKey.local("t1")
HERE = Path(__file__).parent


def new(number: int) -> NewThread:
    return NewThread(id=f"t{number}", team="demo", definition="d")


async def test_what_was_stored_is_there_after_a_restart(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        made = await store.run(row_units.create_thread, NEW, key=KEY, title="Kept")
    async with new_store(tmp_path).own():
        found = await store.run(threads.thread, "t1")
        assert (found, found.title) == (made, "Kept")


async def test_there_is_one_owner_at_a_time(tmp_path):
    async with new_store(tmp_path).own():
        with pytest.raises(StoreInUse):
            async with new_store(tmp_path).own():
                pass
    async with new_store(tmp_path).own():
        pass


async def test_reading_needs_no_ownership_and_writing_does(tmp_path):
    async with new_store(tmp_path).own():
        reader = new_store(tmp_path)
        assert await reader.run(threads.threads) == []
        with pytest.raises(GatewayClosed):
            await reader.run(row_units.create_thread, NEW, key=KEY)


async def test_a_unit_that_fails_leaves_nothing_and_others_beside_it_stay(tmp_path):
    store = new_store(tmp_path)

    def fails(connection: Connection) -> None:
        connection.execute("INSERT INTO marks (platform, name, value) VALUES ('x', 'half', 'done')")
        raise NotFound("undone")

    async with store.own():
        units = (store.write(fails), store.run(adapter_units.mark, "x", "whole", "done"))
        failed, _ = await asyncio.gather(*units, return_exceptions=True)
        assert isinstance(failed, NotFound)
        assert await store.run(adapter_units.marks, "x") == {"whole": "done"}


async def test_the_result_is_told_although_its_caller_has_left(tmp_path):
    store, told = new_store(tmp_path), asyncio.get_running_loop().create_future()
    async with store.own():
        writing = asyncio.ensure_future(
            store.write(lambda c: c.change("DELETE FROM gaps"), told.set_result)
        )
        await asyncio.sleep(0)
        writing.cancel()
        async with asyncio.timeout(5):
            assert await told == 0
        with pytest.raises(asyncio.CancelledError):
            await writing


async def test_a_result_that_can_not_be_told_holds_up_nobody(tmp_path, caplog):
    store = new_store(tmp_path)

    def fails(_: int) -> None:
        raise ValueError("nobody listens")

    def unit(connection: Connection) -> int:
        return connection.change("DELETE FROM gaps")

    async with store.own(), asyncio.timeout(5):
        for _ in range(2):
            told = await asyncio.gather(
                store.write_in_group(unit, fails),
                store.write(unit, fails),
                store.write_in_group(unit, None),
                store.write(unit),
            )
            assert told == [0, 0, 0, 0]
    assert "nobody listens" in caplog.text


async def test_units_of_many_tasks_are_all_carried_out(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await asyncio.gather(
            *(
                store.run(row_units.create_thread, new(n), key=ConversationKey.local(f"t{n}"))
                for n in range(50)
            )
        )
        assert len(await store.run(threads.threads, limit=100)) == 50
        assert 0 < store.commits <= 60
        await store.probe()


async def test_seconds_of_each_transaction_are_observed(tmp_path):
    store = new_store(tmp_path)
    seconds: list[float] = []
    store.watch_commits(seconds.append)
    async with store.own():
        await store.run(row_units.create_thread, NEW, key=KEY)
    assert seconds
    assert all(0 <= each < 60 for each in seconds)


ODD_TEXTS = (
    *("", "'", '"', "\\", "%s %(a)s", ":name", "\n\t"),
    *("\u00e4\u6771\U0001f355", "\ud7ff\ue000", "a\u0301"),
)
INSERT = "INSERT INTO marks (platform, name, value) VALUES (:platform, :name, :value)"
FIND = "SELECT value FROM marks WHERE value = :text OR value LIKE ':%' ORDER BY name"
NO_PLACE = [10**30, -(2**63) - 1, "half \ud83d", "\udc00", None, {1}, 1j]


@pytest.mark.parametrize("value", NO_PLACE, ids=ascii)
async def test_a_value_that_no_try_can_store_is_refused_at_once_and_alone(tmp_path, value):
    store = new_store(tmp_path)
    row = {"platform": "x", "name": "n", "value": value}
    if isinstance(value, int):
        statement = "INSERT INTO used_days (day, tokens, cost) VALUES (1, :value, 0)"
        row = {"value": value}
    else:
        statement = INSERT
    async with store.own():
        units = (
            store.write(lambda c: c.execute(statement, row)),
            store.run(adapter_units.mark, "x", "whole", "done"),
        )
        failed, _ = await asyncio.gather(*units, return_exceptions=True)
        assert type(failed) is Unstorable
        assert not works_later(failed)
        assert await store.run(adapter_units.marks, "x") == {"whole": "done"}


async def test_an_event_that_no_try_can_store_is_refused_at_once(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await store.run(row_units.create_thread, NEW, key=KEY)
        with pytest.raises(Unstorable):
            await store.run(threads.rename_thread, "t1", "half \ud83d")
        assert (await store.run(threads.thread, "t1")).title == ""


async def test_texts_come_back_as_they_were_and_are_never_statements(tmp_path):
    store = new_store(tmp_path)
    rows = [{"platform": "x", "name": f"{n}", "value": text} for n, text in enumerate(ODD_TEXTS)]
    async with store.own():
        await store.write(lambda c: c.many(INSERT, rows))
        assert await store.run(adapter_units.marks, "x") == {
            row["name"]: row["value"] for row in rows
        }
        assert await rows_of(store, FIND, text="%s %(a)s") == [("%s %(a)s",), (":name",)]


async def test_the_work_folder_of_a_thread_is_deleted_with_it(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await store.run(row_units.create_thread, NEW, key=KEY)
        folder = await store.work_folder("t1")
        folder.mkdir(parents=True)
        (folder / "note.txt").write_text("a note")
        await store.run(deletion.delete_thread, "t1")
        assert not folder.exists()


async def test_a_deletion_whose_caller_leaves_removes_the_files_all_the_same(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await store.run(row_units.create_thread, NEW, key=KEY)
        folder = await store.work_folder("t1")
        folder.mkdir(parents=True)
        deleting = asyncio.ensure_future(store.run(deletion.delete_thread, "t1"))
        await asyncio.sleep(0)
        deleting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await deleting
    assert not folder.exists()


def test_every_operation_is_carried_out_by_a_contract_test():
    """Else nobody knows that its SQL is understood by both databases."""
    tests = "".join(
        text for path in HERE.rglob("test_*.py") if FIXTURE in (text := path.read_text())
    )
    names = {unit.__name__ for unit in all_operations()}
    assert {name for name in names if not re.search(rf"\.{name}\b", tests)} == set()


async def test_a_unit_that_is_no_operation_is_not_run(tmp_path):
    with pytest.raises(LookupError, match="find_thread"):
        await new_store(tmp_path).run(row_units.find_thread, "t1")


async def test_a_store_that_nobody_owns_runs_no_operation_that_writes(tmp_path):
    with pytest.raises(GatewayClosed):
        await new_store(tmp_path).run(row_units.create_thread, NEW, key=KEY)


FIXTURE = 'usefixtures("database")'
