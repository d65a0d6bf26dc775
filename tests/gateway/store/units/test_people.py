"""People are let in by codes, rate answers, and are forgotten."""

import hashlib

import pytest

from gateway.app.stores import AnyStore
from gateway.errors import NotFound
from gateway.store.decisions import MessageRefusal, PairingCode
from gateway.store.records import PairedPerson
from gateway.store.units import counts, deletion, people, threads
from gateway.store.units.people import MAX_TRIES
from gateway.values import value
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import tables_of
from tests.gateway.store.talk import ANN, BOB, begun, end, place, take

pytestmark = pytest.mark.usefixtures("database")

HOUR = 3600.0


def hash_of(salt: bytes, text: str) -> bytes:
    return hashlib.sha256(salt + text.encode()).digest()


@value
class Typed:
    """A code as somebody types it."""

    text: str
    lifetime: float = HOUR

    def hashed(self, salt: bytes) -> bytes:
        return hash_of(salt, self.text)


async def give_code(store: AnyStore, text: str, *, until: float, salt: bytes = b"\0\xff") -> None:
    code = PairingCode(salt=salt, hash=hash_of(salt, text), expires_at=until)
    await take(store, decision=MessageRefusal(reason="unknown", pair=code), author=BOB)


async def test_a_person_is_let_in_by_the_last_code_once_and_shut_out_again(tmp_path):
    store = new_store(tmp_path, clock=lambda: 100.0)
    async with store.own():
        await give_code(store, "FIRST", until=200.0)
        await give_code(store, "LAST", until=200.0)
        assert await store.run(people.redeem, Typed(text="FIRST")) is None
        person = PairedPerson(id=BOB.id, name="Bob", paired_at=100.0)
        assert await store.run(people.redeem, Typed(text="LAST")) == person
        assert await store.run(people.redeem, Typed(text="LAST")) is None
        assert await store.run(people.people) == [person]
        assert await store.run(people.unpair, BOB.id)
        assert not await store.run(people.unpair, BOB.id)
        assert await store.run(people.people) == []


async def test_a_code_is_good_for_its_time_alone(tmp_path):
    store = new_store(tmp_path, clock=lambda: 100.0)
    async with store.own():
        for until in (100.0, 101.0 + HOUR):  # it is over, or was given by a wrong clock
            await give_code(store, "CODE", until=until)
            assert await store.run(people.redeem, Typed(text="CODE")) is None


async def test_a_code_is_void_after_so_many_wrong_ones(tmp_path):
    store = new_store(tmp_path, clock=lambda: 100.0)
    async with store.own():
        await give_code(store, "CODE", until=200.0)
        for _ in range(MAX_TRIES):
            assert await store.run(people.redeem, Typed(text="WRONG")) is None
        assert await store.run(people.redeem, Typed(text="CODE"), by=100.0) is None


async def test_a_rating_replaces_the_persons_earlier_one_of_a_part(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await take(store)
        await store.run(people.rate, "t", "part", ANN.id, good=False)
        await store.run(people.rate, "t", "part", BOB.id, good=False)
        await store.run(people.rate, "t", "part", ANN.id, good=True)
        assert await store.run(people.feedback, "t") == {"good": 1, "bad": 1}
        assert (await store.run(counts.counts)).feedback == {"good": 1, "bad": 1}
        assert await store.run(people.feedback, "other") == {}
        await store.run(people.rate, "t", "part", BOB.id, good=False, reason="It is old.")
        rated = [(each.person, each.good, each.reason) for each in await store.run(people.ratings)]
        assert sorted(rated) == sorted([(ANN.id, True, ""), (BOB.id, False, "It is old.")])
        await store.run(people.rate, "t", "part", BOB.id, good=False)
        rated = {each.person: each.reason for each in await store.run(people.ratings)}
        assert rated == {ANN.id: "", BOB.id: "It is old."}
        await store.run(people.rate, "t", "part", BOB.id, good=True)
        await store.run(people.rate, "t", "part", BOB.id, good=False)
        assert {each.reason for each in await store.run(people.ratings)} == {""}
        with pytest.raises(NotFound):
            await store.run(people.rate, "none", "part", ANN.id, good=True)


async def test_a_deleted_person_is_in_no_row(tmp_path):
    store = new_store(tmp_path, clock=lambda: 100.0)
    async with store.own():
        await end(store, await begun(store, "by Bob", author=BOB))
        other = place("2")
        await end(store, await begun(store, "by Ann", key=other, thread="u"))
        await store.run(people.rate, "u", "part", BOB.id, good=True)
        await give_code(store, "CODE", until=200.0)
        assert [thread.id for thread in await store.run(threads.threads_of, BOB.id)] == ["t"]
        assert await store.run(deletion.delete_person, BOB.id) == ["t"]
        assert [thread.id for thread in await store.run(threads.threads)] == ["u"]
        assert await store.run(people.feedback, "u") == {}
        for table in await store.read(tables_of):
            found = await store.read(lambda c, of=table: c.fetch(f"SELECT * FROM {of}"))
            assert BOB.id not in repr([tuple(row) for row in found]), table
        with pytest.raises(NotFound):
            await store.run(deletion.delete_person, "")
