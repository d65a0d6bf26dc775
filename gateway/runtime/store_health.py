"""Looks at whether the store answers at this moment."""

from __future__ import annotations

import asyncio

from gateway.errors import GatewayError, StatementRefused, StoreUnreachable
from gateway.missed import MissedCounts
from gateway.store.nodes import NodeRow
from gateway.store.protocols import SessionStore, SupportsNodes
from gateway.store.records import Counts
from gateway.store.units import counts, gaps, nodes

PATIENCE = 4.0
"""Seconds for the store to take a write: more than a database is waited for."""

OK, SILENT, REFUSED = "ok", "silent", StatementRefused.__name__
TAKES_WRITES = (OK, REFUSED)
"""States in which a node can do its work, perhaps not that of each thread."""
_UNANSWERED = (StoreUnreachable.__name__, SILENT)
_TROUBLES = {
    OK: "",
    REFUSED: "The store refused a statement, which may be the fault of one thread's rows: see the"
    " log.",
    SILENT: f"The store has taken no write for {PATIENCE:.0f} seconds.",
    "StoreFull": "The disk is full. Parley accepts no messages until there is space.",
    "StoreUnreachable": "Parley can't reach the store's database, and accepts no messages.",
}


async def store_state(store: SessionStore) -> str:
    """A word for programs: "ok", "silent", or an error's kind."""
    try:
        async with asyncio.timeout(PATIENCE):
            await store.probe()
    except GatewayError as error:
        return type(error).__name__
    except TimeoutError:
        return SILENT
    return OK


def store_trouble(state: str) -> str:
    """A sentence about a store in this state, or ""."""
    other = f"The store refuses writes ({state}). What it refuses is not accepted."
    return _TROUBLES.get(state, other)


async def known_counts(store: SessionStore, state: str) -> tuple[Counts | None, MissedCounts]:
    """Figures over all threads; none while the store does not answer."""
    if state in _UNANSWERED:
        return None, MissedCounts()
    return await store.run(counts.counts), await store.run(gaps.missed_counts)


async def known_nodes(store: SessionStore, state: str) -> list[NodeRow]:
    """The nodes of the store; none while it is silent."""
    if state in _UNANSWERED or not isinstance(store, SupportsNodes):
        return []
    return await store.run(nodes.nodes)
