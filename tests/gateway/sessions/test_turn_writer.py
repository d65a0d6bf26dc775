"""The order of a turn's writes, and refused ones."""

from __future__ import annotations

from typing import cast

import pytest

from gateway.budgets.ledger import Meter
from gateway.errors import StoreFull
from gateway.events import ModelSilent, Notice, SessionEvent
from gateway.sessions.event_bus import LocalBus
from gateway.sessions.turn_writer import TurnWriter
from gateway.store.protocols import SessionStore
from gateway.store.turn_records import Lease, StoredUpdate, TurnUpdate

SILENT = ModelSilent(thread="t", seconds=30)


class FullStore:
    """A store that has no room for a while."""

    def __init__(self) -> None:
        self.full = False
        self.taken: list[SessionEvent] = []

    async def record(self, lease: Lease, record: TurnUpdate) -> StoredUpdate:
        if self.full:
            raise StoreFull
        self.taken += record.events
        return StoredUpdate(events=record.events)


class NoUse:
    """A meter that counts nothing."""

    def drain(self) -> tuple[tuple[()], tuple[()]]:
        return (), ()

    def put_back(self, uses: object, told: object) -> None:
        pass


def update(text: str) -> TurnUpdate:
    return TurnUpdate(events=(Notice(thread="t", text=text),))


async def test_what_is_told_beside_the_turn_takes_nothing_with_it_that_was_put_off() -> None:
    store = FullStore()
    lease = Lease(thread="t", turn="u", epoch=1)
    writer = TurnWriter(cast("SessionStore", store), LocalBus(), lease, cast("Meter", NoUse()))
    await writer.put_off(update("first"))
    store.full = True
    with pytest.raises(StoreFull):
        await writer.tell(SILENT)
    store.full = False
    await writer.write(update("second"))
    await writer.tell(SILENT)
    told = [each.text for each in store.taken if isinstance(each, Notice | ModelSilent)]
    assert told == ["first", "second", SILENT.text]
