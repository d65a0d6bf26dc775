"""conversations.*: channels, and what was written there."""

from __future__ import annotations

from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.testing import SlackSimulator

GENERAL = "C0GENERAL"


@pytest.fixture
def client(slack: SlackSimulator) -> AsyncWebClient:
    return AsyncWebClient(slack.bot_token, base_url=slack.api_url)


def ids(found: Any) -> list[str]:
    return [each["id"] for each in found["channels"]]


async def test_channels_are_listed_joined_and_told_of(
    slack: SlackSimulator, client: AsyncWebClient
) -> None:
    bot = (await client.auth_test())["user_id"]
    channel = next(
        each for home in slack.world.workspaces.values() for each in home.channels.values()
    )
    channel.members.discard(bot)
    grant = slack.world.grants[slack.bot_token]
    grant.scopes |= {"channels:join"}
    assert channel.id in ids(await client.conversations_list())
    assert channel.id not in ids(await client.users_conversations())
    joined: Any = (await client.conversations_join(channel=channel.id))["channel"]
    assert joined["is_member"]
    assert channel.id in ids(await client.users_conversations())
    told: Any = (await client.conversations_info(channel=channel.id))["channel"]
    assert (told["id"], "num_members" in told) == (channel.id, False)
    members: Any = (await client.conversations_members(channel=channel.id))["members"]
    assert bot in members
    with pytest.raises(SlackApiError, match="invalid_cursor"):
        await client.conversations_list(cursor="x")


async def test_a_channel_is_read_without_its_replies_and_a_thread_with_them(
    client: AsyncWebClient,
) -> None:
    root: Any = await client.chat_postMessage(channel=GENERAL, text="one")
    reply = await client.chat_postMessage(channel=GENERAL, text="two", thread_ts=root["ts"])
    last = await client.chat_postMessage(channel=GENERAL, text="three")

    def read(found: Any) -> list[str]:
        return [each["ts"] for each in found["messages"]]

    assert read(await client.conversations_history(channel=GENERAL))[:2] == [last["ts"], root["ts"]]
    thread = await client.conversations_replies(channel=GENERAL, ts=root["ts"])
    assert read(thread) == [root["ts"], reply["ts"]]
    page = await client.conversations_replies(channel=GENERAL, ts=root["ts"], limit=1)
    assert (read(page), page["has_more"]) == ([root["ts"]], True)
