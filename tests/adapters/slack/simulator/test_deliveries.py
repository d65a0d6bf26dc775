"""Deliveries to the app: attempts, deadlines, retries and acknowledgements."""

from __future__ import annotations

import pytest

from adapters.slack.simulator.clock import VirtualClock
from adapters.slack.simulator.deliveries import (
    ACK_WITHIN,
    RETRY_AFTER,
    Attempt,
    Deliveries,
    Delivery,
)

EVENT = {"event": {"type": "message"}}


class Line:
    """A way to the app."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def send(self, delivery: Delivery, attempt: Attempt) -> bool:
        self.sent.append(f"{delivery.id} {attempt.number}")
        return True


class Scene:
    """Deliveries over a line."""

    def __init__(self) -> None:
        self.clock, self.line, self.changes = VirtualClock(), Line(), 0
        self.deliveries = Deliveries(self.clock, self._changed)
        self.deliveries.transport = self.line

    def _changed(self) -> None:
        self.changes += 1


async def test_a_delivery_is_answered_once_it_is_acknowledged() -> None:
    scene = Scene()
    told: list[str] = []
    sent = scene.deliveries.send("events_api", EVENT, "a", lambda done: told.append(done.id))
    assert sent.event == {"type": "message"}
    scene.deliveries.ack("a", {"ok": 1}, "socket 1")
    scene.deliveries.ack("none", None, "socket 1")
    assert await sent.answered() == {"ok": 1}
    assert (sent.acks, told, scene.changes) == (["socket 1"], ["a"], 2)


async def test_an_event_is_repeated_until_it_is_given_up() -> None:
    scene = Scene()
    sent = scene.deliveries.send("events_api", EVENT, "a")
    for after in RETRY_AFTER:
        scene.clock.advance(ACK_WITHIN)
        scene.clock.advance(after)
    assert scene.line.sent == ["a 0", "a 1", "a 2", "a 3"]
    scene.clock.advance(ACK_WITHIN)
    assert sent.lost
    with pytest.raises(TimeoutError):
        await sent.answered()
    scene.deliveries.retry(sent)
    assert (scene.line.sent[-1], sent.lost) == ("a 4", False)


async def test_a_final_failure_is_not_repeated() -> None:
    scene = Scene()
    sent = scene.deliveries.send("events_api", EVENT, "a")
    scene.deliveries.fail(sent, sent.attempts[-1], "http_error", final=True)
    assert (sent.lost, sent.attempts[0].failure) == (True, "http_error")


async def test_held_deliveries_are_released_in_the_order_that_is_asked_for() -> None:
    scene = Scene()
    scene.deliveries.held = True
    for identity in "ab":
        scene.deliveries.send("interactive", {}, identity)
    assert scene.line.sent == []
    scene.deliveries.release(backwards=True)
    assert scene.line.sent == ["b 0", "a 0"]


async def test_nothing_is_repeated_once_they_are_closed() -> None:
    scene = Scene()
    scene.deliveries.send("events_api", EVENT, "a")
    scene.deliveries.close()
    scene.clock.advance(1000)
    assert scene.line.sent == ["a 0"]
