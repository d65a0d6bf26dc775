"""No text of a schema becomes code, on any road."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from langchain_core.tools import StructuredTool
from mcp.types import Tool
from pydantic import BaseModel

from gateway.cli import main
from teams.messages import StructuredMessageFactory
from teams.tools.http import HttpTool
from teams.tools.langchain import LangChainToolAdapter
from teams.tools.mcp import StdioMcpToolAdapter, StdioServerParams
from teams.utils import schema_to_pydantic_model

NAME = "(__import__('os').system('id > PWNED'), str)[1]"
POINT = {"$ref": f"#/$defs/{NAME}"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"x": POINT},
    "$defs": {NAME: {"type": "object", "properties": {"y": POINT}}},
}
VALUE = {"x": {"y": {"y": None}}}
SHAPE = {"json_schema": SCHEMA, "content_model_name": NAME, "format_string": None}
FACTORY = {"provider": "autogen_agentchat.messages.StructuredMessageFactory", "config": SHAPE}


def of_factory() -> type[BaseModel]:
    return StructuredMessageFactory.load_component(FACTORY).ContentModel


def of_mcp() -> type[BaseModel]:
    tool = Tool.model_validate({"name": NAME, "inputSchema": SCHEMA})
    return StdioMcpToolAdapter(StdioServerParams(command="x"), tool).args_type()


def of_http() -> type[BaseModel]:
    return HttpTool(NAME, host="example.com", port=443, json_schema=SCHEMA).args_type()


def of_langchain() -> type[BaseModel]:
    tool = StructuredTool(name=NAME, description="", args_schema=SCHEMA, func=print)
    return LangChainToolAdapter(tool).args_type()


ROADS = [schema_to_pydantic_model, of_factory, of_mcp, of_http, of_langchain]


@pytest.mark.parametrize("road", ROADS)
def test_a_schema_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, road: Callable[..., type[BaseModel]]
):
    monkeypatch.chdir(tmp_path)
    model = road(SCHEMA) if road is schema_to_pydantic_model else road()
    assert model.model_validate(VALUE).model_dump() == VALUE
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["check --offline", "teams list", "run --team studio Hi"])
def test_a_component_file_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
):
    monkeypatch.chdir(tmp_path)
    model = {"chat_completions": ["{}"], "model_info": INFO}
    config = {
        "name": "a",
        "description": "",
        "model_client": {
            "provider": "teams.models.replay.ReplayChatCompletionClient",
            "config": model,
        },
        "structured_message_factory": FACTORY,
        "reflect_on_tool_use": False,
        "tool_call_summary_format": "{result}",
    }
    agent = {"provider": "teams.agents.AssistantAgent", "config": config}
    crew = {"participants": [agent], "max_turns": 1}
    team = {"provider": "teams.RoundRobinGroupChat", "config": crew}
    Path("team.json").write_text(json.dumps(team))
    Path("mine.toml").write_text(
        "[teams.studio]\ncomponent = 'team.json'\n[store]\nfolder = 'store'\n"
    )
    result = CliRunner().invoke(main, [*command.split(), "--config", "mine.toml"])
    assert result.exit_code == 0, result.output
    assert not Path("PWNED").exists()


INFO = {
    "vision": False,
    "function_calling": True,
    "json_output": True,
    "family": "unknown",
    "structured_output": True,
}
