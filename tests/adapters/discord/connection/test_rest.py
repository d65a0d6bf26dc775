"""A node that is cut off changes nothing on Discord."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr

from adapters.discord.connection.rest import Rest
from adapters.discord.testing import DiscordSimulator
from gateway.errors import NodeCutOff


class Speaking:
    """A node that may speak, or not."""

    def __init__(self) -> None:
        self.allowed = True

    def check(self) -> None:
        if not self.allowed:
            raise NodeCutOff


@pytest.fixture
def speaking() -> Speaking:
    return Speaking()


@pytest.fixture
async def client(discord: DiscordSimulator, speaking: Speaking) -> AsyncIterator[Rest]:
    token = SecretStr(discord.token)
    async with Rest(token, discord.api_url, check_speaking=speaking.check) as client:
        yield client


async def test_what_changes_something_is_not_sent_while_cut_off(
    discord: DiscordSimulator, client: Rest, speaking: Speaking
) -> None:
    path = f"/channels/{discord.channel('general').id}"
    posted = await client.call("POST", f"{path}/messages", json={"content": "one"})
    speaking.allowed = False
    before = len(discord.calls())
    for method, what in (("POST", "/typing"), ("PATCH", f"/messages/{posted['id']}")):
        with pytest.raises(NodeCutOff):
            await client.call(method, path + what, json={"content": "two"})
    with pytest.raises(NodeCutOff):
        await client.call("DELETE", f"{path}/messages/{posted['id']}")
    with pytest.raises(NodeCutOff):
        await client.respond("/interactions/1/a-token/callback", {"type": 5})
    assert len(discord.calls()) == before
    assert (await client.call("GET", f"{path}/messages"))[0]["content"] == "one"
    speaking.allowed = True
    await client.call("PATCH", f"{path}/messages/{posted['id']}", json={"content": "two"})


async def test_a_call_that_waits_for_its_turn_is_checked_when_it_is_sent(
    discord: DiscordSimulator, client: Rest, speaking: Speaking
) -> None:
    path = f"/channels/{discord.channel('general').id}/messages"
    client.buckets.hold_all(0.05)
    waiting = asyncio.get_running_loop().create_task(
        client.call("POST", path, json={"content": "late"})
    )
    await asyncio.sleep(0)
    assert not waiting.done()
    speaking.allowed = False
    with pytest.raises(NodeCutOff):
        await waiting
    assert discord.calls("POST") == []
