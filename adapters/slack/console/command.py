"""What `parley simulate slack` starts: the simulated workspace, with somebody at the terminal."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import click

from adapters.slack.console.console import HELP, Console
from adapters.slack.simulator.clock import RealClock
from adapters.slack.simulator.world import HOME
from adapters.slack.testing.simulator import SlackSimulator

CLEAR_LINE = "\r\x1b[K"


class Simulation:
    """A workspace that runs on this machine, as the gateway's command wants it."""

    def __init__(self, slack: SlackSimulator) -> None:
        self._slack = slack

    @property
    def table(self) -> Mapping[str, str]:
        """What `[adapters.slack]` has to say to reach it; no secret is among it."""
        return {
            "bot_token": self._slack.bot_token,
            "app_token": self._slack.app_token,
            "api_url": self._slack.api_url,
        }

    @property
    def operators(self) -> Sequence[str]:
        """Who may decide about tools."""
        return [f"slack:{HOME}:{self._slack.person('alice').id}"]

    def room(self, name: str) -> str:
        """A channel with a name like that, made if there is none; its id."""
        cleaned = name.lower().replace("_", "-")
        try:
            return self._slack.channel(cleaned).id
        except LookupError:
            return self._slack.add_channel(cleaned).id

    async def talk(self) -> None:
        """Let whoever is at the terminal be the people, until they end it."""
        click.echo(f"{HELP}\n")
        await self._slack.until(lambda: self._slack.sockets.live, within=None)
        click.echo("The app is connected.")
        await _Terminal(self._slack).talk()


class _Terminal:
    """Standard input and output. On a terminal the prompt stays below what is written."""

    def __init__(self, slack: SlackSimulator) -> None:
        self._slack = slack
        self._console = Console(slack, self._write)
        self._prompts = sys.stdin.isatty() and sys.stdout.isatty()

    async def talk(self) -> None:
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(self._watch(), name="slack screen")
            await self._console.run(self._typed())
            watching.cancel()

    def _write(self, line: str) -> None:
        click.echo(f"{CLEAR_LINE}{line}" if self._prompts else line)

    def _prompt(self) -> None:
        if self._prompts:
            click.echo(f"{CLEAR_LINE}{self._console.prompt}", nl=False)

    async def _watch(self) -> None:
        while True:
            await self._slack.world.change()
            if self._console.screen.refresh():
                self._prompt()

    async def _typed(self) -> AsyncIterator[str]:
        """The lines of standard input, read in a thread that does not hold the process."""
        loop = asyncio.get_running_loop()
        lines: asyncio.Queue[str] = asyncio.Queue()

        def read() -> None:
            for line in sys.stdin:
                loop.call_soon_threadsafe(lines.put_nowait, line)
            loop.call_soon_threadsafe(lines.put_nowait, "")

        threading.Thread(target=read, name="stdin", daemon=True).start()
        while True:
            self._prompt()
            if not (line := await lines.get()):
                return
            yield line


@asynccontextmanager
async def simulate(port: int = 0) -> AsyncGenerator[Simulation]:
    """A simulated workspace in real time with alice and bob in it, on this machine alone."""
    async with SlackSimulator(clock=RealClock(), port=port) as slack:
        for name in ("alice", "bob"):
            slack.person(name)
        yield Simulation(slack)
