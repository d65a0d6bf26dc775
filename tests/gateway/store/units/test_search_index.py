"""The index of words, kept behind the texts."""

from __future__ import annotations

from pathlib import Path

from gateway.app.stores import AnyStore
from gateway.store.connection import Connection
from gateway.store.units import search_index
from gateway.store.units.search_index import IndexedThread, index_anew, indexed_thread
from tests.fakes.new_store import new_store
from tests.gateway.store.texts import index, make


async def thread_in(store: AnyStore) -> IndexedThread:
    return await store.read(lambda connection: indexed_thread(connection, "t"))


async def texts_left(store: AnyStore) -> list[str]:
    def unread(connection: Connection) -> list[str]:
        rows = indexed_thread(connection, "t").unread(connection)
        return [row["text"] for row in rows]

    return await store.read(unread)


async def test_words_are_indexed_behind_the_texts(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    async with store.own():
        assert not await store.run(search_index.unindexed)
        await make(store, "t", "Lunch", "Pizza?", "Pasta!")
        assert await store.run(search_index.unindexed)
        assert await thread_in(store) == IndexedThread("t")
        assert await texts_left(store) == ["Lunch", "Pizza?", "Pasta!"]
        assert await store.run(search_index.index_words) == 0
        assert not await store.run(search_index.unindexed)
        assert (await thread_in(store)).seq == 1
        assert await texts_left(store) == []


async def test_an_index_that_is_not_trusted_is_made_anew(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    async with store.own():
        await make(store, "t", "Lunch", "Pizza?", "Pasta!")
        await index(store)
        await store.write(index_anew)
        assert await store.run(search_index.unindexed)
        await index(store)
        assert not await store.run(search_index.unindexed)
