"""Shared by tests of several accounts on one platform."""

from __future__ import annotations

from typing import Any

from gateway.gateway import Gateway


async def rows(gateway: Gateway, column: str, table: str = "inbox") -> list[Any]:
    """A column of what was taken, or of another table."""
    store: Any = gateway.store
    return await store.write(
        lambda c: [row[0] for row in c.fetch(f"SELECT {column} FROM {table} ORDER BY {column}")]
    )


async def thread_keys(gateway: Gateway) -> list[str]:
    """The keys of all conversations with a thread."""
    return await rows(gateway, "key", "threads")
