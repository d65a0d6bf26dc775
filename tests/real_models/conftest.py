"""A real server with a small model."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from teams.models.openai import OpenAIChatCompletionClient
from tests.real_models.llama import ABLE, KEY, LlamaServer, Make, llama_server

CONTEXT = 1024


@pytest.fixture(scope="session")
def llama() -> Iterator[LlamaServer]:
    """The server of the environment that `make models-real` has made."""
    python = Path(os.environ["LLAMA_PYTHON"])
    options = ["--ctx-size", str(2 * CONTEXT), "--parallel", "2", "--slots", "--api-key", KEY]
    with llama_server(python, options) as server:
        yield server


@pytest.fixture
async def make(llama: LlamaServer) -> AsyncIterator[Make]:
    """Makes clients of it, which are closed in the end."""
    made: list[OpenAIChatCompletionClient] = []

    def make_client(**settings: Any) -> OpenAIChatCompletionClient:
        usual: dict[str, Any] = {
            "model": "smollm2",
            "base_url": f"{llama.url}/v1",
            "api_key": KEY,
            "model_info": ABLE,
            "max_retries": 0,
            "temperature": 0,
            "seed": 1,
            "max_tokens": 24,
        }
        made.append(OpenAIChatCompletionClient(**{**usual, **settings}))
        return made[-1]

    yield make_client
    for each in made:
        await each.close()


@pytest.fixture
def client(make: Make) -> OpenAIChatCompletionClient:
    return make()
