"""The time of day that one process leaves to the next."""

import pytest

from gateway.base.clock import KnownTime
from gateway.conversation import ConversationKey
from gateway.store.decisions import NewThread
from gateway.store.units import clock, rows
from tests.fakes.new_store import new_store

pytestmark = pytest.mark.usefixtures("database")


async def test_the_time_is_that_of_the_last_process_or_of_the_newest_thread(tmp_path):
    now = [100.0]
    store = new_store(tmp_path, clock=lambda: now[0])
    async with store.own():
        assert await store.run(clock.known_time, 50.0) is None
        for now[0] in (200.0, 100.0):
            new = NewThread(id=f"t{now[0]:g}", team="demo", definition="")
            await store.run(rows.create_thread, new, key=ConversationKey.local(new.id))
        assert await store.run(clock.known_time, 300.0) == KnownTime(at=200.0)
        assert await store.run(clock.known_time, 150.0) == KnownTime(at=150.0)
        for known in (KnownTime(at=250.25), KnownTime(at=260.0, doubted=1.5, denied="slack")):
            await store.run(clock.keep_time, known)
            assert await store.run(clock.known_time, 0.0) == known
