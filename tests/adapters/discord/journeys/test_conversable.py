"""A chat on Discord: the person is asked before each reply."""

from __future__ import annotations

from pathlib import Path

from adapters.discord.testing import DiscordSimulator
from tests.adapters.discord.serving import bot_texts, serving, thread_of, wait_delivered
from tests.fakes.chat_of_two import chats_of_two


async def test_the_person_in_the_thread_replies_to_the_writer(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, chats_of_two(tmp_path)) as gateway:
        asked = await alice.mentions(general, "a poem, please")
        await discord.until(lambda: asked.thread and len(bot_texts(discord, asked.thread)) == 2)
        thread = thread_of(asked)
        written, question = bot_texts(discord, thread)
        assert "A long poem." in written
        assert "Provide feedback to writer" in question
        await alice.says(thread, "shorter")
        await discord.until(lambda: any("A poem." in e for e in bot_texts(discord, thread)))
        await discord.until(lambda: "Provide feedback" in bot_texts(discord, thread)[-1])
        await wait_delivered(gateway)
