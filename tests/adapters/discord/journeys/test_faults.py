"""Discord's bad days: every message appears once after each fault."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from adapters.discord.testing import (
    ConnectionReset,
    DiscordSimulator,
    Fault,
    Refusal,
    ServerError,
    TooManyRequests,
)
from tests.adapters.discord.serving import (
    bell_teams,
    bot_messages,
    bot_texts,
    serving,
    thread_of,
    wait_card,
    wait_commands,
    wait_delivered,
)
from tests.fakes.scripted_model import ScriptedModel
from tests.gateway.scripted import solo

pytestmark = pytest.mark.chaos

POST, EDIT = "/channels/{channel_id}/messages", "/messages/{message_id}"

FAULTS: dict[str, Fault] = {
    "route limit": TooManyRequests(0.3),
    "limit shared with others": TooManyRequests(0.3, scope="shared"),
    "global limit": TooManyRequests(0.3, scope="global"),
    "limit of what stands before the API": TooManyRequests(0.3, via=False, html=True),
    "500": ServerError(500),
    "502 after it was done": ServerError(502, committed=True),
    "503": ServerError(503),
    "504 after it was done": ServerError(504, committed=True),
    "reset": ConnectionReset(),
    "reset after it was done": ConnectionReset(committed=True),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_an_answer_stands_there_once(
    fault: Fault, discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice, go_on = discord.person("alice"), asyncio.Event()
    model = ScriptedModel(["One ", go_on, "two."])
    team = partial(solo, model, model_client_stream=True)
    discord.faults.plan(fault, method="POST", path=POST)
    discord.faults.plan(fault, method="PATCH", path=EDIT)
    async with serving(discord, tmp_path, team) as gateway:
        await alice.says(alice.direct, "count")
        await discord.until(lambda: bot_texts(discord, alice.direct), seconds=20)
        go_on.set()
        await discord.until(
            lambda: bot_texts(discord, alice.direct) == ["-# 🐺 **solo**\nOne two."], seconds=20
        )
        await wait_delivered(gateway)
    assert bot_texts(discord, alice.direct) == ["-# 🐺 **solo**\nOne two."]
    assert discord.avoidable_429s == []


async def test_a_thread_that_is_archived_meanwhile_is_opened_again(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, go_on = discord.channel("general"), discord.person("alice"), asyncio.Event()
    model = ScriptedModel(["One ", go_on, "two."])
    async with serving(
        discord, tmp_path, partial(solo, model, model_client_stream=True)
    ) as gateway:
        asked = await alice.mentions(general, "count")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        discord.archive(thread_of(asked))
        go_on.set()
        await discord.until(
            lambda: bot_texts(discord, thread_of(asked)) == ["-# 🐺 **solo**\nOne two."]
        )
        await wait_delivered(gateway)
    assert not thread_of(asked).archived


@pytest.mark.parametrize("rights", [False, True])
@pytest.mark.parametrize("archived", [False, True])
async def test_a_thread_that_a_moderator_locks_stays_as_it_is(
    archived: bool, rights: bool, discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, go_on = discord.channel("general"), discord.person("alice"), asyncio.Event()
    if rights:
        discord.give(discord.bot, discord.role("keeper", "manage_threads"))
    model = ScriptedModel(["One ", go_on, "two."], "Back.")
    async with serving(
        discord, tmp_path, partial(solo, model, model_client_stream=True)
    ) as gateway:
        asked = await alice.mentions(general, "count")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        thread = thread_of(asked)
        discord.archive(thread, locked=True) if archived else discord.lock(thread)
        before = [(each.id, each.content) for each in discord.messages(thread)]
        go_on.set()
        await model.asked()
        await wait_delivered(gateway)
        assert (thread.locked, thread.archived) == (True, archived)
        assert [(each.id, each.content) for each in discord.messages(thread)] == before
        discord.lock(thread, locked=False)
        await alice.says(thread, "and now?")
        await discord.until(lambda: bot_texts(discord, thread)[-1:] == ["-# 🐺 **solo**\nBack."])
        await wait_delivered(gateway)


async def test_a_thread_that_was_locked_while_the_bot_was_away_stays_as_it_is(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, go_on = discord.channel("general"), discord.person("alice"), asyncio.Event()
    discord.give(discord.bot, discord.role("keeper", "manage_threads"))
    model = ScriptedModel(["One ", go_on, "two."])
    async with serving(discord, tmp_path, partial(solo, model, model_client_stream=True)):
        asked = await alice.mentions(general, "count")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
    thread = thread_of(asked)
    discord.archive(thread, locked=True)
    async with serving(discord, tmp_path, lambda: solo("One two.")) as gateway:
        await wait_delivered(gateway)
    assert (thread.locked, thread.archived) == (True, True)


@pytest.mark.parametrize("what", ["deleted", "forbidden"])
async def test_a_thread_that_is_taken_away_ends_alone(
    what: str, discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, go_on = discord.channel("general"), discord.person("alice"), asyncio.Event()
    model = ScriptedModel(["One ", go_on, "two."], "Fine.")
    async with serving(
        discord, tmp_path, partial(solo, model, model_client_stream=True)
    ) as gateway:
        asked = await alice.mentions(general, "count")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        match what:
            case "deleted":
                discord.delete(thread_of(asked))
            case _:
                discord.deny(general, discord.bot, "send_messages_in_threads view_channel")
        go_on.set()
        await model.asked()
        await wait_delivered(gateway)
        await alice.says(alice.direct, "and elsewhere?")
        await discord.until(lambda: "-# 🐺 **solo**\nFine." in bot_texts(discord, alice.direct))
        await wait_delivered(gateway)
        if what != "locked":
            assert f"I can't answer you in <#{general.id}>: " in bot_texts(discord, alice.direct)[0]


async def test_what_a_moderator_deletes_while_it_grows_is_not_posted_again(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, go_on = discord.channel("general"), discord.person("alice"), asyncio.Event()
    long = "Two is more than one. " * 400
    model = ScriptedModel(["One ", go_on, long], "Fine.")
    async with serving(
        discord, tmp_path, partial(solo, model, model_client_stream=True)
    ) as gateway:
        asked = await alice.mentions(general, "count")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        discord.delete(bot_messages(discord, thread_of(asked))[-1])
        go_on.set()
        await model.asked()
        await wait_delivered(gateway)
        assert bot_texts(discord, thread_of(asked)) == []
        await alice.says(thread_of(asked), "go on")
        await discord.until(lambda: bot_texts(discord, thread_of(asked)))
        await wait_delivered(gateway)
    assert bot_texts(discord, thread_of(asked)) == ["-# 🐺 **solo**\nFine."]


async def test_a_card_that_a_moderator_deletes_is_not_posted_again(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    operators = [f"discord:{alice.id}"]
    async with serving(discord, tmp_path, bell_teams(), operators=operators) as gateway:
        await wait_commands(discord)
        asked = await alice.mentions(general, "ring")
        await discord.until(lambda: asked.thread)
        card = await wait_card(discord, thread_of(asked))
        request = card.components[0]["components"][0]["custom_id"].split(":")[2]
        discord.delete(card)
        await discord.answered(await alice.slash(thread_of(asked), "approve", id=request))
        await discord.until(
            lambda: (
                bot_texts(discord, thread_of(asked))[-1:]
                == ["-# 🐺 **solo**\n-# \u2713 ring\nIt rang."]
            )
        )
        await wait_delivered(gateway)
    assert not any("asks to run" in each for each in bot_texts(discord, thread_of(asked)))


async def test_a_permission_that_is_lost_in_a_channel_is_no_end_of_the_bot(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo("Here.", "There.")) as gateway:
        discord.deny(general, discord.bot, "send_messages create_public_threads")
        await alice.mentions(general, "hello?")
        await discord.until(lambda: any(call.status == 403 for call in discord.calls("POST")))
        await wait_delivered(gateway)
        await alice.says(alice.direct, "hello?")
        await discord.until(lambda: bot_texts(discord, alice.direct))
        await wait_delivered(gateway)


async def test_edits_of_an_old_message_that_discord_refuses_do_no_harm(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice = discord.person("alice")
    refusal = Refusal(429, 30046, "Maximum number of edits to messages older than 1 hour reached.")
    discord.faults.plan(refusal, method="PATCH", path=EDIT)
    async with serving(discord, tmp_path, lambda: solo("Here.")) as gateway:
        await alice.says(alice.direct, "hello?")
        await discord.until(lambda: bot_texts(discord, alice.direct))
        await wait_delivered(gateway)
