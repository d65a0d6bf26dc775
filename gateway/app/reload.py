"""Reload of a changed config: check whole, switch at once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from gateway.app.assemble import access_of, limits_of, team_factory
from gateway.app.config_diff import changed_settings, changes
from gateway.app.load import LoadedConfig, load_config
from gateway.app.watched_files import NO_FILES, ReadFiles
from gateway.base.folder_modules import FolderModules
from gateway.base.redaction import REDACTION
from gateway.factory.teams import TeamFactory
from gateway.gateway import Gateway
from gateway.sessions.live_team import changed_threads
from gateway.store.units import audit

LONGEST_NAMES = 1000
"""Characters of the names of changed settings that the audit has."""

DRY = "This was a dry run: no setting has changed."

Check = Callable[[LoadedConfig, TeamFactory], Awaitable[None]]


class Candidate(NamedTuple):
    """A config that can be used, with its files."""

    loaded: LoadedConfig
    teams: TeamFactory
    files: ReadFiles = NO_FILES


class Reloader:
    """Reads the config of a gateway again.

    `check` raises GatewayError for one that can't be used.

    What runs goes on with the config and the modules it began with; the last good ones stay until
    better ones have passed every check. `teams` are those in use; `aclose` closes whichever are so
    at the end.
    """

    def __init__(
        self, gateway: Gateway, loaded: LoadedConfig, teams: TeamFactory, check: Check
    ) -> None:
        self._gateway = gateway
        self._loaded = loaded
        self._teams = teams
        self._check = check
        self._modules = FolderModules(loaded.source.absolute().parent) if loaded.source else None
        self._lock = asyncio.Lock()

    async def reload(self, *, dry_run: bool) -> str:
        """Use the current config, unless `dry_run`; its differences for people.

        Raises ConfigError or another GatewayError, and then nothing has changed.
        """
        return (await self._change(dry=dry_run))[0]

    async def renew(self) -> LoadedConfig:
        """Use the current config; the one that was used before.

        Raises as `reload` does.
        """
        return (await self._change(dry=False))[1]

    async def _change(self, *, dry: bool) -> tuple[str, LoadedConfig]:
        """The differences, and the config before."""
        async with self._lock, self._candidate() as found:
            before, text = self._loaded, await self._compare(found)
            changed, later = changed_settings(before.config, found.loaded.config)
            names = REDACTION.all(", ".join([*changed, *later])[:LONGEST_NAMES])
            text += await self._agree(found, names, dry=dry)
            if dry:
                return f"{text}\n{DRY}", before
            await self._use(found)
            return text, before

    async def _agree(self, found: Candidate, changed: str, *, dry: bool) -> str:
        """Note the use of a candidate; further text about it."""
        if not dry:
            source = str(found.loaded.source or "")
            await self._gateway.store.run(
                audit.note, "config.reloaded", object=source, outcome=changed
            )
        return ""

    @property
    def loaded(self) -> LoadedConfig:
        """The config in use."""
        return self._loaded

    @property
    def module_files(self) -> frozenset[Path]:
        """Files of the modules that were imported from the config's folder."""
        return self._modules.files if self._modules else frozenset()

    @asynccontextmanager
    async def _candidate(self) -> AsyncGenerator[Candidate]:
        """The current config with its teams, checked; used, or forgotten.

        Who asks holds the lock.
        """
        loaded, forgotten = await asyncio.to_thread(self._load)
        teams = team_factory(loaded, self._gateway.store.folder)
        try:
            await self._check(loaded, teams)
            yield Candidate(loaded, teams)
        finally:
            if self._teams is not teams:
                self._bring_back(forgotten)
                await teams.aclose()
            elif self._modules is not None:
                self._modules.note()

    def _load(self) -> tuple[LoadedConfig, Mapping[str, ModuleType]]:
        forgotten: Mapping[str, ModuleType] = {}
        if self._modules is not None:
            forgotten = self._modules.forget_changed()
        try:
            now = load_config(self._loaded.source)
            return replace(now, trusted=self._loaded.trusted), forgotten
        except BaseException:
            self._bring_back(forgotten)
            raise

    def _bring_back(self, forgotten: Mapping[str, ModuleType]) -> None:
        if self._modules is not None:
            self._modules.bring_back(forgotten)

    async def _use(self, found: Candidate) -> None:
        """Use a candidate from now on."""
        config = found.loaded.config
        access, limits = access_of(config), limits_of(config)
        self._gateway.check_open()
        # From here on they are in use, whatever fails afterwards.
        self._loaded, self._teams = found.loaded, found.teams
        await self._gateway.reconfigure(found.teams, access=access, limits=limits)

    async def _compare(self, found: Candidate) -> str:
        """The differences of a candidate, for people."""
        lines = changes(self._loaded.config, found.loaded.config)
        lines = lines or ["The settings did not change."]
        fates = Counter(fate for _, fate in await changed_threads(self._gateway.store, found.teams))
        lines += [f"threads whose team {fate}: {count}" for fate, count in sorted(fates.items())]
        return REDACTION.all("\n".join(lines))

    async def aclose(self) -> None:
        """Close the teams in use."""
        await self._teams.aclose()
