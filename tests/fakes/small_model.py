"""A model of a small window, and conversations too long for it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from teams.core import FunctionCall
from teams.model_context import ChatCompletionContext
from teams.models import (
    AssistantMessage,
    ChatCompletionClient,
    ContextOverflow,
    CreateResult,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    RequestUsage,
    UserMessage,
)

WINDOW = 1000
FACT = "the bridge is 1842 metres long"


class Model(ChatCompletionClient):
    """A model of a small window that summarises by a fact.

    It refuses what has more tokens, at four bytes each.
    """

    def __init__(
        self, window: int | None = WINDOW, *, refuses_at: int | None = None, tells: bool = True
    ) -> None:
        self.tells = tells
        self.begun: asyncio.Event | None = None
        self.held: asyncio.Event | None = None
        self.window = window
        self.refuses_at = refuses_at or window
        self.asked: list[list[LLMMessage]] = []
        self.fails: Exception | None = None
        self.answer = ""
        self.longest_answer: int | None = None
        self.silent = False
        """It answers with no text, as one that has only thought."""

    async def create(self, messages, **_: Any):
        self.asked.append(list(messages))
        if self.begun is not None and self.held is not None:
            self.begun.set()
            await self.held.wait()
        if self.fails is not None:
            raise self.fails
        tokens = self.count_tokens(messages)
        if self.refuses_at is not None and tokens > self.refuses_at:
            limit = f"maximum context length is {self.refuses_at} tokens"
            raise ContextOverflow(f"{limit if self.tells else 'too long'} (model 'x')")
        said = str(messages[-1].content)
        content = (
            ""
            if self.silent
            else self.answer or (f"Known: {FACT}." if FACT in said else "Nothing.")
        )
        return CreateResult(
            finish_reason="stop",
            content=content,
            usage=RequestUsage(tokens, 5),
            cached=False,
        )

    async def create_stream(self, messages, **_: Any):
        answer = await self.create(messages)
        yield str(answer.content)
        yield answer

    def count_tokens(self, messages, *, tools=()):
        return sum(len(str(each.content).encode()) // 4 + 3 for each in messages) + 10 * len(tools)

    def remaining_tokens(self, messages, *, tools=()):
        if self.window is None:
            raise ValueError("unknown")
        return self.window - self.count_tokens(messages, tools=tools)

    async def close(self):
        raise NotImplementedError

    def actual_usage(self):
        raise NotImplementedError

    def total_usage(self):
        raise NotImplementedError

    @property
    def max_output_tokens(self):
        return self.longest_answer

    @property
    def model_info(self):
        return ModelInfo(
            vision=False,
            function_calling=True,
            json_output=True,
            family=ModelFamily.UNKNOWN,
            structured_output=True,
        )


def said(text: str, source: str = "user") -> UserMessage:
    return UserMessage(content=text, source=source)


def answered(text: str) -> AssistantMessage:
    return AssistantMessage(content=text, source="solo")


def called(*ids: str, of: int = 40) -> list[LLMMessage]:
    """A call with its results."""
    calls = [FunctionCall(id=each, name="look", arguments="{}") for each in ids]
    results = [
        FunctionExecutionResult(content=f"seen {each} " * (of // 7), name="look", call_id=each)
        for each in ids
    ]
    return [
        AssistantMessage(content=calls, source="solo"),
        FunctionExecutionResultMessage(content=results),
    ]


def talk(rounds: int, length: int = 60) -> list[LLMMessage]:
    """Questions and answers, with a fact at the beginning."""
    messages: list[LLMMessage] = [said(f"Remember that {FACT}."), answered("I will.")]
    for number in range(rounds):
        messages += [said(f"question {number} " + "q" * length), answered("a" * length)]
    return messages


def texts(messages: Sequence[LLMMessage]) -> str:
    return "\n".join(str(each.content) for each in messages)


def ids_of(message: LLMMessage) -> list[str]:
    match message:
        case AssistantMessage(content=list() as calls):
            return [each.id for each in calls]
        case FunctionExecutionResultMessage(content=results):
            return [each.call_id for each in results]
        case _:
            raise AssertionError(message)


async def filled(context: ChatCompletionContext, messages: Sequence[LLMMessage]) -> None:
    for message in messages:
        await context.add_message(message)
