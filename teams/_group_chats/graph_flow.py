"""GraphFlow: agents speak along the edges of a graph."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, cast

from pydantic import BaseModel

from teams._components.component import Component, ComponentModel
from teams._contract.agent import AgentLike, ChatAgent
from teams._contract.state import BaseGroupChatManagerState
from teams._contract.termination import TerminationCondition
from teams._engine.group_chat import BaseGroupChat
from teams._engine.participant import check_agents
from teams._group_chats.graph import DiGraph
from teams._group_chats.graph_walk import GraphWalk
from teams._messages.base import BaseAgentEvent, BaseChatMessage
from teams._messages.chat import StopMessage


class GraphManagerState(BaseGroupChatManagerState):
    """State of a GraphFlow; see `GraphWalk` for the fields."""

    remaining: dict[str, dict[str, int]]
    enqueued_any: dict[str, dict[str, bool]]
    ready: list[str]

    type: str = "GraphManagerState"


class GraphFlowConfig(BaseModel, defer_build=True):
    """See `GraphFlow` for what the fields mean."""

    name: str | None = None
    description: str | None = None
    participants: list[Annotated[ComponentModel, ChatAgent]]
    termination_condition: Annotated[ComponentModel | None, TerminationCondition] = None
    max_turns: int | None = None
    graph: DiGraph


class GraphFlow(BaseGroupChat, Component[GraphFlowConfig]):
    """A team whose agents speak in the order of a directed graph.

    A run begins at the graph's start nodes. After an agent's message the edges it opens are taken;
    agents that become ready at the same time speak side by side, and do not hear each other before
    all of them are done. When nobody is ready, the run ends, and the next one begins at the start
    nodes again. A run that a termination condition or `max_turns` ended goes on where it stood.

    Args:
        participants: agents, at least those of the graph.
        graph: who may speak after whom; see `DiGraphBuilder`.
        name: needed where the team is a participant of another one.
        description: for teams that choose speakers by description.
        termination_condition: ends a run.
        max_turns: ends a run after so many steps; agents side by side are one step.
        custom_message_types: message types of your own that participants produce.

    Raises TypeError for a team among the participants, ValueError for a graph that can't be
    executed or has nodes without a participant. A run of a graph with cycles raises ValueError if
    neither a termination condition nor `max_turns` is given. Conditions that are functions are not
    part of a dumped component.
    """

    component_config_schema = GraphFlowConfig
    component_provider_override: ClassVar[str | None] = "teams.GraphFlow"
    manager_name: ClassVar[str] = "GraphManager"
    manager_state_type = GraphManagerState
    chooser = "its graph"

    DEFAULT_NAME = "GraphFlow"
    DEFAULT_DESCRIPTION = "A team of agents."

    def __init__(
        self,
        participants: Sequence[AgentLike],
        graph: DiGraph,
        *,
        name: str | None = None,
        description: str | None = None,
        termination_condition: TerminationCondition | None = None,
        max_turns: int | None = None,
        runtime: None = None,
        custom_message_types: list[type[BaseAgentEvent | BaseChatMessage]] | None = None,
    ) -> None:
        check_agents(participants, "GraphFlow")
        graph.graph_validate()
        if missing := sorted(graph.nodes.keys() - {agent.name for agent in participants}):
            raise ValueError(f"The graph has nodes without a participant: {', '.join(missing)}.")
        super().__init__(
            name=name or self.DEFAULT_NAME,
            description=description or self.DEFAULT_DESCRIPTION,
            participants=participants,
            termination_condition=termination_condition,
            max_turns=max_turns,
            custom_message_types=custom_message_types,
            runtime=runtime,
        )
        self._graph = graph
        self._walk = GraphWalk(graph)
        self._spoken: dict[str, int] = {}
        """Speakers with edges left to take, and their message's place in the thread."""

    def begin(self, messages: Sequence[BaseChatMessage]) -> None:
        ends = self._termination_condition is not None or self._max_turns is not None
        if not ends and self._graph.get_has_cycles():
            raise ValueError(
                "A graph with cycles needs a termination condition or max_turns, so that it ends."
            )
        super().begin(messages)

    async def select_speaker(
        self, thread: Sequence[BaseAgentEvent | BaseChatMessage]
    ) -> list[str] | StopMessage:
        """Whoever is ready."""
        return self.forced_stop() or self._walk.take_ready()

    def forced_stop(self) -> StopMessage | None:
        """End the run when no node is ready; the next starts anew."""
        self._follow()
        if self._walk.ready:
            return None
        self._walk.restart()
        return StopMessage(content="Digraph execution is complete", source=self.manager_name)

    def on_turn_end(self, speaker: str, messages: Sequence[BaseChatMessage]) -> None:
        self._spoken[speaker] = len(self._thread) - 1
        self._follow()

    def _follow(self) -> None:
        """Take the speakers' edges; if a condition raises, when the run continues."""
        messages = ((speaker, self._thread[place]) for speaker, place in self._spoken.items())
        self._walk.follow_edges(
            [
                (speaker, message)
                for speaker, message in messages
                if isinstance(message, BaseChatMessage)
            ]
        )
        self._spoken.clear()

    def undo_selection(self) -> None:
        self._walk.put_back(self._speakers)

    def manager_state(self) -> Mapping[str, Any]:
        return {**self._walk.state(), "spoken": dict(self._spoken)}

    def load_manager(self, state: Mapping[str, Any]) -> None:
        self._walk.load(state)
        self._spoken = dict(state.get("spoken", {}))
        if "spoken" not in state and not self._walk.ready:
            # AutoGen saved it in mid-run, without a word on who is on turn.
            self._walk.restart()

    async def reset_manager(self) -> None:
        self._walk.restart()
        self._spoken.clear()

    def _to_config(self) -> GraphFlowConfig:
        functions = [
            f"{name} -> {edge.target}"
            for name, node in self._graph.nodes.items()
            for edge in node.edges
            if edge.condition_function is not None
        ]
        if functions:
            warnings.warn(
                "Conditions that are functions are not part of the dumped graph; without them "
                f"these edges are always taken: {', '.join(functions)}.",
                UserWarning,
                stacklevel=2,
            )
        return cast("GraphFlowConfig", super()._to_config())
