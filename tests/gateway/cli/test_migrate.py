"""`parley migrate` and `parley teams import`, as their user sees them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.cli import main


def parley(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, words)
    return result.exit_code, result.stdout, result.stderr


def test_a_dry_run_shows_a_diff_and_write_changes_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    before = "from autogen_agentchat.teams import Swarm  # all\n"
    file.write_text(before)
    code, shown, told = parley("migrate", str(tmp_path))
    assert (code, file.read_text()) == (0, before)
    assert "-from autogen_agentchat.teams import Swarm  # all\n" in shown
    assert "+from teams import Swarm  # all\n" in shown
    assert told == "1 file read, 1 would change (--write changes it), no place needs a hand.\n"
    code, shown, told = parley("migrate", "--write", str(file))
    assert (code, file.read_text()) == (0, "from teams import Swarm  # all\n")
    assert (shown, told) == (
        f"{file}\n",
        "1 file read, 1 changed, no place needs a hand.\n",
    )


def test_what_needs_a_hand_is_told_with_its_place_and_an_exit_code(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("import os\nfrom autogen_core import RoutedAgent\n")
    code, shown, told = parley("migrate", str(tmp_path))
    assert (code, shown) == (1, "")
    assert told.startswith(f"{file}:2: autogen_core.RoutedAgent: not there; use BaseChatAgent")
    assert told.endswith("1 file read, none would change, 1 place needs a hand.\n")


def test_a_team_file_is_printed_as_toml(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    human = {"provider": "autogen_agentchat.agents.UserProxyAgent", "config": {"name": "me"}}
    config = {"participants": [human], "max_turns": 1, "unheard_of": 3}
    file.write_text(
        json.dumps({"provider": "autogen_agentchat.teams.RoundRobinGroupChat", "config": config})
    )
    code, shown, told = parley("teams", "import", str(file))
    assert (code, told) == (1, "Not taken:\n  unheard_of: config.toml has no such setting\n")
    assert shown.startswith('[teams.round_robin]\ntype = "round_robin"\n')
    code, shown, _ = parley("teams", "import", str(file), "-o", str(tmp_path / "config.toml"))
    assert (code, shown) == (1, f"Wrote {tmp_path / 'config.toml'}.\n")
    assert parley("teams", "import", str(file), "-o", str(tmp_path / "config.toml"))[0] == 1


PARROT = """
from typing import Annotated, ClassVar

from teams.kinds import Agent, Given, Kind


class ParrotKind(Agent):
    "An agent that repeats a phrase."

    kind: ClassVar = Kind("agent", "parrot", "birds_of_ours:Parrot")

    type: str
    "Kind of agent."

    words: Annotated[str, Given("phrase")] = "Hello"
    "Words that it says."


class Parrot:
    pass
"""
FLOCK = """
[teams.t]
type = "round_robin"
max_turns = 1
agents.a = { type = "birds_of_ours:ParrotKind" }
"""
NAMED = ("--config", "config.toml")


@pytest.mark.usefixtures("fresh_imports")
@pytest.mark.parametrize(
    ("class_path", "config", "words", "taken"),
    [
        ("birds_of_ours.Parrot", FLOCK, NAMED, True),
        ("birds_of_ours.inner.Parrot", FLOCK, NAMED, True),
        ("birds_of_ours.Parrot", FLOCK, (), False),  # nobody trusts it
        ("birds_of_ours.Robin", FLOCK, NAMED, False),
        ("fish_of_ours.Parrot", FLOCK, NAMED, False),
        ("birds_of_ours.Parrot", "", NAMED, False),
    ],
)
def test_kinds_of_your_own_are_those_of_a_config_that_is_trusted(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    class_path: str,
    config: str,
    words: tuple[str, ...],
    taken: bool,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "birds_of_ours.py").write_text(PARROT)
    (tmp_path / "config.toml").write_text(config)
    bird = {"provider": class_path, "config": {"name": "polly", "phrase": "Hi"}}
    config_of_team = {"participants": [bird], "max_turns": 1}
    team = {"provider": "teams.RoundRobinGroupChat", "config": config_of_team}
    (tmp_path / "a.json").write_text(json.dumps(team))
    code, shown, told = parley("teams", "import", *words, "a.json")
    assert (code == 0) == taken, told
    assert ('type = "birds_of_ours:ParrotKind"' in shown) == taken
    assert ('words = "Hi"' in shown) == taken
