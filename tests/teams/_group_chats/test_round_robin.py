"""RoundRobinGroupChat: in turn, run after run."""

import json
from typing import Any

import pytest

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.conditions import MaxMessageTermination, TextMentionTermination
from teams.models.replay import ReplayChatCompletionClient
from tests.fakes.agents import Talker
from tests.fakes.streams import texts


def three(**options: Any) -> RoundRobinGroupChat:
    return RoundRobinGroupChat([Talker(name, name) for name in "abc"], **options)


async def test_participants_speak_in_their_order_again_and_again():
    team = three(max_turns=7)
    assert texts(await team.run(task="hi"))[1:] == list("abcabca")


async def test_the_next_run_goes_on_with_the_next_participant():
    team = three(termination_condition=MaxMessageTermination(3))
    spoken = [texts(await team.run(task=str(number)))[1:] for number in range(4)]
    assert spoken == [["a", "b"], ["c", "a"], ["b", "c"], ["a", "b"]]


async def test_a_task_that_ends_the_run_at_once_costs_nobody_a_turn():
    team = three(termination_condition=TextMentionTermination("STOP") | MaxMessageTermination(2))
    await team.run(task="STOP")
    assert texts(await team.run(task="hi"))[1:] == ["a"]


async def test_the_place_in_the_circle_is_saved():
    team, fresh = three(max_turns=2), three(max_turns=2)
    await team.run(task="hi")
    await fresh.load_state(await team.save_state())
    assert texts(await fresh.run()) == ["c", "a"]
    await fresh.reset()
    assert texts(await fresh.run()) == ["a", "b"]


async def test_without_an_end_it_goes_on_until_it_is_stopped():
    stream = three().run_stream(task="hi")
    for _ in range(50):
        await anext(stream)
    await stream.aclose()


async def test_the_team_goes_through_json_and_works():
    team = RoundRobinGroupChat(
        [AssistantAgent("a", ReplayChatCompletionClient(["one", "two DONE"]))],
        name="team",
        description="does things",
        termination_condition=TextMentionTermination("DONE"),
        max_turns=5,
        emit_team_events=True,
    )
    form = team.dump_component()
    loaded = RoundRobinGroupChat.load_component(json.loads(form.model_dump_json()))
    assert (loaded.name, loaded.description) == ("team", "does things")
    assert loaded.dump_component() == form
    assert (await loaded.run(task="hi")).stop_reason == "Text 'DONE' mentioned"


def test_a_team_needs_somebody():
    with pytest.raises(ValueError, match="participant"):
        RoundRobinGroupChat([])


@pytest.mark.parametrize("form", ["documented", "compact"])
async def test_whoever_is_called_on_speaks_first_though_the_team_is_saved_before_that(form):
    team, fresh = three(max_turns=2), three(max_turns=2)
    await team.run(task="hi")
    await team.call_on("b")
    if form == "compact":
        await fresh.load_snapshot([await team.save_snapshot()])
    else:
        await fresh.load_state(await team.save_state())
    assert texts(await fresh.run(task="b, go"))[1:] == ["b", "c"]
    assert texts(await fresh.run(task="go on"))[1:] == ["a", "b"]


async def test_calling_on_somebody_gives_up_the_unfinished_run():
    team = RoundRobinGroupChat([Talker("a", ValueError("no"), "a"), Talker("b", "b")], max_turns=1)
    with pytest.raises(RuntimeError):
        await team.run(task="hi")
    await team.call_on("b")
    assert texts(await team.run(task="b?"))[1:] == ["b"]


async def test_who_is_called_on_in_a_nested_team_speaks_first_there():
    inner = RoundRobinGroupChat([Talker("x", "x"), Talker("y", "y")], name="inner", max_turns=1)
    team = RoundRobinGroupChat([Talker("a", "a"), inner], max_turns=1)
    assert team.all_names == ["a", "inner", "x", "y"]
    await team.call_on("y")
    assert texts(await team.run(task="y?"))[-1] == "y"
    assert not team.can_call_on("nobody")
    with pytest.raises(ValueError, match="nobody"):
        await team.call_on("nobody")
