"""Make messages: chunks of a text, and what JSON holds."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, Self

from pydantic import BaseModel

from teams._base.construct import make_unvalidated, new_id
from teams._base.templates import checked_template
from teams._components.component import Component, ComponentBase, ComponentType
from teams._components.json_schema import schema_to_pydantic_model
from teams._messages.base import BaseAgentEvent, BaseChatMessage
from teams._messages.batch import load_items
from teams._messages.chat import (
    HandoffMessage,
    MultiModalMessage,
    StopMessage,
    StructuredMessage,
    TextMessage,
    ToolCallSummaryMessage,
)
from teams._messages.events import (
    CodeExecutionEvent,
    CodeGenerationEvent,
    ContextSummaryEvent,
    MemoryQueryEvent,
    ModelClientStreamingChunkEvent,
    SelectorEvent,
    SelectSpeakerEvent,
    ThoughtEvent,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
    UserInputRequestedEvent,
)
from teams.models._types import ThoughtPiece

MessageType = type[BaseAgentEvent] | type[BaseChatMessage]

_BUILT_IN: tuple[MessageType, ...] = (
    TextMessage,
    MultiModalMessage,
    StopMessage,
    ToolCallSummaryMessage,
    HandoffMessage,
    ToolCallRequestEvent,
    ToolCallExecutionEvent,
    MemoryQueryEvent,
    UserInputRequestedEvent,
    ModelClientStreamingChunkEvent,
    ThoughtEvent,
    SelectSpeakerEvent,
    SelectorEvent,
    CodeGenerationEvent,
    CodeExecutionEvent,
    ContextSummaryEvent,
)

_BUILT_IN_TYPES: Mapping[str, MessageType] = {known.__name__: known for known in _BUILT_IN}

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
    if not content and isinstance(content, ThoughtPiece):
        values |= {"content": "", "metadata": {"thought": content.thought}}
    return make_unvalidated(ModelClientStreamingChunkEvent, values, _CHUNK_FIELDS)


class MessageFactory:
    """Makes messages from their dumped form.

    It knows the built-in types and those that were registered. Types go by their class name, which
    a message's `type` must say.
    """

    def __init__(self) -> None:
        self._types: Mapping[str, MessageType] = _BUILT_IN_TYPES  # shared until a type is added

    @classmethod
    def of(cls, message_types: Iterable[MessageType]) -> Self:
        """A factory that knows these types, too; each may come several times."""
        factory = cls()
        for message_type in message_types:
            if not factory.is_registered(message_type):
                factory.register(message_type)
        return factory

    def is_registered(self, message_type: MessageType) -> bool:
        """True if messages of this type can be created."""
        return message_type.__name__ in self._types

    def is_built_in(self, name: str) -> bool:
        """True if `type` is one of the engine's own types."""
        return name in _BUILT_IN_TYPES

    def registered(self) -> list[MessageType]:
        """All types that can be created, the built-in ones first."""
        return list(self._types.values())

    def register(self, message_type: MessageType) -> None:
        """Add a type.

        Raises ValueError for a taken name, TypeError for anything but a message.
        """
        if self.is_registered(message_type):
            raise ValueError(f"Message type {message_type.__name__!r} is already registered")
        known: type = message_type
        if not issubclass(known, BaseChatMessage | BaseAgentEvent):
            raise TypeError(f"{message_type!r} is neither a BaseChatMessage nor a BaseAgentEvent")
        self._types = {**self._types, message_type.__name__: message_type}

    def create(self, data: Mapping[str, Any]) -> BaseAgentEvent | BaseChatMessage:
        """The message of this data; ValueError for unknown types, bad data."""
        name = data.get("type")
        if name is None:
            raise ValueError("A message needs a 'type' to be created from data")
        message_type = self._types.get(name)
        if message_type is None:
            raise ValueError(f"Unknown message type {name!r}; register it first")
        return message_type.load(data)

    def create_all(
        self, rows: Sequence[Mapping[str, Any]]
    ) -> list[BaseAgentEvent | BaseChatMessage]:
        """Create the message of each entry, see `create`."""
        return load_items(rows, self.create)


class StructureMessageConfig(BaseModel, defer_build=True):
    """The JSON form of a StructuredMessageFactory."""

    json_schema: dict[str, Any]
    format_string: str | None = None
    """See `StructuredMessage.format_string`."""

    content_model_name: str
    """Name of the content's model, which also names the message type."""


class StructuredMessageFactory(
    ComponentBase[StructureMessageConfig], Component[StructureMessageConfig]
):
    """A structured message type that can be written to JSON and rebuilt.

    Give the content's model, or its JSON schema and optionally a name. `ContentModel` and
    `StructuredMessage` are the types to make messages with. Raises ValueError if neither is given
    or the schema can't be read.
    """

    component_type: ClassVar[ComponentType] = "structured_message"
    component_config_schema = StructureMessageConfig

    def __init__(
        self,
        json_schema: dict[str, Any] | None = None,
        input_model: type[BaseModel] | None = None,
        format_string: str | None = None,
        content_model_name: str | None = None,
    ) -> None:
        if input_model is None:
            if json_schema is None:
                raise ValueError("StructuredMessageFactory needs an input_model or a json_schema")
            input_model = schema_to_pydantic_model(
                json_schema, content_model_name or "GeneratedModel"
            )
        self.format_string = format_string and checked_template("format_string", format_string)
        self.ContentModel: type[BaseModel] = input_model
        self.StructuredMessage = StructuredMessage[input_model]

    def _to_config(self) -> StructureMessageConfig:
        return StructureMessageConfig(
            json_schema=self.ContentModel.model_json_schema(),
            format_string=self.format_string,
            content_model_name=self.ContentModel.__name__,
        )
