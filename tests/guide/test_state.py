"""The page on state: of an agent, a team, and in files."""

import json

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.conditions import MaxMessageTermination
from teams.core import CancellationToken
from teams.messages import TextMessage
from tests.fakes.openai_script import Reply
from tests.guide.harness import conversations, goes_on_alike

SYSTEM = "You are a poet."
QUESTION = "Which lake was it?"


def poet(model) -> AssistantAgent:
    return AssistantAgent("poet", model, system_message=SYSTEM)


def team_of_one(model) -> RoundRobinGroupChat:
    return RoundRobinGroupChat([poet(model)], termination_condition=MaxMessageTermination(2))


async def test_an_agents_state_is_its_model_context(openai_server, model):
    openai_server.script(Reply(text="Still water."))
    agent = poet(model)
    task = TextMessage(content="A line about Lake Constance.", source="user")

    response = await agent.on_messages([task], CancellationToken())
    assert response.chat_message.to_text() == "Still water."

    state = await agent.save_state()
    assert state["type"] == "AssistantAgentState"
    assert state["version"] == "1.0.0"
    assert [
        (message["type"], message["source"], message["content"])
        for message in state["llm_context"]["messages"]
    ] == [
        ("UserMessage", "user", "A line about Lake Constance."),
        ("AssistantMessage", "poet", "Still water."),
    ]
    again = await goes_on_alike(agent, poet, openai_server, Reply(text="Constance."), task=QUESTION)
    assert again.answer == "Constance."
    assert conversations(openai_server)[-1][1:3] == [
        "user[user]: A line about Lake Constance.",
        "assistant: Still water.",
    ]


async def test_a_reset_team_knows_nothing_until_its_state_is_loaded(openai_server, model):
    openai_server.script(Reply(text="Still water."), Reply(text="No idea."), Reply(text="Mine."))
    team = team_of_one(model)
    await team.run(task="A line about a lake.")
    state = await team.save_state()

    await team.reset()
    await team.run(task=QUESTION)
    assert conversations(openai_server)[-1] == [f"system: {SYSTEM}", f"user[user]: {QUESTION}"]

    await team.load_state(state)
    await team.run(task=QUESTION)
    assert conversations(openai_server)[-1] == [
        f"system: {SYSTEM}",
        "user[user]: A line about a lake.",
        "assistant: Still water.",
        f"user[user]: {QUESTION}",
    ]


async def test_a_teams_state_has_the_documented_shape_and_fits_a_file(
    openai_server, model, tmp_path
):
    openai_server.script(Reply(text="Still water."))
    team = team_of_one(model)
    await team.run(task="A line about a lake.")

    file = tmp_path / "team.json"
    file.write_text(json.dumps(await team.save_state()))

    state = json.loads(file.read_text())
    assert (state["type"], state["version"]) == ("TeamState", "1.0.0")
    container = state["agent_states"]["poet"]
    assert container["type"] == "ChatAgentContainerState"
    assert container["agent_state"]["type"] == "AssistantAgentState"
    assert container["message_buffer"] == []
    manager = state["agent_states"]["RoundRobinGroupChatManager"]
    assert manager["type"] == "RoundRobinManagerState"
    assert (manager["current_turn"], manager["next_speaker_index"]) == (0, 0)
    assert [(message["type"], message["source"]) for message in manager["message_thread"]] == [
        ("TextMessage", "user"),
        ("TextMessage", "poet"),
    ]

    again = await goes_on_alike(
        team,
        team_of_one,
        openai_server,
        Reply(text="Still water, it was."),
        task="What did you write?",
    )
    assert again.trace == [("TextMessage", "user"), ("TextMessage", "poet")]


async def test_a_team_that_never_ran_saves_and_loads(openai_server, model):
    run = await goes_on_alike(
        team_of_one(model), team_of_one, openai_server, Reply(text="Hello."), task="Greet me."
    )
    assert run.answer == "Hello."
