"""Answers that broke off, and the next ones below them."""

from pathlib import Path

from adapters.discord.testing import DiscordSimulator
from gateway.events import BROKE_OFF
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import Team
from teams.conditions import MaxMessageTermination
from teams.models import ModelUnreachable
from tests.adapters.discord.serving import bot_texts, serving, thread_of, wait_delivered
from tests.fakes.scripted_model import ScriptedModel

HALF = "Half an answer that people saw "


def breaking(model: ScriptedModel) -> Team:
    agent = AssistantAgent("solo", model, model_client_stream=True)
    return RoundRobinGroupChat([agent], termination_condition=MaxMessageTermination(2))


async def test_the_next_answer_is_a_post_below_the_error(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    model = ScriptedModel([HALF, "and ", ModelUnreachable("cut")], ["The whole answer."])
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, lambda: breaking(model)) as gateway:
        asked = await alice.mentions(general, "first")
        await discord.until(lambda: asked.thread and len(bot_texts(discord, asked.thread)) == 2)
        await wait_delivered(gateway)
        half, error = bot_texts(discord, thread_of(asked))
        await alice.says(thread_of(asked), "second")
        await discord.until(lambda: len(bot_texts(discord, thread_of(asked))) == 3)
        await wait_delivered(gateway)
        again = bot_texts(discord, thread_of(asked))
    assert half == f"-# **solo**\n{HALF}and\n-# {BROKE_OFF}"
    assert again == [half, error, "-# **solo**\nThe whole answer."]
