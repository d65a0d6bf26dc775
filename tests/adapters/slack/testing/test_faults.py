"""Planned faults happen on the wire, as often as planned."""

import asyncio
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_async_handlers import (
    AsyncConnectionErrorRetryHandler,
    AsyncRateLimitErrorRetryHandler,
)
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.testing import (
    ConnectionReset,
    Delay,
    MalformedAnswer,
    Refusal,
    ServerError,
    SlackSimulator,
    TooManyRequests,
    TruncatedAnswer,
)

HERE: Any = {"channel": "C0GENERAL", "text": "hello"}


def texts(slack: SlackSimulator) -> list[str]:
    return [each.text for each in slack.messages("general")]


@pytest.mark.parametrize("applied", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("fault", [ServerError, ConnectionReset])
async def test_a_failure_comes_before_or_after_the_effect(
    slack: SlackSimulator, client: AsyncWebClient, fault: Any, applied: bool
) -> None:
    slack.fail("chat.postMessage", fault(applied=applied))
    with pytest.raises((SlackApiError, aiohttp.ClientError)):
        await client.chat_postMessage(**HERE)
    assert texts(slack) == (["hello"] if applied else [])
    (call,) = slack.calls("chat.postMessage")
    assert call.applied == applied
    await client.chat_postMessage(**HERE)
    assert texts(slack)[-1] == "hello"


@pytest.mark.chaos
async def test_the_sdks_own_retry_posts_twice_after_a_reset(
    slack: SlackSimulator, client: AsyncWebClient
) -> None:
    client.retry_handlers[:] = [AsyncConnectionErrorRetryHandler()]
    slack.fail("chat.postMessage", ConnectionReset(applied=True))
    await client.chat_postMessage(**HERE)
    assert texts(slack) == ["hello", "hello"]


async def test_a_fault_waits_for_its_call_and_ends(
    slack: SlackSimulator, client: AsyncWebClient
) -> None:
    slack.fail("chat.postMessage", Refusal("fatal_error"), skip=1, times=2)
    results = []
    for _ in range(4):
        try:
            await client.chat_postMessage(**HERE)
            results.append("ok")
        except SlackApiError as error:
            results.append(error.response["error"])
    assert results == ["ok", "fatal_error", "fatal_error", "ok"]


async def test_too_many_calls_are_told_in_both_ways(
    slack: SlackSimulator, client: AsyncWebClient
) -> None:
    slack.fail("chat.postMessage", TooManyRequests(7))
    slack.fail("chat.postMessage", TooManyRequests(8, plainly=True))
    for status, error, wait in ((429, "ratelimited", "7"), (200, "rate_limited", "8")):
        with pytest.raises(SlackApiError) as caught:
            await client.chat_postMessage(**HERE)
        assert caught.value.response.status_code == status
        assert caught.value.response["error"] == error
        assert caught.value.response.headers["Retry-After"] == wait


@pytest.mark.chaos
async def test_the_sdk_waits_as_it_is_told(slack: SlackSimulator, client: AsyncWebClient) -> None:
    client.retry_handlers[:] = [AsyncRateLimitErrorRetryHandler()]
    slack.fail("chat.postMessage", TooManyRequests(1))
    await client.chat_postMessage(**HERE)
    assert [each.status for each in slack.calls("chat.postMessage")] == [429, 200]


@pytest.mark.parametrize(
    "fault", [TruncatedAnswer(), MalformedAnswer()], ids=lambda each: type(each).__name__
)
async def test_an_answer_can_be_unreadable(
    slack: SlackSimulator, client: AsyncWebClient, fault: Any
) -> None:
    slack.fail("chat.postMessage", fault)
    with pytest.raises((SlackApiError, aiohttp.ClientError)):
        await client.chat_postMessage(**HERE)
    assert texts(slack) == ["hello"]


@pytest.mark.parametrize("applied", [False, True], ids=["before", "after"])
async def test_an_answer_can_be_late(
    slack: SlackSimulator, client: AsyncWebClient, applied: bool
) -> None:
    slack.fail("chat.postMessage", Delay(30, applied=applied))
    async with asyncio.TaskGroup() as group:
        posting = group.create_task(client.chat_postMessage(**HERE))
        await slack.until(lambda: slack.calls("chat.postMessage"))
        assert texts(slack) == (["hello"] if applied else [])
        assert not posting.done()
        slack.clock.advance(30)
    assert texts(slack) == ["hello"]


async def test_everything_can_fail_until_it_works_again(
    slack: SlackSimulator, client: AsyncWebClient
) -> None:
    slack.fail("*", ServerError(503), times=-1)
    for _ in range(3):
        with pytest.raises(SlackApiError):
            await client.auth_test()
    slack.faults.clear()
    await client.auth_test()
