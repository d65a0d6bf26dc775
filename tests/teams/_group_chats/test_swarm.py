"""Swarm: whoever was handed off to speaks."""

import json
from typing import Any

import pytest

from teams import RoundRobinGroupChat, Swarm
from teams.agents import AssistantAgent, UserProxyAgent
from teams.base import TeamError
from teams.conditions import (
    HandoffTermination,
    MaxMessageTermination,
    TextMentionTermination,
    TextMessageTermination,
)
from teams.messages import HandoffMessage, TextMessage
from tests.fakes.agents import Talker
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.fakes.streams import texts


def desk(*answers: Any, handoffs: tuple[str, ...] = ("expert", "user")) -> AssistantAgent:
    return desk_of("desk", *answers, handoffs=handoffs)


def desk_of(name: str, *answers: Any, handoffs: tuple[str, ...] = ("user",)) -> AssistantAgent:
    return AssistantAgent(name, ScriptedModel(*answers), handoffs=[*handoffs])


def to(target: str) -> Any:
    return calls((f"transfer_to_{target}", {}))


async def test_the_first_participant_begins_and_a_handoff_passes_the_turn():
    expert = Talker("expert", "e1", "e2")
    team = Swarm(
        [desk("one", to("expert")), expert], termination_condition=MaxMessageTermination(5)
    )
    result = await team.run(task="hi")
    assert [message.source for message in result.messages if message.to_text()] == [
        "user",
        "desk",
        "desk",
        "desk",
        "desk",
        "expert",
        "expert",
    ]
    assert expert.given[0][:2] == ["hi", "one"]


async def test_without_a_new_handoff_the_speaker_stays_also_in_the_next_run():
    team = Swarm(
        [desk(to("expert")), Talker("expert", "e1", "e2", "e3")],
        termination_condition=MaxMessageTermination(3),
    )
    await team.run(task="hi")
    assert texts(await team.run(task="more")) == ["more", "e2", "e3"]


async def test_a_user_proxy_that_was_handed_to_hands_back():
    boss = UserProxyAgent("boss", input_func=lambda prompt: "do it")
    team = Swarm(
        [desk(to("boss"), "done DONE", handoffs=("boss",)), boss],
        termination_condition=TextMentionTermination("DONE"),
    )
    result = await team.run(task="hi")
    back = next(m for m in result.messages if isinstance(m, HandoffMessage) and m.source == "boss")
    assert (back.target, back.content) == ("desk", "do it")
    assert texts(result)[-1] == "done DONE"


async def handed_out() -> Swarm:
    team = Swarm(
        [desk(to("user"), "welcome back", "anything else?"), Talker("expert", "e")],
        termination_condition=HandoffTermination("user") | MaxMessageTermination(3),
    )
    result = await team.run(task="hi")
    assert result.stop_reason == "Handoff to user from desk detected."
    return team


@pytest.mark.parametrize(
    "task", [None, "text", HandoffMessage(content="x", source="user", target="nobody")]
)
async def test_after_a_handoff_to_an_outsider_only_a_handoff_back_goes_on(task: Any):
    team = await handed_out()
    before = json.dumps(await team.save_state())
    with pytest.raises(ValueError, match="HandoffMessage"):
        await team.run(task=task)
    assert json.dumps(await team.save_state()) == before
    back = HandoffMessage(content="here I am", source="user", target="desk")
    assert texts(await team.run(task=back))[:2] == ["here I am", "welcome back"]


async def test_the_handoff_back_may_name_another_participant():
    team = await handed_out()
    back = HandoffMessage(content="here I am", source="user", target="expert")
    assert texts(await team.run(task=[TextMessage(content="so", source="user"), back]))[2] == "e"


async def test_who_is_on_turn_is_saved_in_both_formats():
    for way in ("state", "snapshot"):
        team = await handed_out()
        fresh = Swarm(
            [desk("welcome back", "bye"), Talker("expert", "e")],
            termination_condition=MaxMessageTermination(2),
        )
        if way == "state":
            await fresh.load_state(json.loads(json.dumps(await team.save_state())))
        else:
            await fresh.load_snapshot([await team.save_snapshot()])
        with pytest.raises(ValueError, match="HandoffMessage"):
            await fresh.run(task="text")
        back = HandoffMessage(content="here", source="user", target="expert")
        assert texts(await fresh.run(task=back)) == ["here", "e"]
        assert texts(await fresh.run(task="and?")) == ["and?", "e"]


async def test_a_handoff_to_somebody_unknown_fails_and_can_be_mended():
    team = Swarm(
        [desk(to("nobody"), "hm", handoffs=("nobody",)), Talker("expert", "e")],
        termination_condition=MaxMessageTermination(5),
    )
    with pytest.raises(TeamError, match="'nobody' is no participant"):
        await team.run(task="hi")
    with pytest.raises(TeamError, match="'nobody'"):
        await team.run()
    back = HandoffMessage(content="take over", source="user", target="expert")
    assert "e" in texts(await team.run(task=back))


async def test_a_reset_swarm_begins_with_the_first_participant():
    team = await handed_out()
    await team.reset()
    assert texts(await team.run(task="hi"))[:2] == ["hi", "welcome back"]


def test_what_a_swarm_refuses():
    inner = RoundRobinGroupChat([Talker("a")], name="inner")
    with pytest.raises(TypeError, match="agents"):
        Swarm([desk(), inner])  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="first participant"):
        Swarm([Talker("mute"), desk()])
    with pytest.raises(ValueError, match="participant"):
        Swarm([])


async def test_a_state_of_an_unknown_speaker_is_refused():
    team = Swarm([desk()])
    state = json.loads(json.dumps(await team.save_state()))
    state["agent_states"]["SwarmGroupChatManager"]["current_speaker"] = "nobody"
    with pytest.raises(ValueError, match="nobody"):
        await team.load_state(state)


async def test_inside_of_another_team_what_is_said_next_answers_a_hand_off_to_an_outsider():
    inner = Swarm(
        [desk(to("expert")), desk_of("expert", to("user"), "seven then", "and more")],
        name="swarm",
        termination_condition=HandoffTermination("user") | TextMessageTermination("expert"),
    )
    team = RoundRobinGroupChat([inner, Talker("other", "o", "o2")], max_turns=2)
    await team.run(task="hi")
    assert texts(await team.run(task="order 7")) == ["order 7", "seven then", "o2"]


async def test_inside_of_another_team_a_hand_off_to_nobody_that_goes_on_at_once_fails():
    inner = Swarm([desk(to("user"))], name="swarm", termination_condition=MaxMessageTermination(9))
    with pytest.raises(TeamError, match="'user' is no participant"):
        await RoundRobinGroupChat([inner]).run(task="hi")


async def test_a_swarm_takes_part_in_another_team():
    inner = Swarm(
        [desk(to("expert")), Talker("expert", "e DONE", "e again DONE")],
        name="swarm",
        termination_condition=TextMentionTermination("DONE"),
    )
    team = RoundRobinGroupChat([inner, Talker("other", "o")], max_turns=3)
    result = await team.run(task="hi")
    assert [m.to_text() for m in result.messages if m.source in ("expert", "other")] == [
        "e DONE",
        "o",
        "e again DONE",
    ]
