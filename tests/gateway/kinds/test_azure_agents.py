"""Agents of Azure AI as tables: built, closed, checked, asked about."""

import tomllib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp.connector
import pytest

from gateway.app.assemble import team_factory
from gateway.app.check import dump_team
from gateway.app.load import load_config
from gateway.config.powers import Power, powers_of
from gateway.config.problems import ConfigError
from gateway.errors import GatewayError
from gateway.references.tools import known_tools
from tests.fakes.azure_agents import FakeAzureAgents
from tests.fakes.certificate import certificate

pytestmark = pytest.mark.usefixtures("fresh_imports")

TOOLS = '''
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b
'''
CONFIG = """
[models.m]
model = "gpt-4o"
[teams.t]
type = "round_robin"
max_turns = 1
[teams.t.agents.ada]
"""
PROJECT = "https://x.services.ai.azure.com/api/projects/p"
AZURE = f"""
type = "azure_ai"
endpoint = "{PROJECT}"
deployment_name = "gpt-mine"
instructions = "Be kind."
tools = ["sums:add"]
hosted_tools = ["code_interpreter"]
temperature = 0.0
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    (tmp_path / "sums.py").write_text(TOOLS)
    return tmp_path / "config.toml"


def load(config: Path, agent: str, more: str = "") -> Any:
    config.write_text(CONFIG + agent + more)
    return load_config(config)


@pytest.fixture
async def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Any]:
    """The service, for a machine that App Service has given an identity."""
    fake = FakeAzureAgents()
    fake.tls, trusting = certificate(tmp_path, "localhost")
    monkeypatch.setattr(aiohttp.connector, "_SSL_CONTEXT_VERIFIED", trusting)
    async with fake:
        monkeypatch.setenv("IDENTITY_ENDPOINT", f"{fake.url}/identity")
        monkeypatch.setenv("IDENTITY_HEADER", "secret")
        yield fake


async def test_threads_share_a_client_of_azure_that_ends_with_parley(
    config: Path, service: FakeAzureAgents
) -> None:
    for _ in range(2):
        service.outcomes += [{"calls": [("c1", "add", '{"a": 1, "b": 2}')]}, {"text": "Three."}]
    loaded = load(config, AZURE.replace(PROJECT, service.url))
    teams = team_factory(loaded, config.parent)
    built: Any = None
    for thread in ("one", "two"):
        built = await teams.build("t", workdir=config.parent / thread)
        answer = await built.team.run(task="1 + 2?")
        assert answer.messages[-1].to_text() == "Three."
        for close in built.holds.closes:  # the thread rests
            await close()
    assert service.tokens == ["token-1"]
    assert service.allowed == ["Bearer token-1"] * 2
    assert [run["instructions"] for run in service.runs] == ["Be kind."] * 2
    assert [run["temperature"] for run in service.runs] == [0, 0]
    assert [tool["type"] for tool in service.runs[0]["tools"]] == ["code_interpreter", "function"]
    assert service.connections == 2  # for the identity, and for all runs
    await teams.aclose()
    with pytest.raises(Exception, match="already been closed"):
        await built.team.run(task="More?")


async def test_a_team_that_only_is_looked_at_asks_nothing(
    config: Path, service: FakeAzureAgents
) -> None:
    loaded = load(config, AZURE.replace(PROJECT, service.url))
    with pytest.raises(GatewayError, match="AzureAIAgent has no component form"):
        await dump_team(loaded, "t")
    assert (service.tokens, service.connections) == ([], 0)


def test_its_model_is_named_and_no_other_can_take_its_place(config: Path) -> None:
    loaded = load(config, AZURE)
    teams = team_factory(loaded, config.parent)
    assert teams.readers("t") == ("gpt-mine (x.services.ai.azure.com)",)
    assert teams.info("t").models == {"ada": "gpt-mine"}
    [choice] = teams.model_choices("t")
    assert choice.problem.startswith("'ada' asks Azure AI over an API")
    assert (known_tools(loaded.config, loaded.imports) or set()) >= {"add", "code_interpreter"}


@pytest.mark.parametrize(
    ("agent", "place", "said"),
    [
        (AZURE.replace("https", "http"), "endpoint", "expected"),
        (AZURE.replace("deployment_name", "deployment"), "deployment", "deployment_name"),
        (AZURE.replace('"code_interpreter"', '"teleport"'), "hosted_tools[0]", "code_interpreter"),
        (AZURE.replace('"code_interpreter"', "{ x = 1 }"), "hosted_tools[0]", "the key 'type'"),
        (AZURE.replace("sums:add", "sums:sub"), "tools[0]", "there is no 'sub' in"),
        (AZURE.replace("0.0", "3"), "temperature", "less than or equal to 2"),
    ],
)
def test_its_mistakes_have_a_place(config: Path, agent: str, place: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load(config, agent)
    assert f"teams.t.agents.ada.{place}" in str(refused.value)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("[policies.tools]\ncode_interpreter = 'ask'", "Azure AI runs code_interpreter without"),
        ("[policies.http]\nhosts = ['example.com']", "x.services.ai.azure.com"),
    ],
)
def test_policies_know_what_azure_does(config: Path, rule: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        load(config, AZURE, rule)


def test_it_is_asked_about() -> None:
    assert powers_of(tomllib.loads(CONFIG + AZURE)) == [
        Power("variable", "AZURE_CLIENT_SECRET"),
        Power("address", "Azure AI's tool code_interpreter"),
        Power("address", PROJECT),
        Power("Python", "sums:add"),
    ]
