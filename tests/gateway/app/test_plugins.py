"""Kinds of installed packages: named, contained and listed."""

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gateway.app.assemble import team_factory
from gateway.app.check import dump_team
from gateway.app.load import load_config
from gateway.base.exit_codes import ExitCode
from gateway.cli import main
from gateway.config.powers import Power, powers_of
from gateway.config.problems import ConfigError
from gateway.migrate.team_tables import import_teams
from tests.gateway.app.test_find_adapters import install
from tests.gateway.kinds.test_outside import AGENT, TOOL

pytestmark = pytest.mark.usefixtures("fresh_imports")

CONFIG = """
[models.m]
provider = "openai"
model = "gpt-4o"
api_key = "sk-good"
[teams.t]
type = "round_robin"
max_turns = 1
[teams.t.agents.a]
type = "parrot"
words = "Hi"
"""
PLAIN = f"{AGENT}\nclass Odd:\n    kind = ParrotKind.kind\n"
PART = f"{AGENT}\nfrom teams.kinds import Part\nclass Odd(Part):\n    kind = ParrotKind.kind\n"
MADE = f'{AGENT}\nPOLLY = ParrotKind(type="parrot")\n'
UNDEFINED = f"{AGENT}\nclass Odd(ParrotKind):\n    nest: 'Nowhere'\n"
LATER = f"{AGENT}\nclass Odd(ParrotKind):\n    model_config = {{'defer_build': True}}\n"
DEFERRED = f"{LATER}    nest: Parrot\n"
BROKEN = f"""
class Nest:
    __get_pydantic_core_schema__ = classmethod(lambda *_: {{"type": "nest"}})
{LATER}    nest: Nest
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(CONFIG)
    return path


def brings(
    folder: Path,
    points: str = "agent.parrot = birds:ParrotKind",
    *,
    module: str = AGENT,
    name: str = "parley-birds",
    of: str = "birds",
) -> None:
    install(folder / "site", points, name=name, module=module, of=of, group="parley.kinds")


def refusal(config: Path) -> str:
    with pytest.raises(ConfigError) as refused:
        load_config(config)
    return str(refused.value)


async def test_a_kind_of_a_package_is_as_one_of_ours(tmp_path: Path, config: Path):
    brings(tmp_path)
    loaded = load_config(config)
    team = (await team_factory(loaded, tmp_path).build("t", workdir=tmp_path)).team
    result = await team.run(task="Say something.")
    assert [each.to_text() for each in result.messages] == ["Say something.", "Hi"]
    component = json.loads((await dump_team(loaded, "t")).text)
    tables = import_teams(component, tools_module="tools").tables
    agent = tables["teams"]["t"]["agents"]["a"]
    assert agent == {"type": "parrot", "words": "Hi", "times": 1}


def test_a_component_becomes_a_table_of_it_without_a_config(tmp_path: Path):
    brings(tmp_path)
    bird = {"provider": "birds.Parrot", "config": {"name": "a", "phrase": "Hi", "times": 2}}
    team: Any = {"provider": "teams.RoundRobinGroupChat", "config": {"participants": [bird]}}
    tables = import_teams(team, tools_module="tools").tables
    assert tables["teams"]["round_robin"]["agents"]["a"]["type"] == "parrot"
    other = {**bird, "provider": "fish.Parrot"}
    team["config"] = {"participants": [other], "max_turns": 1}
    assert "no agent like fish.Parrot" in str(import_teams(team, tools_module="tools").report.lost)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("words", "wrods", "there is no setting 'wrods'; did you mean 'words'?"),
        ('"parrot"', '"parot"', "found 'parot', expected type = 'assistant'"),
        ('"parrot"', '"parot"', "'message_filter' or 'parrot'; did you mean 'parrot'?"),
        ('"Hi"', "1", "expected text"),
    ],
)
def test_its_mistakes_are_told_as_those_of_ours(
    tmp_path: Path, config: Path, old: str, new: str, said: str
):
    brings(tmp_path)
    config.write_text(CONFIG.replace(old, new))
    assert said in refusal(config)


@pytest.mark.parametrize(
    ("points", "module", "said"),
    [
        ("agent.parrot = nothing", AGENT, "ModuleNotFoundError: No module named 'nothing'"),
        ("agent.parrot = birds", "1 / 0", "ZeroDivisionError: division by zero"),
        ("agent.parrot = birds", "def (", "SyntaxError"),
        ("agent.parrot = birds", "raise SystemExit(3)", "SystemExit: 3"),
        ("agent.parrot = birds:Nobody", AGENT, "AttributeError"),
        ("agent.parrot = birds:Parrot", AGENT, "expected a kind of agent that it declares"),
        ("agent.parrot = birds:EchoKind", TOOL, "expected a kind of agent that it declares"),
        ("agent.parrot = birds:Odd", PLAIN, "expected a kind of agent that it declares"),
        ("agent.parrot = birds:POLLY", MADE, "expected a kind of agent that it declares"),
        ("agent.parrot = birds:Odd", PART, "expected a kind of agent that it declares"),
        ("agent.parrot = birds:Odd", UNDEFINED, "'Nowhere'"),
        ("agent.parrot = birds:Odd", DEFERRED, "schema for <class 'birds.Parrot'>"),
        ("agent.parrot = birds:Odd", BROKEN, "SchemaError"),
        ("agent.parrot = birds:ParrotKind", AGENT.replace("s:Parrot", "s:Parot"), "'Parrot'?"),
        ("agent.parrot = birds:ParrotKind", AGENT.replace("s:Parrot", "s:__name__"), "a class"),
        *[
            (
                "agent.parrot = birds:ParrotKind",
                AGENT.replace('"birds:Parrot"', made_by),
                "an import path",
            )
            for made_by in ("Parrot", "None", "7", "b'birds:Parrot'", "['birds:Parrot']", "'birds'")
        ],
    ],
)
def test_one_that_fails_is_told_by_name_and_troubles_nobody_else(
    tmp_path: Path, config: Path, points: str, module: str, said: str
):
    brings(tmp_path, points, module=module)
    told = refusal(config)
    assert "teams.t.agents.a.type" in told
    assert said in told
    if ":" in points:
        config.write_text(CONFIG.replace("parrot", points.partition(" = ")[2]))
        assert "teams.t.agents.a.type" in refusal(config)
    config.write_text(CONFIG.replace("parrot", "coder").replace("words", "#"))
    load_config(config)
    listed = CliRunner().invoke(main, ["plugins"])
    assert listed.exit_code == ExitCode.FAILED
    assert "agent   parrot  FAILED  parley-birds 1.0: " in listed.stdout
    assert said in listed.stdout


def test_a_name_of_ours_stays_ours_and_two_of_one_name_are_refused(tmp_path: Path, config: Path):
    brings(tmp_path, "agent.coder = birds:ParrotKind\nagent.parrot = birds:ParrotKind")
    brings(tmp_path, name="more-birds", of="more_birds")
    assert "'more-birds' and 'parley-birds' have it" in refusal(config)
    config.write_text(CONFIG.replace("parrot", "coder").replace("words", "#"))
    team = load_config(config).config.teams["t"]
    assert "CoderKind" in repr(team)
    assert "'coder' is one of Parley's own" in CliRunner().invoke(main, ["plugins"]).stdout


def test_whoever_uses_no_team_imports_nothing(tmp_path: Path, config: Path):
    brings(tmp_path, module="raise RuntimeError")
    load_config(config, references=False)
    assert "birds" not in sys.modules


@pytest.mark.parametrize("place", ["agents.a", "agents.a.agent", "agents.a.model_context"])
def test_a_config_that_names_one_is_asked_about(tmp_path: Path, place: str):
    brings(tmp_path)
    data = tomllib.loads(f'[teams.t.{place}]\ntype = "parrot"')
    assert powers_of(data) == [Power("Python", "agent.parrot of 'parley-birds'")]
    assert powers_of(tomllib.loads('[teams.t.agents.a]\ntype = "robin"')) == []


@pytest.mark.parametrize(
    ("family", "name", "asked"),
    [
        ("tool", "buffered", True),
        ("agent", "local", True),
        ("executor", "coder", True),
        ("memory", "http", True),
        ("nothing", "coder", True),
        ("context", "buffered", False),
        ("agent", "coder", False),
    ],
)
def test_one_with_a_name_of_another_family_of_ours_is_asked_about(
    tmp_path: Path, family: str, name: str, *, asked: bool
):
    brings(tmp_path, f"{family}.{name} = birds:ParrotKind")
    data = tomllib.loads(f'[teams.t.agents.a]\ntools = [{{ type = "{name}" }}]')
    power = Power("Python", f"{family}.{name} of 'parley-birds'")
    assert (power in powers_of(data)) == asked
