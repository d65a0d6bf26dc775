"""Ollama's client, held to what every model client is."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from teams.models import ModelInfo
from teams.models.ollama import OllamaChatCompletionClient
from teams.testing import CHECKS, Check, NotOffered, Subject, perform
from tests.fakes.ollama_server import FakeOllama

SECRET = "conformance-secret-key"
LACKS = {
    "failed_results_are_marked": "Ollama's protocol has no mark for a failed result",
    "tool_choice_is_sent": "Ollama's protocol has no tool_choice",
}


@pytest.fixture
async def subject() -> AsyncGenerator[Subject]:
    async with FakeOllama() as server:

        def connect(*, timeout: float, model_info: ModelInfo) -> OllamaChatCompletionClient:
            return OllamaChatCompletionClient(
                model="llama3.2",
                host=server.url,
                headers={"Authorization": f"Bearer {SECRET}"},
                timeout=timeout,
                model_info=model_info,
            )

        yield Subject(server=server, connect=connect, secret=SECRET, lacks=LACKS)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_conformance(check: Check, subject: Subject) -> None:
    try:
        await perform(check, subject)
    except NotOffered as error:
        pytest.skip(str(error))
