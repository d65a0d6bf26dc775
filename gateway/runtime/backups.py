"""Scheduled backups: made when they are due, rotated, and told of."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic

from gateway.base.clock import HOUR, Clock, WallClock, sleep
from gateway.base.describe import describe
from gateway.base.metrics import BackupFigures, Metrics
from gateway.config.settings import BackupConfig
from gateway.errors import GatewayError, StoreFull, log_incident
from gateway.store.sqlite.backup_folder import BackupFolder, folder_problem, folder_warning
from gateway.store.sqlite.store import SqliteStore

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
        self._folder: BackupFolder | None = None
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
            self._used, self._wait, self._folder = settings, 0, None
            self._vitals.backup = settings and BackupFigures(settings.every_hours * HOUR)
        if settings is None or (figures := self._vitals.backup) is None:
            return
        if self._wait:
            self._wait -= 1
            return
        try:
            async with asyncio.timeout(figures.every):
                await self._round(settings, figures)
        except Exception as error:  # the gateway must not end with it
            self._fail(figures, error)
        else:
            figures.trouble = ""

    async def _round(self, settings: BackupConfig, figures: BackupFigures) -> None:
        if (folder := self._folder) is None:
            folder = self._folder = await asyncio.to_thread(self._open, settings.folder)
        now = self._clock.time()
        await self._rotate(folder, settings.keep, figures, now)
        if figures.at and now - figures.at < figures.every:
            return
        if problem := await asyncio.to_thread(folder_problem, settings.folder, self._store.path):
            raise GatewayError(problem)
        await asyncio.to_thread(folder.clear)
        began = monotonic()
        await self._store.backup(path := folder.path_at(now))
        figures.seconds = monotonic() - began
        await self._rotate(folder, settings.keep, figures, now)
        LOG.info("backed up the store to %s in %.1f s", path, figures.seconds)

    def _open(self, folder: Path) -> BackupFolder:
        if warning := folder_warning(folder, self._store.path):
            LOG.warning("backups: %s", warning)
        return BackupFolder(folder, self._store.path)

    async def _rotate(
        self, folder: BackupFolder, keep: int, figures: BackupFigures, now: float
    ) -> None:
        good = await asyncio.to_thread(folder.good, now)
        figures.at, figures.size = (good[0].at, good[0].size) if good else (0.0, 0)
        await asyncio.to_thread(folder.delete, good[keep:])

    def _fail(self, figures: BackupFigures, error: Exception) -> None:
        self._wait = RETRY
        self._vitals.backup_failures += 1
        match error:
            case StoreFull():
                why = "the disk is full; make space there, or keep fewer"
            case TimeoutError():
                why = "it took longer than `every_hours`"
            case GatewayError() | OSError():
                why = describe(error)
            case _:
                incident = log_incident(error, "a backup")
                why = f"{describe(error)} (parley log {incident})"
        LOG.error("no backup was made: %s", why)
        self._vitals.remark("backup", why)
        figures.trouble = "No backup was made when one was due. `parley status` says why."


@asynccontextmanager
async def making(backups: Backups) -> AsyncGenerator[None]:
    """Make backups meanwhile."""
    # It may be entered by one task and left by another, so it hangs on a task of its own.
    task = asyncio.get_running_loop().create_task(backups.run(), name="backups")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
