"""The interface of model clients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel

from teams._base.cancellation import CancellationToken
from teams._components.component import ComponentBase
from teams.models._info import ModelCapabilities, ModelInfo
from teams.models._types import CreateResult, LLMMessage, RequestUsage
from teams.models._watched import watched, watched_stream
from teams.tools._base import Tool, ToolSchema

ToolChoice = Tool | Literal["auto", "required", "none"]


class ChatCompletionClient(ComponentBase[BaseModel], ABC):
    """Asks one model. Safe to share between agents; whoever made it closes it.

    What a subclass defines as `create` and `create_stream` is seen by the `ModelWatch` of a run.
    """

    component_type = "model"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "create" in cls.__dict__:
            cls.create = watched(cls.create)
        if "create_stream" in cls.__dict__:
            cls.create_stream = watched_stream(cls.create_stream)

    @abstractmethod
    async def create(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),
        tool_choice: ToolChoice = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] = {},
        cancellation_token: CancellationToken | None = None,
    ) -> CreateResult:
        """The model's answer.

        `tool_choice`: a tool (it must be called), "required" (some tool must), "none" or "auto".
        `json_output`: True for any JSON text, a pydantic model for JSON text of its shape.
        `extra_create_args` go to the provider as they are.
        """

    @abstractmethod
    def create_stream(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),
        tool_choice: ToolChoice = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] = {},
        cancellation_token: CancellationToken | None = None,
    ) -> AsyncGenerator[str | CreateResult, None]:
        """The answer's text as it comes, in pieces, and last the whole answer."""

    @abstractmethod
    async def close(self) -> None:
        """Release the connections."""

    @abstractmethod
    def actual_usage(self) -> RequestUsage:
        """Tokens that were paid for, by all requests so far."""

    @abstractmethod
    def total_usage(self) -> RequestUsage:
        """Tokens of all requests so far, those answered from a cache included."""

    @abstractmethod
    def count_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """About how many tokens these would take of the model's context."""

    @abstractmethod
    def remaining_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """About how many tokens these would leave of the model's context; may be negative."""

    @property
    def max_output_tokens(self) -> int | None:
        """How many tokens an answer may have, where the client limits them."""
        return None

    @property
    @abstractmethod
    def model_info(self) -> ModelInfo:
        """What the model can do."""

    @property
    def capabilities(self) -> ModelCapabilities:
        """An earlier form of `model_info`."""
        info = self.model_info
        return {
            "vision": info["vision"],
            "function_calling": info["function_calling"],
            "json_output": info["json_output"],
        }
