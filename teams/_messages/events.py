"""Events that agents and teams report to the application while they work."""

from abc import ABC
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field

from teams._base.code import CodeBlock, CodeResult
from teams._base.tool_call import FunctionCall
from teams._messages.base import BaseAgentEvent
from teams.memory._base import MemoryContent
from teams.models._types import FunctionExecutionResult

if TYPE_CHECKING:
    from teams.model_context._auto import ContextSummary


class _ContentEvent(BaseAgentEvent, ABC):
    """An event whose text is its content."""

    content: Any

    def to_text(self) -> str:
        return str(self.content)


class ToolCallRequestEvent(_ContentEvent):
    """The model asked for tools."""

    content: list[FunctionCall]
    type: Literal["ToolCallRequestEvent"] = "ToolCallRequestEvent"


class ToolCallExecutionEvent(_ContentEvent):
    """The tools have run."""

    content: list[FunctionExecutionResult]
    """The results, in the order of the calls."""

    type: Literal["ToolCallExecutionEvent"] = "ToolCallExecutionEvent"


class MemoryQueryEvent(_ContentEvent):
    """A memory was asked and had something to say."""

    content: list[MemoryContent]
    type: Literal["MemoryQueryEvent"] = "MemoryQueryEvent"


class ContextSummaryEvent(_ContentEvent):
    """A summary took the place of older messages in a context."""

    content: str
    """The summary."""

    covered: int
    """Number of messages, from the first one, that it stands for."""

    left_out: bool = False
    """Those that it newly covers are left out, without a summary."""

    type: Literal["ContextSummaryEvent"] = "ContextSummaryEvent"

    @classmethod
    def of(cls, made: "ContextSummary", agent: str) -> Self:
        """The event of a summary that was made in an agent's context."""
        return cls(
            content=made.text,
            covered=made.covered,
            left_out=made.dropped,
            source=agent,
            models_usage=made.usage,
        )


class UserInputRequestedEvent(BaseAgentEvent):
    """A human is about to be asked by the input function."""

    request_id: str
    """Identifies the question to the input function."""

    content: Literal[""] = ""
    """Empty, for consumers that expect content everywhere."""

    type: Literal["UserInputRequestedEvent"] = "UserInputRequestedEvent"

    def to_text(self) -> str:
        return self.content


class ModelClientStreamingChunkEvent(_ContentEvent):
    """A piece of a model's text, in no thread and no result."""

    content: str
    full_message_id: str | None = None
    """The id of the message that the pieces build up to."""

    type: Literal["ModelClientStreamingChunkEvent"] = "ModelClientStreamingChunkEvent"

    @property
    def thought(self) -> str:
        """The gain of the model's thought; see `thinking_aloud`."""
        return self.metadata.get("thought", "")


class ThoughtEvent(_ContentEvent):
    """A model's reasoning, or the text that came with tool calls."""

    content: str
    type: Literal["ThoughtEvent"] = "ThoughtEvent"


class SelectSpeakerEvent(_ContentEvent):
    """The team has chosen who speaks next."""

    content: list[str]
    type: Literal["SelectSpeakerEvent"] = "SelectSpeakerEvent"


class SelectorEvent(_ContentEvent):
    """Text of a SelectorGroupChat's model while it chose a speaker."""

    content: str
    type: Literal["SelectorEvent"] = "SelectorEvent"


class CodeGenerationEvent(BaseAgentEvent):
    """A model has written code that is about to be run."""

    retry_attempt: int
    """0 for the first try."""

    content: str
    """The model's whole answer."""

    code_blocks: list[CodeBlock]
    """The code found in it."""

    type: Literal["CodeGenerationEvent"] = "CodeGenerationEvent"

    def to_text(self) -> str:
        return self.content


class CodeExecutionEvent(BaseAgentEvent):
    """Code has run."""

    retry_attempt: int
    """0 for the first try."""

    result: CodeResult
    type: Literal["CodeExecutionEvent"] = "CodeExecutionEvent"

    def to_text(self) -> str:
        return self.result.output


AgentEvent = Annotated[
    ToolCallRequestEvent
    | ToolCallExecutionEvent
    | MemoryQueryEvent
    | ContextSummaryEvent
    | UserInputRequestedEvent
    | ModelClientStreamingChunkEvent
    | ThoughtEvent
    | SelectSpeakerEvent
    | SelectorEvent
    | CodeGenerationEvent
    | CodeExecutionEvent,
    Field(discriminator="type"),
]
"""The built-in events, told apart by `type`."""
