"""Memories over the folders and pages of [knowledge]."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gateway.config.root import Config
from gateway.factory.shared_parts import SharedParts

if TYPE_CHECKING:
    from gateway.factory.shared_knowledge import KnowledgeMemory


class KnowledgeBases:
    """The memories by their names, which all threads share.

    Their indexes stand in the folder; without one they are kept in memory.
    """

    def __init__(self, config: Config, folder: Path | None) -> None:
        self._tables = config.knowledge
        self._folder = folder
        self._made = SharedParts()

    def memory(self, name: str, *, portable: bool = False) -> KnowledgeMemory:
        """The memory of this name; a `portable` one for another program."""
        # Here for start-up: few configs have knowledge.
        from gateway.factory.shared_knowledge import KnowledgeMemory, SharedKnowledge, settings_of

        table, folder = self._tables[name], self._folder
        if portable:
            return KnowledgeMemory(settings_of(table, None))
        index = folder and folder / f"{name}.sqlite"
        return self._made.get(name, lambda: SharedKnowledge(settings_of(table, index)))

    def refresh(self) -> None:
        """Begin to bring all indexes up to date."""
        for name in self._tables:
            self.memory(name).refresh()

    async def aclose(self) -> None:
        """Close every memory that was made."""
        await self._made.aclose()
