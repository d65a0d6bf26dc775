"""The bot: its connection, and the end of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from pydantic import SecretStr

from adapters.discord.adapter import DiscordAdapter
from adapters.discord.testing import DiscordSimulator
from gateway.adapter import AuthError
from tests.adapters.discord.serving import config_of


def nothing(*_: Any) -> None:
    """Do nothing."""


HOST = SimpleNamespace(
    health=SimpleNamespace(compare_time=nothing),
    leases=SimpleNamespace(check_speaking=nothing),
    shared_rate=lambda _: SimpleNamespace(is_shared=False),
)


async def test_a_refused_token_ends_the_adapter() -> None:
    async with DiscordSimulator() as discord:
        config = config_of(discord).model_copy(update={"token": SecretStr("another")})
        adapter = DiscordAdapter(config)
        assert adapter.name == "discord"
        with pytest.raises(AuthError):
            await adapter.run(cast("Any", HOST))
