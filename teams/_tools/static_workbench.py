"""Workbenches over a fixed list of tools."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ValidationError
from typing_extensions import override

from teams._base.cancellation import CancellationToken
from teams._base.malformed import malformed_is_value_error
from teams._base.tool_call import InputRequired
from teams._components.component import Component, ComponentModel
from teams._tools.base import NO_TRAITS, BaseTool, StreamTool, ToolTraits
from teams._tools.schema import ToolSchema
from teams._tools.workbench import StreamWorkbench, ToolOverride, ToolResult, Workbench, text_result


class StaticWorkbenchConfig(BaseModel, defer_build=True):
    """The tools of a static workbench."""

    tools: Annotated[list[ComponentModel], BaseTool] = []
    tool_overrides: dict[str, ToolOverride] = {}


class StaticWorkbenchState(BaseModel, defer_build=True):
    """The states of a static workbench's tools, by name."""

    type: Literal["StaticWorkbenchState"] = "StaticWorkbenchState"
    tools: dict[str, Mapping[str, Any]] = {}


class StaticWorkbench(Workbench, Component[StaticWorkbenchConfig]):
    """A workbench over a fixed list of tools.

    `tool_overrides` renames or redescribes tools, by their own names; ValueError for an unknown
    tool and for a name that another tool has.
    """

    component_config_schema = StaticWorkbenchConfig

    def __init__(
        self,
        tools: Sequence[BaseTool[Any, Any]],
        tool_overrides: Mapping[str, ToolOverride] | None = None,
    ) -> None:
        self._tools = list(tools)
        self._tool_overrides = dict(tool_overrides or {})
        self._by_name = self._named_tools()

    @property
    def tools(self) -> Sequence[BaseTool[Any, Any]]:
        """The tools, under their own names."""
        return self._tools

    def _named_tools(self) -> dict[str, BaseTool[Any, Any]]:
        own_names = {tool.name for tool in self._tools}
        if unknown := sorted(self._tool_overrides.keys() - own_names):
            raise ValueError(f"Overrides for tools that are not there: {', '.join(unknown)}.")
        named: dict[str, BaseTool[Any, Any]] = {}
        for tool in self._tools:
            override = self._tool_overrides.get(tool.name)
            name = (override.name if override else None) or tool.name
            if name in named or (name != tool.name and name in own_names):
                raise ValueError(f"Two tools of the workbench are called {name!r}.")
            named[name] = tool
        return named

    @override
    async def list_tools(self) -> list[ToolSchema]:
        return [self._schema(name, tool) for name, tool in self._by_name.items()]

    def _schema(self, name: str, tool: BaseTool[Any, Any]) -> ToolSchema:
        schema = tool.schema.copy()
        schema["name"] = name
        override = self._tool_overrides.get(tool.name)
        if override is not None and override.description is not None:
            schema["description"] = override.description
        return schema

    @override
    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
        call_id: str | None = None,
    ) -> ToolResult:
        tool = self._by_name.get(name)
        if tool is None:
            return _not_found_result(name)
        try:
            value = await tool.run_json(
                arguments or {}, cancellation_token or CancellationToken(), call_id
            )
            images = tool.return_value_images(value)
            return text_result(name, tool.return_value_as_string(value), images=images)
        except Exception as error:
            return _error_result(name, tool, error)

    @override
    def tool_traits(self, name: str) -> ToolTraits:
        tool = self._by_name.get(name)
        return tool.traits if tool else NO_TRAITS

    @override
    async def start(self) -> None:
        pass

    @override
    async def stop(self) -> None:
        pass

    @override
    async def reset(self) -> None:
        pass

    @override
    async def save_state(self) -> Mapping[str, Any]:
        states = {tool.name: await tool.save_state_json() for tool in self._tools}
        return StaticWorkbenchState(tools=states).model_dump(mode="json")

    @override
    async def load_state(self, state: Mapping[str, Any]) -> None:
        with malformed_is_value_error("a workbench"):
            states = StaticWorkbenchState.model_validate(state).tools
            for tool in self._tools:
                if tool.name in states:
                    await tool.load_state_json(states[tool.name])


class StaticStreamWorkbench(StaticWorkbench, StreamWorkbench):
    """A static workbench that passes on the items of its stream tools."""

    @override
    def __init__(
        self,
        tools: Sequence[BaseTool[Any, Any]],
        tool_overrides: Mapping[str, ToolOverride] | None = None,
    ) -> None:
        super().__init__(tools, tool_overrides)
        for tool in self._tools:
            _ = tool.schema  # one that no model can be told of is refused here, not in a turn
        # Each is a `Tool` already: looking at a protocol's members takes longer than many a tool.
        self._streaming: dict[str, Any] = {
            name: tool for name, tool in self._by_name.items() if hasattr(tool, "run_json_stream")
        }

    @override
    async def call_tool_stream(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
        call_id: str | None = None,
    ) -> AsyncGenerator[Any, None]:
        tool = self._streaming.get(name)
        if tool is None:
            yield await self.call_tool(name, arguments, cancellation_token, call_id)
            return
        stream = tool.run_json_stream(
            arguments or {}, cancellation_token or CancellationToken(), call_id
        )
        last: Any = None
        held = False
        try:
            async with aclosing(stream):
                async for item in stream:
                    if held:
                        yield last
                    # Only what may be the result waits to be known as the last.
                    last, held = item, _may_be_result(tool, item)
                    if not held:
                        yield item
            result = text_result(name, tool.return_value_as_string(last))
        except Exception as error:
            result = _error_result(name, tool, error)
        yield result


def _may_be_result(tool: StreamTool, item: Any) -> bool:
    return_type: Any = tool.return_type()
    return not isinstance(return_type, type) or isinstance(item, return_type)


def _not_found_result(name: str) -> ToolResult:
    return text_result(name, f"Tool {name} not found.", is_error=True)


def _error_result(name: str, tool: BaseTool[Any, Any], error: Exception) -> ToolResult:
    """The error as a result for the model; others' errors are raised."""
    if isinstance(error, InputRequired) or tool.traits.fatal_errors:
        raise error
    return text_result(name, _message(error), is_error=True)


def _message(error: Exception) -> str:
    match error:
        case ValidationError():
            return "Invalid values: " + "; ".join(
                f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
                for problem in error.errors(include_url=False, include_input=False)
            )
        case ExceptionGroup():
            return "; ".join(_message(inner) for inner in error.exceptions)
        case _:
            return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
