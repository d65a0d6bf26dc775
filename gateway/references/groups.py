"""A check of teams in TOML: names, hand-offs and graphs."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.base.imports import ImportPathError
from gateway.base.suggest import did_you_mean
from gateway.config.agents import AssistantConfig, agents_as_tools
from gateway.config.expressions import ExpressionError
from gateway.config.problems import Problem
from gateway.config.teams import (
    AnyGroup,
    GraphTeam,
    MagenticOneTeam,
    SelectorTeam,
    SwarmTeam,
)
from gateway.config.toml import KeyPath
from gateway.factory.agents import make_graph, message_type
from gateway.factory.conditions import ConditionBuilder
from gateway.references.agents import AgentChecker, Roster
from gateway.references.conditions import TeamNames, check_names
from gateway.references.lookup import Lookup, check_name
from teams import DiGraph
from teams.agents.kinds import UserProxyKind

ENDLESS_GRAPH = "is missing: the graph has a loop, so a run needs a termination or max_turns to end"


class GroupChecker:
    """Finds what is wrong with one team, which stands at `path`."""

    def __init__(self, lookup: Lookup, path: KeyPath, team: AnyGroup) -> None:
        self._lookup = lookup
        self._path = path
        self._team = team
        self._names = TeamNames(lookup, str(path[1]))
        self._agents = lookup.names("teams", str(path[1]), "agents") or list(team.agents)

    def check(self) -> Iterator[Problem]:
        """Every name that leads nowhere, and every hand-off and edge to nobody."""
        team = self._team
        yield from self._participants()
        yield from self._idle()
        for at, each in enumerate(team.custom_message_types):
            try:
                message_type(each, self._lookup.imports.load)
            except ImportPathError as error:
                yield Problem(path=(*self._path, "custom_message_types", at), text=str(error))
        outside, problems = self._termination()
        yield from problems
        members = team.members or self._agents
        agents = AgentChecker(
            self._lookup,
            Roster(
                agents=self._agents,
                members=members,
                outside=outside,
                speakers=self._names.speakers(),
            ),
        )
        for name, agent in team.agents.items():
            yield from agents.part((*self._path, "agents", name), name, agent)
        yield from agents.own(self._path, team)
        match team:
            case SwarmTeam():
                yield from self._first(team)
            case SelectorTeam() if 1 in (len(team.participants or self._agents), len(team.members)):
                text = "found one participant, expected at least two for a selector"
                yield Problem(path=(*self._path, "participants"), text=text)
            case GraphTeam():
                yield from self._graph(team)
            case _:
                pass

    def _participants(self) -> Iterator[Problem]:
        names = self._team.participants
        alone = isinstance(self._team, SwarmTeam | GraphTeam | MagenticOneTeam)
        for at, name in enumerate(names):
            place = (*self._path, "participants", at)
            if name in names[:at]:
                yield Problem(path=place, text=f"found {name!r} again, expected it once")
            if name in self._agents:
                continue
            if not alone:
                both = [*self._agents, *self._lookup.teams]
                yield from check_name(place, name, both, "an agent of this team, or a team")
            elif name in self._lookup.teams:
                way = "type = 'society_of_mind' makes one of it"
                text = f"found the team {name!r}, expected an agent: {way}"
                yield Problem(path=place, text=text)
            else:
                yield from check_name(place, name, self._agents, "an agent of this team")

    def _termination(self) -> tuple[set[str], list[Problem]]:
        """Outside targets of hand-offs, and mistakes of the condition."""
        place = (*self._path, "termination")
        if (text := self._team.ending) is None:
            return set(), []
        condition = ConditionBuilder(text, self._lookup.imports.load_callable)
        try:
            condition.build()
        except ExpressionError as error:
            return set(), [Problem(path=place, text=str(error))]
        outside = {name for table, name in condition.names if table == "targets"}
        if self._team.termination is None:
            return outside, []
        return outside, list(check_names(place, condition.names, self._names.known()))

    def _idle(self) -> Iterator[Problem]:
        """Agents that are no participants, and no tool of another."""
        team = self._team
        if not team.participants:
            return
        tools = (name for agent in team.agents.values() for name in agents_as_tools(agent))
        used = {*team.participants, *tools}
        free = [name for name in team.participants if name not in self._agents]
        for name in team.agents:
            if name not in used:
                hint = did_you_mean(name, free) or "add it to participants, or remove it"
                text = f"found an agent that has no part in the team; {hint}"
                yield Problem(path=(*self._path, "agents", name), text=text)

    def _ends(self) -> bool:
        """True if the file sets an end of the run, however wrong."""
        keys = ("max_turns", "termination")
        written = (self._lookup.written(*self._path, key) for key in keys)
        return bool(self._team.max_turns) or any(each is not None for each in written)

    def _first(self, team: SwarmTeam) -> Iterator[Problem]:
        """A mistake if the first participant of a swarm can't hand over."""
        name = next(iter(team.members), "")
        if name not in team.agents:
            return
        place: KeyPath = (*self._path, "agents", name)
        must = "the first participant of a swarm must be able to hand over"
        match team.agents[name].speaker:
            case AssistantConfig() as agent:
                handoffs = (*place, "handoffs")
                if not agent.handoffs and not self._lookup.written(*handoffs):
                    yield Problem(path=handoffs, text=f"is missing: {must}")
            case UserProxyKind():
                pass
            case _:
                yield Problem(path=place, text=must)

    def _graph(self, team: GraphTeam) -> Iterator[Problem]:
        path, members = self._path, team.members or self._agents
        problems: list[Problem] = []
        what = "a participant"
        for at, edge in enumerate(team.edges):
            place = (*path, "edges", at)
            problems += check_name((*place, "source"), edge.source, members, what)
            problems += check_name((*place, "target"), edge.target, members, what)
            yield from self._lookup.function(
                (*place, "condition_function"), edge.condition_function
            )
        for name in team.nodes:
            problems += check_name((*path, "nodes", name), name, members, what)
        problems += check_name(
            (*path, "default_start_node"), team.default_start_node or "", members, what
        )
        yield from problems
        if not team.members:  # everybody is a tool of somebody: a cycle
            return
        written = self._lookup.written(*path, "edges")
        complete = not isinstance(written, list) or len(team.edges) == len(written)  # pyright: ignore[reportUnknownArgumentType]
        if not problems and complete and len(team.agents) == len(self._agents):
            yield from self._walk(team)

    def _walk(self, team: GraphTeam) -> Iterator[Problem]:
        """Mistakes of a graph: impossible, unreachable, or endless."""
        place = (*self._path, "edges")
        graph = make_graph(team, lambda _: _always)
        if not graph.get_start_nodes():
            text = "is missing: edges lead to every participant, so no one is first"
            yield Problem(path=(*self._path, "default_start_node"), text=text)
            return
        try:
            graph.graph_validate()
        except ValueError as error:
            yield Problem(path=place, text=str(error))
            return
        for name in _unreachable(graph):
            starts = ", ".join(sorted(graph.get_start_nodes()))
            found = f"found no edges from {starts} to {name!r}"
            yield Problem(path=place, text=f"{found}, expected a way to each participant")
        if graph.get_has_cycles() and not self._ends():
            yield Problem(path=(*self._path, "termination"), text=ENDLESS_GRAPH)


def _unreachable(graph: DiGraph) -> Iterator[str]:
    """The nodes that no run of the graph can get to."""
    found = graph.get_start_nodes()
    left = list(found)
    while left:
        targets = {edge.target for edge in graph.nodes[left.pop()].edges} - found
        found |= targets
        left += targets
    return (name for name in graph.nodes if name not in found)


def _always(_: object) -> bool:
    return True
