"""Parts of agents from config.toml: tools, memories, contexts, executors."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from gateway.base.imports import ImportPathError, Imports
from gateway.base.redaction import REDACTION
from gateway.factory.knowledge import KnowledgeBases
from gateway.factory.model_clients import ModelClients
from gateway.factory.shared_parts import SharedParts
from gateway.values import value
from teams.kinds import Part
from teams.memory import Memory
from teams.model_context import (
    AutoChatCompletionContext,
    ChatCompletionContext,
    UnboundedChatCompletionContext,
)
from teams.model_context.kinds import AutoKind, TokenLimitedKind
from teams.models import ChatCompletionClient
from teams.tools import BaseTool


@value
class Means:
    """Means of the makers of a thread's teams."""

    models: ModelClients
    imports: Imports
    folder: Path | None
    """Place of code that has no other one; None for a temporary one."""
    work_mb: float
    """Megabytes that it may have."""
    knowledge: KnowledgeBases
    shared: SharedParts


class PartFactory:
    """Makes parts; each call makes everything anew but what threads share.

    What is made raises what its class raises, and ImportPathError.
    """

    def __init__(self, means: Means, name: str = "") -> None:
        self.name = name
        self.folder = means.folder
        self.work_mb = means.work_mb
        self._means = means

    def load(self, path: str) -> Any:
        """The object at the path. Raises ImportPathError."""
        return self._means.imports.load(path)

    def function(self, path: str) -> Any:
        """The function or class at the path. Raises ImportPathError."""
        return self._means.imports.load_callable(path)

    def client(self, name: str) -> ChatCompletionClient:
        """The model client of this name."""
        return self._means.models.client(name)

    def openai(self, name: str) -> tuple[Any, str]:
        """The SDK's client of an OpenAI model, and the model's name."""
        return self._means.models.openai(name)

    async def agent(self, name: str) -> Any:
        """Refuse: a chat of two has no agents as tools."""
        raise NotImplementedError(name)

    async def make(self, table: Any, **more: Any) -> Any:
        """Refuse: a chat of two has no such parts."""
        raise NotImplementedError(table)

    async def team(self, name: str) -> Any:
        """Refuse: a chat of two has no teams as tools."""
        raise NotImplementedError(name)

    def shared(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """A part that all threads share, closed when Parley ends."""
        return self._means.shared.get(key, make)

    def masked(self, text: str) -> str:
        """The text without known secrets and what looks like a token."""
        return REDACTION.all(text)

    def content_type(self, path: str) -> type[BaseModel]:
        """The type of structured answers."""
        found = self._means.imports.load(path)
        if not (isinstance(found, type) and issubclass(found, BaseModel)):
            raise ImportPathError(f"{path!r} is not a pydantic model")
        return found

    async def context(
        self,
        config: Part | None,
        tools: Sequence[BaseTool[Any, Any]] = (),
        *,
        model: str | None,
    ) -> ChatCompletionContext:
        """A model context for an agent with this model and these tools."""
        if model is not None and (config is None or isinstance(config, AutoKind)):
            client, find_window = (
                self.client(model),
                partial(self._means.models.listed_window, model),
            )
            if config is None:
                return AutoChatCompletionContext(client, find_window=find_window)
            return await config.build(self, model_client=client, find_window=find_window)
        if config is None:
            return UnboundedChatCompletionContext()
        schemas = [tool.schema for tool in tools] if isinstance(config, TokenLimitedKind) else []
        return await config.build(self, **({"tool_schema": schemas} if schemas else {}))

    def knowledge(self, name: str) -> Memory:
        """The memory of [knowledge] that all threads share."""
        return self._means.knowledge.memory(name, portable=self.folder is None)
