"""The mark below answers that were cut at the token limit."""

from pathlib import Path

from adapters.discord.testing import DiscordSimulator
from gateway.events import MARKS
from tests.adapters.discord.serving import (
    bot_messages,
    bot_texts,
    serving,
    thread_of,
    wait_delivered,
)
from tests.fakes.cut_answers import HALF, cut, writing
from tests.fakes.scripted_model import ScriptedModel


async def test_a_cut_answer_has_its_mark_below_the_text(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    model = ScriptedModel([HALF, cut()])
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, lambda: writing(model)) as gateway:
        asked = await alice.mentions(general, "Tell.")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await wait_delivered(gateway)
        answer = bot_texts(discord, thread_of(asked))[0]
    assert answer == f"-# 🐺 **solo**\n{HALF.strip()}\n-# {MARKS['cut']}"


async def test_its_button_lets_the_agent_go_on_in_a_new_message_below(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    model = ScriptedModel([HALF, cut()], ["queen."], ["The end."])
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, lambda: writing(model)) as gateway:
        asked = await alice.mentions(general, "Tell.")
        await discord.until(lambda: asked.thread and len(bot_texts(discord, asked.thread)) == 2)
        await wait_delivered(gateway)
    async with serving(discord, tmp_path, lambda: writing(model)) as gateway:
        half, offer = bot_messages(discord, thread_of(asked))
        before = half.content
        await discord.answered(await alice.clicks(offer, "Continue"))
        await discord.until(lambda: len(bot_texts(discord, thread_of(asked))) == 3)
        await wait_delivered(gateway)
        texts = bot_texts(discord, thread_of(asked))
        assert not bot_messages(discord, thread_of(asked))[1].components
    assert texts == [before, "-# solo can go on from there.", "-# 🐺 **solo**\nqueen."]
