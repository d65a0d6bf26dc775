"""Agents that write under names of their own."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from adapters.discord.outbound.webhooks import CUT_OFF, user_name
from adapters.discord.testing import ConnectionReset, DiscordSimulator, Fault, ServerError
from tests.adapters.discord.serving import (
    bell_teams,
    bot_messages,
    bot_texts,
    config_of,
    serving,
    thread_of,
    wait_card,
    wait_delivered,
)
from tests.fakes.scripted_model import ScriptedModel
from tests.gateway.scripted import solo
from tests.gateway.sessions.test_output_files import Scribe

pytestmark = pytest.mark.chaos

HOOK = "/webhooks/{webhook_id}/{webhook_token}"


def channel_with_webhooks(discord: DiscordSimulator):
    """A channel in which the bot may manage webhooks."""
    general = discord.channel("general")
    discord.allow(general, discord.bot, "manage_webhooks")
    return general


async def test_an_agent_streams_under_its_own_name(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, go_on = channel_with_webhooks(discord), discord.person("alice"), asyncio.Event()
    model = ScriptedModel(["One ", go_on, "two."], "Three.")
    team, config = partial(solo, model, model_client_stream=True), config_of(discord, webhooks=True)
    async with serving(discord, tmp_path, team, config=config) as gateway:
        asked = await alice.mentions(general, "count")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        go_on.set()
        await discord.until(lambda: bot_texts(discord, thread_of(asked)) == ["One two."])
        await alice.says(thread_of(asked), "go on")
        await discord.until(lambda: bot_texts(discord, thread_of(asked)) == ["One two.", "Three."])
        await wait_delivered(gateway)
    assert {each.author.name for each in bot_messages(discord, thread_of(asked))} == {"solo"}
    assert len(discord.calls("POST", "/channels/{channel_id}/webhooks")) == 1
    assert len(model.requests) == 2
    assert discord.avoidable_429s == []


@pytest.mark.parametrize(
    "fault",
    [
        ConnectionReset(committed=True),
        ConnectionReset(),
        ServerError(502, committed=True),
        ServerError(500),
    ],
    ids=str,
)
async def test_what_nobody_heard_of_is_looked_up(
    fault: Fault, discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = channel_with_webhooks(discord), discord.person("alice")
    config = config_of(discord, webhooks=True)
    discord.faults.plan(fault, when=lambda call: call.route == HOOK)
    async with serving(discord, tmp_path, lambda: solo("Hello."), config=config) as gateway:
        asked = await alice.mentions(general, "hi")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread), seconds=20)
        await wait_delivered(gateway)
    assert bot_texts(discord, thread_of(asked)) == ["Hello."]


async def test_a_webhook_that_goes_in_the_midst_of_an_answer_loses_nothing_of_it(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, go_on = channel_with_webhooks(discord), discord.person("alice"), asyncio.Event()
    model = ScriptedModel(["One ", go_on, "two."])
    team, config = partial(solo, model, model_client_stream=True), config_of(discord, webhooks=True)
    async with serving(discord, tmp_path, team, config=config) as gateway:
        asked = await alice.mentions(general, "count")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        discord.world.webhooks.clear()
        go_on.set()
        await discord.until(lambda: bot_texts(discord, thread_of(asked))[-1] == "One two.")
        await wait_delivered(gateway)
    assert bot_texts(discord, thread_of(asked))[1:] == [CUT_OFF, "One two."]


@pytest.mark.parametrize("allows", [True, False], ids=["made anew", "not allowed any more"])
async def test_a_webhook_that_goes_between_turns_is_replaced(
    allows: bool, discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = channel_with_webhooks(discord), discord.person("alice")
    config = config_of(discord, webhooks=True)
    async with serving(discord, tmp_path, lambda: solo("One.", "Two."), config=config) as gateway:
        asked = await alice.mentions(general, "count")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread) == ["One."])
        await wait_delivered(gateway)
        discord.world.webhooks.clear()
        if not allows:
            discord.deny(general, discord.bot, "manage_webhooks")
        await alice.says(thread_of(asked), "go on")
        await discord.until(lambda: bot_texts(discord, thread_of(asked))[-1].endswith("Two."))
        await wait_delivered(gateway)
    shown = "Two." if allows else "-# 🐺 **solo**\nTwo."
    assert bot_texts(discord, thread_of(asked)) == ["One.", shown]


async def test_without_the_permission_and_in_direct_messages_the_bot_writes_itself(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    discord.deny(general, discord.bot, "manage_webhooks")
    config = config_of(discord, webhooks=True)
    async with serving(discord, tmp_path, lambda: solo("Hello."), config=config) as gateway:
        asked = await alice.mentions(general, "hi")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await alice.says(alice.direct, "hi")
        await discord.until(lambda: bot_texts(discord, alice.direct))
        await wait_delivered(gateway)
    assert (
        bot_texts(discord, thread_of(asked))
        == bot_texts(discord, alice.direct)
        == ["-# 🐺 **solo**\nHello."]
    )


async def test_cards_stay_the_bots_own(discord: DiscordSimulator, tmp_path: Path) -> None:
    general, alice = channel_with_webhooks(discord), discord.person("alice")
    config, operators = config_of(discord, webhooks=True), [f"discord:{alice.id}"]
    async with serving(
        discord, tmp_path, bell_teams(), operators=operators, config=config
    ) as gateway:
        asked = await alice.mentions(general, "ring")
        await discord.until(lambda: asked.thread)
        card = await wait_card(discord, thread_of(asked))
        await discord.answered(await alice.clicks(card, "Approve"))
        await discord.until(lambda: bot_texts(discord, thread_of(asked))[-1].endswith("It rang."))
        await wait_delivered(gateway)
    assert card.author is discord.bot


@pytest.mark.parametrize(
    ("agent", "shown"),
    [("solo", "solo"), ("Discord helper", "D.iscord helper"), ("clyde", "c.lyde"), ("", "agent")],
)
def test_names_are_what_discord_takes(agent: str, shown: str) -> None:
    assert user_name(agent) == shown


@pytest.mark.parametrize("webhooks", [True, False], ids=["webhook", "bot"])
@pytest.mark.parametrize(
    "fault", [None, ConnectionReset(committed=True), ServerError(500)], ids=["", "cut", "refused"]
)
async def test_the_files_of_a_turn_are_one_message_of_their_agent(
    webhooks: bool, fault: Fault | None, discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = channel_with_webhooks(discord), discord.person("alice")
    config = config_of(discord, webhooks=webhooks)
    scribe = Scribe()
    scribe.to_write = {"a.txt": b"one", "b c.bin": bytes(range(9)), "sub/a.txt": b"two"}
    if fault is not None:
        discord.faults.plan(fault, when=lambda call: bool(call.uploads))
    async with serving(discord, tmp_path, scribe.teams, config=config) as gateway:
        asked = await alice.mentions(general, "write them")
        await discord.until(
            lambda: (
                bool(asked.thread)
                and any(each.attachments for each in bot_messages(discord, thread_of(asked)))
            ),
            seconds=20,
        )
        await wait_delivered(gateway)
    (posted,) = [each for each in bot_messages(discord, thread_of(asked)) if each.attachments]
    assert sorted(each.content for each in posted.attachments) == [bytes(range(9)), b"one", b"two"]
    assert posted.author.name == "solo" if webhooks else posted.content == "-# 🐺 **solo**"
    assert discord.avoidable_429s == []
