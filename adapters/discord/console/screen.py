"""The screen of the simulated Discord: new lines as they come."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from adapters.discord.simulator import components
from adapters.discord.simulator.errors import Json
from adapters.discord.simulator.model import Channel, ChannelType, Interaction, Message, MessageType
from adapters.discord.testing.simulator import DiscordSimulator
from adapters.simulation import screen as simulation
from adapters.simulation.screen import PrintedMessage

MENTION = re.compile(r"<@!?(\d+)>")


class Screen(simulation.Screen[Message]):
    """Messages, forms and interactions of all channels."""

    def __init__(self, discord: DiscordSimulator, write: Callable[[str], None]) -> None:
        super().__init__(write)
        self._discord = discord
        self._shown: set[int] = set()

    def _write_news(self) -> None:
        for channel in list(self._discord.world.channels.values()):
            for message in list(channel.messages.values()):
                if message.type is not MessageType.THREAD_STARTER_MESSAGE:
                    self._show(channel, message)
        for printed in self._printed.values():
            if printed.message.deleted:
                self._write_deletion(printed)
        for interaction in self._discord.interactions:
            self._show_form(interaction)
        for interaction in self._discord.missed_interactions:
            self._once(interaction, "  (the application did not respond)")

    def place(self, channel: Channel) -> str:
        """The name of a channel, thread or conversation, as shown."""
        if channel.type is ChannelType.DM:
            return "direct"
        return f"#{channel.home.name} / {channel.name}" if channel.is_thread else f"#{channel.name}"

    def _show(self, channel: Channel, message: Message) -> None:
        printed = self._printed_message(message.id, message)
        lines = list(self._lines(message))
        if lines == printed.lines:
            return
        self._head(channel, message, printed)
        self._write_lines(printed, lines)

    def _head(self, channel: Channel, message: Message, printed: PrintedMessage[Message]) -> None:
        if self._last is message:
            return
        private = f" (only {message.visible_to.name} sees this)" if message.visible_to else ""
        changed = " (changed)" if printed.lines else ""
        name = message.author.name
        self._line(f"{self.place(channel)} [{printed.number}] {name}{private}{changed}")
        self._last = message

    def _lines(self, message: Message) -> Iterator[str]:
        if message.flags & 1 << 7:
            yield "(is thinking)"
        for text in _texts(message):
            yield from MENTION.sub(self._named, text).split("\n")
        for attachment in message.attachments:
            yield f"[file] {attachment.filename}, {len(attachment.content)} bytes"
        if shown := " ".join(_controls(message)):
            yield shown
        if message.reactions:
            yield " ".join(f"{emoji} {len(who)}" for emoji, who in message.reactions.items())

    def _named(self, found: re.Match[str]) -> str:
        user = self._discord.world.users.get(int(found[1]))
        return f"@{user.name}" if user else found[0]

    def _show_form(self, interaction: Interaction) -> None:
        if interaction.modal is None or interaction.id in self._shown:
            return
        self._once(interaction, f"--- {interaction.modal['title']} ---")
        for label in components.field_ids(interaction.modal):
            self._line(f"    {label} = ...")
        self._line("    /fill FIELD = TEXT, and /submit")

    def _once(self, interaction: Interaction, text: str) -> None:
        if interaction.id not in self._shown:
            self._shown.add(interaction.id)
            self._line(text)


def _texts(message: Message) -> Iterator[str]:
    if message.content:
        yield message.content
    for snapshot in message.snapshots:
        yield f"[forwarded] {snapshot['message']['content']}"
    for embed in message.embeds:
        yield from (embed[name] for name in ("title", "description") if embed.get(name))
    for each in components.walk(message.components):
        if each["type"] == components.TEXT:
            yield each["content"]


def _controls(message: Message) -> Iterator[str]:
    for each in components.walk(message.components):
        if each["type"] == components.BUTTON and not each.get("disabled"):
            yield f"<{each.get('label') or each['emoji']['name']}>"
        elif each["type"] in components.SELECTS:
            yield f"<{each.get('placeholder') or each['custom_id']}: {_choices(each)}>"


def _choices(select: Json) -> str:
    return " | ".join(option["label"] for option in select.get("options") or [])
