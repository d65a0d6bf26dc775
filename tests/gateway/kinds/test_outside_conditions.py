"""A condition of somebody's own: beside config.toml, or of a package."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gateway.app.assemble import team_factory
from gateway.app.check import dump_team
from gateway.app.load import LoadedConfig, load_config
from gateway.cli import main
from gateway.config.powers import Power, powers_of
from gateway.config.problems import ConfigError
from gateway.migrate.team_tables import import_teams
from tests.gateway.app.test_plugins import brings
from tests.gateway.app.test_rules import found

pytestmark = pytest.mark.usefixtures("fresh_imports")

QUIET = """
from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel

from teams.base import TerminationCondition
from teams.core import Component
from teams.kinds import ImportPath, Named
from teams.messages import StopMessage


class QuietConfig(BaseModel):
    shortest: int
    of: str


class Quiet(TerminationCondition, Component[QuietConfig]):
    component_config_schema = QuietConfig
    terminated = False

    def __init__(
        self,
        shortest: int,
        of: Annotated[str, Named("speakers")] = "user",
        measure: Annotated[Any, ImportPath()] = len,
        **more: object,
    ) -> None:
        if shortest < 1:
            raise LookupError("at least 1")
        self._shortest, self._of, self._measure = shortest, of, measure

    async def __call__(self, messages):
        for each in messages:
            if each.source == self._of and self._measure(each.to_text()) < self._shortest:
                return StopMessage(content="Too quiet", source="Quiet")

    async def reset(self):
        pass

    def _to_config(self):
        return QuietConfig(shortest=self._shortest, of=self._of)


def quieter(than: list[int] = [50]) -> Quiet:
    return Quiet(*than)


def no_condition():
    return 3


def odd(n: Nowhere):
    pass


def words(text: str) -> int:
    return len(text.split())
"""
CONFIG = """
[models.m]
provider = "openai"
model = "gpt-4o"
api_key = "sk-good"
[teams.t]
type = "round_robin"
termination = "{} | MaxMessage(2)"
[teams.t.agents.a]
type = "user_proxy"
input_func = "quiet:words"
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "quiet.py").write_text(QUIET)
    return tmp_path / "config.toml"


def loaded_with(config: Path, condition: str) -> LoadedConfig:
    config.write_text(CONFIG.format(condition))
    return load_config(config)


async def ends(loaded: LoadedConfig) -> str:
    """The reason for which a short task ends at once."""
    folder = loaded.imports.folder or Path()
    built = await team_factory(loaded, folder).build("t", workdir=folder)
    return (await built.team.run(task="Say it.")).stop_reason or ""


@pytest.mark.parametrize(
    "condition",
    [
        "quiet:Quiet(10)",
        "quiet:Quiet(shortest=10, of='user')",
        "quiet:quieter()",
        "(StopMessage() | quiet:Quiet(10, 'user'))",
        "quiet:Quiet(3, measure='quiet:words')",
    ],
)
async def test_one_of_the_folder_ends_a_run(config: Path, condition: str):
    assert await ends(loaded_with(config, condition)) == "Too quiet"


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("quiet:Quite(3)", "there is no 'Quite' in"),
        ("quite:Quiet(3)", "there is no module 'quite'"),
        ("quiet.Quiet(3)", "unexpected"),
        ("Quiet(3)", "there is no condition 'Quiet'; known are External"),
        ("quiet:Quiet()", "quiet:Quiet needs 'shortest'"),
        ("quiet:Quiet('3')", "'shortest': Input should be a valid integer"),
        ("quiet:Quiet(shortst=3)", "has no argument 'shortst'; did you mean 'shortest'?"),
        ("quiet:Quiet(0)", "quiet:Quiet: LookupError: at least 1"),
        ("quiet:Quiet(3, 'usre')", "found 'usre', expected somebody who speaks in this team"),
        ("quiet:Quiet(3, measure='quiet:wrds')", "'measure': there is no 'wrds' in"),
        ("quiet:no_condition()", "quiet:no_condition made a int, expected a TerminationCondition"),
        ("quiet:odd(3)", "NameError: name 'Nowhere' is not defined"),
        ("MaxMessage(quiet:words)", "text needs quotes: 'quiet:words'"),
    ],
)
def test_its_mistakes_are_told(config: Path, condition: str, said: str):
    with pytest.raises(ConfigError) as refused:
        loaded_with(config, condition)
    assert "teams.t.termination" in str(refused.value)
    assert said in str(refused.value)


async def test_a_package_s_is_named_as_ours(tmp_path: Path, config: Path):
    brings(tmp_path, "condition.Quiet = quiet:Quiet", module=QUIET, name="hush", of="quiet")
    loaded = loaded_with(config, "Quiet(10)")
    assert await ends(loaded) == "Too quiet"
    powers = powers_of(tomllib.loads(CONFIG.format("Quiet(10)")))
    assert Power("Python", "condition.Quiet of 'hush'") in powers
    component: Any = json.loads((await dump_team(loaded, "t")).text)
    end = import_teams(component, tools_module="x").tables["teams"]["t"]["termination"]
    assert (
        end
        == "Quiet(shortest=10, of='user') | MaxMessage(max_messages=2, include_agent_event=False)"
    )
    listed = CliRunner().invoke(main, ["plugins"])
    assert listed.exit_code == 0
    assert "hush 1.0" in listed.output


@pytest.mark.parametrize(
    ("point", "said"),
    [
        ("condition.Quiet = quiet:Quite", "AttributeError"),
        ("condition.Quiet = quiet:odd", "name 'Nowhere' is not defined"),
        ("condition.MaxMessage = quiet:Quiet", "'MaxMessage' is one of Parley's own"),
        ("conditions.Quiet = quiet:Quiet", "FAMILY is one of agent, "),
    ],
)
def test_a_package_s_that_fails_is_told(tmp_path: Path, point: str, said: str):
    brings(tmp_path, point, module=QUIET, name="hush", of="quiet")
    listed = CliRunner().invoke(main, ["plugins"])
    assert listed.exit_code == 1
    assert said in listed.output


async def test_a_built_team_s_names_are_looked_up(config: Path):
    made = """
from quiet import Quiet
from teams import RoundRobinGroupChat
from teams.agents import UserProxyAgent

def make():
    return RoundRobinGroupChat([UserProxyAgent("a")], termination_condition=Quiet(3, "usre"))
"""
    (config.parent / "made.py").write_text(made)
    text = "[teams.t]\nfactory = 'made:make'\n[store]\nfolder = 'store'\n"
    [(name, good, said)] = await found(config.parent, text)
    assert (name, good) == ("t", False)
    assert said.endswith("did you mean 'user'?")
