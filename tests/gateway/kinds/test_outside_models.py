"""A kind of model of somebody's own, in one file."""

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.app.assemble import team_factory
from gateway.app.check import dump_team
from gateway.app.load import load_config
from gateway.app.models import model_table
from gateway.app.schema import config_schema
from gateway.cli import main
from gateway.config.descriptions import described_fields
from gateway.config.models import MODELS
from gateway.config.powers import Power, powers_of
from gateway.config.problems import ConfigError
from gateway.migrate.team_tables import import_teams
from tests.gateway.app.test_plugins import brings

pytestmark = pytest.mark.usefixtures("fresh_imports")

MODEL = '''
from typing import Annotated, ClassVar

from pydantic import BaseModel, Field, SecretStr

from teams.kinds import Given, Kind, ModelKind, Named
from teams.models.replay import ReplayChatCompletionClient


class EchoConfig(BaseModel):
    phrase: str
    times: int


class Echo(ReplayChatCompletionClient):
    component_config_schema = EchoConfig

    def __init__(self, phrase="Hello", times=1, key=None, behind=None) -> None:
        super().__init__([phrase * times] * 9)
        self._phrase, self._times, self.key, self.behind = phrase, times, key, behind


class EchoModelKind(ModelKind):
    """A model that repeats a phrase."""

    kind: ClassVar = Kind("model", "echo", "echoes:Echo")
    is_local = True

    words: Annotated[str, Given("phrase")] = "Hello"
    """Words that it says."""

    times: int = Field(default=1, ge=1)
    """Number of times."""

    key: SecretStr | None = None
    """Key to it."""

    behind: Annotated[str | None, Named("models")] = None
    """Model that it asks."""
'''
PATH, NAME = "echoes:EchoModelKind", "echo"
CONFIG = """
[models.m]
provider = "PROVIDER"
words = "Hi"
times = 2
[models.n]
provider = "PROVIDER"
key_env = "ECHO_KEY"
behind = "m"
[teams.t]
type = "round_robin"
max_turns = 1
[teams.t.agents.a]
model_client_stream = false
"""


@pytest.fixture(params=[PATH, NAME])
def provider(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    monkeypatch.setenv("ECHO_KEY", "open sesame")
    if request.param == NAME:
        brings(tmp_path, f"model.{NAME} = {PATH}", module=MODEL, name="parley-echo", of="echoes")
    else:
        (tmp_path / "echoes.py").write_text(MODEL)
    return request.param


def written(folder: Path, provider: str, old: str = "", new: str = "") -> Path:
    path = folder / "config.toml"
    path.write_text(CONFIG.replace(old, new, 1).replace("PROVIDER", provider))
    return path


async def test_it_has_a_table_a_build_a_component_and_toml(tmp_path: Path, provider: str):
    loaded = load_config(written(tmp_path, provider))
    teams = team_factory(loaded, tmp_path)
    team = (await teams.build("t", workdir=tmp_path)).team
    result = await team.run(task="Say something.")
    assert [each.to_text() for each in result.messages] == ["Say something.", "HiHi"]
    component = json.loads((await dump_team(loaded, "t")).text)
    client = component["config"]["participants"][0]["config"]["model_client"]
    assert (client["provider"], client["config"]) == ("echoes.Echo", {"phrase": "Hi", "times": 2})
    tables = import_teams(component, tools_module="tools").tables
    assert tables["models"] == {"model": {"provider": provider, "words": "Hi", "times": 2}}


FACTORY = """
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent


def made(model_client):
    assert (model_client.key, model_client.behind.key) == ("open sesame", None)
    return RoundRobinGroupChat([AssistantAgent("a", model_client)], max_turns=1)
"""


async def test_its_secrets_and_the_models_behind_it_are_given_to_its_class(
    tmp_path: Path, provider: str
):
    (tmp_path / "factories.py").write_text(FACTORY)
    other = '[teams.u]\nfactory = "factories:made"\n[teams'
    loaded = load_config(written(tmp_path, provider, "[teams", other))
    teams = team_factory(loaded, tmp_path)
    assert (await teams.build("u", workdir=tmp_path, model="n")).team


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("times = 2", "times = 0", "expected a value greater than or equal to 1"),
        ("times = 2", "tmes = 2", "there is no setting 'tmes'; did you mean 'times'?"),
        ("times = 2", 'fallback = ["o"]', "found 'o', expected the name of a model"),
        ("times = 2", 'behind = "o"', "found 'o', expected the name of a model"),
        ("times = 2", 'behind = "n"', "found m -> n -> m, expected a model that does not lead"),
        ('"ECHO_KEY"', '"ECHO_KEI"', "the environment variable ECHO_KEI is not set"),
        ("provider", "prvider", "there is no setting 'prvider'; did you mean 'provider'?"),
    ],
)
def test_its_mistakes_are_told_as_those_of_ours(
    tmp_path: Path, provider: str, old: str, new: str, said: str
):
    with pytest.raises(ConfigError) as refused:
        load_config(written(tmp_path, provider, old, new))
    assert said in str(refused.value)
    assert str(refused.value).count("models.") == 1


@pytest.mark.parametrize(
    ("provider", "said"),
    [
        ("echoes:EchoModelKnd", "there is no 'EchoModelKnd' in"),
        ("echos:EchoModelKind", "there is no module 'echos'"),
        ("echoes:EchoConfig.phrase", "there is no 'phrase'"),
        ("echoes:__name__", "is a str, expected a function or a class"),
        ("birds:ParrotKind", "expected a kind of model that it declares"),
        ("ech", "found 'ech', expected a provider; did you mean 'echo'?"),
        ("broken", "importing 'nothing:Kind' failed: ModuleNotFoundError"),
    ],
)
def test_one_that_is_none_is_told_at_its_provider(tmp_path: Path, provider: str, said: str):
    points = f"model.{NAME} = {PATH}\nmodel.broken = nothing:Kind"
    brings(tmp_path, points, module=MODEL, name="parley-echo", of="echoes")
    (tmp_path / "birds.py").write_text(
        "from typing import ClassVar\nfrom teams.kinds import Agent, Kind\n"
        'class ParrotKind(Agent):\n    kind: ClassVar = Kind("agent", "parrot", "birds:Parrot")\n'
    )
    text = f'[models.m]\nprovider = "{provider}"\n[teams.t]\nfactory = "birds:ParrotKind"\n'
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(ConfigError) as refused:
        load_config(tmp_path / "config.toml")
    assert said in str(refused.value)
    assert str(refused.value).count("models.m.provider") == 1


@pytest.mark.parametrize(
    "power", [Power("Python", PATH), Power("Python", "model.echo of 'parley-echo'")]
)
def test_its_code_is_python_that_the_operator_is_asked_about(tmp_path: Path, power: Power):
    brings(tmp_path, f"model.{NAME} = {PATH}", module=MODEL, name="parley-echo", of="echoes")
    provider = PATH if power.what == PATH else NAME
    assert powers_of(tomllib.loads(CONFIG.replace("PROVIDER", provider)))[0] == power


def test_who_uses_no_team_does_not_import_it(tmp_path: Path, provider: str):
    (tmp_path / "echoes.py").write_text("raise RuntimeError")
    config = load_config(written(tmp_path, provider), references=False).config
    assert [each.provider for each in config.models.values()] == [provider, provider]


async def test_it_stands_in_the_table_of_models_the_docs_and_the_schema(
    tmp_path: Path, provider: str
):
    loaded = load_config(written(tmp_path, provider))
    rows = (await model_table(loaded)).splitlines()
    assert rows[1].split()[:3] == ["*", "m", provider]
    kind = MODELS.members[provider]
    assert described_fields(kind)["times"].description == "Number of times."
    if provider == NAME:
        assert "words" in config_schema(print)["$defs"]["EchoModelKind"]["properties"]
        assert "model   echo" in CliRunner().invoke(main, ["plugins"]).stdout
