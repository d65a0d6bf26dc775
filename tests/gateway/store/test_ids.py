"""Ids in time order: unique, and near each other in an index."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from gateway.conversation import ConversationKey
from gateway.store.connection import Connection
from gateway.store.decisions import NewThread
from gateway.store.ids import new_id, next_id
from gateway.store.units import deletion
from gateway.store.units.rows import create_thread
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import at


def test_ids_of_one_process_sort_as_they_were_made_also_when_the_clock_is_set_back(
    monkeypatch: pytest.MonkeyPatch,
):
    made = [next_id() for _ in range(1000)]
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    made += [next_id() for _ in range(1000)]
    assert made == sorted(set(made))
    assert {len(each) for each in made} == {15}


def test_threads_that_make_ids_at_once_get_no_id_twice():
    with ThreadPoolExecutor(4) as executor:
        made = [*executor.map(lambda _: next_id(), range(4000))]
    assert len(set(made)) == 4000


@pytest.mark.sqlite
async def test_a_commit_in_new_threads_writes_fewer_pages_than_it_would_with_random_ids(
    tmp_path: Path,
):
    written: dict[str, int] = {}
    for name, make in (("random", new_id), ("in order", next_id)):
        store = new_store(tmp_path / name)
        async with store.own():
            await store.write(partial(fill, make, 3000))
            await store.run(deletion.delete_person, "nobody")  # which empties the log
            await store.write(partial(fill, make, 40))
            written[name] = (store.folder / "parley.db-wal").stat().st_size
    assert 0 < written["in order"] < written["random"] / 2


def fill(make: Callable[[], str], count: int, connection: Connection) -> None:
    for _ in range(count):
        new = NewThread(id=make(), team="demo", definition="")
        create_thread(at(connection, 0.0), new, key=ConversationKey.local(new.id))
