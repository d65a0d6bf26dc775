"""Calls beyond their tier are refused until the clock advances."""

from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.testing import AppSettings, SlackSimulator
from tests.fakes.slack_calls import over_tier


async def count(call: Any) -> int:
    """Number of calls before the first refusal."""
    done = 0

    async def all_of_them() -> None:
        nonlocal done
        while True:
            await call()
            done += 1

    with pytest.raises(SlackApiError, match="ratelimited") as caught:
        await all_of_them()
    assert caught.value.response.status_code == 429
    assert int(caught.value.response.headers["Retry-After"]) > 0
    return done


@pytest.mark.parametrize(
    ("method", "arguments", "most", "after_a_minute"),
    [
        ("chat.postMessage", {"channel": "C0GENERAL", "text": "x"}, 5, 5),
        ("conversations.list", {}, 20, 20),
        ("conversations.history", {"channel": "C0GENERAL"}, 50, 50),
        ("users.info", {"user": "U0PARLEY"}, 100, 100),
    ],
)
async def test_a_tier_has_so_many_calls_a_minute(
    slack: SlackSimulator,
    client: AsyncWebClient,
    method: str,
    arguments: dict,
    most: int,
    after_a_minute: int,
) -> None:
    async def call() -> None:
        await client.api_call(method, params=arguments)

    assert await count(call) == most
    slack.clock.advance(60)
    assert await count(call) == after_a_minute
    assert slack.per_minute(method) == most + 1


async def test_posts_are_counted_by_channel(slack: SlackSimulator, client: AsyncWebClient) -> None:
    for channel in ("C0GENERAL", "C0RANDOM"):
        sent = await count(
            lambda channel=channel: client.chat_postMessage(channel=channel, text="x")
        )
        assert sent == 5
    slack.clock.advance(1)
    await client.chat_postMessage(channel="C0GENERAL", text="x")


async def test_one_workspaces_calls_are_not_anothers(slack: SlackSimulator) -> None:
    slack.add_workspace("T0OTHER", "Other")
    other = slack.install("T0OTHER").token
    one, two = (
        AsyncWebClient(token=token, base_url=slack.api_url, retry_handlers=[])
        for token in (slack.bot_token, other)
    )
    assert await count(one.conversations_list) == 20
    assert await count(two.conversations_list) == 20


async def test_apps_outside_the_marketplace_read_threads_once_a_minute() -> None:
    async with SlackSimulator(AppSettings(outside_marketplace=True)) as slack:
        client = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url, retry_handlers=[])
        alice = slack.person("alice")
        root = await alice.says("general", "root")
        for number in range(20):
            await alice.says("general", str(number), thread=root)
        answers: list[Any] = []

        async def read() -> None:
            answers.append(await client.conversations_replies(channel="C0GENERAL", ts=root.ts))

        assert await count(read) == 1
        assert len(answers[0]["messages"]) == 15
        slack.clock.advance(60)
        assert await count(read) == 1


async def test_calls_beyond_their_tier_are_reported(
    slack: SlackSimulator, client: AsyncWebClient
) -> None:
    assert over_tier(slack) == {}
    await count(client.conversations_list)
    assert over_tier(slack) == {"conversations.list": 21}


async def test_limits_can_be_left_out() -> None:
    async with SlackSimulator(rates=False) as slack:
        client = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
        for _ in range(30):
            await client.conversations_list()
