"""A refused webhook is its channel's only if Discord says so."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.discord.connection.rest import ApiError
from adapters.discord.outbound import webhooks
from adapters.discord.outbound.webhooks import REFUSED_SECONDS, Webhooks
from gateway.conversation import ConversationKey

HERE = ConversationKey(platform="discord", workspace="1", channel="2", root="3")
THERE = ConversationKey(platform="discord", workspace="1", channel="4", root="5")


class Refusing:
    """A REST client that refuses some calls, and counts them."""

    def __init__(self, *codes: int) -> None:
        self.codes = [*codes]
        self.calls = 0

    async def call(self, method: str, path: str, **more: Any) -> Any:
        self.calls += 1
        if self.codes:
            raise ApiError(400, self.codes.pop(0), "No.")
        return [] if method == "GET" else {"id": "9", "token": "t"}


@pytest.mark.parametrize("code", [0, 10015, 40333, 50035, *REFUSED_SECONDS])
async def test_it_is_remembered_for_its_channel_alone_and_not_for_ever(
    code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(webhooks, "monotonic", lambda: now[0])
    rest: Any = Refusing(code)
    hooks = Webhooks(rest, "app")
    assert await hooks.find_hook(HERE) is None
    assert await hooks.find_hook(THERE) is not None
    again = await hooks.find_hook(HERE)
    assert (again is None) == (code in REFUSED_SECONDS)
    now[0] += 3601
    assert await hooks.find_hook(HERE) is not None
