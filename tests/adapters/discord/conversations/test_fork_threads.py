"""Threads of forks in Discord: where they begin, and who sees them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from adapters.discord.custom_ids import FORK
from adapters.discord.testing import (
    Channel,
    ConnectionReset,
    DiscordSimulator,
    Message,
    Refusal,
)
from gateway.gateway import Gateway
from gateway.store.units import adapters, forks, threads
from tests.adapters.discord.serving import (
    bot_messages,
    bot_texts,
    config_of,
    serving,
    thread_of,
    wait_commands,
    wait_delivered,
)
from tests.fakes.scripted_model import ScriptedModel
from tests.gateway.scripted import solo

ORIGIN = "This thread is a fork of 'first', from the end of its turn 1 of 2."
ANSWERS = ("One.", "Two.", "Three.", "Four.")


async def said(discord: DiscordSimulator, thread: Channel, text: str) -> Message:
    """The bot's message with this text."""
    return await discord.until(
        lambda: next((each for each in bot_messages(discord, thread) if text in each.content), None)
    )


async def two_turns(discord: DiscordSimulator, gateway: Gateway) -> Channel:
    """A thread with two turns, on its first message."""
    alice = discord.person("alice")
    await wait_commands(discord)
    asked = await alice.mentions(discord.channel("general"), "first")
    thread = await discord.until(
        lambda: asked.thread or next(iter(discord.threads(discord.channel("general"))), None)
    )
    await said(discord, thread, "One.")
    await alice.says(thread, "second")
    await said(discord, thread, "Two.")
    await wait_delivered(gateway)
    return thread


async def goes_on(discord: DiscordSimulator, fork: Channel, model: ScriptedModel) -> None:
    """The fork knows what was said up to its turn."""
    await discord.person("alice").says(fork, "third")
    await said(discord, fork, "Three.")
    heard = " ".join(model.texts())
    assert ("first" in heard, "second" in heard) == (True, False)


def new_threads(discord: DiscordSimulator, channel: Channel, *known: Channel) -> list[Channel]:
    return [each for each in discord.threads(channel) if each not in known]


@pytest.mark.parametrize("way", ["slash", "menu on a question", "menu on an answer", "text"])
async def test_a_fork_begins_in_the_channel_with_a_thread_of_its_own(
    way: str, discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, model = (
        discord.channel("general"),
        discord.person("alice"),
        ScriptedModel(*ANSWERS),
    )
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        thread = await two_turns(discord, gateway)
        match way:
            case "slash":
                await alice.slash(thread, "fork", turns="1")
            case "text":
                await alice.says(thread, "!fork 1")
            case "menu on a question":
                (asked,) = [each for each in discord.messages(general) if each.thread is thread]
                await alice.menu(asked, FORK)
            case _:
                await alice.menu(await said(discord, thread, "One."), FORK)
        root = await said(discord, general, ORIGIN)
        assert alice.mention in root.content
        await discord.until(lambda: root.thread)
        fork = thread_of(root)
        assert fork.name == "first (fork)"
        await goes_on(discord, fork, model)
        await alice.says(thread, "on")
        await said(discord, thread, "Four.")
        await wait_delivered(gateway)
    assert "second" in " ".join(model.texts())
    assert discord.missed_interactions == []


@pytest.mark.parametrize("threads", ["private", "public"])
async def test_a_private_thread_forks_to_a_private_one_with_its_author_alone(
    threads: Any, discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, bob = discord.channel("general"), discord.person("alice"), discord.person("bob")
    model = ScriptedModel(*ANSWERS)
    config = config_of(discord, threads="private")
    async with serving(discord, tmp_path, partial(solo, model), config=config) as gateway:
        thread = await two_turns(discord, gateway)
        await alice.adds(thread, bob)
    config = config_of(discord, threads=threads)
    async with serving(discord, tmp_path, partial(solo, model), config=config) as gateway:
        await alice.slash(thread, "fork", turns="1")
        (fork,) = await discord.until(lambda: new_threads(discord, general, thread))
        await said(discord, fork, ORIGIN)
        await goes_on(discord, fork, model)
        await wait_delivered(gateway)
    assert fork.private
    assert alice.id in fork.members
    assert bob.id not in fork.members
    assert all("fork" not in text for text in bot_texts(discord, general))


async def test_a_post_forks_to_a_new_post(discord: DiscordSimulator, tmp_path: Path) -> None:
    forum, alice, model = discord.forum("help"), discord.person("alice"), ScriptedModel(*ANSWERS)
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        await wait_commands(discord)
        post = await alice.opens_post(forum, "A post", f"{discord.world.bot.mention} first")
        await said(discord, post, "One.")
        await alice.says(post, "second")
        await said(discord, post, "Two.")
        await wait_delivered(gateway)
        await alice.menu(await said(discord, post, "One."), FORK)
        (fork,) = await discord.until(lambda: new_threads(discord, forum, post))
        await said(discord, fork, "is a fork of")
        await goes_on(discord, fork, model)
        await wait_delivered(gateway)
    assert fork.parent is forum


async def test_a_direct_message_goes_on_in_the_fork(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice, model = discord.person("alice"), ScriptedModel(*ANSWERS)
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        await wait_commands(discord)
        await alice.says(alice.direct, "first")
        await said(discord, alice.direct, "One.")
        await alice.says(alice.direct, "second")
        await said(discord, alice.direct, "Two.")
        await wait_delivered(gateway)
        await alice.slash(alice.direct, "fork", turns="1")
        await said(discord, alice.direct, ORIGIN)
        await goes_on(discord, alice.direct, model)
        await wait_delivered(gateway)


@pytest.mark.parametrize("place", ["a private thread", "a post"])
async def test_a_thread_of_a_fork_that_nobody_heard_of_is_made_once(
    place: str, discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice, model = discord.person("alice"), ScriptedModel(*ANSWERS)
    private = place == "a private thread"
    config: Any = config_of(discord, threads="private" if private else "public")
    channel = discord.channel("general") if private else discord.forum("help")
    async with serving(discord, tmp_path, partial(solo, model), config=config) as gateway:
        if private:
            thread = await two_turns(discord, gateway)
        else:
            await wait_commands(discord)
            thread = await alice.opens_post(channel, "first", f"{discord.world.bot.mention} first")
            await said(discord, thread, "One.")
            await wait_delivered(gateway)
        reset = ConnectionReset(committed=True)
        discord.faults.plan(
            reset, when=lambda call: call.method == "POST" and call.path.endswith("/threads")
        )
        await alice.slash(thread, "fork")
        (fork,) = await discord.until(lambda: new_threads(discord, channel, thread))
        await said(discord, fork, "is a fork of")
        await wait_delivered(gateway)
    assert len(new_threads(discord, channel, thread)) == 1


async def test_a_fork_takes_no_thread_that_is_another_conversations(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, bob = discord.channel("general"), discord.person("alice"), discord.person("bob")
    question = "a question that is as long as the title of a thread may be, or longer"
    config = config_of(discord, threads="private")
    model = ScriptedModel(*ANSWERS)
    async with serving(discord, tmp_path, partial(solo, model), config=config) as gateway:
        await wait_commands(discord)
        known = list[Channel]()
        for person, answer in ((bob, "One."), (alice, "Two.")):
            await person.mentions(general, question)
            known += await discord.until(partial(new_threads, discord, general, *known))
            await said(discord, known[-1], answer)
        reset = ConnectionReset(committed=False)
        discord.faults.plan(
            reset, when=lambda call: call.method == "POST" and call.path.endswith("/threads")
        )
        await alice.slash(known[1], "fork")
        (fork,) = await discord.until(partial(new_threads, discord, general, *known))
        await said(discord, fork, "is a fork of")
        await wait_delivered(gateway)
    assert {each.name for each in (*known, fork)} == {known[0].name}
    assert all("fork" not in text for each in known for text in bot_texts(discord, each))
    assert [alice.id in each.members for each in (known[0], fork)] == [False, True]


async def test_two_forks_whose_threads_nobody_heard_of_have_one_each(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    config = config_of(discord, threads="private")
    model = ScriptedModel(*ANSWERS)
    async with serving(discord, tmp_path, partial(solo, model), config=config) as gateway:
        thread = await two_turns(discord, gateway)
        reset = ConnectionReset(committed=True)
        discord.faults.plan(
            reset,
            when=lambda call: call.method == "POST" and call.path.endswith("/threads"),
            times=2,
        )
        for _ in range(2):
            await alice.slash(thread, "fork")
        found = await discord.until(
            lambda: (len(found := new_threads(discord, general, thread)) > 1 and found) or None
        )
        for each in found:
            await said(discord, each, "is a fork of")
        await wait_delivered(gateway)
    assert len(new_threads(discord, general, thread)) == 2
    marks = await gateway.store.run(adapters.marks, "discord", "")
    assert [name for name in marks if "fork" in name or "fork" in marks[name]] == []


async def forked_turns(discord: DiscordSimulator, gateway: Gateway) -> tuple[Channel, Channel]:
    """A thread with two turns, and its fork."""
    thread = await two_turns(discord, gateway)
    await discord.person("alice").slash(thread, "fork")
    general = discord.channel("general")
    (fork,) = await discord.until(lambda: new_threads(discord, general, thread))
    await said(discord, fork, "is a fork of")
    await wait_delivered(gateway)
    return thread, fork


UNKNOWN = Refusal(404, 10003, "Unknown Channel")
NO_ACCESS = Refusal(403, 50001, "Missing Access")


@pytest.mark.parametrize("refusal", [UNKNOWN, NO_ACCESS], ids=["unknown", "no access"])
async def test_the_fork_of_a_thread_that_nobody_can_look_at_does_not_begin_in_public(
    refusal: Refusal, discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    config = config_of(discord, threads="private")
    model = ScriptedModel(*ANSWERS)
    async with serving(discord, tmp_path, partial(solo, model), config=config) as gateway:
        _, fork = await forked_turns(discord, gateway)
    async with serving(discord, tmp_path, partial(solo, ScriptedModel())) as gateway:
        discord.faults.plan(refusal, method="GET", path=f"/channels/{fork.id}", times=-1)
        await alice.slash(fork, "fork")
        told = await said(discord, fork, "that you asked for could not begin: ")
        await wait_delivered(gateway)
    assert alice.mention in told.content
    assert all("fork" not in text for text in bot_texts(discord, general))


async def test_what_belongs_to_a_private_thread_that_was_deleted_is_never_said_in_public(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    config = config_of(discord, threads="private")
    model = ScriptedModel(*ANSWERS)
    async with serving(discord, tmp_path, partial(solo, model), config=config) as gateway:
        thread, fork = await forked_turns(discord, gateway)
        begun = await gateway.store.run(threads.threads, search="fork")

    def ask(connection: Any) -> Any:
        key = begun[0].key
        by = f"discord:{alice.id}"
        return forks.begin_fork(
            connection, begun[0].id, 2, "f", folder=True, key=key.fork("f"), by=by
        )

    store: Any = gateway.store
    async with store.own():
        await store.write(ask)  # as a process that was killed right after it
    discord.delete(fork)
    before = len(bot_texts(discord, general))
    async with serving(discord, tmp_path, partial(solo, ScriptedModel())) as gateway:
        await discord.until(lambda: alice.direct.messages)
        await wait_delivered(gateway)
    assert len(bot_texts(discord, general)) == before
    assert new_threads(discord, general, thread) == []


async def test_the_fork_of_a_public_thread_that_was_deleted_begins_in_its_channel(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    model = ScriptedModel(*ANSWERS)
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        thread = await two_turns(discord, gateway)
        discord.faults.plan(UNKNOWN, method="GET", path=f"/channels/{thread.id}", times=-1)
        await alice.slash(thread, "fork")
        await said(discord, general, "is a fork of")
        await wait_delivered(gateway)


async def test_who_asked_for_a_fork_that_can_t_begin_is_told_where_they_asked(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    model = ScriptedModel(*ANSWERS)
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        thread = await two_turns(discord, gateway)
        refusal = Refusal(403, 50013, "Missing Permissions")
        path = f"/channels/{general.id}/messages"
        discord.faults.plan(refusal, method="POST", path=path, times=-1)
        await alice.slash(thread, "fork")
        told = await said(discord, thread, "that you asked for could not begin: ")
        await wait_delivered(gateway)
    assert "Missing Permissions (50013) in #general." in told.content
    assert alice.mention in told.content
    assert alice.direct.messages == {}
