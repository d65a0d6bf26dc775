"""Tools after AutoGen's extensions as tables: checked, built, asked about, imported."""

import json
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from gateway.app.assemble import team_factory
from gateway.app.check import dump_team
from gateway.app.load import load_config
from gateway.config.powers import Power, powers_of
from gateway.config.problems import ConfigError
from gateway.factory.ownership import all_parts
from gateway.migrate.team_tables import import_teams
from gateway.references.tools import called_tools
from teams.core import CancellationToken
from teams.tools.azure import AzureAISearchTool
from teams.tools.langchain import LangChainToolAdapter
from tests.fakes.azure_search import INDEX, KEY, FakeAzureSearch

pytestmark = pytest.mark.usefixtures("fresh_imports")

SHELF = '''
from langchain_core.tools import tool


@tool
def find_book(title: str) -> str:
    """Find the shelf of a book."""
    return f"{title}: shelf 12"
'''
CONFIG = """
[models.m]
model = "gpt-4o"
[teams.t]
type = "round_robin"
max_turns = 1
[teams.t.agents.a]
tools = [TOOL]
"""
BOOK = '{ langchain = "shelf:find_book" }'
SEARCH = (
    f'{{ azure_search = "URL", index_name = "{INDEX}", name = "find", api_key = "{KEY}", top = 2 }}'
)
THEMES = '{ graphrag = "global", folder = "." }'


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    (tmp_path / "shelf.py").write_text(SHELF)
    return tmp_path / "config.toml"


def load(config: Path, *tools: str) -> Any:
    config.write_text(CONFIG.replace("TOOL", ", ".join(tools)))
    return load_config(config)


async def test_they_are_known_built_and_called(config: Path) -> None:
    found = {"@search.score": 1.5, "title": "Momo"}
    async with FakeAzureSearch(found) as service:
        loaded = load(config, BOOK, SEARCH.replace("URL", service.url))
        group = loaded.config.teams["t"]
        assert called_tools([group], loaded.imports) == {"find", "find_book"}
        team = (await team_factory(loaded, config.parent).build("t", workdir=config.parent)).team
        parts: dict[type, Any] = {type(each): each for each in all_parts(team)}
        search = await parts[AzureAISearchTool].run_json({"query": "men"}, CancellationToken())
        assert [each.content["title"] for each in search.results] == ["Momo"]
        assert service.requests[0]["top"] == 2
        shelf = parts[LangChainToolAdapter]
        assert await shelf.run_json({"title": "Momo"}, CancellationToken()) == "Momo: shelf 12"


@pytest.mark.parametrize(
    ("tool", "place", "said"),
    [
        ('{ langchain = "shelf:nothing" }', "tools[0].langchain", "there is no 'nothing' in"),
        ('{ langchain = "shelf:__name__" }', "tools[0].langchain", "A str is no tool of LangChain"),
        (SEARCH.replace("URL", "x.net"), "tools[0].azure_search", "expected"),
        (SEARCH.replace("URL", "http://x").replace("top = 2", "top = 0"), "tools[0].top", "0"),
        (
            SEARCH.replace("URL", "http://x").replace("top = 2", 'query_type = "semantic"'),
            "tools[0]",
            "a semantic search needs semantic_config_name",
        ),
        (THEMES.replace('"."', '"gone"'), "tools[0].folder", "gone', expected a folder"),
        (THEMES.replace("global", "all"), "tools[0].graphrag", "expected 'global' or 'local'"),
        pytest.param(
            THEMES,
            "tools[0]",
            "pip install 'parley-gateway[graphrag]'",
            marks=pytest.mark.skipif(find_spec("graphrag") is not None, reason="it is here"),
        ),
    ],
)
def test_their_mistakes_have_a_place(config: Path, tool: str, place: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load(config, tool)
    assert f"teams.t.agents.a.{place}" in str(refused.value)
    assert said in str(refused.value)


def test_they_are_asked_about(config: Path) -> None:
    tools = ", ".join([BOOK, SEARCH.replace("URL", "https://x.net"), THEMES])
    assert powers_of(tomllib.loads(CONFIG.replace("TOOL", tools))) == [
        Power("Python", "shelf:find_book"),
        Power("address", "https://x.net"),
        Power("folder", "."),
    ]


async def test_a_search_becomes_a_component_and_a_table_again(config: Path) -> None:
    loaded = load(config, SEARCH.replace("URL", "https://x.search.windows.net"))
    dumped = (await dump_team(loaded, "t")).text
    assert KEY not in dumped
    made = import_teams(json.loads(dumped), tools_module="tools")
    assert made.report.lost == []
    (tool,) = made.tables["teams"]["t"]["agents"]["a"]["tools"]
    assert tool["azure_search"] == "https://x.search.windows.net"
    assert (tool["index_name"], tool["name"], tool["top"]) == (INDEX, "find", 2)
    assert "api_key" not in tool


@pytest.mark.parametrize(
    ("family", "provider"),
    [
        ("agent", "autogen_ext.agents.azure.AzureAIAgent"),
        ("agent", "autogen_ext.agents.video_surfer.VideoSurfer"),
        ("memory", "autogen_ext.experimental.task_centric_memory.utils.Teachability"),
        ("memory", "autogen_ext.memory.mem0.Mem0Memory"),
    ],
)
def test_no_component_becomes_their_table(family: str, provider: str) -> None:
    def form(kind: str, **settings: Any) -> dict[str, Any]:
        return {"provider": kind, "config": settings}

    part = form(provider, name="ada")
    assistant = form("autogen_agentchat.agents.AssistantAgent", name="bob", memory=[part])
    agents = [assistant if family == "memory" else part, form(assistant["provider"], name="eve")]
    team = form("autogen_agentchat.teams.RoundRobinGroupChat", participants=agents, max_turns=1)
    made = import_teams(json.loads(json.dumps(team)), tools_module="tools")
    assert [lost for lost in made.report.lost if f"no {family} like {provider}" in lost]
