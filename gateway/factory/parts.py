"""Parts of agents from config.toml: tools, memories, contexts, executors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from gateway.base.imports import ImportPathError, Imports
from gateway.factory.knowledge import KnowledgeBases
from gateway.factory.model_clients import ModelClients
from teams.kinds import Part
from teams.memory import Memory
from teams.model_context import ChatCompletionContext
from teams.model_context.kinds import TokenLimitedKind
from teams.models import ChatCompletionClient
from teams.tools import BaseTool


class PartFactory:
    """Makes parts; each call makes everything anew but the model clients.

    `folder` is where code is run that has no other place, None for a temporary one; `work_mb` are
    the megabytes it may have. What is made
    raises what its class raises, and ImportPathError.
    """

    def __init__(
        self,
        models: ModelClients,
        imports: Imports,
        folder: Path | None,
        *,
        work_mb: float,
        knowledge: KnowledgeBases,
    ) -> None:
        self.name = ""
        self._models = models
        self._imports = imports
        self.folder = folder
        self.work_mb = work_mb
        self.knowledge_bases = knowledge

    def load(self, path: str) -> Any:
        """The object at the path. Raises ImportPathError."""
        return self._imports.load(path)

    def function(self, path: str) -> Any:
        """The function or class at the path. Raises ImportPathError."""
        return self._imports.load_callable(path)

    def client(self, name: str) -> ChatCompletionClient:
        """The model client of this name."""
        return self._models.client(name)

    def openai(self, name: str) -> tuple[Any, str]:
        """The SDK's client of an OpenAI model, and the model's name."""
        return self._models.openai(name)

    async def agent(self, name: str) -> Any:
        """Refuse: a chat of two has no agents as tools."""
        raise NotImplementedError(name)

    async def team(self, name: str) -> Any:
        """Refuse: a chat of two has no teams as tools."""
        raise NotImplementedError(name)

    def content_type(self, path: str) -> type[BaseModel]:
        """The type of structured answers."""
        found = self._imports.load(path)
        if not (isinstance(found, type) and issubclass(found, BaseModel)):
            raise ImportPathError(f"{path!r} is not a pydantic model")
        return found

    async def context(
        self, config: Part | None, tools: Sequence[BaseTool[Any, Any]] = ()
    ) -> ChatCompletionContext | None:
        """A model context for an agent with these tools."""
        if config is None:
            return None
        schemas = [tool.schema for tool in tools] if isinstance(config, TokenLimitedKind) else []
        return await config.build(self, **({"tool_schema": schemas} if schemas else {}))

    def knowledge(self, name: str) -> Memory:
        """The memory of [knowledge] that all threads share."""
        return self.knowledge_bases.memory(name, portable=self.folder is None)
