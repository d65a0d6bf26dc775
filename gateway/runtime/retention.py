"""Retention: old threads and rows of the audit are deleted, in shares."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

from gateway.base.clock import ClockTrust
from gateway.runtime.settings import Limits
from gateway.store.protocols import SessionStore
from gateway.store.units import audit, deletion

LOG = logging.getLogger("gateway")

PAUSE = 3600.0
"""Seconds until the next round, after one that left something."""


@dataclass(slots=True)
class Retention:
    """Deletes the threads of a store that nobody has used for long."""

    store: SessionStore
    trust: ClockTrust
    clock: Callable[[], float]
    gone: Callable[[str], None]
    """Is told each thread that was deleted."""
    left: int = 0
    """Threads that the last round has left for the next."""
    next_at: float | None = None
    """When that is, by the steady clock; None until it was read in the store."""

    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by a round: who asks for another one finds its work done."""

    async def round(self, limits: Limits) -> None:
        """Delete what is too old, as far as this round may."""
        async with self._lock:
            await self._round(limits)

    async def _round(self, limits: Limits) -> None:
        if not self.trust.holds():
            return
        if limits.audit is not None:
            await self.store.run(audit.drop_audit, self.clock() - limits.audit)
        if limits.retention is None:
            return
        now = self.trust.steady()
        if self.next_at is None:
            self.next_at = now + await self._rest()
        if now < self.next_at:
            return
        before = self.clock() - limits.retention
        self.next_at = None  # should the round fail after its commit, the store knows
        expired = await self.store.run(
            deletion.expire, before, share=limits.retention_share, next_at=self.clock() + PAUSE
        )
        for thread in expired.threads:
            LOG.info("thread %s: deleted, nothing had happened in it for long", thread)
            self.gone(thread)
        self.left = expired.left
        self.next_at = now + PAUSE if expired.left else -inf
        if expired.left:
            LOG.warning(
                "retention has deleted %d threads; %d more are as old, and left for the next "
                "rounds, an hour apart: if that is too many, set retention_days or the clock right",
                len(expired.threads),
                expired.left,
            )

    async def _rest(self) -> float:
        """Seconds that are left of a pause."""
        pause = await self.store.run(deletion.retention_pause)
        if pause is None:
            return 0.0
        self.left = pause.left
        # A pause that a wrong clock has dated is no longer than any.
        return min(max(0.0, pause.next_at - self.clock()), PAUSE)

    @property
    def trouble(self) -> str:
        """A sentence for operators about what is left, or ""."""
        if not self.left:
            return ""
        minutes = max(0.0, (self.next_at or 0.0) - self.trust.steady()) / 60
        return (
            f"Retention deletes {self.left} more threads, a share of them each hour, next in "
            f"{minutes:.0f} minutes. If that is too many, set retention_days or the clock right."
        )
