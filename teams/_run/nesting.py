"""Nested runs: their contract, and the path of names inside them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import aclosing
from typing import Protocol, TypeVar, runtime_checkable

from teams._base.cancellation import CancellationToken
from teams._base.log_events import is_heard
from teams._base.tool_call import AGENT_PATH
from teams._contract.team import TaskResult
from teams._contract.turn_record import Item
from teams._messages.base import BaseAgentEvent, BaseChatMessage
from teams._snapshot.description import SnapshotMember
from teams._tools.base import Tool

T = TypeVar("T")


@runtime_checkable
class ResumableTeam(SnapshotMember, Protocol):
    """A team whose run can pause and continue inside another run."""

    @property
    def participant_names(self) -> list[str]:
        """In the order the participants were given."""
        ...

    def message_types(self) -> list[type[BaseAgentEvent | BaseChatMessage]]:
        """All message types that can occur in the team."""
        ...

    def begin(self, messages: Sequence[BaseChatMessage]) -> None:
        """Start a run with these messages, or extend the unfinished one.

        Raises ValueError, changing nothing.
        """
        ...

    def add_messages(self, messages: Sequence[BaseChatMessage]) -> None:
        """Put messages into the conversation."""
        ...

    def drive(self, token: CancellationToken) -> AsyncGenerator[Item | TaskResult, None]:
        """Run what was begun; cancellation is the outermost run's business."""
        ...

    async def abandon_turn(self) -> None:
        """Give up the unfinished run after a cancellation."""
        ...


@runtime_checkable
class ResumableTool(Tool, SnapshotMember, Protocol):
    """A tool whose calls are runs that can pause and continue.

    It knows a call by the key of its `ToolCall`.
    """

    def message_types(self) -> list[type[BaseAgentEvent | BaseChatMessage]]:
        """Types that a call can stream, besides the built-in ones."""
        ...

    async def end_call(self, key: str) -> None:
        """End this call, whatever its result; give up an unfinished run."""
        ...

    async def reset(self) -> None:
        """Forget what it was told in earlier calls."""
        ...


async def asked_by(name: str, answer: Awaitable[T]) -> T:
    """A model's answer, with `name` on the path of who asks."""
    reset = AGENT_PATH.set((*AGENT_PATH.get(), name))
    try:
        return await answer
    finally:
        AGENT_PATH.reset(reset)


def stream_asked_by(name: str, answer: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """A model's streamed answer, with `name` on the asker's path.

    The path is kept only while somebody listens.
    """
    return under(name, answer) if is_heard() else answer


async def under(name: str, stream: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """The stream, with `name` on the path of calls inside.

    It is set per pull, so that it never leaks out.
    """
    async with aclosing(stream):
        while True:
            reset = AGENT_PATH.set((*AGENT_PATH.get(), name))
            try:
                item = await anext(stream)
            except StopAsyncIteration:
                return
            finally:
                AGENT_PATH.reset(reset)
            yield item
