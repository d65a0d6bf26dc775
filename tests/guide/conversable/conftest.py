"""The scripted server for sync programs, and its configuration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.openai_in_thread import openai_in_thread
from tests.fakes.openai_server import FakeOpenAI


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    """A running server without answers; give it some with `script()`."""
    with openai_in_thread() as server:
        yield server
        assert [request.refused for request in server.requests if request.refused] == []


@pytest.fixture
def llm_config(server: FakeOpenAI) -> dict[str, Any]:
    """A configuration of one model, with its price."""
    entry = {"model": "gpt-4o", "api_key": "sk-guide", "base_url": server.url}
    return {"config_list": [{**entry, "price": [0.5, 1]}]}
