"""States of shards, as they stand in the store."""

from __future__ import annotations

import json

from adapters.discord.connection.shard_state import (
    ShardSession,
    ShardState,
    find_state,
    name_of,
)
from gateway.missed import CURSOR

SESSION = ShardSession(id="s", address="wss://resume", sequence=7)
STATE = ShardState(heard=5.0, owed={"1": 3.0}, session=SESSION)


def test_a_state_comes_back_as_it_was_stored() -> None:
    marks = {**STATE.marks(1, 2, "bot"), name_of(0, 2): "{}"}
    assert find_state(marks, 1, 2, 9.0, "bot") == STATE


def test_a_session_of_another_bot_is_not_gone_on_with() -> None:
    marks = STATE.marks(0, 1, "bot")
    found = find_state(marks, 0, 1, 9.0, "another bot")
    assert found == ShardState(heard=5.0, owed={"1": 3.0})


def test_without_its_cursor_a_session_is_gone_and_the_times_stay() -> None:
    marks = STATE.marks(0, 1, "bot")
    kept = {name: text for name, text in marks.items() if not name.startswith(CURSOR)}
    assert find_state(kept, 0, 1, 9.0, "bot") == ShardState(heard=5.0, owed={"1": 3.0})


def test_a_session_of_an_earlier_version_is_not_gone_on_with() -> None:
    old = {"heard": 5.0, "owed": {}, "session": "s", "address": "a", "sequence": 7, "bot": "bot"}
    found = find_state({name_of(0, 1): json.dumps(old)}, 0, 1, 9.0, "bot")
    assert found == ShardState(heard=5.0)


def test_before_the_first_run_nothing_was_missed() -> None:
    assert find_state({"direct:1": "t"}, 0, 1, 9.0) == ShardState(heard=9.0)


def test_another_number_of_shards_reads_from_the_earliest_time_on() -> None:
    marks: dict[str, str] = {}
    for shard, heard in enumerate((5.0, 3.0)):
        marks |= ShardState(heard=heard, session=SESSION).marks(shard, 2)
    assert find_state(marks, 0, 1, 9.0) == ShardState(heard=3.0)
    marks |= ShardState(heard=5.0, owed={"1": 2.0}).marks(1, 2)
    assert find_state(marks, 0, 1, 9.0) == ShardState(heard=2.0)


def test_the_times_of_earlier_versions_are_read() -> None:
    assert find_state({"seen": "4.5"}, 0, 1, 9.0) == ShardState(heard=4.5)
    seen = {"seen": json.dumps([4.0, 2.0])}
    assert find_state(seen, 1, 2, 9.0) == ShardState(heard=2.0)
    assert find_state(seen, 0, 4, 9.0) == ShardState(heard=2.0)
    newer = seen | ShardState(heard=8.0).marks(0, 2)
    assert find_state(newer, 0, 2, 9.0) == ShardState(heard=8.0)
    assert find_state(newer, 1, 2, 9.0) == ShardState(heard=2.0)
