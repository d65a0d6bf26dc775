"""Model contexts as tables of config.toml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from teams._base.kinds import Item, Kind, Maker, Model, OwnPart, Part
from teams._base.tables import shorthand

if TYPE_CHECKING:
    from teams.models._types import LLMMessage


class InitialMessage(Item):
    """A message at the beginning of a model context.

    A text is short for its `content`.
    """

    role: Literal["system", "user", "assistant"] = "user"
    """Role of the speaker."""

    content: str
    """Text of the message."""

    source: str | None = None
    """Name of the speaker; the role if not given."""

    @override
    async def build(self, maker: Maker, **more: Any) -> LLMMessage:
        from teams.models import _types as types  # the engine's

        source = self.source or self.role
        match self.role:
            case "system":
                return types.SystemMessage(content=self.content)
            case "user":
                return types.UserMessage(content=self.content, source=source)
            case "assistant":
                return types.AssistantMessage(content=self.content, source=source)


class _Context(Part):
    initial_messages: list[Annotated[InitialMessage, shorthand("content")]] = Field(
        default_factory=list
    )
    """Messages before the conversation: texts, or tables."""


class AutoKind(_Context):
    """The model sees what fits, and a summary of what was before.

    The agent's or selector's own model writes the summary when the conversation gets too long for
    it. The thread shows that, and keeps all messages.
    """

    kind: ClassVar = Kind(
        "context",
        "auto",
        "teams.model_context:AutoChatCompletionContext",
        unread=("model_client",),
    )

    type: Literal["auto"]
    """Kind of context."""

    token_limit: int | None = Field(default=None, gt=0)
    """Number of tokens that a request may have; the model's own limit if not given."""

    @override
    async def build(self, maker: Maker, **more: Any) -> Any:
        if "model_client" not in more:
            said = "found the model_context 'auto', expected one of another type"
            who = "assistants, selectors, and code executors with a model"
            raise ValueError(f"{said}: {who} can summarise")
        return await super().build(maker, **more)


class UnboundedKind(_Context):
    """The model sees the whole conversation."""

    kind: ClassVar = Kind(
        "context", "unbounded", "teams.model_context:UnboundedChatCompletionContext"
    )

    type: Literal["unbounded"]
    """Kind of context."""


class BufferedKind(_Context):
    """The model sees the last messages."""

    kind: ClassVar = Kind(
        "context", "buffered", "teams.model_context:BufferedChatCompletionContext"
    )

    type: Literal["buffered"]
    """Kind of context."""

    buffer_size: int = Field(gt=0)
    """Number of messages that the model sees."""


class HeadAndTailKind(_Context):
    """The model sees the first and the last messages.

    It sees how many messages between them are left out.
    """

    kind: ClassVar = Kind(
        "context", "head_and_tail", "teams.model_context:HeadAndTailChatCompletionContext"
    )

    type: Literal["head_and_tail"]
    """Kind of context."""

    head_size: int = Field(gt=0)
    """Number of first messages that the model sees."""

    tail_size: int = Field(gt=0)
    """Number of last messages that the model sees."""


class TokenLimitedKind(_Context):
    """The model sees as much as fits into a number of tokens.

    Messages in the middle are left out first. The agent's tools count, too.
    """

    kind: ClassVar = Kind(
        "context",
        "token_limited",
        "teams.model_context:TokenLimitedChatCompletionContext",
        unread=("tool_schema",),
    )

    type: Literal["token_limited"]
    """Kind of context."""

    token_limit: int | None = Field(default=None, gt=0)
    """Number of tokens; the model's own limit if not given."""

    model: Model = ""
    """Name of the model in [models] that counts them; default_model if not given."""


class OwnContextKind(OwnPart):
    """A context of your own."""

    kind: ClassVar = Kind("context", "path", "teams.model_context:ChatCompletionContext")
