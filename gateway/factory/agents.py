"""Agents, their tools and their teams, made from their tables in config.toml."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, assert_never, cast

from typing_extensions import override

from gateway.base.imports import ImportPathError, Imports
from gateway.config.agents import (
    AgentConfig,
    AssistantConfig,
    CodeExecutorConfig,
    CoderConfig,
    FileSurferConfig,
    MessageFilterConfig,
    OpenAIConfig,
    SocietyOfMindConfig,
    UserProxyConfig,
    WebSurferConfig,
)
from gateway.config.teams import (
    AnyGroup,
    GraphEdge,
    GraphTeam,
    MagenticOneTeam,
    RoundRobinTeam,
    SelectorTeam,
    SwarmTeam,
)
from gateway.factory.conditions import build_condition
from gateway.factory.memory import TeamMemory
from gateway.factory.model_clients import ModelClients
from gateway.factory.parts import PartFactory, make_handoff
from gateway.factory.servers import ServerFactory
from gateway.factory.store_memory import ScopedMemory
from teams import (
    DiGraph,
    DiGraphEdge,
    DiGraphNode,
    GraphFlow,
    MagenticOneGroupChat,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from teams.agents import (
    AssistantAgent,
    BaseChatAgent,
    CodeExecutorAgent,
    MessageFilterAgent,
    PerSourceFilter,
    SocietyOfMindAgent,
    UserProxyAgent,
)
from teams.agents import MessageFilterConfig as MessageFilter
from teams.agents.magentic_one import MagenticOneCoderAgent
from teams.base import ChatAgent, Team
from teams.kinds import Section
from teams.messages import BaseAgentEvent, BaseChatMessage
from teams.tools import StaticStreamWorkbench, Workbench

_ASSISTANT = (
    "model_client_stream",
    "reflect_on_tool_use",
    "max_tool_iterations",
    "tool_call_summary_format",
    "output_content_type_format",
)
_CODE_EXECUTOR = (
    "model_client_stream",
    "max_retries_on_error",
    "sources",
    "supported_languages",
)

_SELECTOR = (
    "emit_team_events",
    "allow_repeated_speaker",
    "max_selector_attempts",
    "model_client_streaming",
)


class AgentFactory(PartFactory):
    """Maker of one team's agents; only their model clients are shared.

    `agents` are the tables of the team's agents, `servers` makes their workbenches of MCP servers,
    `team` makes another team by its name, and `memory` the team's memory for an agent.
    """

    def __init__(
        self,
        models: ModelClients,
        imports: Imports,
        parts: PartFactory,
        name: str,
        *,
        servers: ServerFactory,
        agents: Mapping[str, AgentConfig],
        team: Callable[[str], Awaitable[Team]],
        memory: Callable[[], TeamMemory] | None = None,
    ) -> None:
        work_mb, knowledge = parts.work_mb, parts.knowledge_bases
        super().__init__(models, imports, parts.folder, work_mb=work_mb, knowledge=knowledge)
        self.name = name
        self._servers = servers
        self._agents = agents
        self._team = team
        self._memory = memory

    @override
    async def agent(self, name: str) -> BaseChatAgent:
        """A new agent. Raises ImportPathError, and what the agent's class raises."""
        return await self._agent(name, self._agents[name])

    @override
    async def team(self, name: str) -> Team:
        """Another team of the config."""
        return await self._team(name)

    async def _agent(self, name: str, config: AgentConfig) -> BaseChatAgent:
        given = _given(config, "description")
        match config:
            case AssistantConfig():
                return await self._assistant(name, config)
            case UserProxyConfig():
                if config.input_func:
                    given["input_func"] = self._imports.load_callable(config.input_func)
                return UserProxyAgent(name, **given)
            case CodeExecutorConfig():
                return await self._code_executor(name, config)
            case SocietyOfMindConfig():
                return SocietyOfMindAgent(
                    name,
                    await self._team(config.team),
                    self._models.client(config.model),
                    **_given(config, "description", "instruction", "response_prompt"),
                    model_context=await self.context(config.model_context),
                )
            case OpenAIConfig() | FileSurferConfig() | CoderConfig() | WebSurferConfig():
                return await self._specialist(name, config)
            case MessageFilterConfig():
                rules = [PerSourceFilter(**each.model_dump()) for each in config.per_source]
                inner = await self._agent(name, config.agent)
                return MessageFilterAgent(name, inner, MessageFilter(per_source=rules))
            case _:
                assert_never(config)

    async def _specialist(
        self, name: str, config: OpenAIConfig | FileSurferConfig | CoderConfig | WebSurferConfig
    ) -> BaseChatAgent:
        match config:
            case OpenAIConfig():
                return await self._openai(name, config)
            case WebSurferConfig():
                return self._web_surfer(name, config)
            case CoderConfig():
                client = self._models.client(config.model)
                return MagenticOneCoderAgent(name, client, model_client_stream=True)
            case FileSurferConfig():
                from teams.agents.file_surfer import FileSurfer  # few need it

                return FileSurfer(
                    name,
                    self._models.client(config.model),
                    base_path=config.folder or self.folder,
                    **_given(config, "description"),
                )
            case _:
                assert_never(config)

    def _web_surfer(self, name: str, config: WebSurferConfig) -> BaseChatAgent:
        from teams.agents.web_surfer import MultimodalWebSurfer  # few need it

        folder = None if self.folder is None else str(self.folder)
        return MultimodalWebSurfer(
            name,
            self._models.client(config.model),
            downloads_folder=folder,
            debug_dir=folder,
            to_save_screenshots=config.screenshots and folder is not None,
            start_page=config.start_page,
            headless=config.headless,
            browser_channel=config.browser_channel,
            **_given(config, "description"),
        )

    async def _assistant(self, name: str, config: AssistantConfig) -> AssistantAgent:
        given = {key: getattr(config, key) for key in _ASSISTANT} | _given(config, "description")
        if config.system_message is not None:
            given["system_message"] = config.system_message or None
        if config.metadata:
            given["metadata"] = dict(config.metadata)
        if config.tool_call_summary_formatter:
            given["tool_call_summary_formatter"] = self._imports.load_callable(
                config.tool_call_summary_formatter
            )
        if config.output_content_type:
            given["output_content_type"] = self.content_type(config.output_content_type)
        tools = [await each.build(self) for each in config.tools]
        workbenches = [self.own(path, Workbench, {}) for path in config.workbench]
        servers = [self._servers.workbench(each, config.model) for each in config.mcp]
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
        return AssistantAgent(
            name,
            self._models.client(config.model),
            tools=None if benches else tools or None,
            workbench=[*workbenches, *servers] or None,
            handoffs=[make_handoff(each) for each in config.handoffs] or None,
            model_context=await self.context(config.model_context, tools),
            memory=memories or None,
            **given,
        )

    async def _openai(self, name: str, config: OpenAIConfig) -> BaseChatAgent:
        from teams.agents.openai import OpenAIAgent  # few need it

        client, model = self._models.openai(config.model)
        told = config.description or "An agent that provides assistance with ability to use tools."
        tools = [*config.hosted_tools, *[await each.build(self) for each in config.tools]]
        others = {"type", "description", "model", "tools", "hosted_tools"}
        given = config.model_dump(exclude=others)
        return OpenAIAgent(name, told, client, model, tools=tools, **given)

    async def _code_executor(self, name: str, config: CodeExecutorConfig) -> CodeExecutorAgent:
        given = {key: getattr(config, key) for key in _CODE_EXECUTOR}
        given |= _given(config, "description")
        if config.system_message is not None:
            given["system_message"] = config.system_message or None
        if config.model is not None:
            given["model_client"] = self._models.client(config.model)
        if config.approval_func:
            given["approval_func"] = self._imports.load_callable(config.approval_func)
        return CodeExecutorAgent(
            name,
            await config.executor.build(self),
            model_context=await self.context(config.model_context),
            **given,
        )


class GroupFactory:
    """Makes teams; each call makes everything anew but the model clients."""

    def __init__(self, models: ModelClients, imports: Imports, parts: PartFactory) -> None:
        self._models = models
        self._imports = imports
        self._parts = parts

    async def team(
        self, name: str, config: AnyGroup, participants: Sequence[ChatAgent | Team]
    ) -> Team:
        """A new team. Raises ImportPathError, and what the class raises."""
        given = self._common(name, config)
        # What the type takes is checked by its class, too.
        agents = cast("list[ChatAgent]", list(participants))
        match config:
            case RoundRobinTeam():
                return RoundRobinGroupChat(
                    participants, emit_team_events=config.emit_team_events, **given
                )
            case SwarmTeam():
                return Swarm(agents, emit_team_events=config.emit_team_events, **given)
            case SelectorTeam():
                return await self._selector(config, participants, given)
            case GraphTeam():
                return GraphFlow(agents, make_graph(config, self._imports.load_callable), **given)
            case MagenticOneTeam():
                if config.final_answer_prompt is not None:
                    given["final_answer_prompt"] = config.final_answer_prompt
                return MagenticOneGroupChat(
                    agents,
                    self._models.client(config.model),
                    max_stalls=config.max_stalls,
                    emit_team_events=config.emit_team_events,
                    **given,
                )
            case _:
                assert_never(config)

    def _common(self, name: str, config: AnyGroup) -> dict[str, Any]:
        given: dict[str, Any] = {"name": name, "max_turns": config.max_turns}
        if config.description:
            given["description"] = config.description
        if config.termination is not None:
            given["termination_condition"] = build_condition(
                config.termination, self._imports.load_callable
            )
        if config.custom_message_types:
            given["custom_message_types"] = [
                message_type(path, self._imports) for path in config.custom_message_types
            ]
        return given

    async def _selector(
        self, config: SelectorTeam, participants: Sequence[ChatAgent | Team], given: dict[str, Any]
    ) -> SelectorGroupChat:
        given |= {key: getattr(config, key) for key in _SELECTOR}
        if config.selector_prompt is not None:
            given["selector_prompt"] = config.selector_prompt
        for key in ("selector_func", "candidate_func"):
            if path := getattr(config, key):
                given[key] = self._imports.load_callable(path)
        return SelectorGroupChat(
            participants,
            self._models.client(config.model),
            model_context=await self._parts.context(config.model_context),
            **given,
        )


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


def message_type(path: str, imports: Imports) -> type[BaseAgentEvent | BaseChatMessage]:
    """A message type of somebody's. Raises ImportPathError, also for what is none."""
    found = imports.load(path)
    if not (isinstance(found, type) and issubclass(found, BaseAgentEvent | BaseChatMessage)):
        raise ImportPathError(f"{path!r} is not a message type")
    return found


def _given(config: Section, *names: str) -> dict[str, Any]:
    """The settings that are not left to the class."""
    values = {name: getattr(config, name) for name in names if name in type(config).model_fields}
    return {name: value for name, value in values.items() if value}
