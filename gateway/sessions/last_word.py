"""The last word of a turn whose own end can't be written."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.errors import Failure
from gateway.events import Notice
from gateway.sessions.event_bus import EventBus
from gateway.store.protocols import SessionStore
from gateway.store.turn_records import ClaimedTurn, TurnEnd, TurnUpdate, broken_off
from gateway.store.units import rows


@dataclass(slots=True)
class FailedTurn:
    """A failed turn that can't be ended so far.

    `told`: its people know of it.
    """

    turn: str
    failure: Failure
    told: bool = False


async def end_plainly(
    store: SessionStore, bus: EventBus, work: ClaimedTurn, failed: FailedTurn
) -> bool:
    """End the turn with one sentence; True if its thread has more.

    Nothing else of the turn's own is written. Messages that had begun end as they were stored.
    """
    lease, failure = work.lease, failed.failure
    begun = await store.run(rows.open_messages, lease.thread)
    finished = [broken_off(lease, shown) for shown in begun]
    told = [] if failed.told else [failed_notice(lease.thread, lease.turn, failure)]
    update = TurnUpdate(
        events=(*finished, *told),
        sealed=tuple(shown.message for shown in begun),
        end=TurnEnd(status="failed", reason=failure.text),
    )
    recorded = await store.record(lease, update)
    bus.publish(lease.thread, recorded.events)
    return recorded.again


def failed_notice(thread: str, turn: str, failure: Failure) -> Notice:
    """The notice of an error, as people read it."""
    return Notice(
        thread=thread,
        turn=turn,
        text=failure.text,
        level="error",
        incident=failure.incident,
        retry=failure.retry,
    )
