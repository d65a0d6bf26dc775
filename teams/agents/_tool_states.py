"""The state of an agent's tools, part of the agent's state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from teams._messages.base import BaseAgentEvent, BaseChatMessage
from teams._run.nesting import ResumableTool
from teams._tools.base import BaseTool
from teams._tools.workbench import Workbench

if TYPE_CHECKING:
    from teams._snapshot.snapshot import SnapshotReader, SnapshotWriter


class ToolStates:
    """The tools with a state, and among them those that run teams."""

    __slots__ = ("_resumable", "_with_state")

    def __init__(self, workbenches: Iterable[Workbench]) -> None:
        tools = [tool for workbench in workbenches for tool in _tools(workbench)]
        self._resumable = tuple(tool for tool in tools if isinstance(tool, ResumableTool))
        others = [tool for tool in tools if tool not in self._resumable]
        self._with_state = tuple(tool for tool in others if tool.state_type() is not None)

    def message_types(self) -> list[type[BaseAgentEvent | BaseChatMessage]]:
        """Types that the calls can stream, besides the built-in ones."""
        return [kind for tool in self._resumable for kind in tool.message_types()]

    async def end_call(self, key: str) -> None:
        """This call is over, with or without a result."""
        for tool in self._resumable:
            await tool.end_call(key)

    async def reset(self) -> None:
        """Forget all that agents and teams behind the tools were told."""
        for tool in self._resumable:
            await tool.reset()

    async def save_state(self) -> dict[str, Any]:
        """The states by tool; empty without such tools."""
        tools = (*self._resumable, *self._with_state)
        return {tool.name: await tool.save_state_json() for tool in tools}

    async def load_state(self, states: Mapping[str, Any]) -> None:
        """Load a state of `save_state`; unnamed tools stay as they are."""
        for tool in (*self._resumable, *self._with_state):
            if tool.name in states:
                await tool.load_state_json(states[tool.name])

    async def write_state(self, path: str, writer: SnapshotWriter) -> None:
        """Write the states in the compact format."""
        for tool in self._resumable:
            await tool.write_state(f"{path}{tool.name}/", writer)
        for tool in self._with_state:
            writer.value(path + tool.name, await tool.save_state_json())

    async def read_state(self, path: str, reader: SnapshotReader) -> None:
        """Take over what `write_state` wrote."""
        for tool in self._resumable:
            await tool.read_state(f"{path}{tool.name}/", reader)
        for tool in self._with_state:
            if (state := reader.value(path + tool.name)) is not None:
                await tool.load_state_json(state)


def _tools(workbench: Workbench) -> Sequence[BaseTool[Any, Any]]:
    # Here for start-up: most agents have no tools.
    from teams._tools.static_workbench import StaticWorkbench

    return workbench.tools if isinstance(workbench, StaticWorkbench) else ()
