"""A kind of somebody's own, in one file beside config.toml."""

import json
import tomllib
from pathlib import Path

import pytest

from gateway.app.assemble import team_factory
from gateway.app.check import dump_team
from gateway.app.load import load_config
from gateway.base.folder_modules import FolderModules
from gateway.config.descriptions import described_fields
from gateway.config.nesting import servers_of
from gateway.config.powers import Power, powers_of
from gateway.config.problems import ConfigError
from gateway.config.teams import RoundRobinTeam
from gateway.migrate.team_tables import import_teams
from gateway.references.tools import known_tools
from teams.kinds import KindsOf

pytestmark = pytest.mark.usefixtures("fresh_imports")

TOOL = '''
from typing import Annotated, ClassVar

from pydantic import BaseModel

from teams.core import Component
from teams.kinds import ImportPath, Kind, Named, Given, Shown, Tool
from teams.tools import BaseTool


class Arguments(BaseModel):
    text: str


class EchoConfig(BaseModel):
    times: int


class Echo(BaseTool[Arguments, str], Component[EchoConfig]):
    component_config_schema = EchoConfig

    def __init__(self, times: int = 1, model_client=None) -> None:
        super().__init__(Arguments, str, "echo", "Repeats the text.")
        self._times = times
        self.model_client = model_client

    async def run(self, args, cancellation_token):
        return args.text * self._times


class EchoKind(Tool):
    """A tool that repeats."""

    kind: ClassVar = Kind("tool", "echo", "toys:Echo")

    type: str
    """Kind of tool."""

    times: int = 1
    """Number of times."""

    model: Annotated[str | None, Named("models"), Given("model_client")] = None
    """Model that it asks."""

    def shown(self, load):
        return Shown.taking("echo", "text")
'''
AGENT = '''
from typing import Annotated, ClassVar

from pydantic import BaseModel, Field

from teams.agents import BaseChatAgent
from teams.base import Response
from teams.core import Component
from teams.kinds import Agent, Given, ImportPath, Kind, Named
from teams.messages import TextMessage


class ParrotConfig(BaseModel):
    name: str
    phrase: str
    times: int


class Parrot(BaseChatAgent, Component[ParrotConfig]):
    component_config_schema = ParrotConfig

    def __init__(self, name, phrase="Hello", times=1, follows=None, decide=None) -> None:
        super().__init__(name, "Repeats a phrase.")
        self._phrase, self._times, self.follows, self.decide = phrase, times, follows, decide

    produced_message_types = (TextMessage,)

    async def on_messages(self, messages, cancellation_token):
        text = self._phrase * self._times
        return Response(chat_message=TextMessage(content=text, source=self.name))

    async def on_reset(self, cancellation_token):
        pass


class ParrotKind(Agent):
    """An agent that repeats a phrase."""

    kind: ClassVar = Kind("agent", "parrot", "birds:Parrot")

    type: str
    """Kind of agent."""

    words: Annotated[str, Given("phrase")] = "Hello"
    """Words that it says."""

    times: int = Field(default=1, ge=1)
    """Number of times."""

    decide: Annotated[str | None, ImportPath()] = None
    """Import path of a function that decides."""
'''
FLOCK = """
[models.m]
model = "gpt-4o"
[teams.t]
type = "round_robin"
max_turns = 1
[teams.t.agents.a]
type = "birds:ParrotKind"
words = "Hi"
times = 2
"""
CONFIG = """
[models.m]
model = "gpt-4o"
[teams.t]
type = "round_robin"
max_turns = 1
[teams.t.agents.a]
tools = [{ type = "toys:EchoKind", times = 3 }]
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    (tmp_path / "toys.py").write_text(TOOL)
    path = tmp_path / "config.toml"
    path.write_text(CONFIG)
    return path


async def test_a_tool_has_a_table_a_build_and_a_component(config: Path):
    loaded = load_config(config)
    assert known_tools(loaded.config, loaded.imports) == {"execute_code", "CodeExecutor", "echo"}
    component = json.loads((await dump_team(loaded, "t")).text)
    agent = component["config"]["participants"][0]["config"]
    tool = agent["workbench"][0]["config"]["tools"][0]
    assert (tool["provider"], tool["config"]) == ("toys.Echo", {"times": 3})


def write_flock(config: Path, old: str = "", new: str = "") -> None:
    (config.parent / "birds.py").write_text(AGENT)
    config.write_text(FLOCK.replace(old, new) if old else FLOCK)


async def test_an_agent_speaks_and_becomes_a_component_and_toml_again(config: Path):
    write_flock(config)
    loaded = load_config(config)
    assert known_tools(loaded.config, loaded.imports) == {"execute_code", "CodeExecutor"}
    team = (await team_factory(loaded, config.parent).build("t", workdir=config.parent)).team
    result = await team.run(task="Say something.")
    assert [each.to_text() for each in result.messages] == ["Say something.", "HiHi"]
    component = json.loads((await dump_team(loaded, "t")).text)
    told = component["config"]["participants"][0]
    assert (told["provider"], told["config"]) == (
        "birds.Parrot",
        {"name": "a", "phrase": "Hi", "times": 2},
    )
    tables = import_teams(component, tools_module="tools").tables
    agent = tables["teams"]["t"]["agents"]["a"]
    assert agent == {"type": "birds:ParrotKind", "words": "Hi", "times": 2}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("times = 2", "times = 0", "expected a value greater than or equal to 1"),
        ("times = 2", 'decide = "birds:nobody"', "there is no 'nobody' in"),
        ("times = 2", "tmes = 2", "there is no setting 'tmes'; did you mean 'times'?"),
        ("Kind", "Knd", "there is no 'ParrotKnd' in"),
    ],
)
def test_mistakes_of_an_agent_are_told(config: Path, old: str, new: str, said: str):
    write_flock(config, old, new)
    with pytest.raises(ConfigError) as refused:
        load_config(config)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("times = 3", 'times = "x"', "expected a whole number"),
        ("times = 3", "tims = 3", "there is no setting 'tims'; did you mean 'times'?"),
        ("times = 3", 'model = "n"', "found 'n', expected the name of a model"),
        ("EchoKind", "EchoKnd", "there is no 'EchoKnd' in"),
        ("EchoKind", "Echo", "expected a kind of tool that it declares"),
        ("toys:", "tays:", "there is no module 'tays'"),
    ],
)
def test_its_mistakes_are_told_as_those_of_ours(config: Path, old: str, new: str, said: str):
    config.write_text(CONFIG.replace(old, new))
    with pytest.raises(ConfigError) as refused:
        load_config(config)
    assert said in str(refused.value)


def test_its_module_is_python_that_the_operator_is_asked_about(config: Path):
    assert Power("Python", "toys:EchoKind") in powers_of(tomllib.loads(config.read_text()))


def test_who_uses_no_team_does_not_import_it(config: Path):
    (config.parent / "toys.py").write_text("raise RuntimeError")
    load_config(config, references=False)
    write_flock(config)
    (config.parent / "birds.py").write_text("raise RuntimeError")
    team = load_config(config, references=False).config.teams["t"]
    assert isinstance(team, RoundRobinTeam)
    assert (team.members, list(servers_of(team))) == (["a"], [])


def test_a_changed_module_is_read_anew(config: Path):
    modules = FolderModules(config.parent)
    write_flock(config)
    load_config(config)
    modules.note()
    (config.parent / "birds.py").write_text(AGENT.replace("times: int", "often: int"))
    config.write_text(FLOCK.replace("times", "often"))
    modules.forget_changed()
    load_config(config)


def test_its_settings_are_described(config: Path):
    load_config(config)
    table = KindsOf("tool").members["toys:EchoKind"]
    described = described_fields(table)
    assert described["times"].description == "Number of times."
