"""Losses make unfinished work doubtful, and are told once."""

import pytest

from gateway.events import MessageFinished
from gateway.store.records import StoreLoss
from gateway.store.rulebook import DoubtWords, RecoveryWords
from gateway.store.turn_records import Hold, TurnUpdate
from gateway.store.units import counts, events, holds, losses, outbox, recovery, threads
from gateway.store.units.losses import add_loss, mark_restored, take_restored
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import at
from tests.gateway.store.talk import approval, begun, end, place, take

pytestmark = pytest.mark.usefixtures("database")

WORDS = RecoveryWords(
    interrupted="it goes on",
    parked="it is not tried again",
    reason="crashed",
    doubt=DoubtWords(notice="Perhaps.", command="/retry", label="Go on", reason="a loss"),
)


async def test_a_loss_is_kept_and_the_widest_is_told_once(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        for since, now in ((5.0, 9.0), (2.0, 3.0)):
            await store.write(
                lambda c, since=since, now=now: add_loss(
                    at(c, now), "restored", since=since, commits=4
                )
            )
        late, early = (
            StoreLoss(cause="restored", since=since, until=until, commits=4)
            for since, until in ((5.0, 9.0), (2.0, 3.0))
        )
        assert await store.run(losses.losses) == [late, early]
        assert await store.run(losses.untold_loss) == early
        await store.run(recovery.recover, "boot", WORDS)
        assert await store.run(losses.untold_loss) is None
        assert await store.run(losses.losses) == [late, early]


async def test_all_that_is_unfinished_is_parked_after_a_loss(tmp_path):
    store = new_store(tmp_path, clock=lambda: 100.0)
    async with store.own():
        works = await begun(store, thread="works")
        said = MessageFinished(thread="works", agent="a", message="m", text="said")
        await store.record(works.lease, TurnUpdate(events=(said,)))
        asks = await begun(store, key=place("2"), thread="asks")
        await end(store, asks, "waiting", requests=(approval(asks),))
        for text in ("first", "second"):
            await take(store, text, key=place("3"), thread="waits")
        await store.run(holds.tell_hold, "waits", Hold(limit="parallel_turns", most=1))
        await end(store, await begun(store, key=place("4"), thread="rests"))
        await store.write(lambda c: add_loss(at(c, 100.0), "damaged", since=50.0, commits=0))
        assert await store.run(recovery.recover, "boot", WORDS) == []
        states = {thread.id: thread.state for thread in await store.run(threads.threads)}
        assert states == {"works": "parked", "asks": "parked", "waits": "parked", "rests": "idle"}
        assert (await store.run(counts.counts)).held == {}
        assert (await store.run(events.request, "r1")).state == "closed"
        delivery = await store.run(outbox.delivery, "rests")
        assert (delivery.told, delivery.doubtful, delivery.doubtful_since) == (
            0,
            delivery.last,
            50.0,
        )


async def test_it_is_known_once_that_a_backup_took_the_stores_place(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        assert await store.write(take_restored) is None
        await store.write(lambda c: mark_restored(c, 7))
        assert [await store.write(take_restored) for _ in range(2)] == [7, None]
