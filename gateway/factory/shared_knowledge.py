"""A memory over folders and pages that all threads share."""

from __future__ import annotations

from pathlib import Path

from typing_extensions import override

from gateway.base.redaction import REDACTION, without_tokens
from gateway.config.knowledge import KnowledgeConfig
from teams.memory.knowledge import KnowledgeMemory, KnowledgeMemoryConfig

__all__ = ["KnowledgeMemory", "SharedKnowledge", "settings_of"]


class SharedKnowledge(KnowledgeMemory):
    """Knowledge that outlives each of the teams that have it."""

    citing = "Behind what you use, write the number of its passage in brackets, such as [1]."

    @override
    def masked(self, text: str) -> str:
        """The text without known secrets and what looks like a token."""
        return without_tokens(REDACTION.known(text))


def settings_of(table: KnowledgeConfig, index: Path | None) -> KnowledgeMemoryConfig:
    """The memory's settings from those of [knowledge]."""
    given = table.model_dump(exclude={"passages"})  # a secret stays one
    return KnowledgeMemoryConfig(**given, k=table.passages, index=index)
