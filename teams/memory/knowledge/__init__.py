"""A memory over the files of a folder and over pages, searched by words and by meaning."""

from teams.memory.knowledge._embeddings import EmbeddingEndpoint
from teams.memory.knowledge._memory import IndexReport, KnowledgeMemory, KnowledgeMemoryConfig

__all__ = ["EmbeddingEndpoint", "IndexReport", "KnowledgeMemory", "KnowledgeMemoryConfig"]
