"""A model client with prepared answers, for tests, examples and measurements."""

import re
from collections.abc import AsyncGenerator, Sequence
from typing import Any, Unpack

from pydantic import BaseModel

from teams._base.image import Image
from teams._base.tool_call import FunctionCall
from teams._components.component import Component
from teams._tools.base import Tool
from teams._tools.schema import ToolSchema
from teams.models._client import Asking, ChatCompletionClient
from teams.models._types import (
    CreateResult,
    FunctionExecutionResult,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    RequestUsage,
    validate_model_info,
)

CONTEXT_TOKENS = 10_000

_UNASKED: Asking = {
    "tools": (),
    "tool_choice": "auto",
    "json_output": None,
    "extra_create_args": {},
    "cancellation_token": None,
}
"""Arguments of a call that names none."""
_BEFORE_A_WORD = re.compile(r"(?<=\s)(?=\S)")


class ReplayChatCompletionClientConfig(BaseModel, defer_build=True):
    """The declarative form of ReplayChatCompletionClient."""

    chat_completions: list[str | CreateResult]
    model_info: ModelInfo | None = None


class ReplayChatCompletionClient(ChatCompletionClient, Component[ReplayChatCompletionClientConfig]):
    """Gives the prepared texts and results in order, whatever the request.

    Tokens are words. A stream yields a text word by word. `model_info` says what the model pretends
    to be able to; by default nothing but text. With nothing left to answer it raises ValueError.
    """

    component_config_schema = ReplayChatCompletionClientConfig

    def __init__(
        self,
        chat_completions: Sequence[str | CreateResult],
        model_info: ModelInfo | None = None,
    ) -> None:
        self._chat_completions = list(chat_completions)
        self._model_info = model_info or ModelInfo(
            vision=False,
            function_calling=False,
            json_output=False,
            family=ModelFamily.UNKNOWN,
            structured_output=False,
        )
        validate_model_info(self._model_info)
        self._cached = True
        self.reset()

    def reset(self) -> None:
        """Begin again with the first answer, and forget calls and usage."""
        self._next = 0
        self._usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
        self._create_calls: list[dict[str, Any]] = []
        # Counts by id, so that a history is counted once; the messages are kept for the ids' sake.
        self._word_counts: dict[int, int] = {}
        self._seen: list[LLMMessage] = []

    def set_cached_bool_value(self, value: bool) -> None:
        """Set `cached` of results made from texts; at first it is True."""
        self._cached = value

    @property
    def create_calls(self) -> list[dict[str, Any]]:
        """The arguments of each call so far, by name."""
        return self._create_calls

    async def create(self, messages: Sequence[LLMMessage], **asked: Unpack[Asking]) -> CreateResult:
        """The next answer; ValueError when there is none left."""
        if self._next >= len(self._chat_completions):
            raise ValueError("No more mock responses available")
        answer = self._chat_completions[self._next]
        self._next += 1
        self._create_calls.append({"messages": list(messages), **_UNASKED, **asked})
        return self._result(answer, self.count_tokens(messages))

    async def create_stream(
        self, messages: Sequence[LLMMessage], **asked: Unpack[Asking]
    ) -> AsyncGenerator[str | CreateResult, None]:
        """Yield the next answer's words with their white space, then the answer."""
        result = await self.create(messages, **asked)
        if isinstance(result.content, str) and result.content:
            for word in _BEFORE_A_WORD.split(result.content):
                yield word
        yield result

    async def close(self) -> None:
        """Nothing is open."""

    def actual_usage(self) -> RequestUsage:
        """Tokens of all calls since the last reset."""
        return self._usage

    def total_usage(self) -> RequestUsage:
        """The same as `actual_usage`."""
        return self._usage

    def count_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """The number of words in the messages."""
        # A history grows at its end: before a message that was counted, all were, as a rule.
        for message in reversed(messages):
            if id(message) in self._word_counts:
                break
            self._count(message)
        try:
            return sum(map(self._word_counts.__getitem__, map(id, messages)))
        except KeyError:
            for message in messages:
                self._count(message)
            return sum(map(self._word_counts.__getitem__, map(id, messages)))

    def _count(self, message: LLMMessage) -> None:
        if id(message) not in self._word_counts:
            self._word_counts[id(message)] = _count_words(message)
            self._seen.append(message)

    def remaining_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """The rest of a context of 10,000 words."""
        return CONTEXT_TOKENS - self.count_tokens(messages, tools=tools)

    @property
    def model_info(self) -> ModelInfo:
        """The abilities that the model claims."""
        return self._model_info

    def _result(self, answer: str | CreateResult, prompt_tokens: int) -> CreateResult:
        if isinstance(answer, str):
            usage = RequestUsage(prompt_tokens, len(answer.split()))
            result = CreateResult(
                finish_reason="stop", content=answer, usage=usage, cached=self._cached
            )
        else:
            usage = RequestUsage(prompt_tokens, answer.usage.completion_tokens)
            result = answer
        self._usage += usage
        return result


def _count_words(message: LLMMessage) -> int:
    content = message.content
    if isinstance(content, str):
        return len(content.split())
    return sum(_count_part_words(part) for part in content)


def _count_part_words(part: str | Image | FunctionCall | FunctionExecutionResult) -> int:
    match part:
        case str():
            return len(part.split())
        case FunctionCall():
            return 1 + len(part.arguments.split())
        case FunctionExecutionResult():
            return len(part.content.split())
        case _:
            return 1
