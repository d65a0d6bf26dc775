"""The states of an agent's memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from teams.memory._base import Memory

if TYPE_CHECKING:
    from teams._snapshot.snapshot import SnapshotReader, SnapshotWriter


class MemoryStates:
    """The memories with a state, by their place in the agent's list."""

    __slots__ = ("_memories",)

    def __init__(self, memories: Sequence[Memory]) -> None:
        self._memories = {
            str(place): memory
            for place, memory in enumerate(memories)
            if isinstance(memory, Memory) and type(memory).save_state is not Memory.save_state  # pyright: ignore[reportUnnecessaryIsInstance]
        }

    async def save_state(self) -> dict[str, Any]:
        """The states by place; empty without such memories."""
        return {place: await memory.save_state() for place, memory in self._memories.items()}

    async def load_state(self, states: Mapping[str, Any]) -> None:
        """Load a state of `save_state`; unnamed memories stay as they are."""
        for place in states.keys() & self._memories.keys():
            await self._memories[place].load_state(states[place])

    async def write_state(self, path: str, writer: SnapshotWriter) -> None:
        # Each key is a value of its own, written only when it is new or changed.
        for place, state in (await self.save_state()).items():
            writer.value(f"{path}{place}", [*state])
            for key, value in state.items():
                writer.value(f"{path}{place}/{key}", value)

    async def read_state(self, path: str, reader: SnapshotReader) -> None:
        for place, memory in self._memories.items():
            if (keys := reader.value(f"{path}{place}")) is not None:
                values = {key: reader.value(f"{path}{place}/{key}") for key in keys}
                await memory.load_state(values)
