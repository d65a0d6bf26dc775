"""Agents and their tools, made from their tables in config.toml."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, assert_never, cast

from pydantic import BaseModel

from gateway.config import (
    AgentConfig,
    AssistantConfig,
    BufferedContextConfig,
    HandoffConfig,
    ModelContextConfig,
    ToolConfig,
    UnboundedContextConfig,
    UserProxyConfig,
)
from gateway.imports import ImportPathError, Imports
from gateway.model_clients import ModelClients
from teams.agents import AssistantAgent, UserProxyAgent
from teams.base import ChatAgent, Handoff
from teams.memory import Memory
from teams.model_context import (
    BufferedChatCompletionContext,
    ChatCompletionContext,
    UnboundedChatCompletionContext,
)
from teams.tools import BaseTool, FunctionTool, Workbench

_SAME_NAMES = (
    "model_client_stream",
    "reflect_on_tool_use",
    "max_tool_iterations",
    "tool_call_summary_format",
    "output_content_type_format",
)


class AgentFactory:
    """Makes agents; each call makes everything anew but the model clients."""

    def __init__(self, models: ModelClients, imports: Imports) -> None:
        self._models = models
        self._imports = imports

    def agent(self, name: str, config: AgentConfig) -> ChatAgent:
        """A new agent. Raises ImportPathError, and what the agent's class raises."""
        match config:
            case AssistantConfig():
                return self._assistant(name, config)
            case UserProxyConfig():
                if config.description:
                    return UserProxyAgent(name, description=config.description)
                return UserProxyAgent(name)
            case _:
                assert_never(config)

    def _assistant(self, name: str, config: AssistantConfig) -> AssistantAgent:
        given: dict[str, Any] = {key: getattr(config, key) for key in _SAME_NAMES}
        if config.description:
            given["description"] = config.description
        if config.system_message is not None:
            given["system_message"] = config.system_message or None
        if config.metadata:
            given["metadata"] = dict(config.metadata)
        if config.tool_call_summary_formatter:
            given["tool_call_summary_formatter"] = self._imports.load_callable(
                config.tool_call_summary_formatter
            )
        if config.output_content_type:
            given["output_content_type"] = self._content_type(config.output_content_type)
        return AssistantAgent(
            name,
            self._models.client(config.model),
            tools=[make_tool(each, self._imports) for each in config.tools] or None,
            workbench=[self._made(path, Workbench) for path in config.workbench] or None,
            handoffs=[_handoff(each) for each in config.handoffs] or None,
            model_context=_context(config.model_context),
            memory=[self._made(path, Memory) for path in config.memory] or None,
            **given,
        )

    def _made(self, path: str, kind: type[Any]) -> Any:
        made = self._imports.load_callable(path)()
        if inspect.isawaitable(made) or not isinstance(made, kind):
            found = type(made).__name__
            raise ImportPathError(f"{path!r} returned a {found}, expected a {kind.__name__}")
        return made

    def _content_type(self, path: str) -> type[BaseModel]:
        found = self._imports.load(path)
        if not (isinstance(found, type) and issubclass(found, BaseModel)):
            raise ImportPathError(f"{path!r} is no pydantic model, expected one")
        return found


def make_tool(config: ToolConfig, imports: Imports) -> BaseTool[Any, Any]:
    """A new tool. Raises ImportPathError, also for what is no tool and can't be made one."""
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
        raise ImportPathError(f"{config.path!r} is no function, expected one")
    return FunctionTool(
        function,
        name=config.name,
        description=config.description,
        strict=config.strict,
    )


def _handoff(config: HandoffConfig) -> Handoff:
    return Handoff(**config.model_dump(exclude_none=True))


def _context(config: ModelContextConfig | None) -> ChatCompletionContext | None:
    match config:
        case None:
            return None
        case UnboundedContextConfig():
            return UnboundedChatCompletionContext()
        case BufferedContextConfig():
            return BufferedChatCompletionContext(buffer_size=config.buffer_size)
        case _:
            assert_never(config)
