"""A memory over files and pages, searched by words and meaning."""

from teams.memory.knowledge._embeddings import EmbeddingEndpoint
from teams.memory.knowledge._memory import IndexReport, KnowledgeMemory, KnowledgeMemoryConfig

__all__ = ["EmbeddingEndpoint", "IndexReport", "KnowledgeMemory", "KnowledgeMemoryConfig"]
