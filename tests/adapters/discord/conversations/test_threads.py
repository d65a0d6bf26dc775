"""Places of conversations that other nodes know are in the store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import SecretStr

from adapters.discord.connection.rest import Rest
from adapters.discord.conversations import threads
from adapters.discord.conversations.command_threads import root_of_command
from adapters.discord.conversations.threads import MessageTargets
from adapters.discord.testing import DiscordSimulator, ServerError
from gateway.access.authority import Access
from gateway.adapter import AdapterHost
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.errors import StoreFull
from gateway.gateway import Gateway
from gateway.surface import OutcomeUnknown
from tests.adapters.discord.serving import EVERYWHERE
from tests.fakes.new_store import new_store
from tests.gateway.scripted import ScriptedTeams, solo


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Gateway]:
    teams = ScriptedTeams(lambda: solo("fine"))
    access = Access((), routes=[EVERYWHERE])
    async with Gateway(new_store(tmp_path), teams, access=access) as gateway:
        yield gateway


@pytest.fixture
async def client(discord: DiscordSimulator) -> AsyncIterator[Rest]:
    async with Rest(SecretStr(discord.token), discord.api_url) as client:
        yield client


async def begun(discord: DiscordSimulator, gateway: Gateway, root: str) -> ConversationKey:
    """A conversation in which somebody has written."""
    channel = str(discord.channel("general").id)
    workspace = str(discord.home.id)
    key = ConversationKey(platform="discord", workspace=workspace, channel=channel, root=root)
    author = Author(id=f"discord:{discord.person('alice').id}", name="alice", kind="member")
    await gateway.accept(InboundMessage(key=key, author=author, text="hello"))
    return key


async def test_a_private_thread_that_another_node_opened_is_found_from_both_sides(
    discord: DiscordSimulator, client: Rest, gateway: Gateway
) -> None:
    asked = await discord.person("alice").mentions(discord.channel("general"), "hello")
    first, second, third = (MessageTargets(client, "private", gateway) for _ in range(3))
    key = await begun(discord, gateway, str(asked.id))
    opened = await first.find(key)
    assert (await second.find(key)).channel == opened.channel
    assert len(discord.threads(discord.channel("general"))) == 1
    await third.look_up_root(opened.channel)
    assert third.key_of_thread(key.workspace, key.channel, opened.channel) == key


async def test_a_command_s_conversation_of_another_node_is_known_by_its_message(
    discord: DiscordSimulator, client: Rest, gateway: Gateway
) -> None:
    key = await begun(discord, gateway, root_of_command("123"))
    answer = await discord.person("alice").says(discord.channel("general"), "asked by command")
    first, second, third = (MessageTargets(client, "public", gateway) for _ in range(3))
    async with first.pending_message(key) as set_message:
        await set_message(str(answer.id))
    await second.look_up_root(str(answer.id))
    assert second.key_of_thread(key.workspace, key.channel, str(answer.id)) == key
    assert (await third.find(key)).channel == str(answer.id)


async def test_a_thread_that_another_node_opened_after_this_one_had_failed_is_found(
    discord: DiscordSimulator, client: Rest, gateway: Gateway
) -> None:
    asked = await discord.person("alice").mentions(discord.channel("general"), "hello")
    first, second = (MessageTargets(client, "private", gateway) for _ in range(2))
    key = await begun(discord, gateway, str(asked.id))
    discord.faults.plan(ServerError(503), path="/channels/{channel_id}/threads")
    with pytest.raises(OutcomeUnknown):
        await second.find(key)
    opened = await first.find(key)
    assert (await second.find(key)).channel == opened.channel
    assert len(discord.threads(discord.channel("general"))) == 1


class FullDisk:
    """A gateway whose store takes no marks, and its marks."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self.marks = self
        self.full = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._gateway, name)

    async def read(self, platform: str, name: str = "") -> Mapping[str, str]:
        return await self._gateway.marks.read(platform, name)

    async def keep(self, platform: str, name: str, value: str, *, of: ConversationKey) -> None:
        if self.full:
            raise StoreFull
        await self._gateway.marks.keep(platform, name, value, of=of)


async def test_a_private_thread_that_could_not_be_kept_is_not_made_again(
    discord: DiscordSimulator, client: Rest, gateway: Gateway
) -> None:
    host = FullDisk(gateway)
    asked = await discord.person("alice").mentions(discord.channel("general"), "hello")
    targets = MessageTargets(client, "private", cast("AdapterHost", host))
    key = await begun(discord, gateway, str(asked.id))
    for _ in range(3):
        with pytest.raises(StoreFull):
            await targets.find(key)
    host.full = False
    found = await targets.find(key)
    assert [str(each.id) for each in discord.threads(discord.channel("general"))] == [found.channel]


async def test_a_thread_that_nobody_knows_is_asked_for_again_after_seconds(
    client: Rest, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets = MessageTargets(client, "public", gateway)
    await targets.look_up_root("42")
    await gateway.marks.keep("discord", "root:42", "thread:41")
    await targets.look_up_root("42")
    assert targets.root_of("42") == "42"
    monkeypatch.setattr(threads, "UNKNOWN_SECONDS", 0.0)
    await targets.look_up_root("42")
    assert targets.root_of("42") == "41"
