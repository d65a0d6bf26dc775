"""Parts of agents from config.toml: tools, memories, contexts, executors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar, assert_never, cast

from pydantic import BaseModel

from gateway.base.imports import ImportPathError, Imports
from gateway.config.agent_parts import (
    BufferedContextConfig,
    DockerExecutorConfig,
    DockerJupyterExecutorConfig,
    ExecutorConfig,
    HandoffConfig,
    HeadAndTailContextConfig,
    InitialMessage,
    JupyterExecutorConfig,
    ListMemoryConfig,
    LocalExecutorConfig,
    MemoryConfig,
    ModelContextConfig,
    OwnContextConfig,
    OwnExecutorConfig,
    OwnMemoryConfig,
    StoreMemoryConfig,
    TokenLimitedContextConfig,
    ToolConfig,
    UnboundedContextConfig,
)
from gateway.factory.knowledge import KnowledgeBases
from gateway.factory.model_clients import ModelClients
from gateway.factory.store_memory import ScopedMemory
from gateway.human_tools import ASKS_PEOPLE, ask_human
from teams.base import Handoff
from teams.code_executor import CodeExecutor
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
    LLMMessage,
    SystemMessage,
    UserMessage,
)
from teams.tools import BaseTool, FunctionTool, ToolSchema, ToolTraits

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
        self._work_mb = work_mb
        self._knowledge = knowledge

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
        return self._knowledge.memory(name, portable=self.folder is None)

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

    def executor(self, config: ExecutorConfig) -> CodeExecutor:
        """Where code is run."""
        match config:
            case OwnExecutorConfig():
                return self.own(config.path, CodeExecutor, config.options)
            case DockerExecutorConfig():
                from teams.code_executors.docker import DockerCommandLineCodeExecutor  # few need it

                return DockerCommandLineCodeExecutor(**self._settings(config))
            case LocalExecutorConfig():
                from teams.code_executors.local import LocalCommandLineCodeExecutor  # few need it

                return LocalCommandLineCodeExecutor(
                    **self._settings(config), virtual_env_context=_environment(config.virtual_env)
                )
            case JupyterExecutorConfig() | DockerJupyterExecutorConfig():
                return self._notebook(config)
            case _:
                assert_never(config)

    def _notebook(
        self, config: JupyterExecutorConfig | DockerJupyterExecutorConfig
    ) -> CodeExecutor:
        folder = config.output_dir or self.folder
        if isinstance(config, JupyterExecutorConfig):
            from teams.code_executors.jupyter import JupyterCodeExecutor  # few need it

            given = (config.kernel_name, config.timeout, folder)
            return JupyterCodeExecutor(*given, work_mb=self._work_mb)
        from teams.code_executors import docker_jupyter  # few need it

        server = docker_jupyter.DockerJupyterServer(
            custom_image_name=config.image or None,
            bind_dir=folder,
            mem_limit=config.mem_limit,
            cpus=config.cpus,
        )
        given = (server, config.kernel_name, config.timeout, folder)
        return docker_jupyter.DockerJupyterCodeExecutor(*given, work_mb=self._work_mb)

    def _settings(self, config: DockerExecutorConfig | LocalExecutorConfig) -> dict[str, Any]:
        given = config.model_dump(exclude={"type", "virtual_env"})
        given["work_dir"] = config.work_dir or self.folder
        given["work_mb"] = self._work_mb
        given["functions"] = [self._imports.load_callable(path) for path in config.functions]
        return given


def make_handoff(config: HandoffConfig) -> Handoff:
    """The hand-off that a config describes. Raises ValueError."""
    return Handoff(**config.model_dump(exclude_none=True))


def make_tool(config: ToolConfig, imports: Imports) -> BaseTool[Any, Any]:
    """A new tool. Raises ImportPathError, also for anything else."""
    found = imports.load(config.path)
    if isinstance(found, type) and issubclass(found, BaseTool):
        found = cast("Callable[[], BaseTool[Any, Any]]", found)()
    elif isinstance(found, BaseTool) and not isinstance(found, FunctionTool):
        raise ImportPathError(
            f"{config.path!r} is one tool for all threads; name its class, or a function"
        )
    if isinstance(found, BaseTool):
        if config.name or config.description or config.strict:
            raise ImportPathError(
                f"{config.path!r} is a tool with a name, description and schema of its own"
            )
        return cast("BaseTool[Any, Any]", found)
    function = cast("Any", found)
    if not callable(function):
        raise ImportPathError(f"{config.path!r} is not a function")
    return FunctionTool(
        function,
        name=config.name,
        description=config.description,
        strict=config.strict,
        traits=ASKS_PEOPLE if function is ask_human else ToolTraits(),
    )


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


def _environment(folder: Path | None) -> SimpleNamespace | None:
    if folder is None:
        return None
    from venv import EnvBuilder  # few need it

    return EnvBuilder().ensure_directories(folder)
