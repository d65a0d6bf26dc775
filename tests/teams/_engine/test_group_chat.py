"""The promises of a run, for every kind of team."""

import asyncio
import gc
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from teams import (
    DiGraphBuilder,
    GraphFlow,
    MagenticOneGroupChat,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from teams.agents import AssistantAgent
from teams.base import Response, TaskResult, TeamError
from teams.conditions import (
    ExternalTermination,
    FunctionalTermination,
    MaxMessageTermination,
    TextMentionTermination,
    TimeoutTermination,
)
from teams.core import CancellationToken
from teams.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    SelectSpeakerEvent,
    StopMessage,
    TextMessage,
    ThoughtEvent,
)
from tests.fakes.agents import Streamer, Talker
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.streams import everything, take, texts


def pair(**options: Any) -> tuple[RoundRobinGroupChat, Talker, Talker]:
    left, right = Talker("left", "l1", "l2", "l3"), Talker("right", "r1", "r2", "r3")
    return RoundRobinGroupChat([left, right], **options), left, right


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


def test_a_team_needs_participants_with_names_of_their_own():
    with pytest.raises(ValueError, match="participant"):
        RoundRobinGroupChat([])
    with pytest.raises(ValueError, match="unique"):
        RoundRobinGroupChat([Talker("same"), Talker("same")])
    with pytest.raises(ValueError, match="identifier"):
        Talker("not an identifier")
    with pytest.raises(ValueError, match="max_turns"):
        pair(max_turns=0)


async def test_a_speaker_gets_what_was_said_since_its_last_turn_but_not_its_own_words():
    team, left, right = pair(max_turns=4)
    await team.run(task="hi")
    assert left.given == [["hi"], ["r1"]]
    assert right.given == [["hi", "l1"], ["l2"]]


async def test_inner_messages_are_yielded_and_judged_but_not_given_to_others():
    async def script() -> AsyncGenerator[Any, None]:
        thought = ThoughtEvent(content="hm", source="thinker")
        aside = TextMessage(content="aside", source="thinker")
        yield thought
        yield aside
        answer = TextMessage(content="so", source="thinker")
        yield Response(chat_message=answer, inner_messages=[thought, aside])

    judged: list[list[str]] = []

    def note(delta: Sequence[BaseAgentEvent | BaseChatMessage]) -> bool:
        judged.append([item.to_text() for item in delta])
        return False

    other = Talker("other", "ok")
    team = RoundRobinGroupChat(
        [Streamer("thinker", script), other],
        termination_condition=FunctionalTermination(note),
        max_turns=2,
    )
    result = await team.run(task="hi")
    assert texts(result) == ["hi", "hm", "aside", "so", "ok"]
    assert judged == [["hi"], ["hm", "aside", "so"], ["ok"]]
    assert other.given == [["hi", "so"]]


async def test_by_default_inner_messages_come_before_the_response():
    inner = ThoughtEvent(content="hm", source="a")
    said = Response(chat_message=TextMessage(content="so", source="a"), inner_messages=[inner])
    team = RoundRobinGroupChat([Talker("a", said)], max_turns=1)
    assert texts(await team.run()) == ["hm", "so"]


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


async def test_pause_and_resume_are_told_to_every_participant_also_while_it_runs():
    left, right, inmost = Talker("left"), Talker("right"), Talker("inmost")
    inner = RoundRobinGroupChat([inmost], name="inner", max_turns=1)
    team = RoundRobinGroupChat([left, right, inner], max_turns=3)
    for call in (team.pause, team.resume):
        with pytest.raises(RuntimeError, match="has not run"):
            await call()
    stream = team.run_stream(task="hi")
    await anext(stream)
    await team.pause()
    await team.resume()
    async for _ in stream:
        pass
    await team.pause()
    assert left.calls == right.calls == ["pause", "resume", "pause"]
    assert inmost.calls == ["pause"]


async def test_a_reset_team_begins_as_a_new_one_does():
    team, left, right = pair(termination_condition=MaxMessageTermination(3))
    await team.run(task="hi")
    fresh, *_ = pair(termination_condition=MaxMessageTermination(3))
    await team.reset()
    assert await team.save_state() == await fresh.save_state()
    assert left.calls == right.calls == ["reset"]
    result = await team.run(task="anew")
    assert texts(result) == ["anew", "l2", "r2"]
    assert left.given[-1] == ["anew"]


async def test_resetting_an_unfinished_run_forgets_it():
    team, left, _ = pair(max_turns=2, emit_team_events=True)
    async for item in team.run_stream(task="hi"):
        if isinstance(item, TextMessage) and item.source == "left":
            break
    await team.reset()
    assert texts(await team.run(task="anew"))[:2] == ["anew", "['left']"]
    assert left.given == [["hi"], ["anew"]]


# The token, and the pace


async def test_the_token_reaches_participants():
    tokens: list[CancellationToken] = []

    class Nosy(Talker):
        async def on_messages(self, messages: Any, cancellation_token: CancellationToken) -> Any:
            tokens.append(cancellation_token)
            return await super().on_messages(messages, cancellation_token)

    token = CancellationToken()
    inner = RoundRobinGroupChat([Nosy("a")], name="inner", max_turns=1)
    await RoundRobinGroupChat([inner], max_turns=1).run(cancellation_token=token)
    assert tokens == [token]


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
