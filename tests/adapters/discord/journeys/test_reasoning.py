"""Reasoning that grows on Discord, and gives way to the answer."""

import asyncio
from pathlib import Path

from adapters.discord.testing import DiscordSimulator
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import Team
from teams.conditions import MaxMessageTermination
from teams.models import ThoughtPiece
from tests.adapters.discord.serving import (
    bot_messages,
    bot_texts,
    serving,
    thread_of,
    wait_delivered,
)
from tests.fakes.scripted_model import ScriptedModel, says

HOSTILE = "Hm @everyone <@1> <#2>\r# Big\u2028[x](https://evil.example) \x1b[31m"


def thinking(model: ScriptedModel) -> Team:
    agent = AssistantAgent("solo", model, model_client_stream=True)
    return RoundRobinGroupChat([agent], termination_condition=MaxMessageTermination(2))


async def test_a_thought_is_quoted_while_it_grows_and_gives_way_to_the_answer(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    go = asyncio.Event()
    answer = says("The answer.", thought=HOSTILE)
    model = ScriptedModel([ThoughtPiece(HOSTILE), go, "The answer.", answer])
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, lambda: thinking(model)) as gateway:
        asked = await alice.mentions(general, "first")
        await discord.until(
            lambda: asked.thread and "Hm" in str(bot_texts(discord, thread_of(asked)))
        )
        (thought,) = bot_messages(discord, thread_of(asked))
        quoted = thought.content.splitlines()
        go.set()
        await discord.until(lambda: "Hm" not in str(bot_texts(discord, thread_of(asked))))
        await wait_delivered(gateway)
        said = bot_texts(discord, thread_of(asked))
    assert "@everyone" not in "".join(quoted)
    assert "\x1b" not in "".join(quoted)
    assert all(line.startswith("> ") for line in quoted[1:])
    assert said == ["-# 🐺 **solo**\nThe answer."]
