"""The `parley simulate discord` command: a simulated Discord, driven from the terminal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial

from adapters.discord.console.console import Console
from adapters.discord.testing.simulator import DiscordSimulator
from adapters.simulation.terminal import Terminal

REFRESH = 0.1
PATIENCE = 3.0
"""For how long typing waits for the application to connect, in seconds."""


class Simulation:
    """A simulated Discord on this machine, as the gateway's command needs it."""

    def __init__(self, discord: DiscordSimulator) -> None:
        self._discord = discord

    @property
    def table(self) -> Mapping[str, str]:
        """The `[adapters.discord]` settings that reach it.

        The token is good for nothing else.
        """
        return {
            "token": self._discord.token,
            "api_url": self._discord.api_url,
            "gateway_url": self._discord.gateway_url,
        }

    @property
    def scope(self) -> Mapping[str, str]:
        """The server whose members may write."""
        return {"guild": str(self._discord.home.id)}

    @property
    def operators(self) -> Sequence[str]:
        """Ids of the people who may approve tools."""
        return [f"discord:{self._discord.person('alice').id}"]

    def room(self, name: str) -> str:
        """The id of the channel with this name, created if missing."""
        return str(self._discord.channel(name.lower().replace("_", "-")).id)

    async def talk(self) -> None:
        """Let the person at the terminal act until they quit."""
        terminal = Terminal()
        terminal.write(f"{Console.HELP}\n")

        async def connected() -> None:
            with suppress(TimeoutError):
                await self._discord.connected(seconds=PATIENCE)

        console = Console(self._discord, terminal.write)
        await terminal.talk(console, partial(asyncio.sleep, REFRESH), connected)


@asynccontextmanager
async def simulate(port: int = 0) -> AsyncGenerator[Simulation]:
    """A simulated Discord with alice and bob, on this machine alone."""
    async with DiscordSimulator(port=port) as discord:
        for name in ("alice", "bob"):
            discord.person(name)
        discord.channel("general")
        yield Simulation(discord)
