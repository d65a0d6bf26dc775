"""A model client with a test's answers and pauses.

It refuses what OpenAI refuses.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from pydantic import BaseModel

from teams.core import CancellationToken, FunctionCall
from teams.models import (
    AssistantMessage,
    ChatCompletionClient,
    CreateResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    RequestUsage,
)
from teams.tools import Tool, ToolSchema

Piece = str | asyncio.Event | BaseException | CreateResult | object
"""A piece of a streamed answer: text, event, error or anything else.

An event is waited for, an error raised.
"""
Answer = str | CreateResult | BaseException | asyncio.Event | Sequence[Piece]

USAGE = RequestUsage(prompt_tokens=10, completion_tokens=5)


def says(text: str, *, thought: str | None = None) -> CreateResult:
    return CreateResult(
        finish_reason="stop", content=text, usage=USAGE, cached=False, thought=thought
    )


def calls(*wanted: tuple[str, Mapping[str, Any] | str], thought: str | None = None) -> CreateResult:
    """An answer with tool calls: name and arguments of each."""
    content = [
        FunctionCall(
            id=f"call_{number}",
            name=name,
            arguments=arguments if isinstance(arguments, str) else json.dumps(arguments),
        )
        for number, (name, arguments) in enumerate(wanted, start=1)
    ]
    return CreateResult(
        finish_reason="function_calls", content=content, usage=USAGE, cached=False, thought=thought
    )


class InvalidRequest(Exception):
    """A request that OpenAI would refuse with status 400."""


class ScriptedModel(ChatCompletionClient):
    """Gives its answers in order.

    With `speaker`, the answer depends on the request alone: it is the one after those that this
    agent's own assistant messages in the request came from.
    """

    def __init__(
        self,
        *answers: Answer,
        speaker: str | None = None,
        vision: bool = False,
        function_calling: bool = True,
    ) -> None:
        self._answers = list(answers)
        self._speaker = speaker
        self._info = ModelInfo(
            vision=vision,
            function_calling=function_calling,
            json_output=True,
            family=ModelFamily.UNKNOWN,
            structured_output=True,
        )
        self.requests: list[dict[str, Any]] = []
        self._asked = asyncio.Event()

    async def asked(self, times: int = 1) -> None:
        """Wait until so many requests have come in."""
        while len(self.requests) < times:
            self._asked.clear()
            await self._asked.wait()

    def messages(self, request: int = -1) -> list[dict[str, Any]]:
        """The request as JSON data, without the system message."""
        sent = self.requests[request]["messages"]
        return [message for message in sent if message["type"] != "SystemMessage"]

    def texts(self, request: int = -1) -> list[str]:
        """The contents that were sent, those that are texts."""
        return [m["content"] for m in self.messages(request) if isinstance(m["content"], str)]

    async def create(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),
        tool_choice: Any = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] = {},
        cancellation_token: CancellationToken | None = None,
    ) -> CreateResult:
        last: Any = None
        async for piece in self._play(messages, tools, tool_choice, json_output):
            last = piece
        return last

    async def create_stream(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),
        tool_choice: Any = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] = {},
        cancellation_token: CancellationToken | None = None,
    ) -> AsyncGenerator[str | CreateResult, None]:
        async with aclosing(self._play(messages, tools, tool_choice, json_output)) as pieces:
            async for piece in pieces:
                yield piece

    async def _play(
        self, messages: Sequence[LLMMessage], tools: Any, tool_choice: Any, json_output: Any
    ) -> AsyncGenerator[Any, None]:
        refuse_invalid(messages)
        self.requests.append(
            {
                "messages": [message.model_dump(mode="json") for message in messages],
                "tools": sorted(
                    tool["name"] if isinstance(tool, dict) else tool.name for tool in tools
                ),
                "tool_choice": tool_choice,
                "json_output": getattr(json_output, "__name__", json_output),
            }
        )
        self._asked.set()
        text = ""
        for piece in _pieces(self._answer(messages)):
            match piece:
                case asyncio.Event():
                    await piece.wait()
                case BaseException():
                    raise piece
                case str():
                    text += piece
                    yield piece
                case _:
                    yield piece
                    return
        yield says(text)

    def _answer(self, messages: Sequence[LLMMessage]) -> Answer:
        if self._speaker is None:
            number = len(self.requests) - 1
        else:
            number = sum(
                isinstance(message, AssistantMessage) and message.source == self._speaker
                for message in messages
            )
        if number >= len(self._answers):
            raise AssertionError(f"no answer number {number} to {messages[-1:]!r}")
        return self._answers[number]

    async def close(self) -> None: ...

    def actual_usage(self) -> RequestUsage:
        return USAGE

    def total_usage(self) -> RequestUsage:
        return USAGE

    def count_tokens(self, messages: Sequence[LLMMessage], *, tools: Any = ()) -> int:
        return len(messages)

    def remaining_tokens(self, messages: Sequence[LLMMessage], *, tools: Any = ()) -> int:
        return 1000

    @property
    def model_info(self) -> ModelInfo:
        return self._info


def _pieces(answer: Answer) -> Sequence[Piece]:
    match answer:
        case str():
            return answer.replace(" ", " \0").split("\0")
        case CreateResult(content=str() as text):
            return [*_pieces(text), answer]
        case CreateResult() | BaseException() | asyncio.Event():
            return [answer]
        case _:
            return answer


def refuse_invalid(messages: Sequence[LLMMessage]) -> None:
    """Raise InvalidRequest for a call without result, or the reverse."""
    open_calls: set[str] = set()
    for message in messages:
        if isinstance(message, FunctionExecutionResultMessage):
            for result in message.content:
                if result.call_id not in open_calls:
                    raise InvalidRequest(f"orphan result {result!r}")
                open_calls.remove(result.call_id)
            continue
        if open_calls:
            raise InvalidRequest(f"calls without result: {open_calls} before {message!r}")
        if isinstance(message, AssistantMessage) and isinstance(message.content, list):
            if not message.content:
                raise InvalidRequest("empty tool_calls")
            open_calls = {call.id for call in message.content}
    if open_calls:
        raise InvalidRequest(f"calls without result: {open_calls}")
