"""Formats of a store's file: made, brought up to date, refused."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from gateway.errors import BackupCorrupt, StoreCorrupt, StoreError, StoreTooNew, StoreTooOld
from gateway.store.formats import BASE, OLDEST
from gateway.store.sqlite.upgrade import (
    APPLICATION_ID,
    BEGUN_COPY_ID,
    VERSION,
    bring_up_to_date,
    go_on_behind,
    gone,
    known_version,
)

STORE = Path("/x/store.db")


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as raw:
        return known_version(raw.execute(VERSION).fetchone(), path, BASE + 1)


async def test_a_store_is_made_and_then_upgraded_with_a_copy(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await bring_up_to_date(path, {})
    assert version_of(path) == BASE
    await bring_up_to_date(path, {BASE + 1: "CREATE TABLE more (n)"})
    assert version_of(path) == BASE + 1
    assert version_of(tmp_path / f"store.v{BASE}.db") == BASE


async def test_a_store_that_had_commits_is_not_made_anew(tmp_path: Path) -> None:
    with pytest.raises(StoreCorrupt, match="3 commits were made in it"):
        await bring_up_to_date(tmp_path / "store.db", {}, commits=3)


@pytest.mark.parametrize(
    ("row", "version"),
    [((0, 0, 0), 0), ((BASE, APPLICATION_ID, 5), BASE), ((OLDEST, APPLICATION_ID, 5), OLDEST)],
)
def test_a_version_is_known(row: Sequence[int], version: int) -> None:
    assert known_version(row, STORE, BASE) == version


@pytest.mark.parametrize(
    ("row", "what", "error", "said"),
    [
        ((BASE, BEGUN_COPY_ID, 5), "store", StoreError, "a copy that is not complete"),
        ((BASE, 1, 5), "store", StoreCorrupt, "not one of Parley's"),
        ((BASE, 1, 5), "backup", BackupCorrupt, "not one of Parley's"),
        ((BASE + 1, APPLICATION_ID, 5), "store", StoreTooNew, "made by a newer Parley"),
        ((OLDEST - 1, APPLICATION_ID, 5), "store", StoreTooOld, "/x/store.db"),
    ],
)
def test_another_file_is_refused(
    row: Sequence[int], what: str, error: type[StoreError], said: str
) -> None:
    with pytest.raises(error, match=said):
        known_version(row, STORE, BASE, what=what)


def test_a_newer_store_names_the_copy_before_its_upgrade(tmp_path: Path) -> None:
    (tmp_path / f"store.v{BASE}.db").touch()
    row = (BASE + 1, APPLICATION_ID, 5)
    with pytest.raises(StoreTooNew, match=rf"restore \S+store\.v{BASE}\.db"):
        known_version(row, tmp_path / "store.db", BASE)


def test_an_empty_store_tells_the_way_back() -> None:
    said = str(gone(STORE, 7))
    assert "7 commits were made in it" in said
    assert "`parley store restore`" in said


def test_numbers_go_on_behind_those_that_were_given() -> None:
    with closing(sqlite3.connect(":memory:")) as raw:
        raw.execute("CREATE TABLE numbered (id INTEGER PRIMARY KEY AUTOINCREMENT, text)")
        go_on_behind(raw, [("numbered", 41)])
        go_on_behind(raw, [("numbered", 7)])
        number = raw.execute("INSERT INTO numbered (text) VALUES ('a')").lastrowid
    assert number == 42
