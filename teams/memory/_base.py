"""The interface of memories, and what they hold."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, field_validator, model_validator

from teams._base.cancellation import CancellationToken
from teams._base.image import Image
from teams._base.whole_text import whole_texts
from teams._components.component import ComponentBase
from teams.model_context._contexts import TOLD, ChatCompletionContext
from teams.models._types import LLMMessage, SystemMessage, UserMessage


class MemoryMimeType(StrEnum):
    """MIME types of a memory's content; other types work, too."""

    TEXT = "text/plain"
    JSON = "application/json"
    MARKDOWN = "text/markdown"
    IMAGE = "image/*"
    BINARY = "application/octet-stream"


_KNOWN_TYPES = frozenset(MemoryMimeType)


class MemoryContent(BaseModel, defer_build=True):
    """One thing remembered. In JSON, bytes are base64."""

    model_config = ConfigDict(ser_json_bytes="base64")

    content: Annotated[str | bytes | dict[str, Any] | Image, AfterValidator(whole_texts)]
    mime_type: MemoryMimeType | str
    metadata: Annotated[dict[str, Any] | None, AfterValidator(whole_texts)] = None

    @field_validator("mime_type")
    @classmethod
    def _known_by_name(cls, value: MemoryMimeType | str) -> MemoryMimeType | str:
        # JSON has but the text: what comes back is what went out.
        return MemoryMimeType(value) if value in _KNOWN_TYPES else value

    @model_validator(mode="after")
    def _image_of_json(self) -> Self:
        match self.content, self.mime_type:
            case {"data": str() as data}, mime_type if mime_type.startswith("image/"):
                self.content = Image.from_base64(data)
            case _:
                pass
        return self


class MemoryQueryResult(BaseModel, defer_build=True):
    """The found memories, best first."""

    results: list[MemoryContent]


class UpdateContextResult(BaseModel, defer_build=True):
    """The memories that were added to a model context."""

    memories: MemoryQueryResult


class Memory(ComponentBase[BaseModel], ABC):
    """A memory that adds to a model's context before each call."""

    component_type = "memory"

    @abstractmethod
    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """Add what matters, in any form, and return it."""

    @abstractmethod
    async def query(
        self,
        query: str | MemoryContent,
        cancellation_token: CancellationToken | None = None,
        **kwargs: Any,
    ) -> MemoryQueryResult:
        """The memories for the query."""

    @abstractmethod
    async def add(
        self, content: MemoryContent, cancellation_token: CancellationToken | None = None
    ) -> None:
        """Remember this."""

    @abstractmethod
    async def clear(self) -> None:
        """Forget everything."""

    @abstractmethod
    async def close(self) -> None:
        """Release the resources."""

    async def save_state(self) -> Mapping[str, Any]:
        """The state that travels with the agent's, as JSON data."""
        return {}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `save_state` gave."""


def last_said(messages: Sequence[LLMMessage]) -> LLMMessage | None:
    """The last message that is no memory's, and no instruction."""
    return next((each for each in reversed(messages) if not _is_told(each)), None)


def _is_told(message: LLMMessage) -> bool:
    if isinstance(message, UserMessage):
        return message.source.startswith(TOLD)
    return isinstance(message, SystemMessage)
