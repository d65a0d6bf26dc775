"""A gateway on the simulated Discord, for the adapter's tests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from adapters.discord import Config
from adapters.discord.adapter import DiscordAdapter
from adapters.discord.connection.shard_state import ShardState, name_of
from adapters.discord.testing import Channel, DiscordSimulator, Interaction, Message
from gateway.access.authority import Access
from gateway.config.routes import Route
from gateway.gateway import Gateway
from gateway.registry import ToolRule
from gateway.store.units import adapters as adapter_units
from gateway.store.units import counts as count_units
from gateway.store.units import gaps, outbox
from teams.base import Team
from tests.fakes.held_catch_up import HeldCatchUp
from tests.fakes.new_store import new_store
from tests.gateway.scripted import ScriptedTeams, calls, solo

SHARD = name_of(0, 1)
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
    gateway_clock: Callable[[], float] = time.time,
    meanwhile: Callable[[Gateway], Awaitable[None]] | None = None,
    resumes: bool = False,
    **more: Any,
) -> AsyncGenerator[Gateway]:
    """A gateway on the store in `folder`, with the adapter.

    Discord has lost the sessions of earlier ones, as after minutes, unless it `resumes` one.
    `meanwhile` happens between the look for missed messages and their acceptance.
    """
    if not resumes:
        discord.gateway.forget()
    teams = make if isinstance(make, ScriptedTeams) else ScriptedTeams(make)
    access = Access(operators, routes=routes, approvals=approvals)
    adapter = DiscordAdapter(config or config_of(discord), clock=clock)
    async with (
        Gateway(new_store(folder), teams, access=access, clock=gateway_clock, **more) as gateway,
        asyncio.TaskGroup() as group,
    ):
        host: Any = HeldCatchUp(gateway, meanwhile) if meanwhile else gateway
        running = group.create_task(adapter.run(host), name="adapter")
        try:
            await discord.connected()
            yield gateway
        finally:
            running.cancel()


async def wait_delivered(gateway: Gateway) -> None:
    """Wait until everything is on the platform."""
    async with asyncio.timeout(20):
        while await gateway.store.run(outbox.undelivered_threads, "discord"):  # noqa: ASYNC110 (in the store)
            await asyncio.sleep(0.01)


async def wait_accepted(gateway: Gateway, events: int) -> None:
    """Wait until so many messages, edits and deletions are in the store."""
    async with asyncio.timeout(20):
        while sum((await gateway.store.run(count_units.counts)).inbox.values()) < events:  # noqa: ASYNC110 (in the store)
            await asyncio.sleep(0.01)


async def wait_caught_up(gateway: Gateway, **found: int) -> None:
    """Wait until the work list is empty and `found` was counted."""
    async with asyncio.timeout(20):
        while True:
            counts = await gateway.store.run(gaps.missed_counts)
            if not counts.unread and counts.found == found:
                return
            await asyncio.sleep(0.01)


def bot_texts(discord: DiscordSimulator, channel: Channel) -> list[str]:
    """Texts of the bot's messages in the channel."""
    return [each.content for each in bot_messages(discord, channel)]


def bot_messages(discord: DiscordSimulator, channel: Channel) -> list[Message]:
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


async def mark_heard(gateway_or_store: Any, at: float) -> None:
    """Let the store say that everything until then was heard."""
    await put_state(gateway_or_store, ShardState(heard=at))


async def put_state(gateway_or_store: Any, state: ShardState, bot: str = "") -> None:
    """Let the only shard go on from a state."""
    store = getattr(gateway_or_store, "store", gateway_or_store)
    await store.run(gaps.add_gaps, "discord", (), state.marks(0, 1, bot))


async def wait_seen_mark(gateway: Gateway) -> None:
    """Wait until the store says until when everything was heard."""
    async with asyncio.timeout(5):
        while SHARD not in await gateway.store.run(adapter_units.marks, "discord"):  # noqa: ASYNC110 (in the store)
            await asyncio.sleep(0.01)


RUNG_BELLS: list[str] = []


def ring(bell: str) -> str:
    """Ring a bell."""
    RUNG_BELLS.append(bell)
    return f"{bell} rung"


def bell_teams(**rule) -> ScriptedTeams:
    RUNG_BELLS.clear()
    return ScriptedTeams(
        lambda: solo(calls("ring", ring='{"bell": "big"}'), "It rang.", tools=[ring], messages=9),
        rules={"ring": ToolRule(action="ask", **rule)},
    )


async def wait_card(discord: DiscordSimulator, channel: Channel) -> Message:
    """The bot's message with buttons there."""
    return await discord.until(
        lambda: next((each for each in bot_messages(discord, channel) if each.components), None)
    )


async def wait_commands(discord: DiscordSimulator) -> None:
    """Wait until Discord knows the commands."""
    await discord.until(lambda: discord.commands.get(0))
