"""Units of a store that run when they are named."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

import pytest
from typing_extensions import override

from gateway.errors import GatewayClosed
from gateway.store.connection import Connection, NoConnection, Unit
from gateway.store.operations import (
    OPERATIONS,
    Erased,
    T,
    UnitReader,
    UnitWriter,
    hand_on,
    reads,
    writes,
)


@reads
def asked(connection: Connection, number: int) -> int:
    return number + len(connection.fetch("SELECT 1"))


@writes
def changed(connection: Connection, number: int) -> int:
    return number + connection.change("UPDATE 1")


def deletes(result: int, thread: str) -> Erased | None:
    return Erased(threads=[thread]) if result else None


@writes(alone=True, erases=deletes)
def deleted(_connection: Connection, thread: str) -> int:
    return len(thread)


@writes(grouped=True)
def shared(_connection: Connection) -> str:
    return "shared"


OWN = {unit: OPERATIONS.pop(unit) for unit in (asked, changed, deleted, shared)}
"""Operations of these tests, which other tests' stores do not have."""


@pytest.fixture(autouse=True)
def own_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    for unit, operation in OWN.items():
        monkeypatch.setitem(OPERATIONS, unit, operation)


class Reader(UnitReader):
    @override
    async def read(self, unit: Unit[T]) -> T:
        return unit(NoConnection())


class Writer(UnitWriter):
    """A store without rows that notes how it is asked."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, lambda: 0.0)
        self.asked: list[str] = []
        self.cleared: list[str] = []

    @override
    async def read(self, unit: Unit[T]) -> T:
        self.asked.append("read")
        return unit(NoConnection())

    @override
    async def write(
        self, unit: Unit[T], then: Callable[[T], None] | None = None, *, alone: bool = False
    ) -> T:
        self.asked.append("alone" if alone else "write")
        if self._observe is not None:
            self._observe(0.5)
        result = unit(NoConnection())
        hand_on(then, result)
        return result

    @override
    async def clear(self, threads: Collection[str], *, person: bool = False) -> None:
        self.cleared += threads


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(tmp_path)


def test_a_decorator_makes_an_operation() -> None:
    assert not OPERATIONS[asked].writes
    assert OPERATIONS[changed].writes
    assert (OPERATIONS[deleted].alone, OPERATIONS[shared].grouped) == (True, True)


async def test_a_reader_runs_what_only_reads(tmp_path: Path) -> None:
    reader = Reader(tmp_path / "x", lambda: 0.0)
    assert reader.folder == tmp_path / "x"
    assert await reader.run(asked, 3) == 3
    with pytest.raises(GatewayClosed):
        await reader.run(changed, 3)


async def test_an_operation_runs_as_it_was_declared(writer: Writer) -> None:
    assert await writer.run(asked, 1) == 1
    assert await writer.run(changed, 2) == 2
    assert await writer.run(shared) == "shared"
    assert await writer.run(deleted, "abc") == 3
    assert writer.asked == ["read", "write", "write", "alone"]
    assert writer.cleared == ["abc"]


async def test_a_result_is_told_once_it_is_committed(writer: Writer) -> None:
    told: list[int] = []
    assert await writer.run_then(told.append, changed, 4) == 4
    assert told == [4]


async def test_nothing_is_cleared_where_nothing_was_deleted(writer: Writer) -> None:
    assert await writer.run(deleted, "") == 0
    assert writer.cleared == []


async def test_seconds_of_a_transaction_are_observed(writer: Writer) -> None:
    seconds: list[float] = []
    writer.watch_commits(seconds.append)
    await writer.run(changed, 1)
    assert seconds == [0.5]


def test_a_result_that_nobody_can_take_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    told: list[int] = []
    hand_on(told.append, 1)
    hand_on(None, 2)
    hand_on({}.__getitem__, 3)
    assert told == [1]
    assert "what was stored is not told" in caplog.text
