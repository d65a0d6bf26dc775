"""The real client on the scripted server, and the other process."""

from collections.abc import AsyncIterator, Iterator

import pytest

from teams.models.openai import OpenAIChatCompletionClient
from tests.fakes.openai_server import FakeOpenAI
from tests.guide.harness import connected, other_process


@pytest.fixture
async def model(openai_server: FakeOpenAI) -> AsyncIterator[OpenAIChatCompletionClient]:
    """A client of `openai_server` without answers; give it some with `script()`."""
    async with connected(openai_server.url) as model:
        yield model


@pytest.fixture(scope="session", autouse=True)
def stop_other_process() -> Iterator[None]:
    yield
    if other_process.cache_info().currsize:
        other_process().stop()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Starting the other process may take its time on a busy machine."""
    item.add_marker(pytest.mark.timeout(60))
