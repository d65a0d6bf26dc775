"""A mention in Slack, and the team's streamed answer to its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from adapters.slack.simulator.clock import RealClock
from adapters.slack.simulator.state import Message
from adapters.slack.testing import RenderedMessage, SlackSimulator
from teams import RoundRobinGroupChat, Swarm
from teams.agents import AssistantAgent
from teams.base import Team
from teams.conditions import MaxMessageTermination, TextMentionTermination
from tests.adapters.slack.running import one
from tests.adapters.slack.serving import EVERYWHERE, ServedSlack, served
from tests.fakes.agents import Talker
from tests.fakes.scripted_model import ScriptedModel, calls

WORDS = [f"word{n}" for n in range(60)]
MANY: dict[str, Any] = {**EVERYWHERE, "limits": {"parallel_turns": 60, "turns": 100}}
STREAMING = ("chat.startStream", "chat.appendStream", "chat.stopStream")


def relay(words: ScriptedModel) -> Swarm:
    """A planner that hands over to a writer, who writes until END."""
    planner = AssistantAgent(
        "planner",
        ScriptedModel(calls(("transfer_to_writer", {}))),
        handoffs=["writer"],
        model_client_stream=True,
    )
    writer = AssistantAgent("writer", words, model_client_stream=True)
    return Swarm([planner, writer], termination_condition=TextMentionTermination("END"))


def shown(slack: SlackSimulator, asked: Message) -> list[RenderedMessage]:
    """The bot's messages in the thread."""
    return [each for each in slack.messages("general", asked) if each.name != "ann"]


def resting(slack: SlackSimulator, asked: Message) -> bool:
    """True if nobody seems to work and nothing is being written."""
    session = slack.session("general", asked)
    return (session is None or session.status == "active") and slack.open_streams == []


async def writing(slack: SlackSimulator, run: ServedSlack, asked: Message, text: str) -> None:
    """Wait until a text stands there, in a stream that goes on."""
    await run.until(
        lambda: any(text in e.text and e.stream == "streaming" for e in shown(slack, asked))
    )


async def test_a_mention_is_answered_in_a_stream_that_shows_the_handoff(tmp_path: Path) -> None:
    go_on, end = asyncio.Event(), asyncio.Event()
    words = ScriptedModel(["It is ", go_on, "forty two, ", end, "as ever. END"])
    async with SlackSimulator() as slack, served(slack, tmp_path, lambda _: relay(words)) as run:
        asked = await slack.person("ann").asks("general", "what is it?")
        await writing(slack, run, asked, "It is")
        session = slack.session("general", asked)
        assert session is not None
        assert session.status == "processing"
        slack.clock.advance(5)
        go_on.set()
        await writing(slack, run, asked, "forty two,")
        slack.clock.advance(5)
        end.set()
        await run.until(lambda: resting(slack, asked))
        (written,) = shown(slack, asked)
        assert written.name == "writer"
        assert "planner \u2192 writer" in written.text
        assert "It is forty two, as ever. END" in written.text
        assert written.stream == "stopped"
        made = [call.method for call in slack.calls() if call.method in STREAMING]
        assert (made[0], made[-1]) == ("chat.startStream", "chat.stopStream")
        assert set(made[1:-1]) == {"chat.appendStream"}
        assert {call.arguments["ts"] for call in slack.calls("chat.appendStream")} == {written.ts}
        assert not slack.calls("chat.postMessage")
        assert not [call for call in slack.calls() if call.error]


async def test_who_is_addressed_speaks_first_and_a_person_of_that_name_is_no_agent(
    tmp_path: Path,
) -> None:
    def team(_: Any) -> Team:
        agents = [Talker(name, f"{name} here") for name in ("planner", "writer", "bob")]
        return RoundRobinGroupChat(agents, termination_condition=MaxMessageTermination(2))

    async with SlackSimulator() as slack, served(slack, tmp_path, team) as run:
        run.teams.participants = ("planner", "writer", "bob")
        ann, bob = slack.person("ann"), slack.person("bob")
        asked = await ann.asks("general", "@Writer: what do you think?")
        await run.until(lambda: any("writer here" in each.text for each in shown(slack, asked)))
        about = await ann.asks("general", f"{bob.mention} is here")
        await run.until(lambda: any("planner here" in each.text for each in shown(slack, about)))
        await ann.asks("general", "@planner")
        await run.until(lambda: slack.calls("chat.postEphemeral"))
        [told] = slack.calls("chat.postEphemeral")
        assert "What should planner do?" in told.arguments["text"]
        await run.delivered()


async def test_stop_in_the_middle_of_a_stream_ends_the_turn(tmp_path: Path) -> None:
    never, go_on = asyncio.Event(), asyncio.Event()
    words = ScriptedModel(["It is a long story: ", never], ["It is ", go_on, "42. END"])
    async with SlackSimulator() as slack, served(slack, tmp_path, lambda _: relay(words)) as run:
        ann = slack.person("ann")
        asked = await ann.asks("general", "what is it?")
        await writing(slack, run, asked, "long story")
        await ann.stops("general", asked)
        await run.until(lambda: resting(slack, asked))
        await run.settled()
        assert await run.inbox("text") == ["what is it?", "/stop"]
        slack.clock.advance(120)  # nothing is written later that was held back
        await ann.asks("general", "in short?", thread=asked)
        await run.until(lambda: not resting(slack, asked))  # a quick answer may show no status
        go_on.set()
        await run.until(lambda: any("It is 42. END" in each.text for each in shown(slack, asked)))
        await run.until(lambda: resting(slack, asked))
        said = [(each.name, each.text.splitlines()[-1]) for each in shown(slack, asked)]
        assert said == [
            ("writer", "It is a long story: "),
            ("parley", "Stopped."),
            ("writer", "It is 42. END"),
        ]
        status = [call.arguments["status"] for call in slack.calls("agents.sessions.setStatus")]
        assert status == ["processing", "active"] * 2


def in_time(slack: SlackSimulator) -> bool:
    """True if every first attempt was acknowledged in time."""
    return all(
        each.acked and len(each.attempts) == 1 and (each.latency or 0) < 3
        for each in slack.deliveries
    )


@asynccontextmanager
async def in_real_time(
    folder: Path, parallel: int
) -> AsyncGenerator[tuple[SlackSimulator, ServedSlack]]:
    """A workspace with rate limits, and an agent that takes three seconds."""
    clock = RealClock()

    def team(_: object) -> Team:
        return one(clock, " ".join(WORDS))

    async with (
        SlackSimulator(clock=clock) as slack,
        served(slack, folder, team, routes=[MANY], parallel=parallel) as run,
    ):
        yield slack, run


@pytest.mark.chaos
@pytest.mark.timeout(120)
async def test_twenty_threads_of_two_people_are_answered_whole_over_the_sockets(
    tmp_path: Path,
) -> None:
    async with in_real_time(tmp_path, parallel=30) as (slack, run):
        people = [slack.person("ann"), slack.person("bob")]
        asked = [await people[n % 2].asks("general", f"question {n}") for n in range(20)]

        def words(thread: Message) -> list[str]:
            found = [each.text.split() for each in shown(slack, thread) if each.name == "solo"]
            return [word for text in found for word in text if word.startswith("word")]

        await slack.until(lambda: all(words(each) == WORDS for each in asked), within=90)
        await slack.until(lambda: slack.open_streams == [], within=30)
        await run.settled()
        assert await run.inbox() == ["turn"] * 20
        assert in_time(slack)
        assert not [call for call in slack.calls() if call.error]


@pytest.mark.chaos
@pytest.mark.timeout(120)
async def test_one_with_fifty_threads_does_not_keep_another_waiting_over_the_sockets(
    tmp_path: Path,
) -> None:
    async with in_real_time(tmp_path, parallel=60) as (slack, run):
        ann, bob = slack.person("ann"), slack.person("bob")
        threads: list[Message] = []
        for begun in (15, 30, 45, 50):  # no more may wait at once
            threads += [
                await ann.asks("general", f"question {n}") for n in range(len(threads), begun)
            ]
            await run.accepted(begun)
            await run.all_begun()
        await slack.until(lambda: len(slack.calls("chat.startStream")) > 10)
        begun = slack.world.clock.time()
        asked = await bob.asks("general", "and mine?")
        await slack.until(lambda: slack.messages("general", asked)[1:], within=60)
        assert float(slack.messages("general", asked)[1].ts) - begun < 5
        assert not all(slack.messages("general", each)[1:] for each in threads)
        await run.settled()
        assert in_time(slack)
        assert not [call for call in slack.calls() if call.error]
