"""Both simulated platforms, as the gallery reads them."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, Protocol

from adapters.discord.console.command import Simulation as DiscordSimulation
from adapters.discord.console.console import Console as DiscordConsole
from adapters.discord.testing.simulator import DiscordSimulator
from adapters.simulation.console import Console
from adapters.slack.console.command import Simulation as SlackSimulation
from adapters.slack.console.console import Console as SlackConsole
from adapters.slack.testing.simulator import SlackSimulator
from docs.gallery_payloads import Call
from gateway.adapter import Simulation

SOCKETS = 2
"""Connections that the gateway holds to Slack."""


class Place(Protocol):
    """A simulated platform, as the gallery reads it."""

    simulation: Simulation

    def console(self, written: list[str]) -> Console:
        """Somebody at the console; what it prints goes into `written`."""
        ...

    def calls(self) -> list[Call]:
        """The calls so far."""
        ...

    def is_quiet(self) -> bool:
        """True if nothing is open."""
        ...

    def is_connected(self) -> bool:
        """True once the gateway can hear people."""
        ...


class SlackPlace:
    """The simulated workspace."""

    def __init__(self, slack: SlackSimulator) -> None:
        self._slack = slack
        self.simulation: Simulation = SlackSimulation(slack)

    def console(self, written: list[str]) -> Console:
        """Somebody at the console; what it prints goes into `written`."""
        return SlackConsole(self._slack, written.append)

    def calls(self) -> list[Call]:
        """The calls so far."""
        return [
            Call(each.method, each.text("ts") or each.text("thread_ts"), _decoded(each.arguments))
            for each in self._slack.calls()
        ]

    def is_quiet(self) -> bool:
        """True if nothing is open."""
        return not (self._slack.busy or self._slack.open_streams or self._slack.unacknowledged)

    def is_connected(self) -> bool:
        """True once the gateway can hear people."""
        return len(self._slack.sockets.live) == SOCKETS


class DiscordPlace:
    """The simulated Discord."""

    def __init__(self, discord: DiscordSimulator) -> None:
        self._discord = discord
        self.simulation: Simulation = DiscordSimulation(discord)

    def console(self, written: list[str]) -> Console:
        """Somebody at the console; what it prints goes into `written`."""
        return DiscordConsole(self._discord, written.append)

    def calls(self) -> list[Call]:
        """The calls so far."""
        return [
            Call(
                f"{each.method} {each.route}",
                f"{each.parameters.get('message_id')} {each.method == 'POST' and each.at}",
                each.body | {"files": [file.filename for file in each.uploads.values()]}
                if each.uploads
                else each.body,
            )
            for each in self._discord.calls()
        ]

    def is_quiet(self) -> bool:
        """True if nothing is open."""
        return all(each.acknowledged for each in self._discord.interactions)

    def is_connected(self) -> bool:
        """True once the gateway can hear people."""
        return bool(self._discord.gateway.open_sessions and self._discord.commands.get(0))


def _decoded(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a form, with those that are JSON decoded."""
    decoded: dict[str, Any] = {}
    for key, value in arguments.items():
        decoded[key] = value
        if isinstance(value, str) and value[:1] in ("[", "{"):
            with suppress(json.JSONDecodeError):
                decoded[key] = json.loads(value)
    return decoded
