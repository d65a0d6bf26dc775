"""The contract between a team and its agents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias

from pydantic import BaseModel

from teams._base.cancellation import CancellationToken
from teams._components.component import ComponentBase, ComponentType
from teams._contract.team import TaskRunner
from teams._contract.turn_record import Suspension
from teams._messages.base import BaseAgentEvent, BaseChatMessage


@dataclass(kw_only=True)
class Response:
    """An agent's answer."""

    chat_message: BaseChatMessage
    """The answer, which the other participants get."""

    inner_messages: Sequence[BaseAgentEvent | BaseChatMessage] | None = None
    """The items that the agent produced on the way, in order."""


class ChatAgent(ABC, TaskRunner, ComponentBase[BaseModel]):
    """A participant that answers messages."""

    component_type: ClassVar[ComponentType] = "agent"

    @property
    @abstractmethod
    def name(self) -> str:
        """Identifies the agent within its team."""

    @property
    @abstractmethod
    def description(self) -> str:
        """The agent's abilities and how to talk to it, for its team."""

    @property
    @abstractmethod
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        """The types its `Response.chat_message` can have."""

    @abstractmethod
    async def on_messages(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> Response:
        """Answer these messages, which are new since the last call."""

    @abstractmethod
    def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response | Suspension, None]:
        """As `on_messages`, but yield items as they come, and the Response last."""

    @abstractmethod
    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        """Return to the initial state."""

    @abstractmethod
    async def on_pause(self, cancellation_token: CancellationToken) -> None:
        """The team was paused; the agent may be working."""

    @abstractmethod
    async def on_resume(self, cancellation_token: CancellationToken) -> None:
        """The team goes on; the agent may be working."""

    @abstractmethod
    async def save_state(self) -> Mapping[str, Any]:
        """The state as JSON-ready data."""

    @abstractmethod
    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Take over a saved state. Raises ValueError if it does not fit."""

    @abstractmethod
    async def close(self) -> None:
        """Release what the agent holds."""


class SupportsChatAgent(Protocol):
    """An agent of another kind, which teams take by its offer."""

    @property
    def name(self) -> str:
        """The name of both."""
        ...

    def as_chat_agent(self) -> ChatAgent:
        """The participant of a team, each time the same."""
        ...


AgentLike: TypeAlias = ChatAgent | SupportsChatAgent
