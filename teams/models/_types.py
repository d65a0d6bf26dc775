"""The types of model requests and answers."""

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, Field

from teams._base.image import Image
from teams._base.tool_call import FunctionCall

FinishReasons: TypeAlias = Literal["stop", "length", "function_calls", "content_filter", "unknown"]


class SystemMessage(BaseModel, defer_build=True):
    """Instructions of the developer."""

    content: str
    type: Literal["SystemMessage"] = "SystemMessage"


class _ChatOrigin(BaseModel, defer_build=True):
    """A message that can stand for one of the chat."""

    # A slot is no part of the model: where the message comes from is neither dumped nor compared.
    __slots__ = ("_origin",)

    def origin(self) -> str:
        """Id of the chat message that this one stands for.

        Empty if there is none.
        """
        return getattr(self, "_origin", "")

    def stem_from(self, message_id: str) -> None:
        """Remember the chat message this stands for."""
        # Pydantic's own way of setting it would take longer than making the message.
        object.__setattr__(self, "_origin", message_id)


class UserMessage(_ChatOrigin):
    """Input of a person, or other input to a model.

    `source` names where it comes from.
    """

    content: str | list[str | Image]
    source: str
    type: Literal["UserMessage"] = "UserMessage"


class AssistantMessage(_ChatOrigin):
    """A model's answer: a text or calls, and perhaps its reasoning."""

    content: str | list[FunctionCall]
    thought: str | None = None
    source: str
    type: Literal["AssistantMessage"] = "AssistantMessage"


class FunctionExecutionResult(BaseModel, defer_build=True):
    """The output of one call."""

    content: str
    name: str
    call_id: str
    is_error: bool | None = None


class FunctionExecutionResultMessage(BaseModel, defer_build=True):
    """The outputs of a message's calls."""

    content: list[FunctionExecutionResult]
    type: Literal["FunctionExecutionResultMessage"] = "FunctionExecutionResultMessage"


LLMMessage: TypeAlias = Annotated[
    SystemMessage | UserMessage | AssistantMessage | FunctionExecutionResultMessage,
    Field(discriminator="type"),
]


@dataclass(slots=True)
class RequestUsage:
    """Tokens of one request, or of several."""

    prompt_tokens: int
    completion_tokens: int


@dataclass(slots=True)
class TopLogprob:
    """The log probability of a token."""

    logprob: float
    bytes: list[int] | None = None


class ChatCompletionTokenLogprob(BaseModel, defer_build=True):
    """The log probability of a token, and of its alternatives."""

    token: str
    logprob: float
    top_logprobs: list[TopLogprob] | None = None
    bytes: list[int] | None = None


class CreateResult(BaseModel, defer_build=True):
    """A model's answer: a text, or the calls it wants made."""

    finish_reason: FinishReasons
    content: str | list[FunctionCall]
    usage: RequestUsage
    cached: bool
    logprobs: list[ChatCompletionTokenLogprob] | None = None
    thought: str | None = None
