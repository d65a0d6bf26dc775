"""A scripted server of Anthropic's for each test."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from teams.models.anthropic import AnthropicChatCompletionClient
from tests.fakes.anthropic_server import FakeAnthropic

Make = Callable[..., AnthropicChatCompletionClient]


@pytest.fixture
async def server() -> AsyncGenerator[FakeAnthropic]:
    async with FakeAnthropic() as started:
        yield started


@pytest.fixture
async def make(server: FakeAnthropic) -> AsyncGenerator[Make]:
    """Makes clients of the server, which are closed at the end."""
    made: list[AnthropicChatCompletionClient] = []

    def client(**settings: Any) -> AnthropicChatCompletionClient:
        given: Any = {
            "model": "claude-haiku-4-5",
            "api_key": "key-of-a-test",
            "base_url": server.url,
            "max_retries": 0,
        }
        made.append(AnthropicChatCompletionClient(**{**given, **settings}))
        return made[-1]

    yield client
    for each in made:
        await each.close()
