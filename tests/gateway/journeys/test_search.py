"""People find their threads by what was said in them."""

from __future__ import annotations

from typing import ClassVar

from gateway.gateway import Gateway
from gateway.store.units import search_index
from gateway.store.units.search_index import TEXTS
from tests.fakes.tested_store import ChangedStore, UnitStore, everything_in
from tests.gateway.scripted import Door, ScriptedTeams, calls, opened, solo, turn


async def test_what_was_said_is_found_at_once_and_leaves_nothing_once_deleted(tmp_path):
    async with opened(tmp_path, lambda: solo("In the Drawer-Canary.")) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "Where is the contract?")
        for indexed in (False, True):
            for words in ("contract", "CANARY", "where drawer", "anar"):
                found = await gateway.client.threads(search=words)
                assert [each.id for each in found] == [thread]
            assert indexed != await gateway.store.run(search_index.unindexed)
            await gateway._life.index()
        store = gateway.store
        assert isinstance(store, UnitStore)
        await store.clear([])
        assert b"drawer-canary" in everything_in(tmp_path)
        await gateway.client.delete_thread(thread)
        assert await gateway.client.threads(search="canary") == []
        assert b"drawer-canary" not in everything_in(tmp_path)


class Trickling(ChangedStore):
    """A store of whose words a batch leaves so many threads."""

    left: ClassVar[list[int]] = []

    async def around(self, name, args, go):
        return self.left.pop(0) if name == "index_words" else await go()


async def test_who_indexes_goes_on_at_once_where_much_is_left_alone(tmp_path, monkeypatch):
    store = Trickling.of(tmp_path)
    async with Gateway(store, ScriptedTeams(lambda: solo("ok"))) as gateway:
        await turn(gateway, (await gateway.client.create_thread()).id, "some words")
        for left in ([TEXTS, TEXTS, TEXTS - 1], [1], [0]):
            monkeypatch.setattr(Trickling, "left", [*left, 0])
            await gateway._life.index()
            assert Trickling.left == [0]


async def test_a_waiting_message_is_found_until_it_is_withdrawn(tmp_path):
    door = Door()

    async def wait() -> str:
        await door.pass_through()
        return "ok"

    teams = ScriptedTeams(lambda: solo(calls("wait"), "done", tools=[wait]))
    async with opened(tmp_path, teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "begin")
        await door.reached.wait()
        waiting = await gateway.client.send(thread, "and a canary")
        await gateway._life.index()
        assert [found.id for found in await gateway.client.threads(search="canary")] == [thread]
        await gateway.client.withdraw(thread, waiting.inbox)
        assert await gateway.client.threads(search="canary") == []
        assert [found.id for found in await gateway.client.threads(search="begin")] == [thread]
        await gateway._life.index()
        assert await gateway.client.threads(search="canary") == []
        assert [found.id for found in await gateway.client.threads(search="begin")] == [thread]
        door.open()


async def test_a_whole_text_can_be_searched_for(tmp_path):
    text = " ".join(f"word{number}" for number in range(3000))
    async with opened(tmp_path, lambda: solo("yes")) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, text)
        for indexed in (False, True):
            if indexed:
                await gateway._life.index()
            assert [found.id for found in await gateway.client.threads(search=text)] == [thread]
            assert await gateway.client.threads(search=f"{text} other") == []
            assert await gateway.client.threads(search=f"other {text}") == []
