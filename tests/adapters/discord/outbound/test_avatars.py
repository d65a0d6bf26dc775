"""Pictures of agents as emoji of the application, on the wire."""

from pathlib import Path
from typing import Any, cast

import pytest

from adapters.discord.connection.rest import Rest
from adapters.discord.outbound.avatars import Avatars, emoji_name
from adapters.discord.testing import ConnectionReset, DiscordSimulator, TooManyRequests
from gateway.adapter import AuthError
from gateway.faces import GivenFace, TeamFaces, drawn
from tests.adapters.discord.outbound.test_webhooks import channel_with_webhooks
from tests.adapters.discord.serving import (
    bot_messages,
    bot_texts,
    config_of,
    serving,
    thread_of,
    wait_delivered,
)
from tests.gateway.scripted import solo

EMOJIS = "/applications/{application_id}/emojis"
PICTURE = drawn("of the operator")
FACE = TeamFaces({"sol": GivenFace(picture=PICTURE)}).face("sol")
WITH_FILE = GivenFace(name="Sol O'Agent", picture=PICTURE)


async def answered(
    discord: DiscordSimulator, folder: Path, given: GivenFace, *, webhooks: bool
) -> tuple[str, Any]:
    """An answer with a face: its text, and its webhook's picture."""
    general, alice = channel_with_webhooks(discord), discord.person("alice")
    config = config_of(discord, webhooks=webhooks)
    async with serving(discord, folder, lambda: solo("Hello."), config=config) as gateway:
        gateway.policy.use_faces({"demo": TeamFaces({"solo": given}, ["solo"])})
        asked = await alice.mentions(general, "hi")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread), seconds=20)
        await wait_delivered(gateway)
    calls = discord.calls("POST", "/webhooks/{webhook_id}/{webhook_token}")
    (message,) = bot_messages(discord, thread_of(asked))
    assert message.author.name == (given.name or "solo") or not webhooks
    return message.content, calls[-1].body.get("avatar_url") if calls else None


def uploads(discord: DiscordSimulator) -> int:
    return len(discord.calls("POST", EMOJIS))


async def test_a_picture_is_uploaded_once_and_a_changed_one_anew(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    _, first = await answered(discord, tmp_path / "a", WITH_FILE, webhooks=True)
    _, again = await answered(discord, tmp_path / "a", WITH_FILE, webhooks=True)
    emoji = discord.world.application_emojis[emoji_name("Sol O'Agent", PICTURE)]
    assert first == again == f"https://cdn.discordapp.com/emojis/{emoji['id']}.png"
    assert uploads(discord) == 1
    changed = GivenFace(name="Sol O'Agent", picture=drawn("another"))
    _, other = await answered(discord, tmp_path / "a", changed, webhooks=True)
    assert other != first
    assert uploads(discord) == 2


async def test_an_agent_without_a_picture_has_a_drawn_one_and_an_address_is_given_as_it_is(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    _, found = await answered(discord, tmp_path / "a", GivenFace(), webhooks=True)
    assert found is not None
    assert emoji_name("solo", drawn("solo")) in discord.world.application_emojis
    elsewhere = GivenFace(address="https://a.example/p.png")
    assert (await answered(discord, tmp_path / "b", elsewhere, webhooks=True))[
        1
    ] == elsewhere.address
    assert uploads(discord) == 1


async def test_without_webhooks_the_emoji_stands_before_the_name(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    name = emoji_name("Sol O'Agent", PICTURE)
    text, _ = await answered(discord, tmp_path / "a", WITH_FILE, webhooks=False)
    ident = discord.world.application_emojis[name]["id"]
    assert text == f"-# <:{name}:{ident}> **Sol O'Agent**\nHello."
    owl = GivenFace(emoji="owl")
    text, _ = await answered(discord, tmp_path / "b", owl, webhooks=False)
    assert text == "-# 🦉 **solo**\nHello."
    assert uploads(discord) == 1


@pytest.mark.parametrize("fault", [TooManyRequests(60.0), ConnectionReset()], ids=str)
async def test_a_picture_that_discord_does_not_take_holds_up_no_message(
    fault: Any, discord: DiscordSimulator, tmp_path: Path
) -> None:
    discord.faults.plan(fault, times=9, when=lambda call: call.route == EMOJIS)
    text, avatar = await answered(discord, tmp_path / "a", WITH_FILE, webhooks=True)
    assert (text, avatar) == ("Hello.", None)
    assert uploads(discord) == 0


class Answers:
    """Discord's answers, in order; the last one again and again."""

    def __init__(self, *answers: Any) -> None:
        self.answers = [*answers]

    async def call(self, *_path: Any, **_more: Any) -> Any:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.mark.parametrize("made", [None, [], {}, "x", 7, {"id": 1}])
@pytest.mark.parametrize("listed", [None, [], {}, {"items": 3}, {"items": [1]}, {"items": []}])
async def test_no_answer_about_a_picture_fails_a_message(listed: Any, made: Any) -> None:
    avatars = Avatars(cast("Rest", Answers(listed, made)), "1")
    found = await avatars.address(FACE)
    uploaded = listed == {"items": []} and made == {"id": 1}
    assert found == ("https://cdn.discordapp.com/emojis/1.png" if uploaded else "")


async def test_credentials_that_are_refused_for_a_picture_are_seen() -> None:
    avatars = Avatars(cast("Rest", Answers(AuthError("revoked"))), "1")
    with pytest.raises(AuthError):
        await avatars.mark(FACE)


@pytest.mark.parametrize("name", ["", "Ann", "日本", "x" * 99, "a-b  c", "__"])
def test_names_of_emoji_are_those_that_discord_takes(name: str) -> None:
    found = emoji_name(name, b"x")
    assert 2 <= len(found) <= 32
    assert found.isascii()
    assert found.replace("_", "").isalnum()
