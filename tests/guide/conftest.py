"""A model for each page: the real client on the scripted server."""

from collections.abc import AsyncIterator

import pytest

from teams.models.openai import OpenAIChatCompletionClient
from tests.fakes.openai_server import FakeOpenAI
from tests.guide.harness import connected


@pytest.fixture
async def model(openai_server: FakeOpenAI) -> AsyncIterator[OpenAIChatCompletionClient]:
    """A client of `openai_server`, which has no answers yet: give it some with `script()`."""
    async with connected(openai_server.url) as model:
        yield model
