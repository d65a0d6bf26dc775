"""What `parley simulate discord` starts: a simulated Discord, with somebody at the terminal."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

from adapters.discord.console.console import HELP, Console
from adapters.discord.testing.simulator import DiscordSimulator

REFRESH = 0.1
PATIENCE = 3.0
"""For how long typing waits for the application to connect, in seconds."""


class Simulation:
    """A Discord that runs on this machine, as the gateway's command wants it."""

    def __init__(self, discord: DiscordSimulator) -> None:
        self._discord = discord

    @property
    def table(self) -> Mapping[str, str]:
        """What `[adapters.discord]` has to say to reach it; the token is good for nothing else."""
        return {
            "token": self._discord.token,
            "api_url": self._discord.api_url,
            "gateway_url": self._discord.gateway_url,
        }

    @property
    def operators(self) -> Sequence[str]:
        """Who may decide about tools."""
        return [f"discord:{self._discord.person('alice').id}"]

    def room(self, name: str) -> str:
        """A channel with a name like that, made if there is none; its id."""
        return str(self._discord.channel(name.lower().replace("_", "-")).id)

    async def talk(self) -> None:
        """Let whoever is at the terminal be the people, until they end it."""
        _write(f"{HELP}\n")
        console = Console(self._discord, _write)
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(_watch(console), name="discord screen")
            with suppress(TimeoutError):
                await self._discord.connected(seconds=PATIENCE)
            await console.run(_typed(console))
            watching.cancel()


@asynccontextmanager
async def simulate(port: int = 0) -> AsyncGenerator[Simulation]:
    """A simulated Discord with alice and bob in it, on this machine alone."""
    async with DiscordSimulator(port=port) as discord:
        for name in ("alice", "bob"):
            discord.person(name)
        discord.channel("general")
        yield Simulation(discord)


async def _watch(console: Console) -> None:
    while True:
        await asyncio.sleep(REFRESH)
        console.screen.refresh()


def _write(line: str) -> None:
    print(line, flush=True)  # noqa: T201


async def _typed(console: Console) -> AsyncIterator[str]:
    """The lines of standard input. They are read in a thread that does not hold the process."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str] = asyncio.Queue()

    def read() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(lines.put_nowait, line)
        loop.call_soon_threadsafe(lines.put_nowait, "")

    threading.Thread(target=read, name="stdin", daemon=True).start()
    while True:
        if sys.stdin.isatty():
            print(console.prompt, end="", flush=True)  # noqa: T201
        line = await lines.get()
        if not line:
            return
        yield line
