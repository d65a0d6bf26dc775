"""What the tools of an agent remember: part of the agent's state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from teams._nesting import ResumableTool
from teams.messages import BaseAgentEvent, BaseChatMessage
from teams.tools import BaseTool, Workbench

if TYPE_CHECKING:
    from teams._snapshot import SnapshotReader, SnapshotWriter


class ToolStates:
    """The tools that have a state, by name, and those among them whose calls are runs."""

    def __init__(self, workbenches: Iterable[Workbench]) -> None:
        self._tools: dict[str, BaseTool[Any, Any]] = {}
        self._resumable: list[ResumableTool] = []
        for workbench in workbenches:
            from teams.tools import StaticWorkbench  # who has no tools does not pay for it

            if isinstance(workbench, StaticWorkbench):
                for tool in workbench.tools:
                    self._add(tool)

    def _add(self, tool: BaseTool[Any, Any]) -> None:
        if isinstance(tool, ResumableTool):
            self._resumable.append(tool)
        elif tool.state_type() is not None:
            self._tools[tool.name] = tool

    def message_types(self) -> list[type[BaseAgentEvent | BaseChatMessage]]:
        """What the calls can stream, besides the built-in types."""
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
        tools = {tool.name: tool for tool in self._resumable} | self._tools
        return {name: await tool.save_state_json() for name, tool in tools.items()}

    async def load_state(self, states: Mapping[str, Any]) -> None:
        """Take over what `save_state` returned; a tool it does not name stays as it is."""
        for tool in (*self._resumable, *self._tools.values()):
            if tool.name in states:
                await tool.load_state_json(states[tool.name])

    async def write_state(self, path: str, writer: SnapshotWriter) -> None:
        """Write the states in the compact format."""
        for tool in self._resumable:
            await tool.write_state(f"{path}{tool.name}/", writer)
        for tool in self._tools.values():
            writer.value(path + tool.name, await tool.save_state_json())

    async def read_state(self, path: str, reader: SnapshotReader) -> None:
        """Take over what `write_state` wrote."""
        for tool in self._resumable:
            await tool.read_state(f"{path}{tool.name}/", reader)
        for tool in self._tools.values():
            if (state := reader.value(path + tool.name)) is not None:
                await tool.load_state_json(state)
