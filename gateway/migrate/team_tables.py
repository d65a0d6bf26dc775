"""Teams of AutoGen's files as tables of config.toml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from gateway.migrate.fields import (
    Fields,
    Report,
    class_of,
    is_component,
    plain_value,
    slug,
)
from gateway.migrate.hidden_secrets import hide_secrets
from gateway.migrate.part_tables import Form, PartTables
from gateway.migrate.stubs import SourceTool
from gateway.migrate.toml_text import plain

_TEAMS: Mapping[str, str] = {
    "RoundRobinGroupChat": "round_robin",
    "SelectorGroupChat": "selector",
    "Swarm": "swarm",
    "GraphFlow": "graph",
    "MagenticOneGroupChat": "magentic_one",
}


@dataclass(frozen=True, slots=True)
class Imported:
    """The tables of a file, and the report."""

    tables: dict[str, Any]
    report: Report


def import_teams(data: Any, *, tools_module: str) -> Imported:
    """The teams and models of a team file, or of a gallery.

    Functions that stand in for source code are named in `tools_module`.
    """
    report = Report()
    made = _TeamTables(report, tools_module)
    for path, form in _outermost(data):
        if class_of(form) in _TEAMS:
            made.team(form, path)
        elif class_of(form).endswith(("ChatCompletionClient", "ChatCompletionCache")):
            made.parts.model(form, path)
        else:
            kind = class_of(form) or form["provider"]
            report.lose(path, f"{kind} outside of a team; config.toml has it in a team alone")
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


class _TeamTables:
    def __init__(self, report: Report, tools_module: str) -> None:
        self.report = report
        self.parts = PartTables(report)
        self.teams: dict[str, dict[str, Any]] = {}
        self._module = tools_module

    def team(self, form: Form, path: str) -> str | None:
        """Make the team's table; its name, or None."""
        kind = _TEAMS.get(class_of(form))
        if kind is None:
            self.report.lose(path, f"no team like {form['provider']}")
            return None
        fields = Fields(form, path, self.report)
        table: dict[str, Any] = {"type": kind}
        called = str(fields.take("name") or form.get("label") or kind)
        name = slug(called, self.teams, "team")
        if name != called:
            self.report.todo.append(f"the team {called!r} is [teams.{name}] here")
        self.teams[name] = table  # before the teams inside of it: the first is the default
        table |= fields.copy("description", "max_turns", "emit_team_events")
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
        self._model(fields, table)
        match kind:
            case "selector":
                names = ("selector_prompt", "allow_repeated_speaker", "max_selector_attempts")
                table |= fields.copy(*names, "model_client_streaming")
                self._context(fields, table)
            case "magentic_one":
                table |= fields.copy("max_stalls", "final_answer_prompt")
                if "max_turns" not in table:
                    said = "config.toml has no team of this type without max_turns: 20 are used"
                    self.report.lose(fields.at("max_turns"), said)
            case "graph":
                self._graph(fields, table)
            case _:
                pass
        fields.rest()
        if agents:
            table["agents"] = agents
        return name

    def _model(self, fields: Fields, table: dict[str, Any]) -> None:
        client = fields.component("model_client")
        if name := self.parts.model(client, fields.at("model_client")):
            table["model"] = name

    def _context(self, fields: Fields, table: dict[str, Any]) -> None:
        form = fields.component("model_context")
        if context := self.parts.context(form, fields.at("model_context")):
            table["model_context"] = context

    def _member(self, form: Any, path: str, agents: dict[str, dict[str, Any]]) -> str | None:
        """The name of a participant, an agent or another team."""
        if not is_component(form):
            self.report.lose(path, "it is no component")
            return None
        if class_of(form) in _TEAMS:
            return self.team(form, path)
        return self._named_agent(form, path, agents)

    def _named_agent(self, form: Form, path: str, agents: dict[str, dict[str, Any]]) -> str | None:
        name = str(form["config"].get("name") or "agent")
        if name in agents:
            self.report.lose(path, f"a second agent called {name!r} in this team")
            return None
        agents[name] = {}  # its place in the order
        made = self._agent(form, path, agents)
        if made is None:
            del agents[name]
            return None
        agents[name] = made
        return name

    def _agent(
        self, form: Form, path: str, agents: dict[str, dict[str, Any]]
    ) -> dict[str, Any] | None:
        fields = Fields(form, path, self.report)
        fields.take("name")
        match class_of(form):
            case "AssistantAgent":
                table = self._assistant(fields, agents)
            case "UserProxyAgent":
                table = {"type": "user_proxy"} | fields.copy("description")
            case "CodeExecutorAgent":
                table = self._code_executor(fields)
            case "SocietyOfMindAgent":
                table: dict[str, Any] = {"type": "society_of_mind"}
                table |= fields.copy("description", "instruction", "response_prompt")
                self._model(fields, table)
                self._context(fields, table)
                inner = fields.component("team")
                team = inner and self.team(inner, fields.at("team"))
                if not team:
                    self.report.lose(path, "this agent, whose team can't be taken")
                    return None
                table["team"] = team
            case "MessageFilterAgent":
                inner = fields.component("wrapped_agent")
                made = inner and self._agent(inner, fields.at("wrapped_agent"), agents)
                if not made:
                    self.report.lose(path, "this agent, whose agent can't be taken")
                    return None
                rules = fields.take("filter", {}).get("per_source", [])
                table = {"type": "message_filter", "per_source": plain_value(rules), "agent": made}
            case _:
                self.report.lose(path, f"no agent like {form['provider']}")
                return None
        fields.rest()
        return table

    def _assistant(self, fields: Fields, agents: dict[str, dict[str, Any]]) -> dict[str, Any]:
        table: dict[str, Any] = fields.copy("description")
        self._model(fields, table)
        # An absent text is the default one in config.toml, an empty one none.
        table["system_message"] = plain(fields.take("system_message", ""))
        table["model_client_stream"] = fields.take("model_client_stream", False)
        table["max_tool_iterations"] = fields.take("max_tool_iterations", 1)
        table |= fields.copy("reflect_on_tool_use", "tool_call_summary_format", "metadata")
        handoffs = [plain_value(each) for _, each in fields.items("handoffs")]
        if handoffs:
            table["handoffs"] = handoffs
        self._context(fields, table)
        memories = [
            made
            for at, each in fields.items("memory")
            if is_component(each) and (made := self.parts.memory(each, at))
        ]
        if memories:
            table["memory"] = memories
        if fields.take("structured_message_factory"):
            said = "write the type as a pydantic model and name it in output_content_type"
            self.report.lose(fields.at("structured_message_factory"), said)
        tools, servers = self._tools(fields, agents)
        return table | ({"tools": tools} if tools else {}) | ({"mcp": servers} if servers else {})

    def _tools(
        self, fields: Fields, agents: dict[str, dict[str, Any]]
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        forms = fields.items("tools")
        servers: list[dict[str, Any]] = []
        benches = fields.items("workbench")
        if alone := fields.component("workbench"):  # as older files have it
            benches = [(fields.at("workbench"), alone)]
        for at, bench in benches:
            if not is_component(bench):
                continue
            inner = Fields(bench, at, self.report)
            match class_of(bench):
                case "StaticWorkbench" | "StaticStreamWorkbench":
                    forms += inner.items("tools")
                    inner.rest()
                case "McpWorkbench":
                    if server := self.parts.server(bench, at, len(servers) + 1):
                        servers.append(server)
                case _:
                    self.report.lose(at, f"no workbench like {bench['provider']}")
        made = (self._tool(each, at, agents) for at, each in forms if is_component(each))
        return [tool for tool in made if tool], servers

    def _tool(
        self, form: Form, path: str, agents: dict[str, dict[str, Any]]
    ) -> dict[str, Any] | None:
        fields = Fields(form, path, self.report)
        last = fields.copy("return_value_as_last_message")
        match class_of(form):
            case "FunctionTool":
                return self._function(fields)
            case "AgentTool":
                inner = fields.component("agent")
                name = inner and self._named_agent(inner, fields.at("agent"), agents)
                return {"agent": name} | last if name else None
            case "TeamTool":
                inner = fields.component("team")
                name = inner and self.team(inner, fields.at("team"))
                shown = fields.copy("name", "description")
                return {"team": name} | shown | last if name else None
            case "PythonCodeExecutionTool":
                executor = self.parts.executor(fields.component("executor"), fields.at("executor"))
                return {"executor": executor} if executor else None
            case _:
                self.report.lose(path, f"no tool like {form['provider']}")
                return None

    def _function(self, fields: Fields) -> dict[str, Any]:
        name = str(fields.take("name", "tool"))
        description = str(fields.take("description", ""))
        tool = SourceTool(
            name=name, description=description, source=str(fields.take("source_code", ""))
        )
        if name not in self.report.tools:
            self.report.tools[name] = tool
            said = f"write {tool.function}() in {self._module}.py; nobody executes the file's code"
            self.report.todo.append(said)
        elif self.report.tools[name].source != tool.source:
            self.report.lose(fields.path, f"another function called {name!r}: give it a path")
        shown = {"name": plain(name)} | ({"description": plain(description)} if description else {})
        return {"path": f"{self._module}:{tool.function}"} | shown

    def _code_executor(self, fields: Fields) -> dict[str, Any]:
        table: dict[str, Any] = {"type": "code_executor"}
        table |= fields.copy("description", "sources", "supported_languages")
        table |= fields.copy("max_retries_on_error")
        self._model(fields, table)
        if "model" in table:
            table["system_message"] = plain(fields.take("system_message", ""))
        else:
            fields.take("system_message")  # nobody reads it
        table["model_client_stream"] = fields.take("model_client_stream", False)
        self._context(fields, table)
        executor = fields.component("code_executor")
        if made := self.parts.executor(executor, fields.at("code_executor")):
            table["executor"] = made
        self.report.todo.append("code is denied unless [policies.tools] has an execute_code")
        return table

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
