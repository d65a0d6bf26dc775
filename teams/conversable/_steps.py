"""Observation of an async chat's steps, for what stores or shows them."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Protocol

from teams.conversable._protocols import Agent, Message


class Steps(Protocol):
    """An observer; each method is awaited before the chat goes on."""

    async def appended(self, sender: Agent, recipient: Agent, message: Message) -> None:
        """A message stands in the conversations of both agents."""
        ...

    async def reply_made(self, agent: Agent, sender: Agent, reply: Message | str) -> None:
        """A reply is made and not yet sent."""
        ...

    async def asking(self, agent: Any, sender: Agent | None, prompt: str) -> None:
        """A person is about to be asked."""
        ...

    async def summarised(self, sender: Agent, recipient: Agent, summary: Any) -> None:
        """The summary of a chat is made."""
        ...


STEPS: ContextVar[Steps | None] = ContextVar("teams_conversable_steps", default=None)
"""Observer of the chats that begin here; sync chats have none."""
