"""Protocols of the agents that talk with each other."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol, TypeVar, runtime_checkable

T = TypeVar("T")

Message = dict[str, Any]
"""A message as a dict, in the shape of chat completions."""

Settings = dict[str, Any]
"""Values by their names, of kinds that their users know: options, arguments, JSON data."""

Given = Mapping[str, Any]
"""The same, only read."""

Function = Callable[..., Any]
"""A function of a user."""

Work = Coroutine[Any, Any, T]
"""A coroutine, as who awaits it knows it."""

Sent = Message | str
"""A message as it may be sent: a text or a dict."""

Flag = bool | None
"""Yes, no, or as the agent is set."""


@runtime_checkable
class Agent(Protocol):
    """A partner in a chat: has a name, sends, receives and replies."""

    @property
    def name(self) -> str:
        """Name of the agent."""
        ...

    @property
    def description(self) -> str:
        """Short description of the agent."""
        ...

    def send(
        self, message: Sent, recipient: Agent, request_reply: Flag = None, silent: Flag = False
    ) -> object:
        """Send a message to another agent."""

    async def a_send(
        self, message: Sent, recipient: Agent, request_reply: Flag = None, silent: Flag = False
    ) -> object:
        """Send a message to another agent, in an async chat."""

    def receive(
        self, message: Sent, sender: Agent, request_reply: Flag = None, silent: Flag = False
    ) -> object:
        """Receive a message of another agent."""

    async def a_receive(
        self, message: Sent, sender: Agent, request_reply: Flag = None, silent: Flag = False
    ) -> object:
        """Receive a message of another agent, in an async chat."""

    def generate_reply(
        self, messages: list[Message] | None = None, sender: Agent | None = None, **kwargs: object
    ) -> Sent | None:
        """Make the reply to the messages received."""

    async def a_generate_reply(
        self, messages: list[Message] | None = None, sender: Agent | None = None, **kwargs: object
    ) -> Sent | None:
        """Make the reply to the messages received, in an async chat."""


@runtime_checkable
class LLMAgent(Agent, Protocol):
    """An agent whose replies a model may make."""

    @property
    def system_message(self) -> str:
        """System message of the model."""
        ...

    def update_system_message(self, system_message: str) -> None:
        """Change the system message, from the next request on."""
