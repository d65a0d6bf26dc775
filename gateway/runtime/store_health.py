"""A look at whether the store takes writes at this moment."""

from __future__ import annotations

import asyncio

from gateway.errors import GatewayError, StoreFull
from gateway.store.protocols import SessionStore

PATIENCE = 2.0
"""Seconds for the store to take a write."""


async def store_trouble(store: SessionStore) -> str:
    """A sentence about a store that takes no writes, or ""."""
    try:
        async with asyncio.timeout(PATIENCE):
            await store.probe()
    except StoreFull:
        return "The disk is full. Nothing is accepted until there is space again."
    except GatewayError as error:
        return f"The store takes no writes ({type(error).__name__}). Nothing is accepted."
    except TimeoutError:
        return f"The store has taken no write for {PATIENCE:.0f} seconds."
    return ""
