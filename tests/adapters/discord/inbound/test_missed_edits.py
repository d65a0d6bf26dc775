"""Edits and deletions that were missed while disconnected."""

import asyncio
import time
from functools import partial
from pathlib import Path

import pytest

from adapters.discord.testing import DiscordSimulator
from tests.adapters.discord.serving import (
    bot_messages,
    bot_texts,
    mark_heard,
    serving,
    thread_of,
    wait_accepted,
    wait_delivered,
    wait_seen_mark,
)
from tests.fakes.new_store import new_store
from tests.fakes.scripted_model import ScriptedModel
from tests.gateway.scripted import solo

pytestmark = pytest.mark.chaos


async def test_what_was_edited_and_deleted_while_the_session_was_lost_is_caught_up_with(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, go_on = discord.channel("general"), discord.person("alice"), asyncio.Event()
    model = ScriptedModel(["One ", go_on, "."], "Two.", "Three.")
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        asked = await alice.mentions(general, "first")
        await discord.until(lambda: asked.thread)
        await model.asked()
        edited = await alice.says(thread_of(asked), "secnd")
        deleted = await alice.says(thread_of(asked), "third")
        await wait_accepted(gateway, 3)
        discord.gateway.invalidate()
        await discord.until(lambda: not discord.gateway.open_sessions)
        await alice.edits(edited, "second, corrected")
        await alice.deletes(deleted)
        await wait_accepted(gateway, 5)
        go_on.set()
        await discord.until(lambda: len(bot_texts(discord, thread_of(asked))) >= 2)
        await wait_delivered(gateway)
    heard = "".join(model.texts())
    assert "second, corrected" in heard
    assert "third" not in heard
    assert len(model.requests) == 2


async def test_what_was_edited_while_the_process_was_away_is_offered_to_be_run_again(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice = discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo("One.", "Welcome.")) as gateway:
        asked = await alice.says(alice.direct, "count to tne")
        await discord.until(lambda: bot_texts(discord, alice.direct))
        removed = await alice.says(alice.direct, "thanks")
        await discord.until(lambda: len(bot_texts(discord, alice.direct)) == 2)
        await wait_delivered(gateway)
        await wait_seen_mark(gateway)
    await discord.until(lambda: not discord.gateway.open_sessions)
    await alice.edits(asked, "count to ten")
    await alice.deletes(removed)
    for _ in range(2):  # the same edit is found again by the next one
        async with serving(discord, tmp_path, lambda: solo("Ten.")) as gateway:
            await wait_accepted(gateway, 4)
            await discord.until(lambda: len(bot_texts(discord, alice.direct)) == 3)
            await wait_delivered(gateway)
    assert len(bot_texts(discord, alice.direct)) == 3
    assert bot_messages(discord, alice.direct)[2].components
    assert len(discord.calls("GET", f"/messages/{removed.id}")) == 1


async def test_a_mark_in_the_future_hides_no_edit(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice = discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo("One.")) as gateway:
        asked = await alice.says(alice.direct, "count to tne")
        await discord.until(lambda: bot_texts(discord, alice.direct))
        await wait_delivered(gateway)
        await wait_seen_mark(gateway)
    await discord.until(lambda: not discord.gateway.open_sessions)
    store = new_store(tmp_path)
    async with store.own():  # the clock was five days ahead
        await mark_heard(store, time.time() + 5 * 86_400)
    await alice.edits(asked, "count to ten")
    async with serving(discord, tmp_path, lambda: solo("Ten.")) as gateway:
        await wait_accepted(gateway, 2)
        await wait_delivered(gateway)


async def test_a_channel_that_can_not_be_read_any_more_deletes_nothing(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, go_on = discord.channel("general"), discord.person("alice"), asyncio.Event()
    model = ScriptedModel(["One ", go_on, "."], "Two.")
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        asked = await alice.mentions(general, "first")
        await discord.until(lambda: asked.thread)
        await model.asked()
        second = await alice.says(thread_of(asked), "second")
        await wait_accepted(gateway, 2)
        discord.deny(general, discord.bot, "read_message_history")
        discord.gateway.invalidate()
        looked_at = f"{thread_of(asked).id}/messages/{second.id}"
        await discord.until(lambda: any(c.status for c in discord.calls("GET", looked_at)))
        go_on.set()
        await discord.until(lambda: len(bot_texts(discord, thread_of(asked))) == 2)
        await wait_delivered(gateway)
    assert "second" in "".join(model.texts())
