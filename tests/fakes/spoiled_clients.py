"""Clients with one mistake each, for the checks that find it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

import pytest

from teams.core import FunctionCall
from teams.models import AssistantMessage, CreateResult, ModelInfo, UserMessage
from teams.models.openai import OpenAIChatCompletionClient
from teams.testing import CHECKS, Check, Subject, perform
from tests.fakes.openai_model_server import OpenAIModelServer
from tests.fakes.openai_server import FakeOpenAI

SECRET = "conformance-secret-key"


class Spoiled(OpenAIChatCompletionClient):
    """A client with one mistake, in its requests or in its results."""

    def __init__(
        self,
        result: Callable[[CreateResult], Any] = lambda result: {},
        request: Callable[..., Any] = lambda messages, options: (messages, options),
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self._spoil_result, self._spoil_request = result, request

    async def create(self, messages: Any, **options: Any) -> CreateResult:
        messages, options = self._spoil_request(messages, options)
        result = await super().create(messages, **options)
        return result.model_copy(update=self._spoil_result(result))

    def create_stream(self, messages: Any, **options: Any) -> AsyncGenerator[Any, None]:
        messages, options = self._spoil_request(messages, options)
        return self._pieces(super().create_stream(messages, **options))

    async def _pieces(self, stream: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        try:
            async for item in stream:
                whole = isinstance(item, CreateResult)
                yield item.model_copy(update=self._spoil_result(item)) if whole else item
        finally:
            await stream.aclose()


def without(*names: str) -> Callable[..., Any]:
    """Requests that lose these arguments."""

    def lose(messages: Any, options: Mapping[str, Any]) -> Any:
        return messages, {name: value for name, value in options.items() if name not in names}

    return lose


def texts_alone(messages: Any, options: Any) -> Any:
    kept = [each for each in messages if isinstance(each.content, str)]
    return kept or [UserMessage(content="?", source="user")], options


def changed(messages: Any, options: Any) -> Any:
    for each in messages:
        each.content = each.content.rstrip() if isinstance(each.content, str) else each.content
    return messages, options


def same_arguments(result: CreateResult) -> Any:
    calls = result.content
    assert isinstance(calls, list)
    return {"content": [FunctionCall(id="1", name=call.name, arguments="?") for call in calls]}


def with_an_answer(messages: Any, options: Any) -> Any:
    return [*messages, AssistantMessage(content="Well.", source="helper")], options


def prefixed(result: CreateResult) -> Any:
    calls = result.content
    assert isinstance(calls, list)
    return {
        "content": [FunctionCall(id="1", name="functions.weather", arguments="{}")] * len(calls)
    }


class Uncounting(Spoiled):
    """A client that counts no tokens."""

    def count_tokens(self, messages: Any, **options: Any) -> int:
        return 1


class Talkative(Spoiled):
    """A client that shows its key."""

    def __repr__(self) -> str:
        return SECRET


class Silent(Spoiled):
    """A client whose errors are of no kind."""

    async def create(self, messages: Any, **options: Any) -> CreateResult:
        raise RuntimeError("something went wrong")

    def create_stream(self, messages: Any, **options: Any) -> AsyncGenerator[Any, None]:
        raise RuntimeError("something went wrong")


class Stubborn(Spoiled):
    """A client that takes its cancellation for a failure."""

    async def create(self, messages: Any, **options: Any) -> CreateResult:
        try:
            return await super().create(messages, **options)
        except asyncio.CancelledError as error:
            raise RuntimeError("it was cancelled") from error


def subject_of(
    server: FakeOpenAI,
    kind: type[Spoiled] = Spoiled,
    lacks: Mapping[str, str] | None = None,
    **mistake: Any,
) -> Subject:
    def connect(*, timeout: float, model_info: ModelInfo) -> Spoiled:
        return kind(
            **mistake,
            model="gpt-4o",
            base_url=server.url,
            api_key=SECRET,
            max_retries=0,
            timeout=timeout,
            model_info=model_info,
        )

    return Subject(
        server=OpenAIModelServer(server), connect=connect, secret=SECRET, lacks=lacks or {}
    )


def named(name: str) -> Check:
    return next(check for check in CHECKS if check.__name__ == name)  # type: ignore[attr-defined]


async def finds(name: str, mistake: Mapping[str, Any]) -> None:
    """Fail unless the check of this name finds the mistake."""
    async with FakeOpenAI() as server:
        with pytest.raises((AssertionError, AttributeError, LookupError, RuntimeError, ValueError)):
            await perform(named(name), subject_of(server, **mistake))
