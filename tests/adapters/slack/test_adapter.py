"""The app: its connection, and its end with credentials that are refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from adapters.slack.adapter import SlackAdapter
from adapters.slack.testing import SlackSimulator
from gateway.adapter import AuthError
from tests.adapters.slack.serving import config_of


def nothing(*_: Any) -> None:
    """Do nothing."""


HOST = SimpleNamespace(
    health=SimpleNamespace(compare_time=nothing),
    leases=SimpleNamespace(check_speaking=nothing),
    policy=SimpleNamespace(introduce=nothing),
)


async def test_refused_credentials_end_the_adapter() -> None:
    async with SlackSimulator() as slack:
        slack.world.grants[slack.bot_token].revoked = True
        adapter = SlackAdapter(config_of(slack))
        assert adapter.name == "slack"
        with pytest.raises(AuthError):
            await adapter.run(cast("Any", HOST))
