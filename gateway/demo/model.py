"""The built-in demo model: a client that answers by simple rules."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from gateway.demo.rules import ToolReturn, View, next_step
from teams.core import CancellationToken, Component
from teams.models import (
    AssistantMessage,
    ChatCompletionClient,
    CreateResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    RequestUsage,
    SystemMessage,
    UserMessage,
)
from teams.tools import Tool, ToolSchema

DEMO_MODEL = "demo"
PACE = 0.025
"""Seconds between two words, about as fast as one reads along."""
CONTEXT_TOKENS = 32_000

_AGENT = re.compile(r"You are (\w+)")
_BEFORE_A_WORD = re.compile(r"(?<=\s)(?=\S)")
_HUMAN = "user"


class DemoChatCompletionClientConfig(BaseModel):
    """The declarative form of DemoChatCompletionClient."""

    pace: float = PACE


class DemoChatCompletionClient(ChatCompletionClient, Component[DemoChatCompletionClientConfig]):
    """Answers by simple rules, and says so.

    It knows from the system message ("You are NAME") and the tools what its agent can do. `pace` is
    in seconds per streamed word. Tokens are counted as words.
    """

    component_config_schema = DemoChatCompletionClientConfig
    component_provider_override = "gateway.demo.DemoChatCompletionClient"

    def __init__(self, pace: float = PACE) -> None:
        self._pace = pace
        self._usage = RequestUsage(prompt_tokens=0, completion_tokens=0)

    @property
    def model(self) -> str:
        """The model's name on screen."""
        return DEMO_MODEL

    async def create(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),
        tool_choice: Tool | str = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] = {},
        cancellation_token: CancellationToken | None = None,
    ) -> CreateResult:
        """See ChatCompletionClient. Raises ValueError for JSON, which it can't give."""
        if json_output:
            raise ValueError("The demo model can't answer in JSON.")
        usable = () if tool_choice == "none" else tools
        step = next_step(view_of(messages, frozenset(_name(tool) for tool in usable)))
        words = len(step.calls) or len(step.text.split())
        usage = RequestUsage(self.count_tokens(messages), words)
        self._usage = self._usage + usage
        return CreateResult(
            finish_reason="function_calls" if step.calls else "stop",
            content=list(step.calls) or step.text,
            usage=usage,
            cached=False,
            thought=(step.text or None) if step.calls else None,
        )

    async def create_stream(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),
        tool_choice: Tool | str = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] = {},
        cancellation_token: CancellationToken | None = None,
    ) -> AsyncGenerator[str | CreateResult, None]:
        """See ChatCompletionClient: the text word by word, at the client's pace."""
        result = await self.create(
            messages, tools=tools, tool_choice=tool_choice, json_output=json_output
        )
        if isinstance(result.content, str):
            for word in _BEFORE_A_WORD.split(result.content):
                await asyncio.sleep(self._pace)
                if cancellation_token is not None and cancellation_token.is_cancelled():
                    raise asyncio.CancelledError
                yield word
        yield result

    async def close(self) -> None:
        """Nothing is open."""

    def actual_usage(self) -> RequestUsage:
        """Words so far; nobody pays for them."""
        return self._usage

    def total_usage(self) -> RequestUsage:
        """The same as `actual_usage`."""
        return self._usage

    def count_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """The number of words in the messages."""
        return sum(len(_text(message).split()) for message in messages)

    def remaining_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """The rest of a context of a usual size."""
        return CONTEXT_TOKENS - self.count_tokens(messages, tools=tools)

    @property
    def model_info(self) -> ModelInfo:
        """It calls tools, and that is all."""
        return ModelInfo(
            vision=False,
            function_calling=True,
            json_output=False,
            family=ModelFamily.UNKNOWN,
            structured_output=False,
        )


def view_of(messages: Sequence[LLMMessage], tools: frozenset[str]) -> View:
    """An agent's view of the messages of a request."""
    agent = request = ""
    notes: list[str] = []
    returned: list[ToolReturn] = []
    arguments: dict[str, str] = {}
    for message in messages:
        match message:
            case SystemMessage():
                agent = found[1] if (found := _AGENT.search(message.content)) else agent
            case UserMessage() if message.source == _HUMAN or not request:
                request, notes, returned = _text(message), [], []
            case AssistantMessage(content=str(text)):
                notes += [text] if message.source != agent else []
            case AssistantMessage(content=list(calls)):
                arguments |= {call.id: _argument(call.arguments) for call in calls}
            case FunctionExecutionResultMessage(content=results):
                returned += [
                    ToolReturn(
                        tool=result.name,
                        argument=arguments.get(result.call_id, ""),
                        text=result.content,
                        failed=bool(result.is_error),
                    )
                    for result in results
                ]
            case _:
                pass  # another agent's message to all is not asked of this one
    return View(
        agent=agent, tools=tools, request=request, notes=tuple(notes), returned=tuple(returned)
    )


def _argument(arguments: str) -> str:
    """The value of a call's first argument."""
    return str(next(iter(json.loads(arguments).values()), ""))


def _name(tool: Tool | ToolSchema) -> str:
    return tool["name"] if isinstance(tool, Mapping) else tool.name


def _text(message: LLMMessage) -> str:
    match message:
        case FunctionExecutionResultMessage():
            return " ".join(result.content for result in message.content)
        case AssistantMessage(content=list(calls)):
            return " ".join(call.arguments for call in calls)
        case _:
            parts = [message.content] if isinstance(message.content, str) else message.content
            return " ".join(part for part in parts if isinstance(part, str))
