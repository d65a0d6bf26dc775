"""The base of every message: identity, origin and forms for its readers."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import BaseModel, Field, PrivateAttr

from teams._base.construct import new_id, set_fields_set
from teams._base.image import Image
from teams.models._json import compact_user_message
from teams.models._types import RequestUsage, UserMessage


def utc_now() -> datetime:
    """The time a message is created at."""
    return datetime.now(UTC)


class BaseMessage(BaseModel, ABC, defer_build=True):
    """The fields of all messages and events.

    A message is immutable once it was yielded: threads, inboxes and contexts share it. Derive your
    own types from `BaseChatMessage` or `BaseAgentEvent`.
    """

    id: str = Field(default_factory=new_id)
    """Unique, a uuid text."""

    source: str
    """The name of the agent, team or user that sent this."""

    models_usage: RequestUsage | None = None
    """The tokens spent to produce this, if a model was asked."""

    metadata: dict[str, str] = Field(default_factory=dict)
    """The application's own data about this message; models do not see it."""

    created_at: datetime = Field(default_factory=utc_now)
    """When this was created, in UTC."""

    _field_names: ClassVar[set[str]]

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        cls._field_names = set(cls.model_fields)

    def model_post_init(self, context: Any, /) -> None:
        """Share the set of given fields, a quarter of a message's memory."""
        set_fields_set(self, self._field_names)

    @abstractmethod
    def to_text(self) -> str:
        """The content for people, on a console or in a condition."""

    def dump(self) -> Mapping[str, Any]:
        """The message as JSON-ready data, its `type` included."""
        return self.model_dump(mode="json")

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `dump`. Raises ValueError where the data does not fit."""
        return cls.model_validate(data)


class BaseChatMessage(BaseMessage, ABC):
    """A message that agents send each other. See also `StructuredMessage`."""

    # A slot is no part of the model: it is neither dumped, compared, copied nor pickled.
    __slots__ = ("_model_message",)
    if TYPE_CHECKING:
        _model_message: UserMessage | None = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        object.__setattr__(self, "_model_message", None)

    @abstractmethod
    def to_model_text(self) -> str:
        """The content for a model, as part of a larger prompt."""

    @abstractmethod
    def to_model_message(self) -> UserMessage:
        """The message for a model; for built-in types one object each time."""

    def _as_user_message(self, content: str | list[str | Image]) -> UserMessage:
        """The model message, kept so that all contexts hold one object."""
        values = {"content": content, "source": self.source, "type": "UserMessage"}
        message = compact_user_message(values)
        message.stem_from(self.id)
        object.__setattr__(self, "_model_message", message)
        return message

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        object.__setattr__(self, "_model_message", None)


def as_chat_message(message: BaseMessage) -> BaseChatMessage:
    """Narrow a message to a chat message; ValueError for an event."""
    if not isinstance(message, BaseChatMessage):
        raise ValueError(f"A chat message was expected, found {type(message).__name__}.")
    return message


class BaseTextChatMessage(BaseChatMessage, ABC):
    """A chat message whose content is text."""

    content: str

    def to_text(self) -> str:
        return self.content

    def to_model_text(self) -> str:
        return self.content

    def to_model_message(self) -> UserMessage:
        return getattr(self, "_model_message", None) or self._as_user_message(self.content)


class BaseAgentEvent(BaseMessage, ABC):
    """An event for the application, which other agents do not see."""
