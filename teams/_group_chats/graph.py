"""The graph of a GraphFlow: nodes, edges, conditions, and their builder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, Self

from pydantic import BaseModel, Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from teams._contract.agent import AgentLike, ChatAgent
from teams._engine.participant import as_member
from teams._messages.base import BaseChatMessage

Activation = Literal["all", "any"]
ConditionFunc = Callable[[BaseChatMessage], bool]


class DiGraphEdge(BaseModel, defer_build=True):
    """An edge to the next node, taken when its condition is met.

    Several edges to one node that have the same `activation_group` belong together: with the
    condition "all" each of them must have been taken, with "any" one is enough. Each group whose
    edges were taken makes the target speak once; after that the group starts over.
    """

    target: str
    condition: str | SkipJsonSchema[ConditionFunc] | None = None
    """None: always taken. Text: taken if the last message contains it. A function: taken if it
    returns True for the last message; it moves to `condition_function`."""

    condition_function: SkipJsonSchema[ConditionFunc] | None = Field(default=None, exclude=True)
    """The condition as a function, which is not part of a dumped graph."""

    activation_group: str = ""
    """The name of the group; by default the target's."""

    activation_condition: Activation = "all"
    """Edges of the group that must be taken: "all" or "any" one of them."""

    @model_validator(mode="after")
    def _validate_condition(self) -> Self:
        if callable(self.condition):
            self.condition_function, self.condition = self.condition, None
        self.activation_group = self.activation_group or self.target
        return self

    @property
    def conditional(self) -> bool:
        """True if the edge has a condition."""
        return self.condition is not None or self.condition_function is not None

    def check_condition(self, message: BaseChatMessage) -> bool:
        """True if this message meets the edge's condition."""
        if self.condition_function is not None:
            return bool(self.condition_function(message))
        return self.condition is None or str(self.condition) in message.to_model_text()


class DiGraphNode(BaseModel, defer_build=True):
    """An agent in the graph, and the edges that leave it."""

    name: str
    edges: list[DiGraphEdge] = []
    """Where it can go on."""

    activation: Activation = "all"
    """"all": each group of edges that lead here follows its own `activation_condition`. "any": one
    edge is enough, whatever the edges say.
    """


class DiGraph(BaseModel, defer_build=True):
    """A directed graph of agents. Make it with a `DiGraphBuilder`."""

    nodes: dict[str, DiGraphNode]
    """By name."""

    default_start_node: str | None = None
    """Where each run begins, instead of at all nodes that no edge leads to."""

    def get_parents(self) -> dict[str, list[str]]:
        """For each node, those from which an edge leads to it."""
        parents: dict[str, list[str]] = {name: [] for name in self.nodes}
        for source, edge in self._edges():
            parents[edge.target].append(source)
        return parents

    def get_start_nodes(self) -> set[str]:
        """Where a run begins."""
        if self.default_start_node is not None:
            return {self.default_start_node}
        return {name for name, parents in self.get_parents().items() if not parents}

    def get_leaf_nodes(self) -> set[str]:
        """The nodes that no edge leaves."""
        return {name for name, node in self.nodes.items() if not node.edges}

    def get_has_cycles(self) -> bool:
        """True if an edge leads back to an earlier node."""
        return _find_cycle(self._successors()) is not None

    def has_cycles_with_exit(self) -> bool:
        """As `get_has_cycles`; raises ValueError for a cycle that no condition can end."""
        if (cycle := _find_cycle(self._successors(conditional=False))) is not None:
            raise ValueError(f"Cycle detected without exit condition: {' -> '.join(cycle)}")
        return self.get_has_cycles()

    def get_remaining_map(self) -> dict[str, dict[str, int]]:
        """Number of edges per activation group, for each node they lead to."""
        remaining: dict[str, dict[str, int]] = {}
        for _, edge in self._edges():
            groups = remaining.setdefault(edge.target, {})
            groups[edge.activation_group] = groups.get(edge.activation_group, 0) + 1
        return remaining

    def graph_validate(self) -> None:
        """Raise ValueError if the graph can't be executed."""
        if not self.nodes:
            raise ValueError("Graph has no nodes.")
        self._check_names()
        if not self.get_start_nodes():
            raise ValueError("Graph must have at least one start node: set an entry point.")
        if not self.get_leaf_nodes():
            raise ValueError("Graph must have at least one leaf node, which no edge leaves.")
        for name, node in self.nodes.items():
            if len({edge.conditional for edge in node.edges}) > 1:
                raise ValueError(f"Node {name!r} has a mix of conditional and unconditional edges.")
        self._check_activation()
        self.has_cycles_with_exit()

    def _check_names(self) -> None:
        for name, node in self.nodes.items():
            if name != node.name:
                raise ValueError(f"Node {node.name!r} stands under another name: {name!r}.")
        for source, edge in self._edges():
            if edge.target not in self.nodes:
                raise ValueError(f"The edge from {source!r} leads to no node: {edge.target!r}.")
        if self.default_start_node is not None and self.default_start_node not in self.nodes:
            raise ValueError(f"The start node is no node: {self.default_start_node!r}.")

    def _check_activation(self) -> None:
        first: dict[tuple[str, str], tuple[str, Activation]] = {}
        for source, edge in self._edges():
            known = (source, edge.activation_condition)
            other, condition = first.setdefault((edge.target, edge.activation_group), known)
            if condition != edge.activation_condition:
                raise ValueError(
                    f"Conflicting activation conditions for target {edge.target!r} group "
                    f"{edge.activation_group!r}: {condition!r} (from {other!r}) and "
                    f"{edge.activation_condition!r} (from {source!r})"
                )

    def _edges(self) -> Iterator[tuple[str, DiGraphEdge]]:
        return ((name, edge) for name, node in self.nodes.items() for edge in node.edges)

    def _successors(self, *, conditional: bool = True) -> dict[str, list[str]]:
        return {
            name: [edge.target for edge in node.edges if conditional or not edge.conditional]
            for name, node in self.nodes.items()
        }


class DiGraphBuilder:
    """Builds a `DiGraph` step by step.

    Methods that add something return the builder. Nodes are agents, and are named by the agent or
    its name. A node must have been added before an edge names it (ValueError).
    """

    def __init__(self) -> None:
        self.nodes: dict[str, DiGraphNode] = {}
        """The nodes added so far, by name."""
        self.agents: dict[str, ChatAgent] = {}
        """Their agents."""
        self._entry_point: str | None = None

    @property
    def edges(self) -> dict[str, list[DiGraphEdge]]:
        """For each node, the edges that leave it."""
        return {name: node.edges for name, node in self.nodes.items()}

    def add_node(self, agent: AgentLike, activation: Activation = "all") -> Self:
        """Add an agent. Raises ValueError if another one has its name."""
        member: ChatAgent = as_member(agent)
        if self.agents.setdefault(agent.name, member) is not member:
            raise ValueError(f"There is another agent named {agent.name!r} in the graph.")
        node = self.nodes.setdefault(agent.name, DiGraphNode(name=agent.name))
        node.activation = activation
        return self

    def add_edge(
        self,
        source: str | AgentLike,
        target: str | AgentLike,
        condition: str | ConditionFunc | None = None,
        activation_group: str | None = None,
        activation_condition: Activation | None = None,
    ) -> Self:
        """Let the target speak after the source; see `DiGraphEdge` for conditions."""
        edge = DiGraphEdge(
            target=self._known_name("Target", target),
            condition=condition,
            activation_group=activation_group or "",
            activation_condition=activation_condition or "all",
        )
        self.nodes[self._known_name("Source", source)].edges.append(edge)
        return self

    def add_conditional_edges(
        self, source: str | AgentLike, condition_to_target: Mapping[str, str | AgentLike]
    ) -> Self:
        """Let each target speak if the source's message contains its text."""
        for condition, target in condition_to_target.items():
            self.add_edge(source, target, condition)
        return self

    def set_entry_point(self, name: str | AgentLike) -> Self:
        """Begin each run here."""
        self._entry_point = self._known_name("Start", name)
        return self

    def build(self) -> DiGraph:
        """The graph; ValueError if it can't be executed."""
        nodes = {name: node.model_copy(deep=True) for name, node in self.nodes.items()}
        graph = DiGraph(nodes=nodes, default_start_node=self._entry_point)
        graph.graph_validate()
        return graph

    def get_participants(self) -> list[ChatAgent]:
        """The agents, in the order they were added."""
        return list(self.agents.values())

    def _known_name(self, role: str, node: str | AgentLike) -> str:
        name = node if isinstance(node, str) else node.name
        if name not in self.nodes:
            raise ValueError(f"{role} node {name!r} must be added to the graph first.")
        return name


def _find_cycle(successors: Mapping[str, Sequence[str]]) -> list[str] | None:
    """A cycle as its nodes in order, closed by the first one."""
    done: set[str] = set()
    for start in successors:
        path = [start]
        open_ends = [iter(successors[start])]
        while path:
            following = next((node for node in open_ends[-1] if node not in done), None)
            if following is None:
                done.add(path.pop())
                open_ends.pop()
            elif following in path:
                return [*path[path.index(following) :], following]
            else:
                path.append(following)
                open_ends.append(iter(successors[following]))
    return None
