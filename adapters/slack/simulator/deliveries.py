"""Deliveries to the app: attempts, deadlines, retries and acknowledgements."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from adapters.slack.simulator.clock import Clock, Timer
from adapters.slack.simulator.state import Json

DeliveryKind: TypeAlias = Literal["events_api", "interactive", "slash_commands"]

ACK_WITHIN = 3.0
RETRY_AFTER = (0.0, 60.0, 300.0)
"""Seconds from a failed attempt to the next one; after the last, it is given up.

Slack tries again "nearly immediately", after a minute and after five minutes
(https://docs.slack.dev/apis/events-api/), also what came while no connection was open
(https://github.com/vercel/chat/issues/666).
"""


@dataclass(kw_only=True)
class Attempt:
    """One try; `via` is the connection or URL, or ""."""

    number: int
    at: float
    via: str
    reason: str = ""
    failure: str = ""


@dataclass(kw_only=True)
class Delivery:
    """Something that the app has to acknowledge.

    `acked_at` is the first acknowledgement's time, `latency` what it took, in seconds of the
    machine's own time. `response` is what came with it. `lost`: it was never acknowledged, and will
    not be sent again.
    """

    id: str
    kind: DeliveryKind
    payload: Json
    attempts: list[Attempt] = field(default_factory=list)
    acked: bool = False
    acked_at: float | None = None
    latency: float | None = None
    response: Json | None = None
    lost: bool = False
    acks: list[str] = field(default_factory=list)
    """The connections that acknowledgements came through, in order: one too many is two."""
    settled: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    @property
    def event(self) -> Json:
        """The event inside, or the payload itself."""
        return self.payload.get("event", self.payload)

    async def answered(self, within: float = 30.0) -> Json:
        """Wait for the acknowledgement, and return what came with it.

        Raises TimeoutError after `within` seconds of real time, or when it was given up.
        """
        async with asyncio.timeout(within):
            await self.settled.wait()
        if self.lost:
            raise TimeoutError(f"the app did not acknowledge {self.event.get('type')!r}")
        return self.response or {}


class Transport(Protocol):
    """A way to the app: Socket Mode or HTTP."""

    def send(self, delivery: Delivery, attempt: Attempt) -> bool:
        """Start to send, setting `attempt.via`; False where there is no way now."""
        ...


class Deliveries:
    """All that was sent, in order."""

    def __init__(self, clock: Clock, changed: Callable[[], None]) -> None:
        self.all: list[Delivery] = []
        self.transport: Transport | None = None
        self.retry_after: Sequence[float] = RETRY_AFTER
        self.ack_within = ACK_WITHIN
        self.held = False
        """While held, nothing is sent; `release` sends it in the order that is asked for."""
        self._clock = clock
        self._changed = changed
        self._by_id: dict[str, Delivery] = {}
        self._started: dict[str, float] = {}
        self._timers: dict[str, Timer] = {}
        self._waiting: list[Delivery] = []
        self._on_ack: dict[str, Callable[[Delivery], None]] = {}

    def send(
        self,
        kind: DeliveryKind,
        payload: Json,
        identity: str,
        on_ack: Callable[[Delivery], None] | None = None,
    ) -> Delivery:
        """Send a delivery; events are repeated until acknowledged."""
        delivery = Delivery(id=identity, kind=kind, payload=payload)
        self.all.append(delivery)
        self._by_id[identity] = delivery
        if on_ack is not None:
            self._on_ack[identity] = on_ack
        if self.held:
            self._waiting.append(delivery)
        else:
            self._attempt(delivery)
        return delivery

    def release(self, *, backwards: bool = False) -> None:
        """Send the held deliveries, the newest first if `backwards`."""
        self.held = False
        waiting, self._waiting = self._waiting, []
        for delivery in reversed(waiting) if backwards else waiting:
            self._attempt(delivery)

    def retry(self, delivery: Delivery) -> None:
        """Make the next attempt now, even after the last one.

        An app can have events that it missed delivered once an hour, for a day
        (https://docs.slack.dev/apis/events-api/#delayed-events).
        """
        self._stop_timer(delivery.id)
        delivery.lost = False
        self._attempt(delivery, "timeout")

    def ack(self, identity: str, response: Json | None, via: str) -> None:
        """Record an acknowledgement."""
        delivery = self._by_id.get(identity)
        if delivery is None:
            return
        delivery.acks.append(via)
        if not delivery.acked:
            delivery.acked = True
            delivery.acked_at = self._clock.time()
            delivery.lost = False
            delivery.response = response
            delivery.latency = time.perf_counter() - self._started[identity]
            self._stop_timer(identity)
            if (then := self._on_ack.pop(identity, None)) is not None:
                then(delivery)
            delivery.settled.set()
        self._changed()

    def fail(self, delivery: Delivery, attempt: Attempt, reason: str, *, final: bool) -> None:
        """Record a failed attempt, and plan the next unless it is `final`."""
        if delivery.acked or attempt is not delivery.attempts[-1] or attempt.failure:
            return
        attempt.failure = reason
        self._stop_timer(delivery.id)
        last = attempt.number >= len(self.retry_after)
        if final or last or delivery.kind != "events_api":
            delivery.lost = True
            delivery.settled.set()
        else:
            self._timers[delivery.id] = self._clock.call_later(
                self.retry_after[attempt.number], lambda: self._attempt(delivery, reason)
            )
        self._changed()

    def close(self) -> None:
        """Stop every deadline and repetition."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _attempt(self, delivery: Delivery, reason: str = "") -> None:
        number = len(delivery.attempts)
        attempt = Attempt(number=number, at=self._clock.time(), via="", reason=reason)
        delivery.attempts.append(attempt)
        self._started[delivery.id] = time.perf_counter()
        if self.transport is None or not self.transport.send(delivery, attempt):
            self.fail(delivery, attempt, "connection_failed", final=False)
            return
        self._timers[delivery.id] = self._clock.call_later(
            self.ack_within, lambda: self.fail(delivery, attempt, "timeout", final=False)
        )
        self._changed()

    def _stop_timer(self, identity: str) -> None:
        if (timer := self._timers.pop(identity, None)) is not None:
            timer.cancel()
