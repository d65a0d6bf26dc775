"""The state of a group chat: participants, thread and run."""

import json
from typing import Any

import pytest

from teams import (
    BaseGroupChat,
    DiGraphBuilder,
    GraphFlow,
    MagenticOneGroupChat,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from teams.agents import AssistantAgent, UserProxyAgent
from teams.conditions import MaxMessageTermination, TimeoutTermination
from teams.messages import ToolCallRequestEvent
from tests.fakes.agents import Talker
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.fakes.streams import take, take_until, texts
from tests.teams._engine.watched_teams import pair
from tests.teams._snapshot.saved_teams import both_ways, reload, team_of


async def test_the_documented_shape():
    team = team_of("fine")
    await team.run(task="hi")
    state = await team.save_state()
    assert json.loads(json.dumps(state)) == state
    assert (state["type"], state["version"]) == ("TeamState", "1.0.0")
    states = state["agent_states"]
    assert set(states) == {"one", "two", "RoundRobinGroupChatManager"}
    one, manager = states["one"], states["RoundRobinGroupChatManager"]
    assert (one["type"], one["version"]) == ("ChatAgentContainerState", "1.0.0")
    assert [message["content"] for message in one["message_buffer"]] == ["fine"]
    assert one["agent_state"]["type"] == "AssistantAgentState"
    assert one["agent_state"]["llm_context"]["messages"] == [
        {"type": "UserMessage", "content": "hi", "source": "user"},
        {"type": "AssistantMessage", "content": "fine", "thought": None, "source": "one"},
    ]
    assert manager["type"] == "RoundRobinManagerState"
    assert [item["content"] for item in manager["message_thread"]] == ["hi", "fine", "fine"]
    assert manager["message_thread"][0]["type"] == "TextMessage"
    assert (manager["current_turn"], manager["next_speaker_index"]) == (0, 0)


async def test_the_managers_of_the_teams_have_the_documented_names():
    for team, key, extra in (
        (team_of(), "RoundRobinGroupChatManager", "next_speaker_index"),
        (Swarm([UserProxyAgent("user")]), "SwarmGroupChatManager", "current_speaker"),
    ):
        assert extra in (await team.save_state())["agent_states"][key]


@both_ways
async def test_a_team_can_be_saved_and_loaded_before_its_first_run(way: str):
    team, fresh = team_of("fine"), team_of("fine")
    await reload(team, fresh, way)
    assert await fresh.save_state() == await team.save_state()
    assert texts(await fresh.run(task="hi")) == ["hi", "fine", "fine"]


@both_ways
async def test_a_loaded_team_replaces_what_it_had(way: str):
    team, other = team_of("a", "b"), team_of("x", "y")
    await team.run(task="hi")
    await other.run(task="something else")
    await reload(team, other, way)
    assert await other.save_state() == await team.save_state()


async def test_what_was_saved_does_not_change_with_the_team():
    team = RoundRobinGroupChat(
        [AssistantAgent("a", ScriptedModel(calls(("t", {})), "b"), tools=[t])], max_turns=2
    )
    stream = team.run_stream(task="hi")
    await take_until(stream, ToolCallRequestEvent)
    state = await team.save_state()
    text = json.dumps(state)
    await take(stream, 3)
    assert json.dumps(state) == text
    await stream.aclose()


async def t() -> str:
    return "t"


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"agent_states": {}},
        {"agent_states": None},
        {"agent_states": {"one": {}, "two": {}}},
        {"agent_states": {"one": {}, "two": {}, "RoundRobinGroupChatManager": None}},
        {"agent_states": {"one": 1, "two": {}, "RoundRobinGroupChatManager": {}}},
        {
            "agent_states": {
                "one": {},
                "two": {},
                "RoundRobinGroupChatManager": {"next_speaker_index": 7},
            }
        },
        {"agent_states": {"one": {}, "two": {}, "RoundRobinGroupChatManager": {"run": {}}}},
        {
            "agent_states": {
                "one": {"agent_state": {"turn": {"phase": "model"}}},
                "two": {},
                "RoundRobinGroupChatManager": {},
            }
        },
        {
            "agent_states": {
                "one": {"message_buffer": [{"type": "Unheard"}]},
                "two": {},
                "RoundRobinGroupChatManager": {},
            }
        },
    ],
)
async def test_a_malformed_state_is_a_value_error(broken: Any):
    with pytest.raises(ValueError, match=r"\w"):
        await team_of().load_state(broken)


async def test_a_state_that_lacks_a_participant_says_whom():
    team = team_of("a")
    state = await team.save_state()
    other = RoundRobinGroupChat([Talker("one"), Talker("three")])
    with pytest.raises(ValueError, match="three"):
        await other.load_state(state)
    with pytest.raises(ValueError, match="three"):
        await other.load_snapshot([await team.save_snapshot()])
    with pytest.raises(ValueError, match="RoundRobinGroupChatManager"):
        await team.load_state(await Swarm([UserProxyAgent("one")]).save_state())


@both_ways
async def test_the_tally_of_a_condition_travels_with_the_team(way: str):
    def build() -> RoundRobinGroupChat:
        return team_of(
            "1", "2", "3", termination_condition=MaxMessageTermination(4), max_turns=None
        )

    team, fresh = build(), build()
    stream = team.run_stream(task="hi")
    await take(stream, 3)
    await reload(team, fresh, way)
    await stream.aclose()
    result = await fresh.run()
    assert len(result.messages) == 1
    assert result.stop_reason == "Maximum number of messages 4 reached, current message count: 4"


async def test_an_idle_team_does_not_age(monkeypatch: pytest.MonkeyPatch):
    now = [0.0]
    monkeypatch.setattr("teams.conditions.monotonic", lambda: now[0])

    def build() -> RoundRobinGroupChat:
        return RoundRobinGroupChat(
            [Talker("a")], termination_condition=TimeoutTermination(10), max_turns=1
        )

    team = build()
    for _ in range(4):
        now[0] += 100
        saved = await team.save_state()
        now[0] += 100
        team = build()
        await team.load_state(saved)
        result = await team.run(task="hi")
        assert result.stop_reason == "Maximum number of turns 1 reached."
    await team.reset()
    now[0] += 100
    saved = await team.save_state()
    team = build()
    await team.load_state(saved)
    assert (await team.run(task="hi")).stop_reason == "Maximum number of turns 1 reached."


def test_a_team_takes_no_runtime_but_none():
    model = ScriptedModel()
    graph = DiGraphBuilder().add_node(Talker("a")).build()
    assistant = AssistantAgent("a", model, handoffs=["b"])
    with pytest.raises(TypeError, match="no runtime"):
        RoundRobinGroupChat([assistant], runtime=object())  # pyright: ignore[reportArgumentType]
    for team in (
        RoundRobinGroupChat([assistant], runtime=None),
        SelectorGroupChat([assistant, Talker("b")], model, runtime=None),
        Swarm([assistant], runtime=None),
        MagenticOneGroupChat([assistant], model, runtime=None),
        GraphFlow([assistant], graph, runtime=None),
    ):
        assert team.participant_names[0] == "a"


def test_a_team_needs_participants_with_names_of_their_own():
    with pytest.raises(ValueError, match="participant"):
        RoundRobinGroupChat([])
    with pytest.raises(ValueError, match="unique"):
        RoundRobinGroupChat([Talker("same"), Talker("same")])
    with pytest.raises(ValueError, match="identifier"):
        Talker("not an identifier")
    with pytest.raises(ValueError, match="max_turns"):
        pair(max_turns=0)


async def test_a_running_team_cannot_be_started_reset_or_loaded():
    team, *_ = pair(max_turns=2)
    state, snapshot = await team.save_state(), await team.save_snapshot()
    stream = team.run_stream(task="hi")
    await anext(stream)
    with pytest.raises(ValueError, match="already running"):
        await team.run(task="again")
    with pytest.raises(RuntimeError, match="running"):
        await team.reset()
    with pytest.raises(RuntimeError, match="running"):
        await team.load_state(state)
    with pytest.raises(RuntimeError, match="running"):
        await team.load_snapshot([snapshot])
    assert [getattr(item, "content", "end") async for item in stream] == ["l1", "r1", "end"]
    await team.reset()


class Alone(BaseGroupChat):
    """A kind of team that remembers nothing of its own."""

    manager_name = "AloneManager"

    async def select_speaker(self, thread: Any) -> str:
        return self.participant_names[0]


async def test_a_team_that_remembers_nothing_of_its_own_is_saved():
    team, again = (Alone("alone", "Talks.", [Talker("a")], max_turns=1) for _ in range(2))
    await team.run(task="hi")
    await again.load_state(await team.save_state())
    assert await again.save_state() == await team.save_state()
    loaded = Alone("alone", "Talks.", [Talker("a")], max_turns=1)
    await loaded.load_snapshot([await team.save_snapshot()])
    assert (loaded.is_as_loaded, loaded.participant_names) == (True, ["a"])
    await loaded.save_state()
    assert not loaded.is_as_loaded
