"""Both platforms as the red team uses them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias

from adapters.discord.testing import DiscordSimulator
from adapters.discord.testing import Message as DiscordMessage
from adapters.discord.testing import Person as DiscordPerson
from adapters.discord.testing.inputs import ImpossibleAction
from adapters.slack.simulator.state import Message as SlackMessage
from adapters.slack.testing import Person as SlackPerson
from adapters.slack.testing import SlackSimulator
from tests.security.redteam.moved import Moved
from tests.security.redteam.words import FORGED_CARD, SECRET_FORMS, STRANGER

LOOK_AGAIN = 0.005
PATIENCE = 30.0
"""Seconds that something expected has."""

Asked: TypeAlias = "SlackMessage | DiscordMessage"
Upload: TypeAlias = tuple[str, bytes, str]
"""A file's name, content and media type."""


HIDING = re.compile(
    r"(?<!\\)\]\((?:javascript|https?://(?P<host>evil[^/)\s]*+)[^)\s]*+(?!\) \((?P=host)\)))"
    r"|<https?://evil[^|>]*\|"
)
"""A link without its host behind it."""


async def until(holds: Callable[[], object], seconds: float = PATIENCE) -> bool:
    """Wait until something is so; False if it was not in time."""
    try:
        async with asyncio.timeout(seconds):
            while not holds():  # noqa: ASYNC110 (what is looked at tells nobody)
                await asyncio.sleep(LOOK_AGAIN)
    except TimeoutError:
        return False
    return True


class Chat(Protocol):
    """One platform, with people named by their names."""

    name: str
    longest: int
    """The most characters of a person's message."""

    async def ask(self, person: str, text: str, place: str = "general") -> Asked:
        """Mention the bot in a channel."""
        ...

    async def reply(self, person: str, asked: Asked, text: str) -> None:
        """Write into the thread of what was asked."""
        ...

    async def upload(self, person: str, file: Upload, text: str) -> None:
        """Mention the bot beside a file."""
        ...

    async def click(self, person: str, asked: Asked, button: str) -> bool:
        """Press a button in the thread; False if there is none."""
        ...

    def has_card(self, asked: Asked) -> bool:
        """True once a card with buttons stands in the thread."""
        ...

    def answers(self, asked: Asked) -> list[str]:
        """Texts that the bot has written in the thread so far."""
        ...

    def look(self, moved: Moved) -> None:
        """Look for what moved on the platform."""
        ...


class SlackChat:
    """The simulated Slack."""

    name = "slack"
    longest = 40_000

    def __init__(self, slack: SlackSimulator) -> None:
        self._slack = slack

    def person(self, name: str) -> SlackPerson:
        """Somebody; strangers are guests."""
        person = self._slack.person(name, guest=name == "stranger")
        self._slack.join("general", person)
        return person

    async def ask(self, person: str, text: str, place: str = "general") -> SlackMessage:
        """Mention the bot in a channel."""
        return await self.person(person).asks(place, text[: self.longest])

    async def reply(self, person: str, asked: Asked, text: str) -> None:
        """Write into the thread of what was asked."""
        assert isinstance(asked, SlackMessage)
        await self.person(person).says(asked.channel, text, thread=asked)

    async def upload(self, person: str, file: Upload, text: str) -> None:
        """Mention the bot beside a file."""
        name, data, kind = file
        said = f"{self._slack.bot.mention} {text}"
        await self.person(person).uploads("general", name, data, text=said, mimetype=kind)

    async def click(self, person: str, asked: Asked, button: str) -> bool:
        """Press a button in the thread; False if there is none."""
        assert isinstance(asked, SlackMessage)
        for message in self._slack.messages(asked.channel, asked):
            if button in message.buttons:
                await self.person(person).clicks(message.ts, button)
                return True
        return False

    def has_card(self, asked: Asked) -> bool:
        """True once a card with buttons stands in the thread."""
        assert isinstance(asked, SlackMessage)
        return any("Approve" in each.buttons for each in self._slack.messages(asked.channel, asked))

    def answers(self, asked: Asked) -> list[str]:
        """Texts that the bot has written in the thread so far."""
        assert isinstance(asked, SlackMessage)
        place = self._slack.channel(asked.channel)
        return [
            each.stream.text if each.stream and each.stream.text else json.dumps(each.json())
            for each in place.thread(asked.root)
            if each.bot_id
        ]

    def look(self, moved: Moved) -> None:
        """Look for what moved on the platform."""
        for workspace in self._slack.world.workspaces.values():
            for channel in workspace.channels.values():
                for message in channel.messages.values():
                    if message.bot_id:
                        self._look_at(message, moved)

    def _look_at(self, message: SlackMessage, moved: Moved) -> None:
        text = json.dumps([message.text, message.blocks], ensure_ascii=False)
        moved.check("slack", "somebody was notified", moved=_notifies(text))
        moved.check("slack", "a forged card has buttons", moved=_forged(text, '"actions"'))
        _look_at_text("slack", text, moved)


class DiscordChat:
    """The simulated Discord."""

    name = "discord"
    longest = 4_000

    def __init__(self, discord: DiscordSimulator) -> None:
        self._discord = discord
        self._elsewhere = discord.guild("elsewhere")
        self._unopened = 0

    def person(self, name: str) -> DiscordPerson:
        """Somebody; strangers are in a server of their own."""
        guild = self._elsewhere if name == "stranger" else None
        return self._discord.person(name, guild=guild)

    async def ask(self, person: str, text: str, place: str = "general") -> DiscordMessage:
        """Mention the bot in a channel."""
        guild = self._elsewhere if person == "stranger" else None
        channel = self._discord.channel(place, guild=guild)
        said = f"{self._discord.bot.mention} {text}"[: self.longest]
        return await self.person(person).says(channel, said)

    async def reply(self, person: str, asked: Asked, text: str) -> None:
        """Write into the thread of what was asked."""
        assert isinstance(asked, DiscordMessage)
        if not await until(lambda: asked.id in self._discord.world.channels):
            self._unopened += 1
            return
        await self.person(person).says(self._discord.world.channels[asked.id], text)

    async def upload(self, person: str, file: Upload, text: str) -> None:
        """Mention the bot beside a file."""
        channel = self._discord.channel("general")
        await self.person(person).mentions(channel, text, files=[file])

    async def click(self, person: str, asked: Asked, button: str) -> bool:
        """Press a button in the thread; False if there is none."""
        for message in self._written(asked):
            try:
                await self.person(person).clicks(message, button)
            except ImpossibleAction:
                continue
            return True
        return False

    def has_card(self, asked: Asked) -> bool:
        """True once a card with buttons stands in the thread."""
        return any('"Approve"' in json.dumps(each.components) for each in self._written(asked))

    def answers(self, asked: Asked) -> list[str]:
        """Texts that the bot has written in the thread so far."""
        return [each.content for each in self._written(asked)]

    def _written(self, asked: Asked) -> Iterable[DiscordMessage]:
        assert isinstance(asked, DiscordMessage)
        thread = self._discord.world.channels.get(asked.id)
        return [each for each in thread.messages.values() if each.application] if thread else []

    def look(self, moved: Moved) -> None:
        """Look for what moved on the platform."""
        for _ in range(self._unopened):
            moved.note("discord", f"within {PATIENCE:g} s no thread was opened for a message")
        for channel in self._discord.world.channels.values():
            for message in channel.messages.values():
                if message.application:
                    self._look_at(message, moved)

    def _look_at(self, message: DiscordMessage, moved: Moved) -> None:
        text = json.dumps([message.content, message.components, message.embeds], ensure_ascii=False)
        pinged = any(user.name == "bystander" for user in message.pings)
        notified = pinged or bool(message.role_pings) or message.everyone
        moved.check("discord", "somebody was notified", moved=notified)
        moved.check("discord", "a forged card has buttons", moved=_forged(text, '"custom_id"'))
        elsewhere = message.channel.guild is self._elsewhere
        moved.check("discord", "an answer in a server of strangers", moved=elsewhere)
        _look_at_text("discord", text, moved)


def _notifies(text: str) -> bool:
    return "<!" in text or "<@U0BYSTANDER>" in text


def _forged(text: str, button: str) -> bool:
    return FORGED_CARD in text and button in text


def _look_at_text(place: str, text: str, moved: Moved) -> None:
    for form, secret in SECRET_FORMS.items():
        moved.check(place, f"a secret in {form}", moved=secret in text)
    hidden = any(sign in text for sign in ("\x1b", "\\u001b", "\u202e", "\u2066"))
    moved.check(place, "signs that steer a terminal or reorder text", moved=hidden)
    moved.check(place, "a stranger's text", moved=STRANGER in text)
    moved.check(place, "a link that hides its address", moved=bool(HIDING.search(text)))
