"""Refusals of Discord, as people in threads and operators hear of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.discord.simulator import threads
from adapters.discord.testing import Channel, DiscordSimulator, Refusal
from tests.adapters.discord.serving import (
    bot_texts,
    serving,
    thread_of,
    wait_delivered,
)
from tests.gateway.scripted import solo

BLOCKED = Refusal(400, 200000, "Message was blocked by automatic moderation")
TITLE = Refusal(400, 200001, "Title was blocked by automatic moderation")
POST = "/channels/{channel_id}/messages"
TOLD = "A part of this answer could not be shown here: The automatic moderation of this place"


async def test_what_automod_refuses_is_told_as_such(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice = discord.person("alice")
    discord.faults.plan(BLOCKED, method="POST", path=POST)
    async with serving(discord, tmp_path, lambda: solo("Rude words.", "Fine.")) as gateway:
        await alice.says(alice.direct, "say it")
        await discord.until(lambda: bot_texts(discord, alice.direct))
        await wait_delivered(gateway)
        [remark] = gateway.vitals.remarks
        await alice.says(alice.direct, "and now?")
        await discord.until(lambda: len(bot_texts(discord, alice.direct)) == 2)
        await wait_delivered(gateway)
    told, answer = bot_texts(discord, alice.direct)
    assert TOLD in told
    assert "Fine." in answer
    assert "automatic moderation" in remark


async def test_a_title_that_automod_refuses_keeps_nobody_from_a_thread(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    discord.faults.plan(TITLE, method="POST", path="/threads")
    async with serving(discord, tmp_path, lambda: solo("Here.")) as gateway:
        asked = await alice.mentions(general, "rude words")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await wait_delivered(gateway)
    assert thread_of(asked).name == "Conversation"


async def test_operators_read_where_which_permission_is_missing(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo("Here.", "There.")) as gateway:
        asked = await alice.mentions(general, "where")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await wait_delivered(gateway)
        discord.deny(general, discord.bot, "send_messages_in_threads")
        await alice.says(thread_of(asked), "and now?")
        [remark] = await discord.until(lambda: list(gateway.vitals.remarks))
    assert remark.startswith("discord: not delivered: Discord refused: Missing Permissions (50013)")
    where, lacking = remark.partition(" in ")[2].split(", where the bot lacks ")
    assert where == "#general"  # and not the thread's name, which people have written
    assert "Send Messages in Threads" in lacking


async def test_operators_read_so_of_a_channel_in_which_nothing_can_be_said(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    discord.deny(general, discord.bot, "send_messages create_public_threads")
    async with serving(discord, tmp_path, lambda: solo("Here.")) as gateway:
        await alice.mentions(general, "hello?")
        [remark] = await discord.until(lambda: list(gateway.vitals.remarks))
    assert "in #general, where the bot lacks Send Messages, " in remark
    assert "Create Public Threads" in remark


async def ask_anew(discord: DiscordSimulator, thread: Channel, text: str, answers: int) -> None:
    """Begin another conversation in a thread, and wait for its answer."""
    alice = discord.person("alice")
    await alice.says(thread, "!new")
    await discord.until(lambda: len(bot_texts(discord, thread)) == answers + 1)
    await alice.says(thread, text)
    await discord.until(lambda: len(bot_texts(discord, thread)) == answers + 2)


async def test_a_new_conversation_names_its_thread_unless_a_moderator_has(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo(*"1234")) as gateway:
        asked = await alice.mentions(general, "first")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await wait_delivered(gateway)
        thread = thread_of(asked)
        await ask_anew(discord, thread, "second", 1)
        await discord.until(lambda: thread.name == "second")
        await wait_delivered(gateway)
        threads.change(discord.world, thread, discord.world.owner, {"name": "Operations"})
        await ask_anew(discord, thread, "third", 3)
        await wait_delivered(gateway)
    assert thread.name == "Operations"


@pytest.mark.parametrize(("name", "later"), [("first", "second"), ("Operations", "Operations")])
async def test_a_later_process_names_a_thread_that_has_its_first_name(
    discord: DiscordSimulator, tmp_path: Path, name: str, later: str
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo("1")) as gateway:
        asked = await alice.mentions(general, "first")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await wait_delivered(gateway)
    threads.change(discord.world, thread_of(asked), discord.world.owner, {"name": name})
    async with serving(discord, tmp_path, lambda: solo("2")) as gateway:
        await ask_anew(discord, thread_of(asked), "second", 1)
        await wait_delivered(gateway)
    assert thread_of(asked).name == later
