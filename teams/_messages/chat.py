"""The messages agents send each other."""

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, Field, computed_field
from pydantic_core import to_jsonable_python

from teams._base.construct import CompactFactory, set_slot
from teams._base.image import Image
from teams._base.templates import fill
from teams._base.tool_call import FunctionCall
from teams._messages.base import BaseChatMessage, BaseMessage, BaseTextChatMessage, utc_now
from teams.models._types import (
    CreateResult,
    FunctionExecutionResult,
    LLMMessage,
    RequestUsage,
    UserMessage,
)

StructuredContentType = TypeVar("StructuredContentType", bound=BaseModel, covariant=True)


class TextMessage(BaseTextChatMessage):
    """Plain text."""

    type: Literal["TextMessage"] = "TextMessage"

    def dump(self) -> Mapping[str, Any]:
        return dump_texts([self])[0] if type(self) is TextMessage else super().dump()


_text_message = CompactFactory(TextMessage)


def text_answer(
    content: str, source: str, usage: RequestUsage | None, message_id: str
) -> TextMessage:
    """Make the message from a model's answer, which was validated on arrival."""
    message = _text_message(
        {
            "id": message_id,
            "source": source,
            "models_usage": usage,
            "metadata": {},
            "created_at": utc_now(),
            "content": content,
            "type": "TextMessage",
        }
    )
    message.model_post_init(None)
    return message


FINISH = "finish_reason"
"""In a message's metadata: the end of an answer that left something unsaid."""
_Said = TypeVar("_Said", bound=BaseMessage)


def ended(message: _Said, answer: CreateResult) -> _Said:
    """The message; its metadata name an end that left something unsaid."""
    return ended_by(message, finish_of(answer))


def ended_by(message: _Said, finish: str) -> _Said:
    """The message, with such an end in its metadata; "" for none."""
    if not finish:
        return message
    return message.model_copy(update={"metadata": {**message.metadata, FINISH: finish}})


def finish_of(answer: CreateResult) -> str:
    """ "length", "content_filter" or "refusal"; "" for any other end."""
    if answer.finish_reason not in ("length", "content_filter"):
        return ""
    return "refusal" if answer.refused else answer.finish_reason


def dump_texts(texts: Sequence[TextMessage]) -> list[dict[str, Any]]:
    """The dumped form of each text; pydantic writes only the times."""
    times = to_jsonable_python([text.created_at for text in texts])
    return [
        {
            "id": text.id,
            "source": text.source,
            "models_usage": (usage := text.models_usage)
            and {
                "prompt_tokens": usage.prompt_tokens,
                "completion_tokens": usage.completion_tokens,
            },
            "metadata": text.metadata.copy(),
            "created_at": time,
            "content": text.content,
            "type": "TextMessage",
        }
        for text, time in zip(texts, times, strict=True)
    ]


def texts_of(columns: Mapping[str, Sequence[Any]]) -> list[TextMessage]:
    """Texts from valid columns of all their fields but the type."""
    texts = _text_message.many(len(columns["id"]), {**columns, "type": repeat("TextMessage")})
    set_slot(texts, "_model_message", repeat(None))
    return texts


class MultiModalMessage(BaseChatMessage):
    """Texts and images, in order."""

    content: list[str | Image]
    type: Literal["MultiModalMessage"] = "MultiModalMessage"

    def to_model_text(self, image_placeholder: str | None = "[image]") -> str:
        """The parts as one text; an image as placeholder, else its base64."""
        return "".join(
            part if isinstance(part, str) else f" {image_placeholder or part.to_base64()}"
            for part in self.content
        )

    def to_text(self, iterm: bool = False) -> str:
        """The parts, one per line; images as `<image>`, or shown by iTerm2."""
        return "\n".join(
            part if isinstance(part, str) else _inline_image(part) if iterm else "<image>"
            for part in self.content
        )

    def to_model_message(self) -> UserMessage:
        return getattr(self, "_model_message", None) or self._as_user_message(list(self.content))


def _inline_image(image: Image) -> str:
    return f"\x1b]1337;File=inline=1:{image.to_base64()}\a\n"


class StructuredMessage(BaseChatMessage, Generic[StructuredContentType]):
    """A message whose content is a pydantic model.

    Write `StructuredMessage[Foo](content=Foo(...), source="agent")`; its `type` is the name of that
    class, `"StructuredMessage[Foo]"`.
    """

    content: StructuredContentType
    format_string: str | None = None
    """Template of the content's text, e.g. `"{city}: {degrees} degrees"`; JSON without it.

    It takes parts by key (`{city[name]}`); one with an attribute (`{city.name}`) is a ValueError.
    """

    @computed_field
    @property
    def type(self) -> str:
        """The name of this class, by which a MessageFactory finds it."""
        return self.__class__.__name__

    def to_text(self) -> str:
        if self.format_string is None:
            return self.content.model_dump_json()
        return fill(self.format_string, **self.content.model_dump())

    def to_model_text(self) -> str:
        return self.to_text()

    def to_model_message(self) -> UserMessage:
        kept: UserMessage | None = getattr(self, "_model_message", None)
        return kept or self._as_user_message(self.content.model_dump_json())


class StopMessage(BaseTextChatMessage):
    """Asks for the conversation to stop; the text says why."""

    type: Literal["StopMessage"] = "StopMessage"


class HandoffMessage(BaseTextChatMessage):
    """Hands the conversation over to another agent."""

    target: str
    """The name of the agent that goes on."""

    context: list[LLMMessage] = Field(default_factory=list[LLMMessage])
    """Model messages the target puts before the text in its context."""

    type: Literal["HandoffMessage"] = "HandoffMessage"


class ToolCallSummaryMessage(BaseTextChatMessage):
    """The results of tool calls, put together without asking the model."""

    tool_calls: list[FunctionCall]
    results: list[FunctionExecutionResult]
    """Their results, in the same order."""

    type: Literal["ToolCallSummaryMessage"] = "ToolCallSummaryMessage"


ChatMessage = Annotated[
    TextMessage | MultiModalMessage | StopMessage | ToolCallSummaryMessage | HandoffMessage,
    Field(discriminator="type"),
]
"""The built-in chat messages, told apart by `type`; structured messages are not among them."""
