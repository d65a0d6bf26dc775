"""No text of a schema or template becomes code, on any road."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from click.testing import CliRunner
from langchain_core.tools import StructuredTool
from mcp.types import Tool
from pydantic import BaseModel

from gateway.cli import main
from teams import MagenticOneGroupChat, SelectorGroupChat
from teams.agents import AssistantAgent, UserProxyAgent
from teams.conversable._model_messages import fill_template
from teams.messages import StructuredMessage, StructuredMessageFactory
from teams.tools.http import HttpTool
from teams.tools.langchain import LangChainToolAdapter
from teams.tools.mcp import StdioMcpToolAdapter, StdioServerParams
from teams.utils import schema_to_pydantic_model
from tests.fakes.scripted_model import ScriptedModel

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


class Secret(BaseModel):
    key: UUID


LEAK = "{key.__init__.__globals__[os].environ[SECRET]}"


def in_a_summary(leak: str) -> None:
    AssistantAgent("a", ScriptedModel(), tool_call_summary_format=leak)


def in_a_selector(leak: str) -> None:
    people = [UserProxyAgent("a"), UserProxyAgent("b")]
    SelectorGroupChat(people, ScriptedModel(), selector_prompt=leak)


def in_magentic_one(leak: str) -> None:
    model = ScriptedModel()
    MagenticOneGroupChat([AssistantAgent("a", model)], model, final_answer_prompt=leak)


def in_a_factory(leak: str) -> None:
    StructuredMessageFactory(input_model=Secret, format_string=leak)


def in_a_message(leak: str) -> None:
    message = StructuredMessage[Secret](content=Secret(key=UUID(int=0)), source="a")
    data = {**message.dump(), "format_string": leak}
    StructuredMessage[Secret].load(data).to_text()


def in_a_chat(leak: str) -> None:
    fill_template(leak, {"key": UUID(int=0), "result": UUID(int=0)}, texts=True)


TEMPLATES = [in_a_summary, in_a_selector, in_magentic_one, in_a_factory, in_a_message, in_a_chat]


@pytest.mark.parametrize("use", TEMPLATES)
def test_a_template_tells_nothing_of_the_process(use: Callable[[str], None]):
    with pytest.raises(ValueError, match="no attribute"):
        use(LEAK)
