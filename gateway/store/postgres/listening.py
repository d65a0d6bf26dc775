"""Listening for signals of other nodes, and for jobs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import psycopg
from psycopg import AsyncConnection

from gateway.base.describe import describe
from gateway.store.postgres.database import Database
from gateway.store.postgres.jobs import CHANNEL
from gateway.store.postgres.pool import conninfo, setting

LOG = logging.getLogger("gateway.store")

SIGNALS = "parley"
LOOK = 5.0
"""Seconds without a signal after which the connection is asked for a sign of life."""
AGAIN = 1.0
"""Seconds until a lost connection is made anew."""


async def listen(database: Database, boot: str, told: Callable[[str], None]) -> None:
    """Call `told` with each signal, and "" for new jobs, until cancelled.

    A lost connection is made anew, and "" told: there may be news.
    """
    while True:
        try:
            async with asyncio.timeout(2 * LOOK):
                connection = await AsyncConnection.connect(conninfo(database), autocommit=True)
            async with connection:
                async with asyncio.timeout(LOOK):
                    await connection.execute(*setting(database, boot))
                await _follow(connection, told)
        except (psycopg.Error, TimeoutError) as error:
            LOG.debug("listening for other nodes begins anew: %s", describe(error))
        await asyncio.sleep(AGAIN)


async def _follow(
    connection: AsyncConnection[tuple[object, ...]], told: Callable[[str], None]
) -> None:
    async with asyncio.timeout(LOOK):
        await connection.execute(f"LISTEN {SIGNALS}")
        await connection.execute(f"LISTEN {CHANNEL}")
    told("")
    while True:
        async for notice in connection.notifies(timeout=LOOK):
            told(notice.payload if notice.channel == SIGNALS else "")
        async with asyncio.timeout(LOOK):
            await connection.execute("SELECT 1")
