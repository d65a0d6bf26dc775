"""What `parley simulate slack` starts: the simulated workspace, with somebody at the terminal."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

from adapters.simulation.terminal import Terminal
from adapters.slack.console.console import Console
from adapters.slack.simulator.clock import RealClock
from adapters.slack.simulator.world import HOME
from adapters.slack.testing.simulator import SlackSimulator


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
        terminal = Terminal()
        terminal.write(f"{Console.HELP}\n")
        await self._slack.until(lambda: self._slack.sockets.live, within=None)
        terminal.write("The app is connected.")
        await terminal.talk(Console(self._slack, terminal.write), self._slack.world.change)


@asynccontextmanager
async def simulate(port: int = 0) -> AsyncGenerator[Simulation]:
    """A simulated workspace in real time with alice and bob in it, on this machine alone."""
    async with SlackSimulator(clock=RealClock(), port=port) as slack:
        for name in ("alice", "bob"):
            slack.person(name)
        yield Simulation(slack)
