from collections.abc import AsyncIterator

import pytest

from adapters.discord.connection import rate_limits, shard_session
from adapters.discord.testing import DiscordSimulator
from gateway.pacing.limits import Limit
from tests.adapters.discord.simulator.rest import Rest
from tests.fakes.discord_wire import discord, discord_client

__all__ = ["discord", "discord_client"]


def pytest_itemcollected(item: pytest.Item) -> None:
    """Raise its time limit: it is for hangs, not slow machines."""
    if item.get_closest_marker("timeout") is None:
        item.add_marker(pytest.mark.timeout(60))


@pytest.fixture
async def rest(discord: DiscordSimulator) -> AsyncIterator[Rest]:
    """Requests to the test's Discord, written by hand."""
    async with Rest(discord) as rest:
        yield rest


@pytest.fixture(autouse=True)
def no_waits_between_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin sessions as fast as the tests' Discord lets a bot."""
    monkeypatch.setattr(rate_limits, "SESSIONS", Limit(per_minute=1e9, burst=1e9))
    monkeypatch.setattr(shard_session, "REFUSED_WAIT", (0.0, 0.0))
