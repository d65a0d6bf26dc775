"""Scheduled backups: made when they are due, rotated, and told of."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from time import monotonic

from gateway.base.clock import HOUR, Clock, WallClock, sleep
from gateway.base.describe import describe
from gateway.base.metrics import BackupFigures, Metrics
from gateway.config.settings import BackupConfig
from gateway.errors import GatewayError
from gateway.store.sqlite.backup_folder import BackupFolder
from gateway.store.sqlite.store import SqliteStore
from gateway.store.units import audit

LOG = logging.getLogger("gateway")

LOOK = 60.0
"""Seconds between two looks at whether a backup is due."""
RETRY = 15
"""Looks until a failed backup is tried again."""


class Backups:
    """Makes the backups of a store that its owner's config asks for.

    `settings` are those in use at the moment. The newest good backup in the folder says when the
    next one is due, so that a restart makes none too many, and a missed one is made up once.
    """

    def __init__(
        self,
        store: SqliteStore,
        settings: Callable[[], BackupConfig | None],
        vitals: Metrics,
        clock: Clock | None = None,
    ) -> None:
        self._store = store
        self._settings = settings
        self._vitals = vitals
        self._clock = clock or WallClock()
        self._used: BackupConfig | None = None
        self._wait = 0
        """Looks that are left until the next try."""

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            await self.look()
            await sleep(self._clock, LOOK)

    async def look(self) -> None:
        """Make a backup if one is due; delete those beyond `keep`."""
        if (settings := self._settings()) != self._used:
            self._used, self._wait = settings, 0
            self._vitals.backup = settings and BackupFigures(settings.every_hours * HOUR)
        if settings is None or (figures := self._vitals.backup) is None:
            return
        if self._wait:
            self._wait -= 1
            return
        try:
            async with asyncio.timeout(figures.every):
                await self._make(settings, figures)
        except Exception as error:  # the gateway must not end with it
            self._wait = RETRY
            self._vitals.backup_failures += 1
            self._vitals.remark("backup", describe(error))
            figures.trouble = "No backup was made when one was due. `parley status` says why."
            known = isinstance(error, (GatewayError, OSError))
            LOG.error("no backup was made: %s", describe(error), exc_info=not known)  # noqa: TRY400 (the text says it all)
        else:
            figures.trouble = ""

    async def _make(self, settings: BackupConfig, figures: BackupFigures) -> None:
        now, began = self._clock.time(), monotonic()
        folder = BackupFolder(settings.folder, self._store.path)
        newest = await asyncio.to_thread(folder.rotate, settings.keep, now)
        figures.at, figures.size = (newest.at, newest.size) if newest else (0.0, 0)
        if newest is None or now - newest.at >= figures.every:
            path = await asyncio.to_thread(folder.begin, now)
            await self._store.backup(path)
            await self._store.run(audit.note, "store.backed_up", person="", object=str(path))
            figures.at, figures.size = now, path.stat().st_size
            figures.seconds = monotonic() - began
            LOG.info("backed up the store to %s in %.1f s", path, figures.seconds)
            await asyncio.to_thread(folder.rotate, settings.keep, now)
