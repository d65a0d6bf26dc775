"""An assistant's tools: those of its workbenches, and its hand-offs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from teams._base.cancellation import CancellationToken
from teams._base.tool_call import AGENT_PATH, InputRequired, ToolCall, parse_arguments
from teams._contract.turn_record import Item
from teams._messages.base import BaseAgentEvent, BaseChatMessage
from teams._run.merge import Emit
from teams._run.nesting import is_resumable
from teams._run.run import current_hooks
from teams._tools.base import NO_TRAITS, BaseTool, ToolTraits
from teams._tools.schema import ToolSchema
from teams._tools.workbench import StreamWorkbench, ToolResult, Workbench, text_result
from teams.agents._handoff import Handoff
from teams.models._client import ChatCompletionClient

if TYPE_CHECKING:
    from teams._snapshot.snapshot import SnapshotReader, SnapshotWriter

NOT_REACHED = "?"
"""Server of a tool while a workbench can't say which tools it has."""

ToolFunction = Callable[..., Any] | Callable[..., Awaitable[Any]]


class AgentTools:
    """The tools of one agent.

    Raises ValueError where they collide or the model cannot call them.
    """

    __slots__ = ("_client", "_handoff_tools", "_listed", "handoffs", "own", "states", "workbenches")

    def __init__(
        self,
        agent: str,
        model_client: ChatCompletionClient,
        tools: Sequence[BaseTool[Any, Any] | ToolFunction] | None,
        workbench: Workbench | Sequence[Workbench] | None,
        handoffs: Sequence[Handoff | str] | None,
    ) -> None:
        if tools and workbench is not None:
            raise ValueError(
                f"Agent {agent!r} has both tools and a workbench: put the tools into a workbench."
            )
        self.handoffs = _by_tool_name(handoffs or ())
        self._handoff_tools = tuple(handoff.handoff_tool for handoff in self.handoffs.values())
        self.own = tuple(_as_tool(tool) for tool in tools or ())
        self._check(agent, model_client)
        self.workbenches = _workbenches(self.own, workbench)
        if self.workbenches and not self.own and not model_client.model_info["function_calling"]:
            raise ValueError(
                f"Agent {agent!r} has a workbench, but its model does not support function calling."
            )
        self.states = ToolStates(self.workbenches)
        self._client = model_client
        self.forget_listed()

    def forget_listed(self) -> None:
        """Forget what the model was told, while people are asked."""
        # What the model was told last: asking again for each call would be a request to a server.
        self._listed = tuple(dict[str, ToolSchema]() for _ in self.workbenches)

    def _sources(self) -> tuple[Workbench, ...]:
        """Its workbenches, and that of the run."""
        of_run = current_hooks().workbench
        if of_run is None or not self._client.model_info["function_calling"]:
            return self.workbenches
        return *self.workbenches, of_run

    def traits(self, name: str) -> ToolTraits:
        """The promises of the tool with this name."""
        found = (workbench.tool_traits(name) for workbench in self._sources())
        return next((traits for traits in found if traits is not NO_TRAITS), NO_TRAITS)

    async def resolve(self, call: ToolCall) -> ToolCall:
        """The call with the promises of its tool, if there is one."""
        if call.name in self.handoffs:
            return call
        try:
            found = await self._find(call.name)
        except Exception:  # calling the tool tells what is wrong with its workbench
            return replace(call, server=NOT_REACHED)
        if found is None:
            return replace(call, known=False)
        workbench, schema = found
        traits = workbench.tool_traits(call.name)
        return replace(
            call,
            idempotent=traits.idempotent,
            read_only=traits.read_only,
            own_output=traits.own_output,
            asks=traits.asks,
            in_state=traits.in_state,
            server=traits.server,
            schema=schema,
        )

    async def _find(self, name: str) -> tuple[Workbench, ToolSchema] | None:
        """The first workbench with this tool, and its schema."""
        for workbench, listed in zip(self._sources(), self._listed, strict=False):
            if name in listed:
                return workbench, listed[name]
        for workbench in self._sources():
            for schema in await workbench.list_tools():
                if schema["name"] == name:
                    return workbench, schema
        return None

    async def schemas(self) -> list[ToolSchema | BaseTool[Any, Any]]:
        """The schemas of the tools and hand-offs that the model may call."""
        lists = [await workbench.list_tools() for workbench in self._sources()]
        if len(lists) > len(self.workbenches):
            names = {tool["name"] for listed in lists[:-1] for tool in listed}
            lists[-1] = [tool for tool in lists[-1] if tool["name"] not in names]
        self._listed = tuple({tool["name"]: tool for tool in listed[::-1]} for listed in lists)
        if (show := current_hooks().listed) is not None and (tools := self._of_servers()):
            await show(tools)
        return [*chain.from_iterable(lists), *self._handoff_tools]

    def _of_servers(self) -> list[ToolCall]:
        """The servers' tools, as calls without arguments."""
        return [
            ToolCall(
                key="",
                id="",
                name=name,
                arguments="",
                agent=AGENT_PATH.get(),
                server=server,
                schema=schema,
            )
            for workbench, listed in zip(self._sources(), self._listed, strict=True)
            for name, schema in listed.items()
            if (server := workbench.tool_traits(name).server)
        ]

    async def execute(
        self, call: ToolCall, token: CancellationToken, emit: Emit[Item]
    ) -> ToolResult:
        """Run one call.

        What goes wrong is an error result, except `InputRequired` and errors a tool declares fatal.
        """
        if call.name in self.handoffs:
            return await self.hand_off(call)
        arguments = _arguments(call)
        if isinstance(arguments, ToolResult):
            return arguments
        workbench: Workbench | None = None
        try:
            found = await self._find(call.name)
            if found is None:
                return _error(call, f"tool '{call.name}' not found in any workbench")
            workbench, _ = found
            # What was decided about one server's tool says nothing about another's.
            if workbench.tool_traits(call.name).server != call.server:
                return _error(call, f"tool '{call.name}' has come from elsewhere; call it again")
            return await _call(workbench, call, arguments, token, emit)
        except InputRequired:
            raise
        except Exception as error:
            if workbench is not None and workbench.tool_traits(call.name).fatal_errors:
                raise
            return _error(call, str(error) or type(error).__name__)

    async def hand_off(self, call: ToolCall) -> ToolResult:
        """The message of a hand-off."""
        arguments = _arguments(call)
        if isinstance(arguments, ToolResult):
            return arguments
        return text_result(call.name, self.handoffs[call.name].message)

    def _check(self, agent: str, model_client: ChatCompletionClient) -> None:
        names = [tool.name for tool in self.own]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(
                f"Tool names of agent {agent!r} must be unique, found twice: {', '.join(repeated)}."
            )
        targets = {handoff.target for handoff in self.handoffs.values()}
        if shared := sorted(set(names) & (targets | self.handoffs.keys())):
            raise ValueError(
                f"Handoffs of agent {agent!r}, or their targets, are named like its tools: "
                f"{', '.join(shared)}."
            )
        if (names or self.handoffs) and not model_client.model_info["function_calling"]:
            kind = "tools" if names else "handoffs"
            raise ValueError(
                f"Agent {agent!r} has {kind}, but its model does not support function calling."
            )


class ToolStates:
    """The tools with a state, and among them those that run teams."""

    __slots__ = ("_resumable", "_with_state")

    def __init__(self, workbenches: Iterable[Workbench]) -> None:
        tools = [tool for workbench in workbenches for tool in _tools(workbench)]
        self._resumable = tuple(tool for tool in tools if is_resumable(tool))
        others = [tool for tool in tools if tool not in self._resumable]
        self._with_state = tuple(tool for tool in others if tool.state_type() is not None)

    def message_types(self) -> list[type[BaseAgentEvent | BaseChatMessage]]:
        """Types that the calls can stream, besides the built-in ones."""
        return [kind for tool in self._resumable for kind in tool.message_types()]

    async def end_call(self, key: str) -> None:
        """This call is over, with or without a result."""
        for tool in self._resumable:
            await tool.end_call(key)

    async def reset(self) -> None:
        """Forget all that agents and teams behind the tools were told."""
        for tool in self._resumable:
            await tool.reset()

    async def save_state(self) -> dict[str, Any]:
        """The states by tool; empty without such tools."""
        tools = (*self._resumable, *self._with_state)
        return {tool.name: await tool.save_state_json() for tool in tools}

    async def load_state(self, states: Mapping[str, Any]) -> None:
        """Load a state of `save_state`; unnamed tools stay as they are."""
        for tool in (*self._resumable, *self._with_state):
            if tool.name in states:
                await tool.load_state_json(states[tool.name])

    async def write_state(self, path: str, writer: SnapshotWriter) -> None:
        for tool in self._resumable:
            await tool.write_state(f"{path}{tool.name}/", writer)
        for tool in self._with_state:
            writer.value(path + tool.name, await tool.save_state_json())

    async def read_state(self, path: str, reader: SnapshotReader) -> None:
        for tool in self._resumable:
            await tool.read_state(f"{path}{tool.name}/", reader)
        for tool in self._with_state:
            if (state := reader.value(path + tool.name)) is not None:
                await tool.load_state_json(state)


def _workbenches(
    own: Sequence[BaseTool[Any, Any]], workbench: Workbench | Sequence[Workbench] | None
) -> tuple[Workbench, ...]:
    if workbench is not None:
        return tuple(workbench) if isinstance(workbench, Sequence) else (workbench,)
    if not own:
        return ()
    # Here for start-up: most agents have no tools of their own.
    from teams._tools.static_workbench import StaticStreamWorkbench

    return (StaticStreamWorkbench(own),)


def _tools(workbench: Workbench) -> Sequence[BaseTool[Any, Any]]:
    # Here for start-up: most agents have no tools.
    from teams._tools.static_workbench import StaticWorkbench

    return workbench.tools if isinstance(workbench, StaticWorkbench) else ()


def _by_tool_name(handoffs: Sequence[Handoff | str]) -> dict[str, Handoff]:
    found: dict[str, Handoff] = {}
    for entry in handoffs:
        match entry:
            case str():
                handoff = Handoff(target=entry)
            case Handoff():
                handoff = entry
            case _:  # pyright: ignore[reportUnnecessaryComparison]
                raise ValueError(
                    f"A handoff must be a name or a Handoff, found {type(entry).__name__}."
                )
        if handoff.name in found:
            raise ValueError(f"Handoff names must be unique, found twice: {handoff.name}.")
        found[handoff.name] = handoff
    return found


def _as_tool(tool: BaseTool[Any, Any] | ToolFunction) -> BaseTool[Any, Any]:
    if isinstance(tool, BaseTool):
        return cast("BaseTool[Any, Any]", tool)
    if callable(tool):
        from teams._tools.function import FunctionTool  # who has no functions does not pay for it

        return FunctionTool(tool, description=tool.__doc__ or "")
    raise ValueError(f"A tool must be a BaseTool or a function, found {type(tool).__name__}.")


def _arguments(call: ToolCall) -> dict[str, Any] | ToolResult:
    try:
        return parse_arguments(call.arguments)
    except ValueError as error:
        return _error(call, str(error))


def _error(call: ToolCall, text: str) -> ToolResult:
    return text_result(call.name, f"Error: {text}", is_error=True)


async def _call(
    workbench: Workbench,
    call: ToolCall,
    arguments: dict[str, Any],
    token: CancellationToken,
    emit: Emit[Item],
) -> ToolResult:
    # By keyword, as users' own workbenches may take them.
    options: dict[str, Any] = {
        "name": call.name,
        "arguments": arguments,
        "cancellation_token": token,
        "call_id": call.id,
    }
    if not isinstance(workbench, StreamWorkbench):
        result: Any = await workbench.call_tool(**options)
        if isinstance(result, ToolResult):
            return result
        raise TypeError(f"The workbench answered with {type(result).__name__}, not a ToolResult.")
    stream = workbench.call_tool_stream(**options)
    async with aclosing(stream):
        async for item in stream:
            match item:
                case ToolResult():
                    return item
                case BaseAgentEvent() | BaseChatMessage():
                    await emit(item)
                case _:
                    pass  # a tool may stream items of its own, which mean nothing to a team
    raise RuntimeError(f"The stream of tool {call.name!r} ended without a result.")
