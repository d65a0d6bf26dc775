"""Teams of AutoGen's files as tables of config.toml."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from typing_extensions import override

from gateway.config.teams import (
    TEAMS,
    GraphTeam,
    MagenticOneTeam,
    RoundRobinTeam,
    SelectorTeam,
    SwarmTeam,
)
from gateway.migrate.agent_tables import AgentTables
from gateway.migrate.fields import (
    Fields,
    Report,
    class_of,
    is_component,
    plain_value,
    slug,
)
from gateway.migrate.hidden_secrets import hide_secrets
from gateway.migrate.part_tables import Form

_TEAMS = {team.kind.made_by.partition(":")[2]: team for team in TEAMS}
_ENDING = (RoundRobinTeam, SelectorTeam, SwarmTeam)
"""Teams whose runs end though the config sets no end; AutoGen's go on."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The tables of a file, and the report."""

    tables: dict[str, Any]
    report: Report


class Damaged(ValueError):
    """A component with a value of another kind than AutoGen writes."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path or 'it'} holds something that AutoGen doesn't write there")


def import_teams(data: Any, *, tools_module: str) -> Imported:
    """The teams and models of a team file, or of a gallery.

    Functions that stand in for source code are named in `tools_module`. Raises Damaged.
    """
    report = Report()
    made = _TeamTables(report, tools_module)
    for path, form in _outermost(data):
        try:
            made.take(form, path)
        except (AttributeError, LookupError, TypeError) as error:
            raise Damaged(path) from error
    kept = {"models": made.parts.models, "teams": made.teams}
    tables = {key: value for key, value in kept.items() if value}
    return Imported(hide_secrets(tables, "", report), report)


def _outermost(data: Any) -> Iterator[tuple[str, Form]]:
    """The components that stand in no other one."""
    left: list[tuple[str, Any]] = [("", data)]
    while left:
        path, value = left.pop()
        if is_component(value):
            yield path, value
        elif isinstance(value, dict):
            entries = cast("dict[str, Any]", value).items()
            left += reversed([(f"{path}.{key}" if path else key, each) for key, each in entries])
        elif isinstance(value, list):
            items = enumerate(cast("list[Any]", value))
            left += reversed([(f"{path}[{at}]", each) for at, each in items])


class _TeamTables(AgentTables):
    def __init__(self, report: Report, tools_module: str) -> None:
        super().__init__(report, tools_module)
        self.teams: dict[str, dict[str, Any]] = {}

    def take(self, form: Form, path: str) -> None:
        """Make the tables of a component that stands in no other one."""
        if class_of(form) in _TEAMS:
            self.team(form, path)
        elif class_of(form).endswith(("ChatCompletionClient", "ChatCompletionCache")):
            self.parts.model(form, path)
        else:
            kind = class_of(form) or form["provider"]
            text = f"{kind} outside of a team; config.toml has it in a team alone"
            self.report.lose(path, text)

    @override
    def team(self, form: Form, path: str) -> str | None:
        """Make the team's table; its name, or None."""
        kind = _TEAMS.get(class_of(form))
        if kind is None:
            self.report.lose(path, f"no team like {form['provider']}")
            return None
        fields = Fields(form, path, self.report)
        table: dict[str, Any] = {"type": kind.kind.name}
        called = str(fields.take("name") or form.get("label") or kind.kind.name)
        name = slug(called, self.teams, "team")
        if name != called:
            self.report.todo.append(f"the team {called!r} is [teams.{name}] here")
        self.teams[name] = table  # before the teams inside of it: the first is the default
        agents: dict[str, dict[str, Any]] = {}
        members = [
            member
            for at, each in fields.items("participants")
            if (member := self._member(each, at, agents))
        ]
        table |= {"participants": members}
        condition = fields.component("termination_condition")
        if text := self.parts.condition(condition, fields.at("termination_condition")):
            table["termination"] = _bare(text)
        if kind is GraphTeam:
            self._graph(fields, table)
        self._filled(table, kind, fields, agents)
        if kind is MagenticOneTeam and "max_turns" not in table:
            said = "config.toml has no team of this type without max_turns: 20 are used"
            self.report.lose(fields.at("max_turns"), said)
        if kind in _ENDING and not table.keys() & {"max_turns", "termination"}:
            said = "has no end of its own: `parley check` says where a run ends here"
            self.report.todo.append(f"[teams.{name}] {said}")
        if agents:
            table["agents"] = agents
        return name

    def _member(self, form: Any, path: str, agents: dict[str, dict[str, Any]]) -> str | None:
        """The name of a participant, an agent or another team."""
        if not is_component(form):
            self.report.lose(path, "it is no component")
            return None
        if class_of(form) in _TEAMS:
            return self.team(form, path)
        return self.named_agent(form, path, agents)

    def _graph(self, fields: Fields, table: dict[str, Any]) -> None:
        graph = fields.take("graph", {})
        edges: list[dict[str, Any]] = []
        nodes: dict[str, dict[str, Any]] = {}
        for name, node in cast("dict[str, Any]", graph.get("nodes", {})).items():
            if node.get("activation", "all") != "all":
                nodes[name] = {"activation": node["activation"]}
            for edge in node.get("edges", []):
                known = ("target", "condition", "activation_group", "activation_condition")
                found = {key: edge[key] for key in known if edge.get(key) is not None}
                edges.append({"source": name} | plain_value(found))
                if edge.get("condition_function"):
                    said = f"the function that decides on the edge from {name!r}"
                    self.report.lose(fields.at("graph"), said)
        if graph.get("default_start_node"):
            table["default_start_node"] = graph["default_start_node"]
        if edges:
            table["edges"] = edges
        if nodes:
            table["nodes"] = nodes


def _bare(expression: str) -> str:
    """The expression without parentheses around all of it."""
    if not expression.startswith("("):
        return expression
    depth = 0
    for at, sign in enumerate(expression):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return expression[1:-1] if at == len(expression) - 1 else expression
    return expression
