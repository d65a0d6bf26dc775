"""Each way to point at a message, with the richest one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from adapters.discord.inbound import message_handler
from adapters.discord.testing import Channel, DiscordSimulator, Message, Person
from gateway.config.routes import Route
from tests.adapters.discord.hosting import hosted
from tests.adapters.discord.serving import (
    EVERYWHERE,
    bot_texts,
    mark_heard,
    serving,
    wait_accepted,
    wait_commands,
    wait_delivered,
)
from tests.adapters.discord.shapes import answer, poll, rich, row
from tests.fakes.scripted_model import ScriptedModel
from tests.gateway.scripted import solo

FILE = ("notes.txt", b"buy milk", "text/plain")
PARTS: dict[str, Any] = {
    "embeds": [
        rich(
            title="Disk full",
            description="on host seven",
            fields=[{"name": "used", "value": "99 %", "inline": True}],
            footer={"text": "rule 4"},
            image={"url": "https://graphs.example/7.png"},
        )
    ],
    "components": [
        row({"type": 2, "id": 1, "style": 5, "label": "Graph", "url": "https://graphs.example/7"})
    ],
    "poll": {**poll(2), "answers": [answer(1, "Delete logs"), answer(2, "Buy a disk")]},
    "sticker_items": [{"id": "1", "name": "Wave", "format_type": 1}],
}
RECORDING: dict[str, Any] = {
    "flags": 1 << 13,
    "attachments": [
        {
            "id": "1",
            "filename": "voice-message.ogg",
            "size": 9,
            "url": "https://cdn.discordapp.com/attachments/1/1/voice-message.ogg",
            "proxy_url": "https://cdn.discordapp.com/attachments/1/1/voice-message.ogg",
            "duration_secs": 12.1,
            "waveform": "AA==",
        }
    ],
}
SHOWN = (
    "look, a <new> alert",
    "[Graph](https://graphs.example/7)",
    "Poll: Which one?",
    "- Delete logs: 2 votes",
    "- Buy a disk: 0 votes",
    "(sticker: Wave)",
    "Disk full",
    "on host seven",
    "used: 99 %",
    "rule 4",
)


async def alert(robot: Person, channel: Channel, text: str = "look, a <new> alert") -> Message:
    """The richest message of another app."""
    return await robot.says(channel, text, files=[FILE], **PARTS)


async def in_itself(discord: DiscordSimulator, alice: Person, robot: Person) -> None:
    """The app itself asks."""
    text = f"{discord.bot.mention} look, a <new> alert"
    await alert(robot, discord.channel("general"), text)


async def on_a_root(discord: DiscordSimulator, alice: Person, robot: Person) -> None:
    """A thread begins on it."""
    root = await alert(robot, discord.channel("general"))
    await alice.mentions(await alice.starts_thread(root, "outage"), "what now?")


async def on_a_distant_root(discord: DiscordSimulator, alice: Person, robot: Person) -> None:
    """The thread that begins on it has more messages than are read."""
    root = await alert(robot, discord.channel("general"))
    thread = await alice.starts_thread(root, "outage")
    for n in range(message_handler.HISTORY_MESSAGES):
        await alice.says(thread, f"remark {n}")
    await alice.mentions(thread, "what now?")


async def on_a_distant_post(discord: DiscordSimulator, alice: Person, robot: Person) -> None:
    """It is the first message of a long post in a forum."""
    post = await robot.opens_post(
        discord.forum("help"), "outage", "look, a <new> alert", files=[FILE], **PARTS
    )
    for n in range(message_handler.HISTORY_MESSAGES):
        await alice.says(post, f"remark {n}")
    await alice.mentions(post, "what now?")


async def in_history(discord: DiscordSimulator, alice: Person, robot: Person) -> None:
    """It was said in the thread before."""
    root = await alice.says(discord.channel("general"), "it is slow")
    thread = await alice.starts_thread(root, "outage")
    await alert(robot, thread)
    await alice.mentions(thread, "what now?")


async def by_reply(discord: DiscordSimulator, alice: Person, robot: Person) -> None:
    """Somebody replies to it."""
    general = discord.channel("general")
    await alice.mentions(general, "what now?", reply_to=await alert(robot, general))


async def by_forward(discord: DiscordSimulator, alice: Person, robot: Person) -> None:
    """Somebody forwards it."""
    await alice.forwards(await alert(robot, discord.channel("general")), alice.direct)


async def by_menu(discord: DiscordSimulator, alice: Person, robot: Person) -> None:
    """Somebody uses the command in its menu."""
    await wait_commands(discord)
    await alice.menu(await alert(robot, discord.channel("general")), "Ask the team")


async def by_menu_on_a_reply(discord: DiscordSimulator, alice: Person, robot: Person) -> None:
    """Somebody uses the command in the menu of a reply to it."""
    await wait_commands(discord)
    general = discord.channel("general")
    reply = await alice.says(general, "what now?", reply_to=await alert(robot, general))
    await alice.menu(reply, "Ask the team")


async def by_link(discord: DiscordSimulator, alice: Person, robot: Person) -> None:
    """Somebody pastes its link in another channel."""
    said = await alert(robot, discord.channel("alerts"))
    await alice.mentions(discord.channel("general"), f"what of {link_to(discord, said)}?")


def link_to(discord: DiscordSimulator, said: Message) -> str:
    return f"https://discord.com/channels/{discord.home.id}/{said.channel.id}/{said.id}"


Way = Callable[[DiscordSimulator, Person, Person], Awaitable[None]]
WAYS: list[Way] = [
    in_itself,
    on_a_root,
    on_a_distant_root,
    on_a_distant_post,
    in_history,
    by_reply,
    by_forward,
    by_menu,
    by_menu_on_a_reply,
    by_link,
]


def everywhere(robot: Person) -> Route:
    """A route for all members and an app."""
    return EVERYWHERE.model_copy(update={"bots": [str(robot.id)]})


def said_by_bot(discord: DiscordSimulator) -> list[str]:
    """All that the bot has written."""
    channels = list(discord.world.channels.values())
    return [text for channel in channels for text in bot_texts(discord, channel)]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
async def test_the_team_gets_all_of_what_is_pointed_at(discord: DiscordSimulator, way: Way) -> None:
    alice, robot = discord.person("alice"), discord.person("robot", bot=True)
    async with hosted(discord, routes=[everywhere(robot)]) as run:
        await way(discord, alice, robot)
        [taken] = await run.complete(1)
    assert taken.receipt.outcome == "turn"
    told = taken.given
    assert [part for part in SHOWN if part not in told] == []
    unread = [each.name for each in taken.message.missing if each.part]
    if way is in_history:  # nobody has pointed at it: it is only named
        assert "(file: notes.txt)" in told
        assert "(not readable: an image)" in told
        assert "buy milk" not in told
        assert unread == []
    else:
        assert "buy milk" in told
        assert unread == ["an image"]


async def test_an_alert_that_is_resolved_is_the_same_message(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, robot = discord.channel("general"), discord.person("robot", bot=True)
    go_on, alarmed = asyncio.Event(), f"{discord.bot.mention} alarm"
    model = ScriptedModel(["One ", go_on, "."], "Two.")
    async with serving(
        discord, tmp_path, partial(solo, model), routes=[everywhere(robot)]
    ) as gateway:
        first = await robot.says(general, f"{discord.bot.mention} hello")
        thread = await discord.until(lambda: first.thread)
        alarm = await robot.says(thread, alarmed, embeds=[rich(title="Disk full")])
        await wait_accepted(gateway, 2)
        await robot.edits(alarm, alarmed, embeds=[rich(title="Disk full: resolved")])
        await wait_accepted(gateway, 3)
        go_on.set()
        await discord.until(lambda: len(bot_texts(discord, thread)) >= 2)
        await robot.edits(alarm, alarmed, embeds=[rich(title="Disk empty")])
        await wait_accepted(gateway, 4)
        await wait_delivered(gateway)
    assert "Disk full: resolved" in "".join(model.texts(1))
    assert len(model.requests) == 2


async def test_a_recording_is_named_to_the_team_and_its_author(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice, model = discord.person("alice"), ScriptedModel("I can't hear.")
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        await alice.says(alice.direct, **RECORDING)
        await discord.until(lambda: "I can't hear." in "".join(said_by_bot(discord)))
        await wait_delivered(gateway)
    told = "The team can't read this part of it: a voice message of 12 s."
    assert sum(told in text for text in said_by_bot(discord)) == 1
    assert "a voice message of 12 s" in "".join(model.texts())


async def test_a_missed_message_is_read_as_one_that_is_heard(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice, model = discord.person("alice"), ScriptedModel("I see.", "I see.")
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        await alice.says(alice.direct, "hello")
        await discord.until(lambda: bot_texts(discord, alice.direct))
        await wait_delivered(gateway)
        await mark_heard(gateway.store, discord.world.clock.now() - 60)
    await alice.says(alice.direct, "look", poll=PARTS["poll"])
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        await discord.until(lambda: len(model.requests) == 2)
        await wait_delivered(gateway)
    assert "- Delete logs: 2 votes" in "".join(model.texts(1))


async def test_of_a_long_history_the_newest_is_told(
    discord: DiscordSimulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_handler, "HISTORY_CHARACTERS", 8_000)
    alice = discord.person("alice")
    async with hosted(discord) as run:
        root = await alice.says(discord.channel("general"), "the beginning")
        thread = await alice.starts_thread(root, "talk")
        for n in range(9):
            await alice.says(thread, f"remark {n} {'x' * 1_500}")
        await alice.mentions(thread, "what now?")
        [taken] = await run.taken(1)
    assert [n for n in range(9) if f"remark {n} " in taken.given] == [4, 5, 6, 7, 8]
    assert "the beginning" in taken.given


@pytest.mark.parametrize("who", ["everybody", "others", "not alice", "gone"])
async def test_a_link_shows_no_more_than_its_author_sees(
    discord: DiscordSimulator, who: str
) -> None:
    board, alice = discord.channel("board"), discord.person("alice")
    bob, role = discord.person("bob"), discord.role("guests")
    discord.give(alice, role)
    said = await bob.says(board, "We sell the company.")
    match who:
        case "gone":
            discord.delete(said)
        case "others":
            discord.deny(board, discord.home.everyone, "view_channel")
            discord.allow(board, discord.bot, "view_channel read_message_history")
        case "not alice":
            discord.deny(board, role, "read_message_history")
        case _:
            pass
    async with hosted(discord) as run:
        await alice.mentions(discord.channel("general"), f"what of {link_to(discord, said)}?")
        [taken] = await run.taken(1)
    assert ("We sell" in taken.given) == (who == "everybody")
    assert ("the message behind a link" in taken.given) == (who != "everybody")
