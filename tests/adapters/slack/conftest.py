"""A simulated workspace, its surface, and the real SDK as its client."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import aiohttp
import pytest
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.testing import SlackSimulator
from tests.adapters.slack.desk import Desk, at_desk
from tests.fakes.slack_calls import sdk_complaints
from tests.fakes.slack_types import untyped


def pytest_itemcollected(item: pytest.Item) -> None:
    """Raise its time limit: it is for hangs, not slow machines."""
    if item.get_closest_marker("timeout") is None:
        item.add_marker(pytest.mark.timeout(60))


@pytest.fixture
async def desk() -> AsyncGenerator[Desk]:
    async with at_desk() as desk:
        yield desk


@pytest.fixture
async def slack() -> AsyncIterator[SlackSimulator]:
    """A workspace, checked against the SDK's and Slack's types."""
    async with SlackSimulator() as simulator:
        yield simulator
        assert sdk_complaints(simulator.calls()) == []
        assert untyped(simulator) == []


@pytest.fixture
async def client(slack: SlackSimulator) -> AsyncIterator[AsyncWebClient]:
    async with aiohttp.ClientSession() as session:
        yield AsyncWebClient(
            token=slack.bot_token, base_url=slack.api_url, session=session, retry_handlers=[]
        )


@pytest.fixture
def bolt(slack: SlackSimulator) -> AsyncApp:
    return AsyncApp(
        client=AsyncWebClient(token=slack.bot_token, base_url=slack.api_url),
        signing_secret=slack.signing_secret,
    )


@pytest.fixture
def connected(
    slack: SlackSimulator,
) -> Callable[[AsyncApp], AbstractAsyncContextManager[AsyncSocketModeHandler]]:
    """Connects an app over one socket, and leaves no SDK task."""

    @asynccontextmanager
    async def connect(app: AsyncApp) -> AsyncGenerator[AsyncSocketModeHandler]:
        before = asyncio.all_tasks()
        handler = AsyncSocketModeHandler(app, slack.app_token, ping_interval=0.5)
        handler.client.web_client.base_url = slack.api_url
        already = len(slack.sockets.live)
        await handler.connect_async()
        await slack.until(lambda: len(slack.sockets.live) > already)
        try:
            yield handler
        finally:
            await handler.close_async()
            await handler.client.aiohttp_client_session.close()
            # The SDK cancels its tasks and does not wait for them.
            left = {task for task in asyncio.all_tasks() - before if "slack_sdk" in repr(task)}
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    return connect
