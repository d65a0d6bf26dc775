"""Threads that are renamed, listed and looked into."""

from dataclasses import replace

import pytest

from gateway.conversation import ConversationKey
from gateway.errors import NotFound
from gateway.store.decisions import NewConversation, NewThread
from gateway.store.turn_records import Lease
from gateway.store.units import claims, events, threads
from gateway.store.units import rows as row_units
from gateway.values import NO_ORIGIN, Origin
from tests.fakes.hand_clock import HandClock
from tests.fakes.new_store import new_store
from tests.gateway.store.talk import ANN, BOB, KEY, begun, take

pytestmark = pytest.mark.usefixtures("database")


async def test_a_conversation_has_one_current_thread(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        assert await store.run(threads.thread_at, KEY) is None
        await take(store, "waits", thread="one")
        fresh = await take(store, "/new", NewConversation(reply=""), thread="two", kind="command")
        assert (fresh.thread, fresh.lane) == ("two", "one")
        current = await store.run(threads.thread_at, KEY)
        assert current is not None
        assert (current.id, current.key) == ("two", KEY)
        assert await store.run(claims.begin, "one", "boot", words=None) is None  # type: ignore[arg-type]


NEW = NewThread(id="t1", team="demo", definition="d")
OWN = ConversationKey.local("t1")


def new(number: int) -> NewThread:
    return NewThread(id=f"t{number}", team="demo", definition="d")


async def test_threads_are_found_by_title_and_text_whatever_the_case(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await store.run(row_units.create_thread, NEW, key=OWN, title="\u00c4rger mit 100% Rabatt")
        await store.run(
            row_units.create_thread, new(2), key=ConversationKey.local("t2"), title="Lunch"
        )
        found = [
            [t.id for t in await store.run(threads.threads, search=s)]
            for s in ("\u00e4RGER", "0%", "", "x")
        ]
    assert found == [["t1"], ["t1"], ["t2", "t1"], []]


async def test_a_thread_is_renamed_and_says_so(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await store.run(row_units.create_thread, NEW, key=OWN)
        [event] = await store.run(
            threads.rename_thread, "t1", "A 'new' title\u0000?".replace("\u0000", "")
        )
        assert (await store.run(threads.thread, "t1")).title == "A 'new' title?"
        assert await store.run(events.events, "t1") == [event]
        assert await store.run(events.of_turn, "t1", event.turn) == [event]
        assert await store.run(events.of_turn, "t1", "another") == []
        with pytest.raises(NotFound):
            await store.run(threads.rename_thread, "none", "x")


@pytest.mark.parametrize("kept", ["given", "made"])
async def test_a_models_title_replaces_no_title_that_is_kept(tmp_path, kept):
    store, lease = new_store(tmp_path), Lease(thread="t1", turn="1", epoch=1)
    async with store.own():
        await store.run(row_units.create_thread, NEW, key=OWN)
        assert await store.run(threads.title_thread, lease, "", ()) == []
        if kept == "given":
            await store.run(threads.rename_thread, "t1", "Kept")
        else:
            [event] = await store.run(threads.title_thread, lease, "Kept", ())
            assert (event.title, event.made, event.given) == ("Kept", True, False)
        assert await store.run(threads.title_thread, lease, "Another", ()) == []
        assert (await store.run(threads.thread, "t1")).title == "Kept"


async def test_the_newest_thread_is_one_of_the_config_by_its_path_or_else_its_text(tmp_path):
    store, teams = new_store(tmp_path), ["demo"]
    a, moved = Origin(path="/a", digest="same"), Origin(path="/moved", digest="same")

    async def newest(origin: Origin, *teams: str) -> str:
        found = await store.run(threads.newest_thread, origin, teams)
        return found.id if found else ""

    async with store.own():
        for n, origin in enumerate([NO_ORIGIN, a, a, Origin(path="/b", digest="other")], 1):
            made = replace(new(n), origin=origin)
            await store.run(row_units.create_thread, made, key=ConversationKey.local(f"t{n}"))
        elsewhere = ConversationKey(platform="localhost", workspace="T", channel="C", root="1")
        await store.run(row_units.create_thread, replace(new(5), origin=a), key=elsewhere)
        assert await newest(a, *teams) == "t3"
        assert await newest(moved, *teams) == "t3"
        assert await newest(a, "gone") == await newest(a) == ""
        assert await newest(Origin(path="/c"), *teams) == ""
        assert await newest(NO_ORIGIN, *teams) == "t1"
        adopted = await store.run(threads.adopt_thread, "t2", moved)
        assert (adopted.config, (await store.run(threads.thread, "t2")).config) == (
            "/moved",
            "/moved",
        )
        assert await newest(moved, *teams) == "t2"
        assert await newest(moved, "gone") == ""
        with pytest.raises(NotFound):
            await store.run(threads.adopt_thread, "none", a)


async def test_threads_are_known_by_person_definition_and_turn(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store, "hi", link="https://x/1")
        await take(store, author=BOB, thread="u", key=replace(KEY, root="2"))
        assert [each.id for each in await store.run(threads.threads_of, ANN.id)] == ["t"]
        assert {each.id for each in await store.run(threads.outdated, {})} == {"t", "u"}
        assert await store.run(threads.outdated, {"demo": ""}) == []
        assert await store.read(threads.thread_ids) == {"t", "u"}
        assert await store.run(threads.link_of, work.lease.turn) == "https://x/1"
        assert await store.run(threads.link_of, "none") == ""


async def test_the_newest_messages_of_a_workspace_are_listed(tmp_path):
    clock = HandClock()
    store = new_store(tmp_path, clock=clock.time)
    async with store.own():
        for number in ("2", "1"):
            await take(store, number=number)
        await take(store, number="9", thread="u", key=replace(KEY, workspace="T2"))
        since = clock.time() - 1
        found = await store.run(threads.recent_messages, "x", "T1", since)
        assert [each.message_id for each in found] == ["1", "2"]
        found = await store.run(threads.recent_messages, "x", "T1", since, each=1)
        assert [each.message_id for each in found] == ["2"]
