"""Agents of AutoGen's files, with their tools, as tables of config.toml."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from gateway.migrate.fields import Fields, Report, class_of, is_component, plain_value
from gateway.migrate.part_tables import Form, PartTables, kind_of
from gateway.migrate.stubs import SourceTool
from gateway.migrate.toml_text import plain
from teams.kinds import (
    Family,
    ImportPath,
    KindsOf,
    Named,
    Part,
    argument_of,
    family_of,
    meanings_of,
    needs_part,
)

Table: TypeAlias = dict[str, Any]
Tables: TypeAlias = dict[str, Table]


class AgentTables(ABC):
    """The tables of agents, which may hold teams."""

    def __init__(self, report: Report, tools_module: str) -> None:
        self.report = report
        self.parts = PartTables(report)
        self._module = tools_module
        self._lists: Mapping[str, Callable[[Fields], list[Table]]] = {
            "initial_messages": self.parts.initial_messages,
            "contents": self.parts.contents,
            "per_source": _per_source,
        }

    @abstractmethod
    def team(self, form: Form, path: str) -> str | None:
        """Make the team's table; its name, or None."""

    def take_model(self, fields: Fields, table: dict[str, Any]) -> None:
        """Take the model client: its table, and its name for this one."""
        client = fields.component("model_client")
        if name := self.parts.model(client, fields.at("model_client")):
            table["model"] = name

    def take_context(self, fields: Fields, table: dict[str, Any]) -> None:
        """Take the model context."""
        form = fields.component("model_context")
        if context := self.part("context", form, fields.at("model_context"), {}):
            table["model_context"] = context

    def named_agent(self, form: Form, path: str, agents: Tables) -> str | None:
        """Make the agent's table; its name, or None."""
        name = str(form["config"].get("name") or "agent")
        if name in agents:
            self.report.lose(path, f"a second agent called {name!r} in this team")
            return None
        agents[name] = {}  # its place in the order
        made = self.part("agent", form, path, agents)
        if made is None:
            del agents[name]
            return None
        agents[name] = made
        return name

    def _assistant(self, fields: Fields, agents: Tables) -> dict[str, Any]:
        fields.take("name")
        table: dict[str, Any] = fields.copy("description")
        self.take_model(fields, table)
        # An absent text is the default one in config.toml, an empty one none.
        table["system_message"] = plain(fields.take("system_message", ""))
        table["model_client_stream"] = fields.take("model_client_stream", False)
        table["max_tool_iterations"] = fields.take("max_tool_iterations", 1)
        table |= fields.copy("reflect_on_tool_use", "tool_call_summary_format", "metadata")
        handoffs = [plain_value(each) for _, each in fields.items("handoffs")]
        if handoffs:
            table["handoffs"] = handoffs
        self.take_context(fields, table)
        memories = [
            made
            for at, each in fields.items("memory")
            if is_component(each) and (made := self.part("memory", each, at, agents))
        ]
        if memories:
            table["memory"] = memories
        if fields.take("structured_message_factory"):
            said = "write the type as a pydantic model and name it in output_content_type"
            self.report.lose(fields.at("structured_message_factory"), said)
        tools, servers = self._tools(fields, agents)
        fields.rest()
        return table | ({"tools": tools} if tools else {}) | ({"mcp": servers} if servers else {})

    def _tools(
        self, fields: Fields, agents: Tables
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
        made = (self.part("tool", each, at, agents) for at, each in forms if is_component(each))
        return [tool for tool in made if tool], servers

    def part(self, family: Family, form: Form | None, path: str, agents: Tables) -> Table | None:
        """The table of a part; None if no kind makes it."""
        if form is None:
            return None
        name, table_of = kind_of(family, form), KindsOf(family).members
        if name is None or not table_of[name].kind.has_form:
            what = "model context" if family == "context" else family
            self.report.lose(path, f"no {what} like {form['provider']}")
            return None
        fields = Fields(form, path, self.report)
        match family, name:
            case "tool", "path":
                return self._function(fields)
            case "tool", "http":
                return self.parts.web_tool(fields)
            case "agent", "assistant":
                return self._assistant(fields, agents)
            case _:
                table: Table = {"type": name} if "type" in table_of[name].model_fields else {}
                return self._filled(table, table_of[name], fields, agents)

    def _filled(
        self, table: Table, kind: type[Part], fields: Fields, agents: Tables
    ) -> Table | None:
        """The table with its fields; None if it lacks a needed one."""
        is_agent = kind.kind.family == "agent"
        for setting, meanings in meanings_of(kind).items():
            argument, is_needed = (
                argument_of(setting, meanings),
                kind.model_fields[setting].is_required(),
            )
            if argument is None or ImportPath() in meanings:
                continue
            if (read := self._lists.get(setting)) is not None:
                if (items := read(fields)) or is_needed:
                    table[setting] = items
            elif not needs_part(kind, setting):
                for value in fields.copy(argument).values():
                    table[setting] = value
            elif made := self._inner(kind, setting, fields, agents):
                table[setting] = made
            elif is_needed:
                if is_agent:
                    text = f"this agent, whose {setting} can't be taken"
                    self.report.lose(fields.path, text)
                return None
        if kind.kind.name == "code_executor":
            self._code_executor(table, fields)
        if is_agent:
            fields.take("name")
        if kind.kind.unread is not None:
            fields.rest(*kind.kind.unread)
        return None if table in ({"type": "unbounded"}, {"type": "auto"}) else table

    def _inner(self, kind: type[Part], setting: str, fields: Fields, agents: Tables) -> Any:
        """The name or table of a component in a field."""
        meanings = meanings_of(kind)[setting]
        argument = argument_of(setting, meanings) or setting
        form, path = fields.component(argument), fields.at(argument)
        if (family := family_of(kind, setting)) is not None:
            return self.part(family, form, path, agents)
        if form is None:
            return None
        if Named("models") in meanings:
            return self.parts.model(form, path)
        is_team = Named("teams") in meanings
        return self.team(form, path) if is_team else self.named_agent(form, path, agents)

    def _function(self, fields: Fields) -> dict[str, Any]:
        name = str(fields.take("name", "tool"))
        description = str(fields.take("description", ""))
        tool = SourceTool(
            name=name, description=description, source=str(fields.take("source_code", ""))
        )
        if name not in self.report.tools:
            self.report.tools[name] = tool
            said = (
                f"write {tool.function}() in {self._module}.py; Parley never runs the file's code"
            )
            self.report.todo.append(said)
        elif self.report.tools[name].source != tool.source:
            self.report.lose(fields.path, f"another function called {name!r}: give it a path")
        shown = {"name": plain(name)} | ({"description": plain(description)} if description else {})
        return {"path": f"{self._module}:{tool.function}"} | shown

    def _code_executor(self, table: Table, fields: Fields) -> None:
        table.setdefault("model_client_stream", False)
        if "model" in table:
            table["system_message"] = plain(fields.take("system_message", ""))
        else:
            table.pop("system_message", None)  # nobody reads it
        self.report.todo.append("code is denied unless [policies.tools] has an execute_code")


def _per_source(fields: Fields) -> list[Table]:
    return plain_value(fields.take("filter", {}).get("per_source", []))
