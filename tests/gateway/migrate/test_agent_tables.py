"""Tables of single agents, with their tools and models."""

from __future__ import annotations

from typing import Any

import pytest
from typing_extensions import override

from gateway.config.agents import AssistantConfig
from gateway.migrate.agent_tables import AgentTables
from gateway.migrate.fields import Fields, Report
from gateway.migrate.part_tables import Form

CLIENT = {
    "provider": "autogen_ext.models.openai.OpenAIChatCompletionClient",
    "config": {"model": "gpt-4o"},
}
CONTEXT = {
    "provider": "autogen_core.model_context.BufferedChatCompletionContext",
    "config": {"buffer_size": 7},
}


class Agents(AgentTables):
    @override
    def team(self, form: Form, path: str) -> str | None:
        return None


@pytest.fixture
def agents() -> Agents:
    return Agents(Report(), "my_tools")


def assistant(**config: Any) -> dict[str, Any]:
    return {"provider": "autogen_agentchat.agents.AssistantAgent", "config": config}


def test_an_agent_has_its_table_under_its_name(agents: Agents) -> None:
    tables: dict[str, Any] = {}
    form = assistant(name="helper", description="Helps.", model_client=CLIENT, handoffs=["boss"])
    assert agents.named_agent(form, "agents[0]", tables) == "helper"
    table = tables["helper"]
    assert (table["description"], table["handoffs"]) == ("Helps.", ["boss"])
    assert table.keys() <= AssistantConfig.model_fields.keys()
    assert agents.parts.models[table["model"]]["model"] == "gpt-4o"
    assert agents.report.lost == []


def test_a_second_agent_of_a_name_is_lost(agents: Agents) -> None:
    tables: dict[str, Any] = {}
    agents.named_agent(assistant(name="a", description="first"), "agents[0]", tables)
    assert agents.named_agent(assistant(name="a"), "agents[1]", tables) is None
    assert tables["a"]["description"] == "first"
    assert agents.report.lost == ["agents[1]: a second agent called 'a' in this team"]


def test_an_agent_of_somebody_else_leaves_no_table(agents: Agents) -> None:
    tables: dict[str, Any] = {}
    form = {"provider": "mine.Agent", "config": {"name": "mine"}}
    assert agents.named_agent(form, "agents[0]", tables) is None
    assert tables == {}
    assert agents.report.lost == ["agents[0]: no agent like mine.Agent"]


def test_a_function_is_left_to_write(agents: Agents) -> None:
    config = {"name": "add up", "description": "Add.", "source_code": "def add(): ..."}
    form = {"provider": "autogen_core.tools.FunctionTool", "config": config}
    table = {"path": "my_tools:add_up", "name": "add up", "description": "Add."}
    assert agents.part("tool", form, "tools[0]", {}) == table
    assert [*agents.report.tools] == ["add up"]
    assert agents.part("tool", None, "tools[1]", {}) is None


def test_an_agents_model_and_context_are_taken(agents: Agents) -> None:
    form = assistant(model_client=CLIENT, model_context=CONTEXT)
    fields, table = Fields(form, "a", agents.report), dict[str, Any]()
    agents.take_model(fields, table)
    agents.take_context(fields, table)
    assert table["model"] in agents.parts.models
    assert table["model_context"] == {"type": "buffered", "buffer_size": 7}
    assert fields.left() == []
