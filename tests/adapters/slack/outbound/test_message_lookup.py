"""Another part's stream is not taken for a lost message."""

from typing import cast

from gateway.base.clock import WallClock
from gateway.delivery.sender import Sender, SendRetry, SendSuccess
from gateway.outbox import OutboxRow
from gateway.store.protocols import SessionStore
from tests.adapters.slack.desk import Desk, speech
from tests.fakes.tested_store import NamedOperations


class Rows(NamedOperations):
    """As much of a store as it takes."""

    def __init__(self) -> None:
        self.put: list[OutboxRow] = []

    async def put_part(self, row: OutboxRow) -> None:
        self.put.append(row)


def attempted(desk: Desk, *, ahead: float = 0.0) -> OutboxRow:
    now = desk.slack.clock.time() + ahead
    return OutboxRow(
        key="k2",
        thread=desk.place.thread,
        place=str(desk.place.key),
        item="m:2",
        n=0,
        seq=2,
        status="attempting",
        first_at=now,
        at=now,
    )


async def test_after_a_restart_a_stream_that_is_known_to_be_anothers_is_not_taken(
    desk: Desk,
) -> None:
    message = await desk.surface.post(desk.place, speech("A ", key="k1"))
    sender = Sender(cast("SessionStore", Rows()), desk.restarted(), WallClock())
    outcome = await sender.look_up(desk.place, attempted(desk), speech=True, others={message})
    assert isinstance(outcome, SendRetry)
    assert outcome.row.status == "pending"
    assert not outcome.row.unsure


async def test_after_a_restart_the_one_stream_that_nobody_knows_is_taken(desk: Desk) -> None:
    message = await desk.surface.post(desk.place, speech("A ", key="k2"))
    sender = Sender(cast("SessionStore", Rows()), desk.restarted(), WallClock())
    outcome = await sender.look_up(desk.place, attempted(desk), speech=True)
    assert isinstance(outcome, SendSuccess)
    assert outcome.row.message == message


async def test_after_a_restart_a_lost_notice_is_not_taken_for_a_stream(desk: Desk) -> None:
    await desk.surface.post(desk.place, speech("A ", key="k1"))
    sender = Sender(cast("SessionStore", Rows()), desk.restarted(), WallClock())
    outcome = await sender.look_up(desk.place, attempted(desk), speech=False)
    assert isinstance(outcome, SendRetry)
    assert outcome.row.status == "pending"
    assert not outcome.row.unsure


async def test_a_message_of_a_node_whose_clock_was_ahead_is_found(desk: Desk) -> None:
    await desk.surface.post(desk.place, speech("A.", key="k2", growing=False))
    sender = Sender(cast("SessionStore", Rows()), desk.restarted(), WallClock())
    outcome = await sender.look_up(desk.place, attempted(desk, ahead=600.0), speech=True)
    assert isinstance(outcome, SendSuccess)
