"""The connection to a store that does not exist yet."""

from __future__ import annotations

from gateway.store.connection import NoConnection
from gateway.store.jobs import LaneJob


def test_nothing_is_found_and_nothing_changes() -> None:
    none = NoConnection()
    assert none.fetch("SELECT 1") == ()
    assert none.fetch_each(("SELECT 1", {}), ("SELECT 2", {})) == [(), ()]
    assert none.change("DELETE FROM threads") == 0
    assert none.insert("INSERT INTO threads", {}) == 0
    assert none.contents("00") == b""


def test_nobody_is_woken() -> None:
    assert NoConnection().defer(LaneJob(thread="t")) is False
