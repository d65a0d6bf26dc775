"""Events of Discord that come out of order, or come back.

A connection that resumes has its events in order. What was written in a gap is read from the
history while later events arrive (https://discord.com/developers/docs/events/gateway, "Resuming").
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from adapters.discord.simulator.model import Channel, Message
from adapters.discord.testing import DiscordSimulator
from gateway.conversation import ConversationKey
from gateway.store.units import threads
from tests.adapters.discord.serving import serving, wait_accepted, wait_delivered
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.tested_store import rows_in
from tests.gateway.scripted import solo


def taken(folder: Path) -> list[tuple[str, str, str]]:
    """All messages that were taken, with their outcomes and foreign texts."""
    query = "SELECT text, outcome, quotes FROM inbox WHERE kind = 'message' ORDER BY id"
    return rows_in(folder, query)


async def thread_of_people(discord: DiscordSimulator) -> Channel:
    alice = discord.person("alice")
    root = await alice.says(discord.channel("general"), "the server is down")
    return await alice.starts_thread(root, "outage")


async def test_a_mention_that_a_later_one_overtook_is_taken_before_it(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice, bob = discord.person("alice"), discord.person("bob")
    model = ScriptedModel("one", "two", "three")
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        thread = await thread_of_people(discord)
        discord.gateway.reorder(3)
        await alice.mentions(thread, "the first")
        await bob.says(thread, "in between")
        await alice.mentions(thread, "the second")
        await wait_accepted(gateway, 3)
        await discord.until(lambda: len(model.requests) == 3)
        await wait_delivered(gateway)
    found = taken(tmp_path)
    assert [text for text, _, _ in found] == ["the first", "in between", "the second"]
    assert "the server is down" in found[0][2]
    assert [quotes for _, _, quotes in found[1:]] == ["[]", "[]"]


@pytest.mark.parametrize(
    ("where", "change"), [("direct", "edit"), ("thread", "edit"), ("mention", "delete")]
)
async def test_an_edit_or_deletion_may_come_before_its_message(
    discord: DiscordSimulator, tmp_path: Path, where: str, change: str
) -> None:
    alice, general = discord.person("alice"), discord.channel("general")
    model = ScriptedModel("one", "two")
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        place: Callable[[str], object]
        place = partial(alice.says, alice.direct)
        if where == "mention":
            place = partial(alice.mentions, general)
        elif where == "thread":
            begun = await alice.mentions(general, "begin")
            await discord.until(lambda: begun.thread and len(model.requests) == 1)
            await wait_delivered(gateway)
            assert begun.thread is not None
            place = partial(alice.says, begun.thread)
        discord.gateway.reorder(2)
        said: Message = await place("old words")  # pyright: ignore[reportGeneralTypeIssues]
        if change == "edit":
            await alice.edits(said, said.content.replace("old", "new"))
        else:
            await alice.deletes(said)
        await discord.until(lambda: taken(tmp_path)[1 if where == "thread" else 0 :])
        await wait_delivered(gateway)
    text, outcome, _ = taken(tmp_path)[-1]
    expected = ("new words", "turn") if change == "edit" else (None, "refused")
    assert (text, outcome) == expected
    assert "old words" not in str([model.messages(n) for n in range(len(model.requests))])


async def test_what_was_deleted_here_is_not_read_from_the_thread_again(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice = discord.person("alice")
    model = ScriptedModel("one", "two")
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        thread = await thread_of_people(discord)
        await alice.mentions(thread, "a secret")
        await discord.until(lambda: len(model.requests) == 1)
        await wait_delivered(gateway)
        (known,) = await gateway.client.threads()
        key: ConversationKey = (await gateway.store.run(threads.thread, known.id)).key
        await gateway.client.delete_thread(known.id)
        await alice.mentions(thread, "again")
        await discord.until(lambda: len(model.requests) == 2)
        await wait_delivered(gateway)
        assert await gateway.conversations.thread_at(key) is not None
    assert taken(tmp_path) == [("again", "turn", "[]")]
