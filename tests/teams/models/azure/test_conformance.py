"""Azure's client, held to what every model client is."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass

import pytest

from teams.models import ModelInfo
from teams.models.azure import AzureAIChatCompletionClient
from teams.testing import CHECKS, Check, NotOffered, Subject, perform
from tests.fakes.openai_model_server import OpenAIModelServer
from tests.fakes.openai_server import FakeOpenAI

SECRET = "conformance-secret-key"
LACKS = {
    "failed_results_are_marked": "OpenAI's protocol has no mark for a failed result",
    "dump_holds_no_key": "its credential is an object, which no config can hold",
}


@dataclass
class Key:
    """As azure.core.credentials.AzureKeyCredential."""

    key: str


@pytest.fixture
async def subject() -> AsyncGenerator[Subject]:
    async with FakeOpenAI() as server:

        def connect(*, timeout: float, model_info: ModelInfo) -> AzureAIChatCompletionClient:
            return AzureAIChatCompletionClient(
                endpoint=server.url,
                credential=Key(SECRET),
                model="gpt-4o",
                model_info=model_info,
                timeout=timeout,
                max_retries=0,
            )

        yield Subject(server=OpenAIModelServer(server), connect=connect, secret=SECRET, lacks=LACKS)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_conformance(check: Check, subject: Subject) -> None:
    try:
        await perform(check, subject)
    except NotOffered as error:
        pytest.skip(str(error))
