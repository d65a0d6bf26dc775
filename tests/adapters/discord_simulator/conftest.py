from collections.abc import AsyncIterator

import pytest

from adapters.discord.simulator import DiscordSimulator
from tests.adapters.discord_simulator.rest import Rest
from tests.fakes.discord_wire import discord, discord_client

__all__ = ["discord", "discord_client"]


@pytest.fixture
async def rest(discord: DiscordSimulator) -> AsyncIterator[Rest]:
    """Requests to the test's Discord, written by hand."""
    async with Rest(discord) as rest:
        yield rest
