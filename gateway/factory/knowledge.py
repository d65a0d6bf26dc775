"""Memories over the folders and pages of [knowledge]."""

from __future__ import annotations

from pathlib import Path

from typing_extensions import override

from gateway.base.redaction import REDACTION, without_tokens
from gateway.config.root import Config
from teams.memory.knowledge import KnowledgeMemory, KnowledgeMemoryConfig


class SharedKnowledge(KnowledgeMemory):
    """Knowledge that outlives each of the teams that have it."""

    @override
    def masked(self, text: str) -> str:
        """The text without known secrets and what looks like a token."""
        return without_tokens(REDACTION.known(text))


class KnowledgeBases:
    """The memories by their names, which all threads share.

    Their indexes stand in the folder; without one they are kept in memory.
    """

    def __init__(self, config: Config, folder: Path | None) -> None:
        self._tables = config.knowledge
        self._folder = folder
        self._made: dict[str, KnowledgeMemory] = {}

    def memory(self, name: str, *, portable: bool = False) -> KnowledgeMemory:
        """The memory of this name; a `portable` one for another program."""
        if portable:
            return KnowledgeMemory(self._settings(name, None))
        if name not in self._made:
            self._made[name] = SharedKnowledge(self._settings(name, self._folder))
        return self._made[name]

    def refresh(self) -> None:
        """Begin to bring all indexes up to date."""
        for name in self._tables:
            self.memory(name).refresh()

    async def aclose(self) -> None:
        """Close every memory that was made."""
        while self._made:
            await self._made.popitem()[1].close()

    def _settings(self, name: str, folder: Path | None) -> KnowledgeMemoryConfig:
        table = self._tables[name]
        given = table.model_dump(exclude={"passages"})  # a secret stays one
        index = folder and folder / f"{name}.sqlite"
        return KnowledgeMemoryConfig(**given, k=table.passages, index=index)
