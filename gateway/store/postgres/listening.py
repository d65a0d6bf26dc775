"""Listening for signals of other nodes, and for jobs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress

import psycopg
from psycopg import AsyncConnection

from gateway.base.describe import describe
from gateway.store.postgres.database import Database
from gateway.store.postgres.jobs import CHANNEL
from gateway.store.postgres.pool import conninfo, setting
from gateway.store.postgres.transactions import hang_up

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
            try:
                await _ask(connection, *setting(database, boot))
                await _ask(connection, f"LISTEN {SIGNALS}; LISTEN {CHANNEL}")
                told("")
                while True:
                    async for notice in connection.notifies(timeout=LOOK):
                        told(notice.payload if notice.channel == SIGNALS else "")
                    await _ask(connection, "SELECT 1")
            finally:
                await connection.close()
        except (psycopg.Error, TimeoutError) as error:
            LOG.debug("listening for other nodes begins anew: %s", describe(error))
        await asyncio.sleep(AGAIN)


async def _ask(connection: AsyncConnection, statement: str, *values: Sequence[object]) -> None:
    """Carry out a statement; who is cancelled meanwhile leaves at once."""
    asked = asyncio.ensure_future(connection.execute(statement.encode(), *values))
    try:
        async with asyncio.timeout(LOOK):
            await asyncio.shield(asked)
    finally:
        if not asked.done():
            hang_up(connection.fileno)  # psycopg would try for ten seconds to hear its end
            with suppress(psycopg.Error):
                await asked
