"""Capabilities of a gateway for adapters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gateway.adapter import DeadEndOutcome, IgnoredReason
from gateway.base.clock import ClockTrust
from gateway.base.metrics import Metrics
from gateway.conversation import (
    ConversationKey,
    HistoryLimit,
)
from gateway.errors import NodeCutOff
from gateway.runtime.settings import ActiveSettings
from gateway.runtime.store_health import OK, known_nodes
from gateway.sessions.event_bus import LocalBus
from gateway.sessions.nodes import Nodes
from gateway.store.protocols import SessionStore
from gateway.store.records import Thread
from gateway.store.units import adapters as adapter_units
from gateway.store.units import out_of_order, people, threads


@dataclass(frozen=True, slots=True)
class HostHealth:
    """Figures and words about platforms; see `gateway.adapter.Health`."""

    vitals: Metrics
    trust: ClockTrust
    store: SessionStore

    def heartbeat(self, adapter: str) -> None:
        """Note that something came in from a platform, be it a heartbeat."""
        self.vitals.platforms.frame(adapter)

    async def node_count(self, adapter: str) -> int:
        """Number of the store's nodes that serve an account."""
        nodes = [each.node.platforms for each in await known_nodes(self.store, OK) if each.lives]
        return max(1, sum(adapter in each for each in nodes))

    def note_strangers(self, adapter: str, found: int) -> None:
        """Note how many others use an account's token beside the store's nodes."""
        if told := self.vitals.platforms.note_strangers(adapter, found):
            self.remark(adapter, told)

    def connection(self, adapter: str, *, is_open: bool) -> None:
        """Note that the connection to a platform was made, or lost."""
        self.vitals.platforms.note(adapter, is_open=is_open)

    def compare_time(self, adapter: str, told: float) -> None:
        """Compare the clock with the time that a platform has told."""
        self.trust.compare(told, adapter)

    def count_ignored(self, reason: IgnoredReason) -> None:
        """Count an event of a platform that its adapter drops."""
        self.vitals.ignored[reason] += 1

    def count_dead_end(self, outcome: DeadEndOutcome) -> None:
        """Count somebody who can't be answered where they asked."""
        self.vitals.dead_ends[outcome] += 1

    def remark(self, adapter: str, text: str) -> None:
        """Tell the operator what a platform did not permit."""
        self.vitals.remark(adapter, text)

    async def probe(self) -> None:
        """Nothing, as a write. Raises the GatewayError that a write would."""
        await self.store.probe()


@dataclass(frozen=True, slots=True)
class HostLeases:
    """Leases of nodes; see `gateway.adapter.Leases`."""

    nodes: Nodes

    async def hold(self, lease: str) -> bool:
        """Take a lease; True if this node has it."""
        return await self.nodes.hold(lease)

    async def release(self, lease: str) -> None:
        """Leave a lease to other nodes."""
        await self.nodes.release(lease)

    def check_speaking(self) -> None:
        """Check that this node may change something on a platform. Raises NodeCutOff."""
        if not self.nodes.speaks():
            raise NodeCutOff


@dataclass(frozen=True, slots=True)
class HostMarks:
    """Texts that adapters keep; see `gateway.adapter.Marks`."""

    store: SessionStore

    async def read(self, platform: str, name: str = "") -> Mapping[str, str]:
        """The marks of a platform, by their names, or that of `name`."""
        return await self.store.run(adapter_units.marks, platform, name)

    async def keep(
        self, platform: str, name: str, value: str, *, of: ConversationKey | None = None
    ) -> None:
        """Keep a text for a platform's adapter; it replaces an earlier one."""
        await self.store.run(adapter_units.mark, platform, name, value, of=of)


@dataclass(frozen=True, slots=True)
class HostConversations:
    """Conversations by their keys; see `gateway.adapter.Conversations`."""

    store: SessionStore
    using: ActiveSettings
    bus: LocalBus
    clock: Callable[[], float]

    async def thread_at(self, key: ConversationKey) -> Thread | None:
        """The conversation's current thread; None if it is unknown."""
        return await self.store.run(threads.thread_at, key)

    async def history_limit(self, key: ConversationKey) -> HistoryLimit:
        """Limit of a conversation's history on its platform."""
        kept = self.using.limits.retention
        since = 0.0 if kept is None else self.clock() - kept
        return HistoryLimit(
            order_key=await self.store.run(out_of_order.forgotten, key), since=since
        )

    async def rename_thread(self, thread: str, title: str) -> None:
        """Give a thread another title. Raises NotFound."""
        self.bus.publish(thread, await self.store.run(threads.rename_thread, thread, title))

    async def rate(
        self, thread: str, part: str, person: str, *, good: bool, reason: str = ""
    ) -> None:
        """Keep a person's rating of an answer. Raises NotFound."""
        await self.store.run(people.rate, thread, part, person, good=good, reason=reason)
