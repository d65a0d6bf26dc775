"""Reload of a changed config: check whole, switch at once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

from gateway.app.assemble import access_of, limits_of, team_factory
from gateway.app.config_diff import changes
from gateway.app.load import LoadedConfig, load_config
from gateway.base.redaction import REDACTION
from gateway.factory.teams import TeamFactory
from gateway.gateway import Gateway
from gateway.sessions.live_team import changed_threads

Check = Callable[[LoadedConfig, TeamFactory], Awaitable[None]]


class Reloader:
    """Reads the config of a gateway again.

    `check` raises GatewayError for one that can't be used.

    What runs goes on with the config it began with; the last good one stays until a better one has
    passed every check. `teams` are those in use; `aclose` closes whichever are so at the end.
    """

    def __init__(
        self, gateway: Gateway, loaded: LoadedConfig, teams: TeamFactory, check: Check
    ) -> None:
        self._gateway = gateway
        self._loaded = loaded
        self._teams = teams
        self._check = check
        self._lock = asyncio.Lock()

    async def reload(self, *, dry_run: bool) -> str:
        """Use the current config, unless `dry_run`; the differences, for people.

        Raises ConfigError or another GatewayError, and then nothing has changed.
        """
        async with self._lock:
            loaded = await asyncio.to_thread(load_config, self._loaded.source)
            teams = team_factory(loaded, self._gateway.store.folder)
            try:
                text = await self._check_and_compare(loaded, teams)
                if not dry_run:
                    access, limits = access_of(loaded.config), limits_of(loaded.config)
                    await self._gateway.reconfigure(teams, access=access, limits=limits)
            except BaseException:
                await teams.aclose()
                raise
            if dry_run:
                await teams.aclose()
                return f"{text}\nNothing was changed: this was a dry run."
            self._loaded, self._teams = loaded, teams
            return text

    async def _check_and_compare(self, loaded: LoadedConfig, teams: TeamFactory) -> str:
        await self._check(loaded, teams)
        lines = changes(self._loaded.config, loaded.config) or ["The settings did not change."]
        fates = Counter(fate for _, fate in await changed_threads(self._gateway.store, teams))
        lines += [f"threads whose team {fate}: {count}" for fate, count in sorted(fates.items())]
        return REDACTION.all("\n".join(lines))

    async def aclose(self) -> None:
        """Close the teams in use."""
        await self._teams.aclose()
