"""The promises of a run, for every kind of team."""

import asyncio
import gc
from typing import Any

import pytest

from teams import RoundRobinGroupChat
from teams.base import TaskResult, TeamError
from teams.conditions import (
    ExternalTermination,
    MaxMessageTermination,
    TextMentionTermination,
    TimeoutTermination,
)
from teams.messages import SelectSpeakerEvent, StopMessage, TextMessage
from tests.fakes.agents import Talker
from tests.fakes.streams import everything, take, texts
from tests.teams._engine.watched_teams import pair

# The task


@pytest.mark.parametrize(
    "task",
    ["hi", TextMessage(content="hi", source="user"), [TextMessage(content="hi", source="user")]],
    ids=["text", "message", "list"],
)
async def test_a_task_comes_first_in_the_stream_and_in_the_result(task: Any):
    team, left, _ = pair(max_turns=1)
    items = await everything(team.run_stream(task=task))
    assert [type(item) for item in items] == [TextMessage, TextMessage, TaskResult]
    assert list(items[-1].messages) == items[:-1]
    assert (items[0].source, items[0].content) == ("user", "hi")
    assert left.given == [["hi"]]


async def test_a_task_of_several_messages_reaches_everyone_in_order():
    team, left, right = pair(max_turns=2)
    await team.run(task=[TextMessage(content=text, source="user") for text in "ab"])
    assert left.given == [["a", "b"]]
    assert right.given == [["a", "b", "l1"]]


async def test_task_messages_are_left_out_where_they_are_not_wanted():
    team, left, _ = pair(max_turns=1)
    result = await team.run(task="hi", output_task_messages=False)
    assert texts(result) == ["l1"]
    assert left.given == [["hi"]]


@pytest.mark.parametrize(
    "task", [[], ["text"], [None], [TextMessage(content="", source="u"), 1], 3]
)
async def test_an_empty_or_malformed_task_is_refused(task: Any):
    team, left, _ = pair(max_turns=1)
    with pytest.raises(ValueError, match="task"):
        await team.run(task=task)
    assert left.given == []


async def test_a_run_without_a_task_goes_on_with_what_was_said():
    team, left, right = pair(max_turns=1)
    await team.run(task="hi")
    result = await team.run()
    assert texts(result) == ["r1"]
    assert right.given == [["hi", "l1"]]
    assert left.given == [["hi"]]


async def test_a_team_without_history_can_run_without_a_task():
    team, left, _ = pair(max_turns=1)
    assert texts(await team.run()) == ["l1"]
    assert left.given == [[]]


# Participants


# Turns and termination


async def test_max_turns_ends_a_run_and_the_next_one_counts_anew():
    team, *_ = pair(max_turns=2)
    first, second = await team.run(task="hi"), await team.run()
    assert first.stop_reason == second.stop_reason == "Maximum number of turns 2 reached."
    assert texts(second) == ["l2", "r2"]


async def test_the_condition_is_asked_before_max_turns():
    team, *_ = pair(max_turns=1, termination_condition=TextMentionTermination("l1"))
    assert (await team.run(task="hi")).stop_reason == "Text 'l1' mentioned"


async def test_the_condition_sees_the_task_before_anyone_speaks():
    team, left, _ = pair(termination_condition=TextMentionTermination("STOP"))
    result = await team.run(task="STOP")
    assert texts(result) == ["STOP"]
    assert result.stop_reason == "Text 'STOP' mentioned"
    assert left.given == []


async def test_a_condition_that_fired_is_reset_for_the_next_run():
    team, *_ = pair(termination_condition=MaxMessageTermination(2))
    for expected in (["a", "l1"], ["b", "r1"], ["c", "l2"]):
        assert texts(await team.run(task=expected[0])) == expected


async def test_a_condition_that_has_fired_elsewhere_ends_the_run_at_once():
    condition = MaxMessageTermination(1)
    await condition([TextMessage(content="x", source="y")])
    team, left, _ = pair(termination_condition=condition)
    assert (await team.run(task="hi")).stop_reason == "The group chat has already terminated."
    assert left.given == []
    assert not condition.terminated


async def test_external_termination_ends_the_run_after_the_current_turn():
    external = ExternalTermination()
    team, *_ = pair(termination_condition=external)
    result = None
    async for item in team.run_stream(task="hi"):
        if isinstance(item, TextMessage) and item.content == "r1":
            external.set()
        if isinstance(item, TaskResult):
            result = item
    assert result is not None
    assert texts(result) == ["hi", "l1", "r1"]
    assert result.stop_reason == "External termination requested"


async def test_a_timeout_counts_only_while_the_team_runs(monkeypatch: pytest.MonkeyPatch):
    now = [0.0]
    monkeypatch.setattr("teams.conditions.monotonic", lambda: now[0])

    def wait() -> str:
        now[0] += 6
        return "slow"

    condition = TimeoutTermination(10)
    now[0] += 100
    team = RoundRobinGroupChat([Talker("slow", wait)], termination_condition=condition, max_turns=9)
    stream = team.run_stream(task="hi")
    assert [item.to_text() for item in await take(stream, 2)] == ["hi", "slow"]
    await stream.aclose()
    now[0] += 100
    result = await team.run()
    assert result.stop_reason == "Timeout of 10 seconds reached"
    assert texts(result) == ["slow"]


async def test_a_run_stops_where_its_participants_cannot_be_chosen_by_the_thread():
    class Wrong(RoundRobinGroupChat):
        async def select_speaker(self, thread: Any) -> Any:
            return self.choice

        choice: Any = "nobody"

    team = Wrong([Talker("a")])
    with pytest.raises(TeamError, match="nobody"):
        await team.run(task="hi")
    team.choice = []
    with pytest.raises(TeamError, match="nobody"):
        await team.run()
    for forgotten in (None, 5):
        team.choice = forgotten
        with pytest.raises(
            TeamError, match=r"Wrong.select_speaker\(\) must return a name, several"
        ):
            await team.run()
    team.choice = StopMessage(content="enough", source="team")
    assert (await team.run()).stop_reason == "enough"


async def test_team_events_name_the_speakers_before_they_speak():
    team, *_ = pair(max_turns=2, emit_team_events=True)
    items = await everything(team.run_stream(task="hi"))
    assert [
        item.content if isinstance(item, SelectSpeakerEvent) else item.source for item in items[:-1]
    ] == ["user", ["left"], "left", ["right"], "right"]
    assert list(items[-1].messages) == items[:-1]
    thread = (await team.save_state())["agent_states"]["RoundRobinGroupChatManager"]
    assert [item["type"] for item in thread["message_thread"]] == ["TextMessage"] * 3


# One run at a time


async def test_a_refused_start_leaves_the_run_and_its_guard_as_they_are():
    team, left, _ = pair(max_turns=2)
    stream = team.run_stream(task="hi")
    await anext(stream)
    for _ in range(3):  # whoever was refused and dropped has not left the run that is on
        refused = team.run_stream(task="again")
        with pytest.raises(ValueError, match="already running"):
            await anext(refused)
        assert [item async for item in refused] == []
        del refused
        gc.collect()
    assert [getattr(item, "content", "end") async for item in stream] == ["l1", "r1", "end"]
    assert left.given == [["hi"]]


async def test_a_finished_stream_that_is_dropped_late_says_nothing_about_the_next_run():
    team, *_ = pair(max_turns=1)
    first = team.run_stream(task="hi")
    assert len([item async for item in first]) == 3
    second = team.run_stream()
    await anext(second)
    del first
    gc.collect()
    with pytest.raises(ValueError, match="already running"):
        await team.run()
    await second.aclose()


async def test_a_stream_closed_before_its_first_item_has_started_nothing():
    team, left, _ = pair(max_turns=1)
    stream = team.run_stream(task="lost")
    await stream.aclose()
    assert [item async for item in stream] == []
    assert texts(await team.run(task="hi")) == ["hi", "l1"]
    assert left.given == [["hi"]]


async def test_a_stream_that_is_never_read_starts_nothing():
    team, left, _ = pair(max_turns=1)
    team.run_stream(task="lost")
    await team.run(task="hi")
    assert left.given == [["hi"]]


async def test_after_a_plain_break_the_team_can_run_reset_and_load_at_once():
    team, left, _ = pair(max_turns=2)
    async for item in team.run_stream(task="hi"):
        if isinstance(item, TextMessage) and item.source == "left":
            break
    assert texts(await team.run()) == ["r1"]
    async for _ in team.run_stream(task="hi"):
        break
    await team.reset()
    state = await team.save_state()
    async for _ in team.run_stream(task="hi"):
        break
    await team.load_state(state)
    assert left.calls == ["reset"]
    assert texts(await team.run(task="x")) == ["x", "l2", "r2"]


async def test_a_run_left_early_takes_a_new_task_into_the_unfinished_run():
    team, left, right = pair(max_turns=2)
    async for item in team.run_stream(task="hi"):
        if isinstance(item, TextMessage) and item.content == "l1":
            break
    result = await team.run(task="also")
    assert texts(result) == ["also", "r1"]
    assert right.given == [["hi", "l1", "also"]]
    assert result.stop_reason == "Maximum number of turns 2 reached."
    await team.run()
    assert left.given == [["hi"], ["also", "r1"]]


async def test_what_was_not_taken_when_the_consumer_left_is_yielded_first():
    team, left, _ = pair(max_turns=1)
    stream = team.run_stream(task=[TextMessage(content=text, source="user") for text in "ab"])
    assert [item.to_text() for item in await take(stream, 1)] == ["a"]
    await stream.aclose()
    assert texts(await team.run()) == ["b", "l1"]
    assert left.given == [["a", "b"]]


# Pause, resume, reset


# The token, and the pace


async def test_nothing_moves_while_the_consumer_holds_an_item():
    team, left, right = pair(max_turns=2)
    stream = team.run_stream(task="hi")
    await anext(stream)
    for _ in range(5):
        await asyncio.sleep(0)
    assert left.given == []
    await anext(stream)
    for _ in range(5):
        await asyncio.sleep(0)
    assert right.given == []
    await stream.aclose()
