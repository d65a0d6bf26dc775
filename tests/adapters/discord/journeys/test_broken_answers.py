"""Answers that broke off, and the next ones below them."""

from pathlib import Path

from adapters.discord.testing import DiscordSimulator
from gateway.errors import SET_ASIDE
from gateway.events import BROKE_OFF
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.agents._set_aside import NO_FILES
from teams.base import Team
from teams.conditions import MaxMessageTermination
from teams.models import ContentRefused, ModelUnreachable
from tests.adapters.discord.serving import (
    bot_messages,
    bot_texts,
    serving,
    thread_of,
    wait_delivered,
)
from tests.fakes.scripted_model import ScriptedModel
from tests.gateway.content.test_attachments import png

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
    assert half == f"-# 🐺 **solo**\n{HALF}and\n-# {BROKE_OFF}"
    assert again == [half, error, "-# 🐺 **solo**\nThe whole answer."]


async def test_a_refused_picture_is_left_out_when_people_try_again(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    refused = ContentRefused("The image does not represent a valid image.")
    model = ScriptedModel(refused, ["I read it."], vision=True)
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, lambda: breaking(model)) as gateway:
        picture = ("a.png", png(), "image/png")
        asked = await alice.mentions(general, "look", files=[picture])
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await wait_delivered(gateway)
        (error,) = bot_messages(discord, thread_of(asked))
        said = error.content
        await discord.answered(await alice.clicks(error, "Try again"))
        await discord.until(lambda: "I read it." in str(bot_texts(discord, thread_of(asked))))
    assert SET_ASIDE in said
    assert model.texts()[-1].endswith(f"look\n{NO_FILES}")
