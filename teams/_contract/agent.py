"""What an agent is to a team, what it answers, and how it hands over to another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, model_validator

from teams._base.cancellation import CancellationToken
from teams._components.component import ComponentBase, ComponentType
from teams._contract.team import TaskRunner
from teams._contract.turn_record import Suspended
from teams._messages.base import BaseAgentEvent, BaseChatMessage

if TYPE_CHECKING:
    from teams.tools._base import BaseTool


@dataclass(kw_only=True)
class Response:
    """What an agent answers."""

    chat_message: BaseChatMessage
    """The answer, which the other participants get."""

    inner_messages: Sequence[BaseAgentEvent | BaseChatMessage] | None = None
    """What the agent produced on the way, in order."""


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
        """What the agent can do and how to talk to it, as its team is told."""

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
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response | Suspended, None]:
        """As `on_messages`, but yields what is produced on the way, and the Response last."""

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
        """Take over a saved state."""

    @abstractmethod
    async def close(self) -> None:
        """Release what the agent holds."""


class Handoff(BaseModel, defer_build=True):
    """How an agent hands the conversation over: a tool that its model may call.

    Raises ValueError if the tool's name is no identifier.
    """

    target: str
    """The name of the agent that goes on."""

    description: str = ""
    """When to hand over, as the model is told."""

    name: str = ""
    """The tool's name, `transfer_to_<target>` if not given."""

    message: str = ""
    """The tool's result and the text of the HandoffMessage."""

    @model_validator(mode="after")
    def _fill_in(self) -> Handoff:
        self.name = self.name or f"transfer_to_{self.target}".lower()
        if not self.name.isidentifier():
            raise ValueError(f"The name of a handoff must be an identifier, not {self.name!r}")
        self.description = self.description or f"Handoff to {self.target}."
        self.message = self.message or (
            f"Transferred to {self.target}, adopting the role of {self.target} immediately."
        )
        return self

    @property
    def handoff_tool(self) -> BaseTool[BaseModel, BaseModel]:
        """The tool the model calls."""
        from teams.tools._function import (
            FunctionTool,  # tools may be agents: their package needs this one
        )

        def handoff() -> str:
            return self.message

        return FunctionTool(handoff, name=self.name, description=self.description, strict=True)
