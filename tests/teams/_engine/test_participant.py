"""A participant's place in a team: its inbox, and its turn."""

import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from teams import RoundRobinGroupChat
from teams._engine.participant import Participant, SpeakerDone, as_member, check_agents
from teams.base import Response
from teams.conditions import FunctionalTermination, MaxMessageTermination
from teams.core import CancellationToken
from teams.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    MessageFactory,
    ModelClientStreamingChunkEvent,
    TextMessage,
    ThoughtEvent,
)
from tests.fakes.agents import Streamer, Talker
from tests.fakes.streams import texts
from tests.teams._engine.watched_teams import pair


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


def said(text: str, source: str = "bo") -> TextMessage:
    return TextMessage(content=text, source=source)


def heard(place: Participant) -> list[str]:
    return [message.to_text() for message in place.inbox]


async def spoken(place: Participant) -> list[Any]:
    return [item async for item in place.speak(CancellationToken())]


async def test_what_siblings_say_is_held_until_the_turn_is_over():
    place = Participant(Talker("al", "hi"))
    assert place.name == "al"
    place.steer([said("before")])
    place.hold([said("beside")])
    [done] = await spoken(place)
    assert isinstance(done, SpeakerDone)
    assert (done.last, heard(place)) == (done.published[0], ["before"])
    place.finish_turn()
    assert heard(place) == ["beside"]


def test_a_note_takes_the_place_of_a_message():
    place = Participant(Talker("al"))
    long = said("long")
    place.steer([said("a"), long])
    place.leave_out(long.id, "set aside")
    assert heard(place) == ["a", "set aside"]
    assert place.inbox[1].source == "bo"


async def broken_off() -> AsyncGenerator[Any, None]:
    yield ModelClientStreamingChunkEvent(content="so f", source="al", full_message_id="m")
    yield ModelClientStreamingChunkEvent(content="ar", source="al", full_message_id="m")
    raise OSError("gone")


async def test_an_answer_that_broke_off_is_told_to_its_speaker():
    place = Participant(Streamer("al", broken_off))
    with pytest.raises(OSError, match="gone"):
        await spoken(place)
    state = await place.save_state()
    assert state["half"] == "so far"
    again = Participant(Streamer("al", broken_off))
    await again.load_state(state, MessageFactory())
    await again.break_off()
    assert ["so far" in text for text in heard(again)] == [True]
    await again.break_off()
    assert len(again.inbox) == 1


async def test_a_place_is_saved_with_its_member():
    place = Participant(Talker("al"))
    place.steer([said("a")])
    place.hold([said("b")])
    state = json.loads(json.dumps(await place.save_state()))
    again = Participant(Talker("al"))
    await again.load_state(state, MessageFactory())
    assert heard(again) == ["a"]
    await again.abandon()
    assert heard(again) == ["a", "b"]
    await again.reset(CancellationToken())
    assert heard(again) == []


async def test_a_place_is_written_with_its_member():
    team, left, _ = pair(max_turns=1)
    await team.run(task="hi")
    again, other, right = pair(max_turns=1)
    await again.load_snapshot([await team.save_snapshot()])
    await again.run()
    assert (left.given, other.given) == ([["hi"]], [])
    assert right.given == [["hi", "l1"]]


def test_an_agent_is_told_that_the_run_is_over():
    class Told(Talker):
        def release_run(self) -> None:
            self.calls.append("released")

    agent = Told("al")
    Participant(agent).release_run()
    Participant(pair()[0]).release_run()
    assert agent.calls == ["released"]


def test_a_participant_may_offer_an_agent():
    agent = Talker("al")

    class Offer:
        def as_chat_agent(self) -> Talker:
            return agent

    assert as_member(Offer()) is agent
    assert as_member(agent) is agent
    check_agents([agent, Offer()], "Swarm")
    with pytest.raises(TypeError, match=r"The participants of a Swarm must be agents, found Round"):
        check_agents([agent, pair()[0]], "Swarm")
