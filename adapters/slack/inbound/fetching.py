"""The files of messages that the gateway has stored and waits for: fetched, and handed in."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Protocol

from adapters.slack.inbound.files import Files, remote
from adapters.slack.inbound.parsed import PLATFORM
from gateway.adapter import AdapterHost
from gateway.conversation import Awaiting
from gateway.errors import StoreFull, StoreUnwritable

LOG = logging.getLogger("adapters.slack")

AT_ONCE = 8
"""Messages whose files are fetched at a time: they are held in memory."""
STORE_AGAIN = 5.0
"""Seconds until files are handed in again that the disk did not take."""


class Afterwards(Protocol):
    """Runs what need not be done before Slack is told that something has arrived."""

    def __call__(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Begin it, and own it until its end."""
        ...


class Fetching:
    """Fetches what is waited for, whichever process has accepted it."""

    def __init__(self, host: AdapterHost, files: Files, afterwards: Afterwards) -> None:
        self._host = host
        self._files = files
        self._afterwards = afterwards
        self._places = asyncio.Semaphore(AT_ONCE)
        self._begun: set[int] = set()

    async def look(self) -> None:
        """Begin to fetch what nobody fetches yet."""
        for message in await self._host.awaited_files(PLATFORM):
            if message.inbox not in self._begun:
                self._begun.add(message.inbox)
                self._afterwards(self._fetch(message), "slack files")

    async def _fetch(self, message: Awaiting) -> None:
        try:
            async with self._places:
                files = [remote(file) for file in message.files]
                found, missing = await self._files.fetch(message.key.workspace, files)
                while True:
                    try:
                        await self._host.bring_files(message.inbox, found, missing)
                    except (StoreFull, StoreUnwritable) as error:
                        LOG.warning("files were not stored, they are tried again: %s", error)
                        await asyncio.sleep(STORE_AGAIN)
                    else:
                        break
        finally:
            self._begun.discard(message.inbox)
