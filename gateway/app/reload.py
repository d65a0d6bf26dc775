"""Reload of a changed config: check whole, switch at once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType

from gateway.app.assemble import access_of, limits_of, team_factory
from gateway.app.config_diff import changed_settings, changes
from gateway.app.load import LoadedConfig, load_config
from gateway.base.folder_modules import FolderModules
from gateway.base.redaction import REDACTION
from gateway.factory.teams import TeamFactory
from gateway.gateway import Gateway
from gateway.sessions.live_team import changed_threads

LONGEST_NAMES = 1000
"""Characters of the names of changed settings that the audit has."""

Check = Callable[[LoadedConfig, TeamFactory], Awaitable[None]]


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
        """Use the current config, unless `dry_run`; the differences, for people.

        Raises ConfigError or another GatewayError, and then nothing has changed.
        """
        async with self._lock, self._candidate() as (loaded, teams):
            text = await self._compare(loaded, teams)
            if dry_run:
                return f"{text}\nNothing was changed: this was a dry run."
            await self._use(loaded, teams)
            return text

    async def renew(self) -> LoadedConfig:
        """Use the current config; the one that was used before.

        Raises as `reload` does.
        """
        async with self._lock, self._candidate() as (loaded, teams):
            before = self._loaded
            await self._use(loaded, teams)
            return before

    @property
    def loaded(self) -> LoadedConfig:
        """The config in use."""
        return self._loaded

    @property
    def module_files(self) -> frozenset[Path]:
        """Files of the modules that were imported from the config's folder."""
        return self._modules.files if self._modules else frozenset()

    @asynccontextmanager
    async def _candidate(self) -> AsyncGenerator[tuple[LoadedConfig, TeamFactory]]:
        """The current config with its teams, checked; used, or forgotten."""
        loaded, forgotten = await asyncio.to_thread(self._load)
        teams = team_factory(loaded, self._gateway.store.folder)
        try:
            await self._check(loaded, teams)
            yield loaded, teams
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
            return load_config(self._loaded.source), forgotten
        except BaseException:
            self._bring_back(forgotten)
            raise

    def _bring_back(self, forgotten: Mapping[str, ModuleType]) -> None:
        if self._modules is not None:
            self._modules.bring_back(forgotten)

    async def _use(self, loaded: LoadedConfig, teams: TeamFactory) -> None:
        access, limits = access_of(loaded.config), limits_of(loaded.config)
        changed, later = changed_settings(self._loaded.config, loaded.config)
        await self._gateway.store.note(
            "config.reloaded",
            object=str(loaded.source or ""),
            outcome=REDACTION.all(", ".join([*changed, *later])[:LONGEST_NAMES]),
        )
        await self._gateway.reconfigure(teams, access=access, limits=limits)
        self._loaded, self._teams = loaded, teams

    async def _compare(self, loaded: LoadedConfig, teams: TeamFactory) -> str:
        lines = changes(self._loaded.config, loaded.config) or ["The settings did not change."]
        fates = Counter(fate for _, fate in await changed_threads(self._gateway.store, teams))
        lines += [f"threads whose team {fate}: {count}" for fate, count in sorted(fates.items())]
        return REDACTION.all("\n".join(lines))

    async def aclose(self) -> None:
        """Close the teams in use."""
        await self._teams.aclose()
