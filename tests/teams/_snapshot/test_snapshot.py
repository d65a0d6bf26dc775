"""The two formats in which a team's state is saved."""

import json
from pathlib import Path

import pytest

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.messages import TextMessage, ToolCallRequestEvent
from teams.models import AssistantMessage, UserMessage
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.fakes.streams import take_until, texts
from tests.teams._snapshot.saved_teams import both_ways, reload, team_of

AUTOGEN = Path(__file__).parents[2] / "data" / "autogen-0.7.5"


# The documented format


# What AutoGen wrote


async def test_calls_that_autogen_left_without_results_get_error_results():
    saved = json.loads((AUTOGEN / "round-robin-cancelled.json").read_text())["state"]
    model = ScriptedModel("I am back.")
    team = RoundRobinGroupChat([AssistantAgent("worker", model)], max_turns=1)
    await team.load_state(saved)
    assert texts(await team.run(task="Where are you?"))[-1] == "I am back."
    question, asked, answered, *_ = model.messages()
    assert question["content"] == "Do it."
    assert [call["id"] for call in asked["content"]] == ["c1", "c2"]
    assert [(r["call_id"], r["is_error"]) for r in answered["content"]] == [
        ("c1", True),
        ("c2", True),
    ]


async def test_only_a_turn_record_lets_calls_run_that_have_no_results():
    ran: list[str] = []

    async def tool() -> str:
        ran.append("tool")
        return "done"

    def build() -> tuple[RoundRobinGroupChat, ScriptedModel]:
        model = ScriptedModel(calls(("tool", {})), "fine", speaker="a")
        agent = AssistantAgent("a", model, tools=[tool], max_tool_iterations=2)
        return RoundRobinGroupChat([agent], max_turns=1), model

    team, _ = build()
    stream = team.run_stream(task="hi")
    await take_until(stream, ToolCallRequestEvent)
    state = json.loads(json.dumps(await team.save_state()))
    await stream.aclose()
    for with_record in (True, False):
        if not with_record:
            del state["agent_states"]["a"]["agent_state"]["turn"]
            del state["agent_states"]["RoundRobinGroupChatManager"]["run"]
        ran.clear()
        fresh, model = build()
        await fresh.load_state(state)
        assert texts(await fresh.run(task=None if with_record else "go on"))[-1] == "fine"
        assert ran == (["tool"] if with_record else [])
        (result,) = model.messages()[2]["content"]
        assert result["is_error"] is not with_record


# The compact format


async def test_a_delta_costs_what_was_added_whatever_came_before():
    sizes: list[int] = []
    team = team_of(*["fine"] * 60)
    for number in range(50):
        await team.run(task=f"task {number:3}")
        if number in (10, 49):
            sizes.append(len(await team.save_delta()))
        elif number in (9, 48):
            await team.save_snapshot()
    assert abs(sizes[0] - sizes[1]) < 100
    assert sizes[1] < len(await team.save_snapshot()) / 10


async def test_each_text_is_written_once():
    team = team_of("fine")
    text = "a text which is long enough to be found " * 3
    await team.run(task=text)
    assert (await team.save_snapshot()).count(text.encode()) == 1
    fresh = team_of("fine")
    await fresh.load_snapshot([await team.save_snapshot()])
    assert (await fresh.save_snapshot()).count(text.encode()) == 1


async def test_nothing_new_is_an_empty_delta():
    team = team_of("fine", "good")
    with pytest.raises(RuntimeError, match="save_snapshot"):
        await team.save_delta()
    parts = [await team.save_snapshot()]
    assert await team.save_delta() == b""
    await team.run(task="hi")
    parts.append(await team.save_delta())
    assert parts[1]
    assert await team.save_delta() == b""
    for chain in (parts, [parts[0], b"", parts[1], b""]):
        fresh = team_of("fine", "good")
        await fresh.load_snapshot(chain)
        assert await fresh.save_delta() == b""
        assert await fresh.save_state() == await team.save_state()


async def test_deltas_go_on_where_a_loaded_chain_ends():
    team = team_of("a", "b", "c")
    chain = [await team.save_snapshot()]
    for number in range(3):
        await team.run(task=f"task {number}")
        chain.append(await team.save_delta())
        state = await team.save_state()
        team = team_of("a", "b", "c")
        await team.load_snapshot(chain)
        assert await team.save_state() == state


async def test_what_is_replaced_in_a_history_is_written_again():
    team = team_of("a", "b")
    await team.run(task="hi")
    chain = [await team.save_snapshot()]
    await team.reset()
    chain.append(await team.save_delta())
    await team.run(task="anew")
    chain.append(await team.save_delta())
    fresh = team_of("a", "b")
    await fresh.load_snapshot(chain)
    assert await fresh.save_state() == await team.save_state()


async def test_a_snapshot_in_the_middle_of_a_chain_begins_anew():
    team = team_of("a", "b")
    first = await team.save_snapshot()
    await team.run(task="hi")
    second = [await team.save_snapshot()]
    await team.run(task="hi")
    second.append(await team.save_delta())
    fresh = team_of("a", "b")
    await fresh.load_snapshot([first, *second])
    assert await fresh.save_state() == await team.save_state()


@pytest.mark.parametrize("lost", [0, 1, 2])
async def test_a_chain_that_lacks_a_part_is_refused(lost: int):
    team = team_of("a", "b", "c", "d")
    chain = [await team.save_snapshot()]
    for number in range(3):
        await team.run(task=f"task {number}")
        chain.append(await team.save_delta())
    del chain[lost]
    with pytest.raises(ValueError, match="lacks a part"):
        await team_of().load_snapshot(chain)


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [b""],
        [b"no json"],
        [b"[]"],
        [b"{}"],
        [b'{"parley_state": 99}'],
        [b'{"parley_state": true}'],
        [b'{"parley_state": [2]}'],
        [b'{"parley_state": 2, "part": 0, "lists": {}, "values": {}}'],
    ],
)
async def test_broken_parts_are_a_value_error(parts: list[bytes]):
    with pytest.raises(ValueError, match=r"\w"):
        await team_of().load_snapshot(parts)


async def test_a_state_of_another_version_says_so():
    with pytest.raises(ValueError, match="version 99"):
        await team_of().load_snapshot([b'{"parley_state": 99}'])


async def test_a_state_of_a_dropped_version_names_the_commit_that_reads_it():
    part = b'{"parley_state": 1, "part": 0, "pool": [], "lists": {}, "values": {}}'
    with pytest.raises(ValueError, match=r"version 1;.* Commit 1482369 still reads it"):
        await team_of().load_snapshot([part])


# What users bring along


# Conditions


# Half-finished work in another process


@both_ways
async def test_messages_keep_their_identity(way: str):
    team, fresh = team_of("fine"), team_of("fine")
    message = TextMessage(content="hi", source="user", metadata={"platform": "slack"})
    await team.run(task=message)
    await reload(team, fresh, way)
    thread = (await fresh.save_state())["agent_states"]["RoundRobinGroupChatManager"]
    assert thread["message_thread"][0] == message.dump()


async def test_loaded_contexts_hold_real_model_messages():
    team = team_of("fine")
    await team.run(task="hi")
    fresh = team_of("fine")
    await fresh.load_snapshot([await team.save_snapshot()])
    (one, _) = fresh._participants
    assert isinstance(one, AssistantAgent)
    assert [type(message) for message in await one.model_context.get_messages()] == [
        UserMessage,
        AssistantMessage,
    ]
