"""The page on components: condition, agent and team to JSON and back."""

import json

import pytest

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent, UserProxyAgent
from teams.base import Team
from teams.conditions import MaxMessageTermination, StopMessageTermination
from teams.core import ComponentLoader
from teams.models.openai import OpenAIChatCompletionClient
from tests.fakes.openai_script import Reply
from tests.guide.harness import conversations, watch


def test_a_condition_as_json():
    condition = MaxMessageTermination(5) | StopMessageTermination()

    config = json.loads(condition.dump_component().model_dump_json())

    assert config["provider"] == "teams.base.OrTerminationCondition"
    assert config["component_type"] == "termination"
    assert [entry["provider"] for entry in config["config"]["conditions"]] == [
        "teams.conditions.MaxMessageTermination",
        "teams.conditions.StopMessageTermination",
    ]
    assert config["config"]["conditions"][0]["config"]["max_messages"] == 5
    assert type(condition).load_component(config).dump_component() == condition.dump_component()


def test_a_condition_that_autogen_wrote_loads_unchanged():
    condition = MaxMessageTermination(1) | StopMessageTermination()
    written = json.loads(condition.dump_component().model_dump_json())
    written["provider"] = "autogen_agentchat.base.OrTerminationCondition"
    for entry in written["config"]["conditions"]:
        entry["provider"] = entry["provider"].replace("teams.", "autogen_agentchat.")
    loaded = type(condition).load_component(written)
    assert loaded.dump_component() == condition.dump_component()


@pytest.fixture
def from_environment(openai_server, monkeypatch):
    """A client with its key in the environment, as a dumped one."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    return OpenAIChatCompletionClient(model="gpt-4o", base_url=openai_server.url)


async def test_an_agent_as_json(openai_server, from_environment):
    agent = AssistantAgent(
        "translator",
        from_environment,
        handoffs=["editor", "user"],
        system_message="You translate.",
        description="Translates.",
    )

    config = json.loads(agent.dump_component().model_dump_json())

    assert config["provider"] == "teams.agents.AssistantAgent"
    assert config["component_type"] == "agent"
    assert config["config"]["name"] == "translator"
    assert config["config"]["model_client"]["config"]["model"] == "gpt-4o"
    assert "sk-environment" not in json.dumps(config)
    loaded = AssistantAgent.load_component(config)
    assert loaded.dump_component() == agent.dump_component()
    openai_server.script(Reply(text="Guten Tag."))
    run = await watch(loaded.run_stream(task="Good day."))
    assert run.answer == "Guten Tag."
    assert openai_server.requests[0].tools == ["transfer_to_editor", "transfer_to_user"]
    for client in (from_environment, loaded.model_client):
        await client.close()


async def test_a_team_as_json(openai_server, from_environment):
    team = RoundRobinGroupChat(
        [
            AssistantAgent("translator", from_environment, system_message="You translate."),
            UserProxyAgent("reader"),
        ],
        termination_condition=MaxMessageTermination(2),
    )

    config = json.loads(team.dump_component().model_dump_json())

    assert config["provider"] == "teams.RoundRobinGroupChat"
    assert config["component_type"] == "team"
    assert [entry["component_type"] for entry in config["config"]["participants"]] == ["agent"] * 2
    assert RoundRobinGroupChat.load_component(config).dump_component() == team.dump_component()

    openai_server.script(Reply(text="Guten Tag."))
    loaded = ComponentLoader.load_component(config, RoundRobinGroupChat)
    run = await watch(loaded.run_stream(task="Good day."))
    assert run.trace == [("TextMessage", "user"), ("TextMessage", "translator")]
    assert conversations(openai_server) == [["system: You translate.", "user[user]: Good day."]]
    translator = loaded._participants[0]
    assert isinstance(translator, AssistantAgent)
    for client in (from_environment, translator.model_client):
        await client.close()


def test_a_component_of_an_unknown_house_is_refused():
    with pytest.raises(ValueError, match="PARLEY_TRUSTED_PROVIDERS"):
        ComponentLoader.load_component({"provider": "nowhere.Agent", "config": {}}, Team)
