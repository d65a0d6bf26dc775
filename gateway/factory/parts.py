"""Parts of agents from config.toml: tools, memories, contexts, executors."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, assert_never

from pydantic import BaseModel

from gateway.base.imports import ImportPathError, Imports
from gateway.config.agent_parts import (
    BufferedContextConfig,
    HandoffConfig,
    HeadAndTailContextConfig,
    InitialMessage,
    ListMemoryConfig,
    MemoryConfig,
    ModelContextConfig,
    OwnContextConfig,
    OwnMemoryConfig,
    StoreMemoryConfig,
    TokenLimitedContextConfig,
    UnboundedContextConfig,
)
from gateway.factory.knowledge import KnowledgeBases
from gateway.factory.model_clients import ModelClients
from gateway.factory.store_memory import ScopedMemory
from teams.base import Handoff
from teams.memory import ListMemory, Memory, MemoryContent
from teams.model_context import (
    BufferedChatCompletionContext,
    ChatCompletionContext,
    HeadAndTailChatCompletionContext,
    TokenLimitedChatCompletionContext,
    UnboundedChatCompletionContext,
)
from teams.models import (
    AssistantMessage,
    ChatCompletionClient,
    LLMMessage,
    SystemMessage,
    UserMessage,
)
from teams.tools import BaseTool, ToolSchema

T = TypeVar("T")


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

    async def agent(self, name: str) -> Any:
        """Refuse: a chat of two has no agents as tools."""
        raise NotImplementedError(name)

    async def team(self, name: str) -> Any:
        """Refuse: a chat of two has no teams as tools."""
        raise NotImplementedError(name)

    def own(self, path: str, kind: type[T], options: Mapping[str, Any]) -> T:
        """The result of a user's class or function."""
        made = self._imports.load_callable(path)(**options)
        if inspect.isawaitable(made) or not isinstance(made, kind):
            found = type(made).__name__
            raise ImportPathError(f"{path!r} returned a {found}, expected a {kind.__name__}")
        return made

    def content_type(self, path: str) -> type[BaseModel]:
        """The type of structured answers."""
        found = self._imports.load(path)
        if not (isinstance(found, type) and issubclass(found, BaseModel)):
            raise ImportPathError(f"{path!r} is not a pydantic model")
        return found

    def memory(self, config: MemoryConfig, team: str) -> Memory:
        """A memory of an agent of the team."""
        match config:
            case ListMemoryConfig():
                contents = [MemoryContent(**each.model_dump()) for each in config.contents]
                return ListMemory(config.name, contents)
            case OwnMemoryConfig():
                return self.own(config.path, Memory, config.options)
            case StoreMemoryConfig():
                return ScopedMemory(team, config, self._imports)
            case _:
                assert_never(config)

    def knowledge(self, name: str) -> Memory:
        """The memory of [knowledge] that all threads share."""
        return self.knowledge_bases.memory(name, portable=self.folder is None)

    def context(
        self, config: ModelContextConfig | None, tools: Sequence[BaseTool[Any, Any]] = ()
    ) -> ChatCompletionContext | None:
        """A model context for an agent with these tools."""
        match config:
            case None:
                return None
            case OwnContextConfig():
                return self.own(config.path, ChatCompletionContext, config.options)
            case UnboundedContextConfig():
                return UnboundedChatCompletionContext(_messages(config.initial_messages))
            case BufferedContextConfig():
                return BufferedChatCompletionContext(
                    config.buffer_size, _messages(config.initial_messages)
                )
            case HeadAndTailContextConfig():
                return HeadAndTailChatCompletionContext(
                    config.head_size, config.tail_size, _messages(config.initial_messages)
                )
            case TokenLimitedContextConfig():
                schemas: list[ToolSchema] = [tool.schema for tool in tools]
                return TokenLimitedChatCompletionContext(
                    self._models.client(config.model),
                    token_limit=config.token_limit,
                    tool_schema=schemas or None,
                    initial_messages=_messages(config.initial_messages),
                )
            case _:
                assert_never(config)


def make_handoff(config: HandoffConfig) -> Handoff:
    """The hand-off that a config describes. Raises ValueError."""
    return Handoff(**config.model_dump(exclude_none=True))


def _messages(configs: Sequence[InitialMessage]) -> list[LLMMessage] | None:
    return [_message(each) for each in configs] or None


def _message(config: InitialMessage) -> LLMMessage:
    match config.role:
        case "system":
            return SystemMessage(content=config.content)
        case "user":
            return UserMessage(content=config.content, source=config.source or "user")
        case "assistant":
            return AssistantMessage(content=config.content, source=config.source or "assistant")
