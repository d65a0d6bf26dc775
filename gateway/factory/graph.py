"""The graph of a team in TOML, as the engine knows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gateway.config.teams import GraphEdge, GraphTeam
from teams import DiGraph, DiGraphEdge, DiGraphNode


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


def unreachable(graph: DiGraph) -> Iterator[str]:
    """The nodes that no run of the graph can get to."""
    found = graph.get_start_nodes()
    left = list(found)
    while left:
        targets = {edge.target for edge in graph.nodes[left.pop()].edges} - found
        found |= targets
        left += targets
    return (name for name in graph.nodes if name not in found)
