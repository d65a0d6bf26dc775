"""The JSON Schema of config.toml, against the check of config.toml."""

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from click.testing import CliRunner

from gateway.app.schema import config_schema
from gateway.base.exit_codes import ExitCode
from gateway.cli import main
from tests.gateway.app.test_find_adapters import install
from tests.gateway.app.test_plugins import brings
from tests.gateway.kinds.observed import BEFORE, ROOT
from tests.gateway.kinds.test_outside import AGENT

pytestmark = pytest.mark.usefixtures("fresh_imports")


@cache
def schema() -> Any:
    return jsonschema_rs.validator_for(config_schema(print))


def told(text: str) -> list[str]:
    return [each.message for each in schema().iter_errors(tomllib.loads(text))]


def test_it_takes_every_config_of_the_repository_that_is_right():
    known = json.loads(BEFORE.read_text())
    said = "expected a provider"
    known = [each for each in known if said not in each["does"]["mistakes"]]
    taken = [each["config"] for each in known if each["does"]["teams"]]
    # Tables of platforms are not looked at when that is kept.
    right = [text for text in taken if "{discord" not in text and "adapters.other" not in text]
    assert len(right) > 100
    assert {text: told(text) for text in right if told(text)} == {}


def test_it_refuses_settings_that_there_are_not():
    known = json.loads(BEFORE.read_text())
    wrong = [e["config"] for e in known if "there is no setting" in e["does"].get("mistakes", "")]
    assert len(wrong) > 5
    assert [text for text in wrong if not told(text)] == []


@pytest.mark.parametrize(
    ("text", "is_right"),
    [
        ('[teams.t]\ntype = "swarm"\n[teams.t.agents.a]\ntype = "coder"', True),
        ('[teams.t]\ntype = "swarm"\n[teams.t.agents.a]\ntype = "codr"', False),
        ('[teams.t]\ntype = "swarm"\n[teams.t.agents.a]\ntype = "toys:CoderKind"\nx = 1', True),
        ('[teams.t]\ntype = "swarm"\n[teams.t.agents.a]\nmax_tool_iterations = 0', False),
        ('[teams.t]\ntype = "swarm"\n[teams.t.agents.a]\ntools = ["a:b", { path = "a:b" }]', True),
        ('[models.m]\napi_key_env = "KEY"\nmodel = "m"', True),
        ('[models.m]\napi_key_en = "KEY"\nmodel = "m"', False),
        ('[adapters.slack]\nbot_token_env = "A"\napp_token_file = "b"', True),
        ('[adapters.slack]\nbot_tokn_env = "A"', False),
        ('[adapters.support]\nplatform = "slack"\nbot_token_env = "A"\napp_token_env = "B"', True),
        ('[adapters.support]\nbot_token_env = "A"\napp_token_env = "B"', False),
        ('[[routes]]\nadapter = "discord"\nguild = "1"\ndm = true\nusers = "members"', True),
        ('[[routes]]\nadapter = "discord"\nguilt = "1"\ndm = true', False),
    ],
)
def test_it_knows_what_a_config_may_say(text: str, is_right: bool):
    assert (told(text) == []) == is_right


def test_its_settings_have_the_texts_of_the_docs():
    assistant = config_schema(print)["$defs"]["AssistantConfig"]["properties"]
    assert assistant["knowledge"]["description"].startswith("Names in [knowledge]: before each")
    assert assistant["max_tool_iterations"]["minimum"] == 1


BIRDS = f"""
from collections.abc import Callable
from gateway.config.table import AdapterSection
{AGENT}
class Nest(Agent):
    kind: ClassVar = ParrotKind.kind
class Odd(ParrotKind):
    nest: Nest
    song: Callable
class Lost(ParrotKind):
    nest: "Nowhere"
"""
FAILING = {
    "agent.robin = nothing": "agent.robin is left out: ",
    "agent.odd = birds:Odd": "agent.odd is left out: ",
    "agent.lost = birds:Lost": "agent.lost is left out: ",
    "agent.nest = birds:Parrot": "agent.nest is left out: ",
}


def test_kinds_of_packages_are_in_it_and_those_that_fail_are_told(tmp_path: Path):
    brings(tmp_path, "\n".join(["agent.parrot = birds:ParrotKind", *FAILING]), module=BIRDS)
    printed = CliRunner().invoke(main, ["schema"])
    assert printed.exit_code == ExitCode.DONE
    made = json.loads(printed.stdout)
    assert "words" in made["$defs"]["ParrotKind"]["properties"]
    assert not made["$defs"].keys() & {"Odd", "Lost", "Nest"}
    told = printed.stderr.splitlines()
    for said in FAILING.values():
        assert len([each for each in told if each.startswith(said)]) == 1


@pytest.mark.parametrize("setting", ["song: Callable", 'song: "Nowhere"', "song: 1 / 0"])
def test_a_platform_that_fails_is_told_and_left_out(tmp_path: Path, setting: str):
    module = f"""
from collections.abc import Callable
from gateway.config.table import AdapterSection
class Config(AdapterSection):
    {setting}
"""
    brings(tmp_path)
    install(tmp_path / "site", "acme = acme_chat", name="acme-chat", module=module, of="acme_chat")
    printed = CliRunner().invoke(main, ["schema"])
    assert printed.exit_code == ExitCode.DONE
    made = json.loads(printed.stdout)
    assert "acme" not in made["$defs"]["Adapters"]["properties"]
    assert "ParrotKind" in made["$defs"]
    assert printed.stderr.startswith("the platform acme is left out: ")


def test_the_command_prints_it_and_the_first_config_names_it():
    printed = CliRunner().invoke(main, ["schema"])
    assert json.loads(printed.stdout)["$defs"].keys() == config_schema(print)["$defs"].keys()
    starter = (ROOT / "gateway/starter.toml").read_text()
    assert "#:schema ./parley.schema.json\n" in starter
    assert told(starter) == []
