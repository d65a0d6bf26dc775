"""Many growing texts under undisclosed limits, without avoidable refusals."""

import asyncio
from pathlib import Path

import pytest

from adapters.discord.testing import DiscordSimulator, TooManyRequests
from gateway.gateway import Limits
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.conditions import MaxMessageTermination
from tests.adapters.discord.serving import bot_texts, config_of, serving, thread_of, wait_delivered
from tests.fakes.scripted_model import ScriptedModel
from tests.gateway.scripted import ScriptedTeams, solo

pytestmark = pytest.mark.chaos

POST = "POST /channels/{channel_id}/messages"
EDIT = "PATCH /channels/{channel_id}/messages/{message_id}"


class PacedConversation:
    """Teams whose agents say a word whenever they are told to."""

    def __init__(self) -> None:
        self.beats = [asyncio.Event() for _ in range(150)]
        self.beat = 0
        self.ended_at = 0.0

    def team(self) -> RoundRobinGroupChat:
        pieces = [piece for n, beat in enumerate(self.beats) for piece in (f"w{n} ", beat)]
        agent = AssistantAgent("solo", ScriptedModel([*pieces, "end."]), model_client_stream=True)
        return RoundRobinGroupChat([agent], termination_condition=MaxMessageTermination(2))

    async def talk(self, seconds: float) -> None:
        """Say a word every 40 ms for a while, then the rest."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        for beat in self.beats:
            beat.set()
            if loop.time() < until:
                await asyncio.sleep(0.04)
        self.ended_at = loop.time()


@pytest.mark.timeout(40)
async def test_five_texts_that_grow_in_one_channel_share_its_budget(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general = discord.channel("general")
    people = [discord.person(f"person{n}") for n in range(5)]
    talking = PacedConversation()
    config = config_of(discord, threads="none")
    discord.limits.set(EDIT, 5, 2.0)
    async with serving(discord, tmp_path, talking.team, config=config) as gateway:
        for person in people:
            await person.mentions(general, "talk")
        await discord.until(lambda: len(bot_texts(discord, general)) == 5, seconds=20)
        talks = asyncio.get_running_loop().create_task(talking.talk(5.0), name="talks")
        await asyncio.sleep(2.0)
        discord.limits.set(EDIT, 3, 2.0)
        await talks
        await discord.until(
            lambda: sum(text.endswith("end.") for text in bot_texts(discord, general)) == 5,
            seconds=20,
        )
        late = asyncio.get_running_loop().time() - talking.ended_at
        await wait_delivered(gateway)
    assert discord.avoidable_429s == []
    assert late < 5.0
    edits = len(discord.calls("PATCH", "/messages/{message_id}"))
    assert edits >= 8
    assert len({text.splitlines()[0] for text in bot_texts(discord, general)}) == 1


@pytest.mark.timeout(40)
async def test_twenty_threads_grow_side_by_side_under_limits_that_shrink(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general = discord.channel("general")
    people = [discord.person(f"person{n}") for n in range(20)]
    talking = PacedConversation()
    teams = ScriptedTeams(talking.team)
    async with serving(discord, tmp_path, teams, limits=Limits(parallel_turns=32)) as gateway:
        asked = [await person.mentions(general, "talk") for person in people]
        await discord.until(
            lambda: all(each.thread and bot_texts(discord, each.thread) for each in asked),
            seconds=20,
        )
        talks = asyncio.get_running_loop().create_task(talking.talk(6.0), name="talks")
        for count, disclosed in ((4, True), (2, True), (2, False)):
            await asyncio.sleep(1.5)
            discord.limits.set(EDIT, count, 2.5, disclosed=disclosed)
        await talks
        await discord.until(
            lambda: all(bot_texts(discord, thread_of(each))[-1].endswith("end.") for each in asked),
            seconds=20,
        )
        late = asyncio.get_running_loop().time() - talking.ended_at
        await wait_delivered(gateway)
    assert discord.avoidable_429s == []
    assert late < 5.0


async def test_a_ban_for_invalid_requests_is_waited_for(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice = discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo("Here.")) as gateway:
        discord.invalid_requests.limit.count, discord.invalid_requests.limit.ban = 1, 1.0
        discord.faults.plan(TooManyRequests(0.1), method="POST", path=POST.split()[1])
        await alice.says(alice.direct, "hello?")
        await discord.until(lambda: bot_texts(discord, alice.direct))
        await wait_delivered(gateway)
    assert bot_texts(discord, alice.direct) == ["-# 🐺 **solo**\nHere."]
    assert sum(call.status == 429 for call in discord.calls()) <= 4
