"""Status of a gateway, as the operator is told."""

from __future__ import annotations

import os

from gateway.runtime.lifecycle import GatewayParts, Lifecycle
from gateway.runtime.status import PlatformStatus, Status
from gateway.runtime.store_health import known_counts, known_nodes, store_state, store_trouble
from gateway.store.protocols import SupportsPool


class OperatorStatus:
    """Figures and troubles of one gateway."""

    def __init__(self, parts: GatewayParts, life: Lifecycle, *, boot: str) -> None:
        self._store = parts.store
        self._sessions = parts.sessions
        self._trust = parts.trust
        self._clock = parts.clock
        self._vitals = parts.vitals
        self._life = life
        self._boot = boot
        self._since = 0.0

    def begin(self) -> None:
        """Count from now on."""
        self._since = self._clock()

    async def figures(self) -> Status:
        """All figures of this moment."""
        state = await store_state(self._store)
        counts, missed = await known_counts(self._store, state)
        vitals = self._vitals
        return Status(
            pid=os.getpid(),
            since=self._since,
            running=self._sessions.running,
            live=self._sessions.live,
            live_bytes=self._sessions.live_bytes,
            counts=counts,
            missed=missed,
            platforms={
                name: PlatformStatus(state=life, since=self._clock() - ago)
                for name, (life, ago) in vitals.platforms.states().items()
            },
            ignored=dict(vitals.ignored),
            owed=vitals.owed,
            substitutions=vitals.answers_of_others,
            remarks=vitals.remarks,
            backup=vitals.backup,
            pool=self._store.pool() if isinstance(self._store, SupportsPool) else None,
            boot=self._boot,
            nodes=await known_nodes(self._store, state),
            store=state,
            troubles=self._troubles(state),
        )

    async def troubles(self) -> tuple[str, ...]:
        """Sentences about trouble, without ids and texts."""
        return self._troubles(await store_state(self._store))

    def _troubles(self, store: str) -> tuple[str, ...]:
        found = (
            store_trouble(store),
            self._trust.doubt,
            self._life.retention.trouble,
            self._vitals.backup.trouble if self._vitals.backup else "",
        )
        return (*filter(None, found), *self._vitals.lacks)
