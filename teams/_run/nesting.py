"""The contracts of teams and tools that run inside another run."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from functools import lru_cache
from typing import Protocol, runtime_checkable

from typing_extensions import TypeIs

from teams._base.cancellation import CancellationToken
from teams._contract.team import TaskResult
from teams._contract.turn_record import Item
from teams._messages.base import BaseAgentEvent, BaseChatMessage
from teams._snapshot.description import SnapshotMember
from teams._tools.base import Tool


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

    async def break_off(self) -> None:
        """Let the unfinished run go on with a new task."""
        ...


@runtime_checkable
class ResumableCalls(SnapshotMember, Protocol):
    """Calls that, by their `ToolCall` key, can pause and continue."""

    def message_types(self) -> list[type[BaseAgentEvent | BaseChatMessage]]:
        """Types that a call can stream, besides the built-in ones."""
        ...

    async def end_call(self, key: str) -> None:
        """End this call, whatever its result; give up an unfinished run."""
        ...

    async def reset(self) -> None:
        """Forget what it was told in earlier calls."""
        ...


class ResumableTool(Tool, ResumableCalls, Protocol):
    """A tool with such calls."""


def is_resumable(tool: Tool) -> TypeIs[ResumableTool]:
    """True for a tool whose calls can pause and continue."""
    return _has_resumable_calls(type(tool))


@lru_cache(maxsize=1024)
def _has_resumable_calls(kind: type[Tool]) -> bool:
    return issubclass(kind, ResumableCalls)  # it looks for each method by name: for a type once
