"""Turns without a word, and last words for the team alone."""

import asyncio
from pathlib import Path

from adapters.discord.testing import DiscordSimulator
from gateway.sessions.turn import SILENT
from tests.adapters.discord.journeys.test_too_long import narrow
from tests.adapters.discord.serving import (
    bot_messages,
    bot_texts,
    serving,
    thread_of,
    wait_delivered,
)
from tests.fakes.cut_answers import writing
from tests.fakes.narrow_model import NarrowModel
from tests.fakes.scripted_model import ScriptedModel


async def test_a_turn_without_a_word_says_so_and_its_button_asks_again(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    model = NarrowModel("", "Fine.", most=7_000)
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, lambda: narrow(model)) as gateway:
        asked = await alice.mentions(general, "Well?")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await wait_delivered(gateway)
        (offer,) = bot_messages(discord, thread_of(asked))
        said = offer.content
        await discord.answered(await alice.clicks(offer, "Try again"))
        await discord.until(lambda: "Fine." in str(bot_texts(discord, thread_of(asked))))
        await wait_delivered(gateway)
        assert not bot_messages(discord, thread_of(asked))[0].components
        texts = bot_texts(discord, thread_of(asked))
    assert SILENT in said
    assert texts == [said, "-# 🐺 **solo**\nFine."]


async def test_the_word_that_ends_the_work_never_reaches_discord(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    go = asyncio.Event()
    model = ScriptedModel(["All is done.\n", "\nTERM", go, "INATE"])
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, lambda: writing(model)) as gateway:
        asked = await alice.mentions(general, "Do it.")
        await discord.until(
            lambda: asked.thread and "All is done." in str(bot_texts(discord, asked.thread))
        )
        go.set()
        await discord.until(
            lambda: bot_texts(discord, thread_of(asked)) == ["-# 🐺 **solo**\nAll is done."]
        )
        await wait_delivered(gateway)
        assert bot_texts(discord, thread_of(asked)) == ["-# 🐺 **solo**\nAll is done."]
        sent = discord.calls()
    assert "TERM" not in str(sent)
