"""OpenAI's clients, held to what every model client is."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from teams.models import ModelInfo
from teams.models.openai import AzureOpenAIChatCompletionClient, OpenAIChatCompletionClient
from teams.testing import CHECKS, Check, NotOffered, Subject, perform
from tests.fakes.openai_model_server import OpenAIModelServer
from tests.fakes.openai_server import FakeOpenAI

SECRET = "conformance-secret-key"
LACKS = {"failed_results_are_marked": "OpenAI's protocol has no mark for a failed result"}


def _openai(server: FakeOpenAI, **settings: Any) -> OpenAIChatCompletionClient:
    return OpenAIChatCompletionClient(
        model="gpt-4o", base_url=server.url, api_key=SECRET, max_retries=0, **settings
    )


def _azure(server: FakeOpenAI, **settings: Any) -> AzureOpenAIChatCompletionClient:
    return AzureOpenAIChatCompletionClient(
        model="gpt-4o",
        azure_endpoint=server.url.removesuffix("/v1"),
        api_version="2024-10-21",
        api_key=SECRET,
        max_retries=0,
        **settings,
    )


@pytest.fixture(params=[_openai, _azure], ids=["openai", "azure"])
async def subject(request: Any) -> AsyncGenerator[Subject]:
    make: Callable[..., Any] = request.param

    async with FakeOpenAI() as server:

        def connect(*, timeout: float, model_info: ModelInfo) -> Any:
            return make(server, timeout=timeout, model_info=model_info)

        yield Subject(server=OpenAIModelServer(server), connect=connect, secret=SECRET, lacks=LACKS)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_conformance(check: Check, subject: Subject) -> None:
    try:
        await perform(check, subject)
    except NotOffered as error:
        pytest.skip(str(error))
