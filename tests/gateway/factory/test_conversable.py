"""Chats of two agents from config.toml: their models, tools and parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.app.load import load_config
from gateway.factory.ownership import own_parts, tools_of
from gateway.factory.teams import TeamFactory
from teams.code_executor import CodeExecutor
from teams.conversable import ConversableChat

pytestmark = pytest.mark.usefixtures("fresh_imports")

CONFIG = """
[models.first]
provider = "parts:make"
options = { answer = "first" }
[models.second]
provider = "parts:make"
options = { answer = "second" }
[teams.t]
type = "conversable"
starter = "joe"
recipient = "cathy"
max_turns = 1
agents.joe = { preset = "user_proxy", human_input_mode = "NEVER", code_executor = { type = "local" } }
agents.cathy = { model = "first", tools = ["parts:search"], context_variables = { customer = 7 } }
"""  # noqa: E501 (inline tables)

PARTS = """
from tests.gateway.scripted import model

def make(answer):
    return model(answer)

def search(query: str) -> str:
    "Search."
    return query
"""


@pytest.fixture
def source(tmp_path: Path) -> TeamFactory:
    (tmp_path / "parts.py").write_text(PARTS)
    (tmp_path / "config.toml").write_text(CONFIG)
    loaded = load_config(tmp_path / "config.toml")
    return TeamFactory(loaded.config, loaded.imports, start_folder=tmp_path)


@pytest.mark.parametrize("chosen", ["", "second"])
async def test_the_model_chosen_for_a_thread_takes_the_place_of_the_agents_own(
    source: TeamFactory, tmp_path: Path, chosen: str
):
    team = (await source.build("t", workdir=tmp_path, model=chosen)).team
    result = await team.run(task="go")
    assert result.messages[-1].to_text() == (chosen or "first")
    assert [choice.problem for choice in source.model_choices("t")] == ["", ""]


async def test_tools_and_executors_of_the_agents_belong_to_the_thread(
    source: TeamFactory, tmp_path: Path
):
    built = await source.build("t", workdir=tmp_path)
    assert isinstance(built.team, ConversableChat)
    assert tools_of(built.team).own == {"search"}
    assert [part for part in own_parts(built.team) if isinstance(part, CodeExecutor)]
    assert built.holds.acts
    assert built.holds.closes


def test_agents_with_their_models_are_known_before_the_team_is_built(source: TeamFactory):
    assert dict(source.info("t").models) == {"joe": "", "cathy": "parts:make"}
