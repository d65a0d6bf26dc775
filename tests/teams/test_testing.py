"""The checks for model clients: each can fail."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

import pytest

from teams.core import FunctionCall
from teams.models import CreateResult, ModelInfo, RequestUsage, UserMessage
from teams.models.openai import OpenAIChatCompletionClient
from teams.testing import CHECKS, Check, NotOffered, Subject, perform
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


MISTAKES: Mapping[str, Mapping[str, Any]] = {
    "text_is_the_answer": {"result": lambda result: {"cached": True}},
    "stream_comes_in_pieces": {"result": lambda result: {"content": ""}},
    "stream_of_one_piece_is_whole": {"result": lambda result: {"content": []}},
    "usage_is_real_and_summed": {"result": lambda result: {"usage": RequestUsage(0, 0)}},
    "tool_call_is_read": {"result": lambda result: {"finish_reason": "stop"}},
    "tool_call_without_arguments_is_read": {"result": same_arguments},
    "parallel_tool_calls_are_apart": {"result": lambda result: {"content": result.content[:1]}},
    "text_beside_calls_is_their_thought": {"result": lambda result: {"thought": None}},
    "thinking_is_the_thought": {"result": lambda result: {"thought": None}},
    "length_is_a_stop_reason": {"result": lambda result: {"finish_reason": "unknown"}},
    "odd_characters_survive": {"result": lambda result: {"content": result.content.strip("G")}},
    "tools_are_sent_with_their_schema": {"request": without("tools")},
    "tool_choice_is_sent": {"request": without("tool_choice")},
    "tools_may_be_forbidden": {"request": without("tool_choice")},
    "foreign_tool_choice_is_refused": {"request": without("tool_choice")},
    "results_reach_the_model": {"request": texts_alone},
    "images_reach_the_model": {"request": texts_alone},
    "json_is_asked_for": {"request": without("json_output")},
    "json_of_a_schema_is_asked_for": {"request": without("json_output")},
    "missing_abilities_are_refused": {"request": without("tools")},
    "messages_stay_as_they_are": {"request": changed},
    "cancelled_token_asks_nothing": {"request": without("cancellation_token")},
}


def subject_of(server: FakeOpenAI, **mistake: Any) -> Subject:
    def connect(*, timeout: float, model_info: ModelInfo) -> Spoiled:
        return Spoiled(
            **mistake,
            model="gpt-4o",
            base_url=server.url,
            api_key=SECRET,
            max_retries=0,
            timeout=timeout,
            model_info=model_info,
        )

    lacks = {"failed_results_are_marked": "results have no mark"}
    return Subject(server=OpenAIModelServer(server), connect=connect, secret=SECRET, lacks=lacks)


def named(name: str) -> Check:
    return next(check for check in CHECKS if check.__name__ == name)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", MISTAKES)
async def test_a_check_finds_its_mistake(name: str):
    async with FakeOpenAI() as server:
        subject = subject_of(server, **MISTAKES[name])
        with pytest.raises((AssertionError, AttributeError, ValueError)):
            await perform(named(name), subject)


@pytest.mark.parametrize("name", ["text_is_the_answer", "cancelling_ends_the_request"])
async def test_a_client_without_a_mistake_passes(name: str):
    async with FakeOpenAI() as server:
        await perform(named(name), subject_of(server))


async def test_what_a_protocol_lacks_is_said_with_the_reason():
    async with FakeOpenAI() as server:
        with pytest.raises(NotOffered, match="results have no mark"):
            await perform(named("failed_results_are_marked"), subject_of(server))
