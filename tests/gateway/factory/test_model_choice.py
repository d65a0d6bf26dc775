"""Teams on a chosen model, and models that they can't use."""

from pathlib import Path
from textwrap import dedent

import pytest

from gateway.app.load import load_config
from gateway.factory.teams import TeamFactory
from teams.base import Team

PARTS = """
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.models import ModelInfo
from teams.models.replay import ReplayChatCompletionClient


class Client(ReplayChatCompletionClient):
    def __init__(self, model="", model_info=None):
        info = ModelInfo(**{"vision": False, "function_calling": True, "json_output": True,
                            "family": "unknown", "structured_output": False, **(model_info or {})})
        super().__init__([model] * 9, info)
        self.model = model


def search(query: str) -> str:
    "Search."
    return query


def flexible(model_client):
    return RoundRobinGroupChat([AssistantAgent("f", model_client)], max_turns=1)


def rigid():
    return RoundRobinGroupChat([AssistantAgent("r", Client("built in"))], max_turns=1)
"""

CONFIG = """
    [models.strong]
    provider = "choice_parts:Client"
    model = "big-1"
    [models.quick]
    provider = "choice_parts:Client"
    model = "small-1"
    [models.talker]
    provider = "choice_parts:Client"
    model = "talk-1"
    model_info = { function_calling = false }

    [teams.desk]
    type = "selector"
    participants = ["worker", "coder", "you"]
    termination = "MaxMessage(2)"
    [teams.desk.agents.worker]
    tools = ["choice_parts:search"]
    [teams.desk.agents.coder]
    type = "code_executor"
    executor = { type = "local" }
    [teams.desk.agents.you]
    type = "user_proxy"

    [teams.writers]
    type = "round_robin"
    participants = ["writer"]
    termination = "MaxMessage(2)"
    [teams.writers.agents.writer]
    model = "quick"

    [teams.flexible]
    factory = "choice_parts:flexible"
    [teams.rigid]
    factory = "choice_parts:rigid"
    [teams.news]
    type = "round_robin"
    max_turns = 1
    agents.reporter = { type = "openai" }
    [teams.waiters]
    type = "round_robin"
    max_turns = 1
    memory = {}
    agents.waiter = {}
    [teams.readers]
    type = "round_robin"
    max_turns = 1
    agents.reader = { type = "file_surfer" }
    [teams.outer]
    type = "round_robin"
    participants = ["rigid"]
    termination = "MaxMessage(2)"
"""


def source(folder: Path, config: str = CONFIG) -> TeamFactory:
    (folder / "choice_parts.py").write_text(PARTS)
    (folder / "config.toml").write_text(dedent(config))
    loaded = load_config(folder / "config.toml")
    return TeamFactory(loaded.config, loaded.imports, start_folder=folder)


def problems(teams: TeamFactory, team: str) -> dict[str, str]:
    return {choice.name: choice.problem for choice in teams.model_choices(team)}


async def build(teams: TeamFactory, name: str, model: str, folder: Path) -> Team:
    return (await teams.build(name, workdir=folder, model=model)).team


async def answer(team: Team) -> str:
    return (await team.run(task="Hi")).messages[-1].to_text()


async def test_all_agents_with_a_model_use_the_chosen_one(tmp_path, fresh_imports):
    teams = source(tmp_path)
    assert teams.info("desk").models == {"worker": "big-1", "coder": "", "you": ""}
    info = teams.info("desk", model="quick")
    assert info.models == {"worker": "small-1", "coder": "", "you": ""}
    assert info.definition == teams.info("desk").definition

    team = await build(teams, "writers", "strong", tmp_path)
    assert await answer(team) == "big-1"
    flexible = await build(teams, "flexible", "quick", tmp_path)
    assert await answer(flexible) == "small-1"
    assert teams.info("flexible", model="strong").models == {"f": "big-1"}


async def test_a_model_that_the_team_cannot_use_is_named_with_the_reason(tmp_path, fresh_imports):
    teams = source(tmp_path)
    assert problems(teams, "desk") == {
        "strong": "",
        "quick": "",
        "talker": "'worker' has tools, and this model calls no functions",
    }
    assert "'waiter' has a memory" in problems(teams, "waiters")["talker"]
    assert "'reader' has tools" in problems(teams, "readers")["talker"]
    assert set(problems(teams, "writers").values()) == {""}
    for team in ("rigid", "outer"):
        assert "'rigid' makes its own model clients" in problems(teams, team)["quick"]
    assert "'reporter' asks OpenAI" in problems(teams, "news")["quick"]
    assert [choice.label for choice in teams.model_choices("desk")] == [
        "big-1",
        "small-1",
        "talk-1",
    ]


@pytest.mark.parametrize(
    ("team", "model", "read"),
    [
        ("desk", "", ("big-1 (choice_parts:Client)",)),
        ("writers", "", ("small-1 (choice_parts:Client)", "other-1 (models.example)")),
        ("writers", "talker", ("talk-1 (choice_parts:Client)",)),
        ("rigid", "", ("big-1 (choice_parts:Client)", "the models of its Python function")),
        ("outer", "", ("the models of its Python function",)),
    ],
)
def test_whatever_reads_a_thread_is_named_with_its_server(
    tmp_path, fresh_imports, team, model, read
):
    other = """
    fallback = ["other"]
    [models.other]
    provider = "openai"
    model = "other-1"
    api_key = "k"
    base_url = "https://models.example:8443/v1"
    """
    teams = source(tmp_path, CONFIG.replace('model = "small-1"', 'model = "small-1"' + other))
    assert set(read) <= set(teams.readers(team, model=model))
    if team != "outer":
        assert teams.readers(team, model=model) == read
    with pytest.raises(KeyError):
        teams.readers("none")
