"""Looks at whether the store answers at this moment."""

from __future__ import annotations

import asyncio

from gateway.errors import GatewayError, StoreFull, StoreUnreachable
from gateway.missed import MissedCounts
from gateway.store.protocols import SessionStore
from gateway.store.records import Counts

PATIENCE = 2.0
"""Seconds for the store to answer."""


async def store_trouble(store: SessionStore) -> str:
    """A sentence about a store that takes no writes, or ""."""
    try:
        await _probe(store)
    except StoreFull:
        return "The disk is full. Nothing is accepted until there is space again."
    except StoreUnreachable:
        return "The store's database can't be reached. Nothing is accepted until it answers."
    except GatewayError as error:
        return f"The store takes no writes ({type(error).__name__}). Nothing is accepted."
    except TimeoutError:
        return f"The store has taken no write for {PATIENCE:.0f} seconds."
    return ""


async def store_state(store: SessionStore) -> str:
    """A word for programs: "ok", "silent", or the kind of error of a write."""
    try:
        await _probe(store)
    except GatewayError as error:
        return type(error).__name__
    except TimeoutError:
        return "silent"
    return "ok"


async def _probe(store: SessionStore) -> None:
    async with asyncio.timeout(PATIENCE):
        await store.probe()


async def known_counts(store: SessionStore) -> tuple[Counts | None, MissedCounts]:
    """Figures over all threads; none while the store's database does not answer."""
    try:
        async with asyncio.timeout(PATIENCE):
            return await store.counts(), await store.missed_counts()
    except (StoreUnreachable, TimeoutError):
        return None, MissedCounts()
