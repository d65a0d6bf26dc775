"""A gateway on the simulated Discord, for the adapter's tests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from adapters.discord import Config
from adapters.discord.adapter import DiscordAdapter
from adapters.discord.testing import Channel, DiscordSimulator, Interaction, Message
from gateway.access.authority import RoutedAccess
from gateway.config.routes import Route
from gateway.gateway import Gateway
from gateway.store.sqlite.store import SqliteStore
from teams.base import Team
from tests.gateway.scripted import ScriptedTeams

EVERYWHERE = Route(adapter="discord", channels=["*"], dm=True, users=["members"])
"""A route for every member, in every channel and in direct messages."""


def config_of(discord: DiscordSimulator, **more: Any) -> Config:
    return Config(
        token=SecretStr(discord.token),
        api_url=discord.api_url,
        gateway_url=discord.gateway_url,
        **more,
    )


@asynccontextmanager
async def serving(
    discord: DiscordSimulator,
    folder: Path,
    make: Callable[[], Team] | ScriptedTeams,
    *,
    routes: Sequence[Route] = (EVERYWHERE,),
    operators: Sequence[str] = (),
    approvals: Sequence[str] = (),
    config: Config | None = None,
    clock: Callable[[], float] = time.time,
    **more: Any,
) -> AsyncGenerator[Gateway]:
    """A gateway on the store in `folder`, with the adapter."""
    teams = make if isinstance(make, ScriptedTeams) else ScriptedTeams(make)
    access = RoutedAccess(routes, operators, approvals=approvals)
    adapter = DiscordAdapter(config or config_of(discord), clock=clock)
    async with (
        Gateway(SqliteStore(folder), teams, access=access, **more) as gateway,
        asyncio.TaskGroup() as group,
    ):
        running = group.create_task(adapter.run(gateway), name="adapter")
        try:
            await discord.connected()
            yield gateway
        finally:
            running.cancel()


async def all_told(gateway: Gateway) -> None:
    """Wait until everything is on the platform."""
    async with asyncio.timeout(20):
        while await gateway.store.untold("discord"):  # noqa: ASYNC110 (in the store)
            await asyncio.sleep(0.01)


async def taken(gateway: Gateway, events: int) -> None:
    """Wait until so many messages, edits and deletions are in the store."""
    async with asyncio.timeout(20):
        while sum((await gateway.store.counts()).inbox.values()) < events:  # noqa: ASYNC110 (in the store)
            await asyncio.sleep(0.01)


def said(discord: DiscordSimulator, channel: Channel) -> list[str]:
    """Texts of the bot's messages in the channel."""
    return [each.content for each in own(discord, channel)]


def own(discord: DiscordSimulator, channel: Channel) -> list[Message]:
    """The bot's messages there, oldest first."""
    return [each for each in discord.messages(channel) if each.application]


def thread_of(message: Message) -> Channel:
    """The thread that hangs on a message."""
    assert message.thread is not None, "the message has no thread"
    return message.thread


def response_of(interaction: Interaction) -> Message:
    """The message that answers an interaction."""
    assert interaction.response is not None, "the interaction was not answered by a message"
    return interaction.response
