"""The contracts of teams and tools that run inside another run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from typing_extensions import TypeIs

from teams._base.cancellation import CancellationToken
from teams._base.malformed import malformed_is_value_error
from teams._contract.team import TaskResult, Team
from teams._contract.turn_record import Item
from teams._messages.base import BaseAgentEvent, BaseChatMessage
from teams._messages.factory import MessageFactory
from teams._snapshot.description import SnapshotMember
from teams._tools.base import Tool

if TYPE_CHECKING:
    from teams._snapshot.snapshot import SnapshotReader, SnapshotWriter


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


class SnapshotTeam(Team, ABC):
    """A team with a name, whose state is saved by changes."""

    def __init__(self, name: str, description: str, message_factory: MessageFactory) -> None:
        self._name = name
        self._description = description
        self._message_factory = message_factory
        self._writer: SnapshotWriter | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def description(self) -> str:
        return self._description

    def message_types(self) -> list[type[BaseAgentEvent | BaseChatMessage]]:
        """All message types that can occur."""
        return list(self._message_factory.registered())

    @abstractmethod
    async def write_state(self, path: str, writer: SnapshotWriter) -> None:
        """Write what has changed since the writer's last part."""

    @abstractmethod
    async def read_state(self, path: str, reader: SnapshotReader) -> None:
        """Take over a written state; ValueError for one of another team."""

    @property
    def is_as_loaded(self) -> bool:
        """True if nobody has looked at what was loaded: it is copied."""
        return False

    async def check_still(self) -> None:
        """RuntimeError while the team runs."""

    async def save_snapshot(self) -> bytes:
        """The whole state in the compact format; `save_delta` then adds to it."""
        from teams._snapshot.snapshot import SnapshotWriter  # who saves none does not pay for it

        if self._writer is not None and self.is_as_loaded:
            self._writer = self._writer.for_next_snapshot()
        else:
            self._writer = SnapshotWriter.for_team(self._message_factory)
        await self.write_state("", self._writer)
        return self._writer.finish()

    async def save_delta(self) -> bytes:
        """Save all changes since the last part; b"" for none.

        Raises RuntimeError if there is no snapshot yet to build on.
        """
        if self._writer is None:
            raise RuntimeError(
                f"Team {self.name!r} has no snapshot to add to: call save_snapshot first."
            )
        await self.write_state("", self._writer)
        return self._writer.finish()

    async def load_snapshot(self, parts: Sequence[bytes]) -> None:
        """Load a snapshot and its deltas, in order.

        `save_delta` goes on from there. Raises ValueError for malformed, damaged or missing parts,
        RuntimeError while the team runs. A part's checksum tells that it is what was written, not
        who wrote it: load what comes from elsewhere with `load_state`, which validates every
        message.
        """
        await self.check_still()
        from teams._snapshot.snapshot import SnapshotReader, SnapshotWriter  # as above

        with malformed_is_value_error(f"team {self.name!r}"):
            reader = SnapshotReader(parts, self._message_factory)
            await self.read_state("", reader)
            self._writer = SnapshotWriter.after(reader)
            await self.write_state("", self._writer)
            self._writer.end_noting()
