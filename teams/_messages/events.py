"""Events that agents and teams report to the application while they work."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from teams._base.code import CodeBlock, CodeResult
from teams._base.construct import unvalidated
from teams._base.ids import new_id
from teams._base.tool_call import FunctionCall
from teams._messages.base import BaseAgentEvent
from teams.memory._base import MemoryContent
from teams.models._types import FunctionExecutionResult


class ToolCallRequestEvent(BaseAgentEvent):
    """The model asked for tools."""

    content: list[FunctionCall]
    """The calls."""

    type: Literal["ToolCallRequestEvent"] = "ToolCallRequestEvent"

    def to_text(self) -> str:
        return str(self.content)


class ToolCallExecutionEvent(BaseAgentEvent):
    """The tools have run."""

    content: list[FunctionExecutionResult]
    """The results, in the order of the calls."""

    type: Literal["ToolCallExecutionEvent"] = "ToolCallExecutionEvent"

    def to_text(self) -> str:
        return str(self.content)


class MemoryQueryEvent(BaseAgentEvent):
    """A memory was asked and had something to say."""

    content: list[MemoryContent]
    """The results of the calls."""

    type: Literal["MemoryQueryEvent"] = "MemoryQueryEvent"

    def to_text(self) -> str:
        return str(self.content)


class UserInputRequestedEvent(BaseAgentEvent):
    """A human is about to be asked.

    Yielded before the input function is called.
    """

    request_id: str
    """Identifies the question to the input function."""

    content: Literal[""] = ""
    """Empty, for consumers that expect content everywhere."""

    type: Literal["UserInputRequestedEvent"] = "UserInputRequestedEvent"

    def to_text(self) -> str:
        return self.content


class ModelClientStreamingChunkEvent(BaseAgentEvent):
    """A piece of a model's text.

    It is yielded, but part of no thread and no result.
    """

    content: str
    """The piece."""

    full_message_id: str | None = None
    """The id of the message that the pieces build up to."""

    type: Literal["ModelClientStreamingChunkEvent"] = "ModelClientStreamingChunkEvent"

    def to_text(self) -> str:
        return self.content


class ThoughtEvent(BaseAgentEvent):
    """A model's reasoning, or the text that came with tool calls."""

    content: str
    """The thought."""

    type: Literal["ThoughtEvent"] = "ThoughtEvent"

    def to_text(self) -> str:
        return self.content


class SelectSpeakerEvent(BaseAgentEvent):
    """The team has chosen who speaks next."""

    content: list[str]
    """The names of the speakers."""

    type: Literal["SelectSpeakerEvent"] = "SelectSpeakerEvent"

    def to_text(self) -> str:
        return str(self.content)


class SelectorEvent(BaseAgentEvent):
    """Text of a SelectorGroupChat's model while it chose a speaker."""

    content: str
    """The text."""

    type: Literal["SelectorEvent"] = "SelectorEvent"

    def to_text(self) -> str:
        return self.content


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
    """Exit code and output."""

    type: Literal["CodeExecutionEvent"] = "CodeExecutionEvent"

    def to_text(self) -> str:
        return self.result.output


AgentEvent = Annotated[
    ToolCallRequestEvent
    | ToolCallExecutionEvent
    | MemoryQueryEvent
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


_CHUNK_FIELDS = set(ModelClientStreamingChunkEvent.model_fields)


def stream_chunk(
    content: str, source: str, full_message_id: str | None
) -> ModelClientStreamingChunkEvent:
    """The event for one piece of text, made without validation for speed."""
    values: dict[str, Any] = {
        "id": new_id(),
        "source": source,
        "models_usage": None,
        "metadata": {},
        "created_at": datetime.now(UTC),
        "content": content,
        "full_message_id": full_message_id,
        "type": "ModelClientStreamingChunkEvent",
    }
    return unvalidated(ModelClientStreamingChunkEvent, values, _CHUNK_FIELDS)
