"""Agents, their tools and their teams, made from their tables in config.toml."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from typing_extensions import override

from gateway.base.imports import ImportPathError
from gateway.config.agents import AgentConfig, AssistantConfig
from gateway.config.mcp import McpReference, McpServer, server_name
from gateway.config.teams import AnyGroup, GraphEdge, GraphTeam
from gateway.factory.conditions import build_condition
from gateway.factory.memory import TeamMemory
from gateway.factory.parts import Means, PartFactory
from gateway.factory.store_memory import ScopedMemory
from teams import DiGraph, DiGraphEdge, DiGraphNode
from teams.agents import AssistantAgent, BaseChatAgent
from teams.base import ChatAgent, Team
from teams.kinds import own_part
from teams.memory.kinds import StoreKind
from teams.messages import BaseAgentEvent, BaseChatMessage
from teams.tools import StaticStreamWorkbench

FOR_CHATS = (
    "You are a helpful assistant in a chat with people. Use your tools where they help. "
    "Answer in the language of the question, as briefly as it allows. "
    "If you can't do what you are asked, or don't know, say so."
)
"""System message of assistants that have none of their own."""


class AgentFactory(PartFactory):
    """Maker of one team's agents; only their model clients are shared.

    `agents` are the tables of the team's agents, `servers` are those of [mcp],
    `team` makes another team by its name, and `memory` the team's memory for an agent.
    """

    def __init__(
        self,
        means: Means,
        name: str,
        *,
        servers: Mapping[str, McpServer],
        agents: Mapping[str, AgentConfig],
        team: Callable[[str], Awaitable[Team]],
        memory: Callable[[], TeamMemory] | None = None,
    ) -> None:
        super().__init__(means, name)
        self._servers = servers
        self._agents = agents
        self._team = team
        self._memory = memory
        self.waits = False
        """The team waits for the word of AutoGen's system message."""

    @override
    async def agent(self, name: str) -> BaseChatAgent:
        """A new agent. Raises ImportPathError, and what the agent's class raises."""
        return await self._agents[name].build(self, name=name)

    @override
    async def team(self, name: str) -> Team:
        """Another team of the config."""
        return await self._team(name)

    @override
    async def make(self, table: Any, **more: Any) -> Any:
        """An assistant, a server of [mcp], or a store's memory by scope."""
        match table:
            case AssistantConfig():
                return await self._assistant(table, **more)
            case McpReference():
                return await self._servers[table.server].build(self, **more)
            case StoreKind():
                return ScopedMemory(self.name, table, self.function)
            case _:
                return await super().make(table, **more)

    async def _assistant(self, config: AssistantConfig, name: str) -> AssistantAgent:
        """A new assistant, with what the gateway gives it."""
        answer = config.output_content_type
        content_type = self.content_type(answer) if answer else None
        tools = [await each.build(self) for each in config.tools]
        workbenches = [own_part(self, path, "teams.tools:Workbench") for path in config.workbench]
        named = {server_name(each): each for each in config.mcp}
        servers = [
            await each.build(self, name=bench, model=config.model) for bench, each in named.items()
        ]
        memories = [await each.build(self) for each in config.memory]
        memories += map(self.knowledge, config.knowledge)
        if self._memory is not None:
            memories.append(self._memory())
        writable = [each for each in memories if isinstance(each, TeamMemory | ScopedMemory)]
        if writable:  # the team's own memory comes last, and first here
            tools += writable[-1].tools()
        benches = bool(workbenches or servers)
        if benches and tools:  # an agent takes one or the other, so the tools get a bench, too
            workbenches.insert(0, StaticStreamWorkbench(tools))
        arguments = await config.arguments(self)
        if not self.waits:
            arguments.setdefault("system_message", FOR_CHATS)
        return AssistantAgent(
            name,
            tools=None if benches else tools or None,
            workbench=[*workbenches, *servers] or None,
            model_context=await self.context(config.model_context, tools, model=config.model),
            memory=memories or None,
            output_content_type=content_type,
            **arguments,
        )


async def make_group(
    parts: PartFactory, config: AnyGroup, participants: Sequence[ChatAgent | Team]
) -> Team:
    """A new team. Raises ImportPathError, and what the class raises."""
    given: dict[str, Any] = {"name": parts.name, "participants": list(participants)}
    if config.ending is not None:
        given["termination_condition"] = build_condition(config.ending, parts.function)
    elif config.max_turns is None and (turns := config.usual_turns()):
        given["max_turns"] = turns
    if types := [message_type(path, parts.load) for path in config.custom_message_types]:
        given["custom_message_types"] = types
    if isinstance(config, GraphTeam):
        given["graph"] = make_graph(config, parts.function)
    return await config.build(parts, **given)


def make_graph(config: GraphTeam, load: Callable[[str], Any]) -> DiGraph:
    """The graph, not yet validated. `load` turns import paths into conditions."""
    nodes = {name: DiGraphNode(name=name, edges=[]) for name in config.members}
    for name, node in config.nodes.items():
        nodes[name].activation = node.activation
    for edge in config.edges:
        nodes[edge.source].edges.append(_edge(edge, load))
    return DiGraph(nodes=nodes, default_start_node=config.default_start_node)


def _edge(config: GraphEdge, load: Callable[[str], Any]) -> DiGraphEdge:
    function = config.condition_function
    return DiGraphEdge(
        target=config.target,
        condition=load(function) if function else config.condition,
        activation_group=config.activation_group or "",
        activation_condition=config.activation_condition,
    )


def message_type(path: str, load: Callable[[str], Any]) -> type[BaseAgentEvent | BaseChatMessage]:
    """A message type of somebody's. Raises ImportPathError, also for what is none."""
    found = load(path)
    if not (isinstance(found, type) and issubclass(found, BaseAgentEvent | BaseChatMessage)):
        raise ImportPathError(f"{path!r} is not a message type")
    return found
