"""Findings of `parley check` about tools that a provider does not take."""

from pathlib import Path

import pytest

from tests.fakes.changing_server import DESK, ChangingServer
from tests.gateway.app.test_rules import found

pytestmark = [
    pytest.mark.timeout(40),  # a server is started
    pytest.mark.usefixtures("fresh_imports"),
]

MODEL = 'provider = "openai"\nmodel = "gpt-4o"\nbase_url = "http://127.0.0.1:9/v1"'
MADE = """
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.models.cache import ChatCompletionCache
from teams.models.fallback import FallbackChatCompletionClient
from teams.models.openai import OpenAIChatCompletionClient
from teams.tools import AgentTool, FunctionTool

def look(key: str) -> str:
    "Look."
    return key

class Deep(FunctionTool):
    @property
    def schema(self):
        schema = {"type": "string"}
        for _ in range(5000):
            schema = {"type": "array", "items": schema}
        return {**super().schema, "parameters": {"type": "object", "properties": {"a": schema}}}

def deep():
    return Deep(look, "Look.", name="deep")

def model():
    return OpenAIChatCompletionClient(model="gpt-4o", api_key="k", base_url="http://127.0.0.1:9")

def team(*tools, client=None):
    front = AssistantAgent("front", client or model(), tools=[*tools])
    return RoundRobinGroupChat([front], max_turns=1)

def plain():
    return team(look)

def odd():
    return team(FunctionTool(look, "Look.", name="look"))

def nested():
    return team(deep(), look)

def cached():
    return team(deep(), client=ChatCompletionCache(model()))

def either():
    return team(deep(), client=FallbackChatCompletionClient([model(), model()]))

def inside():
    inner = AssistantAgent("inner", model(), tools=[deep(), look])
    return team(look, AgentTool(inner))
"""
TEAM = '[store]\nfolder = "store"\n[teams.desk]\nfactory = "made:{name}"\n'


def text_of(name: str) -> str:
    return TEAM.format(name=name)


async def notes(folder: Path, text: str, *, offline: bool = True) -> list[str]:
    told = await found(folder, text, offline=offline, kind="team")
    assert all(good for _, good, _ in told)
    return [said for _, _, said in told if "left out" in said]


@pytest.mark.parametrize(
    ("name", "agents"),
    [
        ("plain", []),
        ("odd", []),
        ("nested", ["front"]),
        ("cached", ["front"]),
        ("either", ["front"]),
        ("inside", ["inner"]),
    ],
)
async def test_a_schema_that_is_nested_too_deeply_is_told_of_its_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, agents: list[str]
):
    (tmp_path / "made.py").write_text(MADE)
    monkeypatch.chdir(tmp_path)
    said = "warning: The tool 'deep' is left out, with a schema nested too deeply, of all requests"
    wanted = [f"{said} of the agent {agent!r}" for agent in agents]
    assert await notes(tmp_path, text_of(name)) == wanted


async def test_a_second_tool_of_a_name_is_told_once_the_servers_are_asked(tmp_path: Path):
    shop = ChangingServer(tmp_path)
    text = DESK.replace('provider = "demo"', MODEL).replace('["shop"]', '["shop", "store"]')
    text += shop.table() + shop.table().replace("[mcp.shop]", "[mcp.store]")
    assert await notes(tmp_path, text) == []
    [said] = await notes(tmp_path, text, offline=False)
    assert said.startswith("warning: A second tool 'add' is left out")
    assert said.endswith("of all requests of the agent 'clerk'")
