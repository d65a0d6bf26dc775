"""Votes of nodes on a reload, and their verdict."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from gateway.base.redaction import REDACTION
from gateway.errors import GatewayError
from gateway.store.reloads import Proposal, Reload

if TYPE_CHECKING:
    from gateway.store.postgres.store import PostgresStore  # an extra

LOG = logging.getLogger("gateway")

SECONDS = 15.0
"""Seconds that all nodes have to vote in."""
VERDICT_EVERY = 0.2
"""Seconds between two looks at the votes."""
LONGEST_REASON = 2000
"""Characters of a reason against a reload."""


class ReloadOpen(GatewayError):
    """Another reload is under way."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Another reload is under way, begun by {name}. Try again in a moment.")


class ReloadRefused(GatewayError):
    """No node has changed, since one can't; the text says which."""

    def __init__(self, ended: Reload | None) -> None:
        super().__init__(_refusal(ended))


class ReloadVotes:
    """Votes of the node with this `boot`, and the verdicts of all."""

    def __init__(self, store: PostgresStore, boot: str) -> None:
        self._store = store
        self._boot = boot

    async def propose(self, proposal: Proposal) -> None:
        """Let all nodes vote. Raises ReloadOpen."""
        if other := await self._store.propose_reload(proposal, SECONDS):
            raise ReloadOpen(other)

    async def last(self) -> Reload | None:
        """The last reload, if there was one of late."""
        return await self._store.last_reload()

    async def vote(self, reload: str, refusal: str) -> None:
        """Vote for a reload, or against it with a reason."""
        reason = REDACTION.all(refusal)[:LONGEST_REASON]
        while True:
            try:
                await self._store.vote(reload, self._boot, reason)
            except GatewayError as error:  # it may have been taken: only the verdict ends this
                LOG.debug("a vote for a reload was not taken, and is tried again: %s", error)
                await asyncio.sleep(VERDICT_EVERY)
            else:
                return

    async def used(self, digest: str) -> None:
        """Note that this node uses the config of this digest."""
        await self._store.use_config(self._boot, digest)

    async def verdict(self, reload: str) -> Reload | None:
        """The reload, once it is decided.

        Its proposer decides, or others if that is gone.
        """
        while True:
            try:
                found = await self._store.reload_state(reload)
                if found is not None and self._may_settle(found):
                    found = await self._store.settle_reload(reload, SECONDS)
                if found is None or found.state != "open":
                    return found
            except GatewayError as error:  # it is decided, or not, all the same
                LOG.debug("the votes for a reload could not be read: %s", error)
            await asyncio.sleep(VERDICT_EVERY)

    def _may_settle(self, found: Reload) -> bool:
        if found.state != "open":
            return False
        decides = found.proposer == self._boot or not found.proposer_name
        return found.age > SECONDS or (found.is_decided and decides)


def agreement(ended: Reload, what: str) -> str:
    """A line about the nodes that agreed, if there are several."""
    count = len(ended.votes)
    return f"\nAll {count} nodes {what}." if count > 1 else ""


def _refusal(ended: Reload | None) -> str:
    lines = ["The reload has changed no node; all keep the config that they use."]
    if ended is not None:
        lines += [f"- {vote.name}: {vote.refusal}" for vote in ended.refusals]
        lines += [f"- {name}: no answer within {SECONDS:.0f} seconds" for name in ended.missing]
    return "\n".join(lines)
