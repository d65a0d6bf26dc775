"""The Claude clients, held to what every model client is."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from teams.models import ModelInfo
from teams.models.anthropic import (
    AnthropicBedrockChatCompletionClient,
    AnthropicChatCompletionClient,
    BedrockInfo,
)
from teams.testing import CHECKS, Check, NotOffered, Subject, perform
from tests.fakes.anthropic_server import FakeAnthropic

SECRET = "conformance-secret-key"
ACCOUNT = BedrockInfo(
    aws_access_key="AKIA-conformance",
    aws_secret_key=SECRET,
    aws_session_token="conformance-session",
    aws_region="eu-central-1",
)


def _anthropic(server: FakeAnthropic, **settings: Any) -> AnthropicChatCompletionClient:
    return AnthropicChatCompletionClient(
        model="claude-haiku-4-5", base_url=server.url, api_key=SECRET, max_retries=0, **settings
    )


def _bedrock(server: FakeAnthropic, **settings: Any) -> AnthropicBedrockChatCompletionClient:
    return AnthropicBedrockChatCompletionClient(
        model="eu.anthropic.claude-haiku-4-5-20251001-v1:0",
        base_url=server.url,
        bedrock_info=ACCOUNT,
        max_retries=0,
        **settings,
    )


@pytest.fixture(params=[_anthropic, _bedrock], ids=["anthropic", "bedrock"])
async def subject(request: Any) -> AsyncGenerator[Subject]:
    make: Callable[..., Any] = request.param

    async with FakeAnthropic() as server:

        def connect(*, timeout: float, model_info: ModelInfo) -> Any:
            return make(server, timeout=timeout, model_info=model_info)

        yield Subject(server=server, connect=connect, secret=SECRET)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_conformance(check: Check, subject: Subject) -> None:
    try:
        await perform(check, subject)
    except NotOffered as error:
        pytest.skip(str(error))
