"""Names in a config: nothing is loaded for them."""

from pathlib import Path

import pytest

from gateway.app.config_names import UnknownTeam, check_team, team_names, tool_names

CONFIG = """
[teams.solo]
type = "round_robin"
[teams.solo.agents.one]
tools = ["nowhere:read_file", { path = "nowhere:Class.write" }, { path = "x:y", name = "find" }]
[teams.solo.agents.two]
tools = [{ agent = "one" }, { team = "pair" }, { code = true }, 7]
[teams.pair]
factory = "nowhere:pair"
[policies.tools]
default = "ask"
shell = "deny"
read_file = "allow"
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(CONFIG)
    return path


def test_the_teams_and_tools_are_those_that_are_written_there(source: Path):
    assert team_names(source) == ["solo", "pair"]
    assert tool_names(source) == ["shell", "read_file", "write", "find", "one", "pair"]


@pytest.mark.parametrize("text", ["", "[teams", "teams = 1", "policies = 2\n[teams.t]\ntools = 3"])
def test_what_can_not_be_read_names_nothing(tmp_path: Path, text: str):
    source = tmp_path / "config.toml"
    source.write_text(text)
    assert tool_names(source) == []
    assert team_names(source) == (["t"] if "teams.t" in text else ["demo"])
    assert (team_names(None), tool_names(None)) == (["demo"], [])


def test_a_known_team_is_taken_without_loading_the_config(source: Path):
    check_team("pair", source)


def test_an_unknown_team_is_told_with_the_known_ones(tmp_path: Path):
    with pytest.raises(UnknownTeam, match="There is no team 'x'; the teams are demo") as told:
        check_team("x", None)
    assert told.value.exit_code == 2
