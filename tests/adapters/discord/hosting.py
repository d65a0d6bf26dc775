"""The adapter on the simulated Discord, with a fake host."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from adapters.discord import Config
from adapters.discord.adapter import DiscordAdapter
from adapters.discord.testing import DiscordSimulator
from gateway.access.authority import Access
from gateway.config.routes import Route
from tests.adapters.discord.serving import EVERYWHERE, config_of
from tests.fakes.adapter_host import FakeHost, Taken

PATIENCE = 20.0
MOMENT = 0.002
"""Seconds between two looks at what happened."""


@dataclass
class HostedDiscord:
    """Discord, and the host that takes what is said there."""

    discord: DiscordSimulator
    host: FakeHost

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until something holds, in Discord or in the host."""
        async with asyncio.timeout(PATIENCE):
            while not condition():  # noqa: ASYNC110 (neither tells the other)
                await asyncio.sleep(MOMENT)

    async def taken(self, n: int) -> list[Taken]:
        """Return what was taken, once there are n of it."""
        await self.until(lambda: len(self.host.taken) >= n)
        return self.host.taken

    async def complete(self, n: int) -> list[Taken]:
        """Return what was taken, once there are n, with files."""
        await self.taken(n)
        await self.until(lambda: all(not t.message.awaited or t.brought for t in self.host.turns))
        return self.host.taken


@asynccontextmanager
async def hosted(
    discord: DiscordSimulator,
    *,
    routes: Sequence[Route] = (EVERYWHERE,),
    operators: Sequence[str] = (),
    config: Config | None = None,
    clock: Callable[[], float] = time.time,
) -> AsyncGenerator[HostedDiscord]:
    """The adapter with a host, once it is connected.

    Discord has lost the sessions of earlier ones, as after minutes.
    """
    discord.gateway.forget()
    host = FakeHost(Access(operators, routes=routes))
    adapter = DiscordAdapter(config or config_of(discord), clock=clock)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(adapter.run(host), name="adapter")
        try:
            await discord.connected()
            yield HostedDiscord(discord, host)
        finally:
            running.cancel()
