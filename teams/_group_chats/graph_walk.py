"""A walk through a graph: the nodes that are ready or wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from teams._group_chats.graph import DiGraph, DiGraphEdge
from teams._messages.base import BaseChatMessage


class GraphWalk:
    """A walk through a graph.

    `ready` names the nodes that may speak, once for each activation. For every node that edges lead
    to and each of its activation groups, `remaining` counts the edges an "all" group still waits
    for, and `enqueued_any` says whether an "any" group has fired. A group that fired starts over
    when its node is taken.
    """

    def __init__(self, graph: DiGraph) -> None:
        self._graph = graph
        self._any = {
            (edge.target, edge.activation_group)
            for node in graph.nodes.values()
            for edge in node.edges
            if "any" in (edge.activation_condition, graph.nodes[edge.target].activation)
        }
        self._full = graph.get_remaining_map()
        self.restart()

    def restart(self) -> None:
        """Stand at the beginning."""
        starts = self._graph.get_start_nodes()
        self.ready = [name for name in self._graph.nodes if name in starts]
        self.remaining = {node: dict(groups) for node, groups in self._full.items()}
        self.enqueued_any = {
            node: dict.fromkeys(groups, False) for node, groups in self._full.items()
        }

    def follow_edges(self, spoken: Sequence[tuple[str, BaseChatMessage]]) -> None:
        """Take the edges these messages open; none if a condition raises."""
        for edge in [
            edge
            for node, message in spoken
            for edge in self._graph.nodes[node].edges
            if edge.check_condition(message)
        ]:
            self._take_edge(edge)

    def _take_edge(self, edge: DiGraphEdge) -> None:
        node, group = edge.target, edge.activation_group
        if (node, group) in self._any:
            fires = not self.enqueued_any[node][group]
            self.enqueued_any[node][group] = True
        else:
            fires = self.remaining[node][group] == 1
            self.remaining[node][group] = max(self.remaining[node][group] - 1, 0)
        if fires:
            self.ready.append(node)

    def take_ready(self) -> list[str]:
        """Take the nodes that speak now; repeated ones stay for later."""
        nodes = list(dict.fromkeys(self.ready))
        for node in nodes:
            self.ready.remove(node)
            self._rearm(node)
        return nodes

    def _rearm(self, node: str) -> None:
        for group, count in self._full.get(node, {}).items():
            self.enqueued_any[node][group] = False
            if self.remaining[node][group] == 0:
                self.remaining[node][group] = count

    def put_back(self, nodes: Sequence[str]) -> None:
        """These did not speak after all."""
        self.ready[:0] = nodes

    def state(self) -> dict[str, Any]:
        """The documented state, as JSON data."""
        return {
            "remaining": {node: dict(groups) for node, groups in self.remaining.items()},
            "enqueued_any": {node: dict(groups) for node, groups in self.enqueued_any.items()},
            "ready": list(self.ready),
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over what `state` returned; ValueError if it belongs to another graph."""
        remaining, enqueued, ready = state["remaining"], state["enqueued_any"], state["ready"]
        if unknown := sorted({*remaining, *enqueued, *ready} - self._graph.nodes.keys()):
            raise ValueError(f"The state is of another graph, with nodes {', '.join(unknown)}.")
        self.restart()
        self.ready = list(ready)
        for node, groups in self._full.items():
            for group in groups:
                self.remaining[node][group] = remaining.get(node, {}).get(group, groups[group])
                self.enqueued_any[node][group] = enqueued.get(node, {}).get(group, False)
