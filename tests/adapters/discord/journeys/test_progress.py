"""Seen, working and done as one reaction."""

import asyncio
from pathlib import Path

from adapters.discord.outbound.progress import EMOJI
from adapters.discord.testing import DiscordSimulator
from teams.base import Team
from tests.adapters.discord.serving import bot_texts, config_of, serving, thread_of, wait_delivered
from tests.gateway.scripted import calls, solo


async def test_a_message_is_marked(discord: DiscordSimulator, tmp_path: Path) -> None:
    marked = asyncio.Event()

    async def hold() -> str:
        """Hold the answer until the message is marked."""
        await marked.wait()
        return "held"

    def team() -> Team:
        return solo(calls("hold"), "Hi.", tools=[hold])

    config, alice = config_of(discord, show_progress=True), discord.person("alice")
    async with serving(discord, tmp_path, team, config=config) as gateway:
        asked = await alice.says(alice.direct, "hello")
        await discord.until(lambda: asked.reactions)
        marked.set()
        await discord.until(lambda: "Hi." in str(bot_texts(discord, alice.direct)))
        await discord.until(lambda: [*asked.reactions] == [EMOJI["done"]])
        await wait_delivered(gateway)


async def test_the_first_message_and_those_in_its_thread_are_marked(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    config, alice = config_of(discord, show_progress=True), discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo("Hi.", "Bye."), config=config) as gateway:
        asked = await alice.mentions(discord.channel("general"), "hello")
        await discord.until(lambda: asked.thread and [*asked.reactions] == [EMOJI["done"]])
        more = await alice.says(thread_of(asked), "and now?")
        await discord.until(lambda: [*more.reactions] == [EMOJI["done"]])
        last = await alice.says(thread_of(asked), "once more")  # there are no more answers
        await discord.until(lambda: len(bot_texts(discord, thread_of(asked))) == 3)
        await discord.until(lambda: not last.reactions)
        await wait_delivered(gateway)


async def test_nothing_is_marked_by_default(discord: DiscordSimulator, tmp_path: Path) -> None:
    alice = discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo("Hi.")) as gateway:
        asked = await alice.says(alice.direct, "hello")
        await discord.until(lambda: "Hi." in str(bot_texts(discord, alice.direct)))
        await wait_delivered(gateway)
    assert not asked.reactions
