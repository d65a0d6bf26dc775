"""The `parley simulate slack` command: a simulated workspace, driven from the terminal."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

from adapters.simulation.terminal import Terminal
from adapters.slack.console.console import Console
from adapters.slack.simulator.clock import RealClock
from adapters.slack.simulator.world import HOME
from adapters.slack.testing.simulator import SlackSimulator


class Simulation:
    """A simulated workspace on this machine, as the gateway's command needs it."""

    def __init__(self, slack: SlackSimulator) -> None:
        self._slack = slack

    @property
    def table(self) -> Mapping[str, str]:
        """The `[adapters.slack]` settings that reach it; none is secret."""
        return {
            "bot_token": self._slack.bot_token,
            "app_token": self._slack.app_token,
            "api_url": self._slack.api_url,
        }

    @property
    def scope(self) -> Mapping[str, str]:
        """Nothing: all members of one workspace."""
        return {}

    @property
    def operators(self) -> Sequence[str]:
        """Ids of the people who may approve tools."""
        return [f"slack:{HOME}:{self._slack.person('alice').id}"]

    def room(self, name: str) -> str:
        """The id of the channel with this name, created if missing."""
        cleaned = name.lower().replace("_", "-")
        try:
            return self._slack.channel(cleaned).id
        except LookupError:
            return self._slack.add_channel(cleaned).id

    async def talk(self) -> None:
        """Let the person at the terminal act until they quit."""
        terminal = Terminal()
        terminal.write(f"{Console.HELP}\n")

        async def connected() -> None:
            await self._slack.until(lambda: self._slack.sockets.live, within=None)
            terminal.write("The app is connected.")

        console = Console(self._slack, terminal.write)
        await terminal.talk(console, self._slack.world.change, connected)


@asynccontextmanager
async def simulate(port: int = 0) -> AsyncGenerator[Simulation]:
    """A simulated workspace in real time with alice and bob."""
    async with SlackSimulator(clock=RealClock(), port=port) as slack:
        for name in ("alice", "bob"):
            slack.person(name)
        yield Simulation(slack)
