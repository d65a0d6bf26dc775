"""The gateway as delivery sees it."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from gateway.client import RequestInfo
from gateway.conversation import ConversationKey
from gateway.events import SessionEvent
from gateway.faces import TeamFaces
from gateway.outbox import Outbox, PartResult
from gateway.runtime.lifecycle import GatewayParts
from gateway.sessions.event_bus import watch
from gateway.sessions.human_requests import input_requested
from gateway.store.units import events as event_units
from gateway.store.units import forks, requests


class HostDelivery:
    """Delivery's view of the gateway; see `gateway.outbox.DeliveryHost`."""

    def __init__(self, parts: GatewayParts) -> None:
        self._store = parts.store
        self._bus = parts.bus
        self._using = parts.using
        self._vitals = parts.vitals
        self.tells_for = parts.nodes.tells_for
        self.activity = parts.bus.activity

    @property
    def outbox(self) -> Outbox:
        """Where it is kept what platforms were told."""
        return self._store

    @property
    def approval_places(self) -> tuple[ConversationKey, ...]:
        """Further places for approvals, for people who can't see the threads."""
        return self._using.access.approval_places

    def faces(self, team: str) -> TeamFaces:
        """The faces of a team's agents."""
        return self._using.access.faces_of(team)

    def events(self, thread: str, *, after: int = 0) -> AsyncGenerator[SessionEvent]:
        """Events of a thread after a seq, then new ones."""
        return watch(self._store, self._bus, thread, after)

    async def request(self, request: str) -> RequestInfo:
        """A request to a human. Raises NotFound."""
        found = await self._store.run(event_units.request, request)
        card = input_requested(found, self._using.access.operators.who_may_answer(found))
        return RequestInfo(
            card=card, open=found.state == "open", outcome=found.outcome, asker=found.asker
        )

    async def close_unshown(self, thread: str, request: str = "") -> None:
        """Close requests within calls that can't be shown: one, or all."""
        self._bus.publish(thread, await self._store.run(requests.close_unshown, thread, request))

    async def refuse_fork(self, thread: str, seq: int, why: str, person: str) -> None:
        """Tell whoever asked for a fork that it can't begin; see `forks.refuse`."""
        for event in await self._store.run(forks.refuse, thread, seq, why, person):
            self._bus.publish(event.thread, [event])

    def count_part(self, platform: str, result: PartResult, seconds: float) -> None:
        """Count a message that was written to a platform, or was not."""
        self._vitals.parts[result] += 1
        self._vitals.delivery.labels(platform).observe(seconds)

    def count_first_text(self, platform: str, seconds: float) -> None:
        """Count how long who asked has waited to see the first text."""
        self._vitals.first_visible_text.labels(platform).observe(seconds)

    def count_wait(self, platform: str, seconds: float) -> None:
        """Count the seconds that a platform asks to wait."""
        self._vitals.waits[platform] += seconds

    def note_wait(self, thread: str, platform: str, limit: str) -> None:
        """Note which limit holds a thread's next message; "" for none."""
        if limit:
            self._vitals.owes(thread, platform, limit)
        else:
            self._vitals.paid(thread)

    def note_undelivered(self, platform: str, why: str) -> None:
        """Tell the operator why a message could not be written."""
        self._vitals.remark(platform, f"not delivered: {why}")
