"""The simulated Discord as lines in a terminal: what is new, as it comes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from adapters.discord.simulator import components
from adapters.discord.simulator.errors import Json
from adapters.discord.simulator.model import Channel, ChannelType, Interaction, Message, MessageType
from adapters.discord.testing.simulator import DiscordSimulator
from gateway.render.sanitize import sanitize

INDENT = "      "
MENTION = re.compile(r"<@!?(\d+)>")


@dataclass(slots=True)
class _Printed:
    """What stands on the terminal of a message."""

    number: int
    message: Message
    lines: list[str] = field(default_factory=list[str])
    gone: bool = False


class Screen:
    """Writes what has changed since the last time. Every message has a number to name it by."""

    def __init__(self, discord: DiscordSimulator, write: Callable[[str], None]) -> None:
        self._discord = discord
        self._write = write
        self._printed: dict[int, _Printed] = {}
        self._numbered: list[Message] = []
        self._told: set[int] = set()
        self._last: Message | None = None

    def message(self, number: str) -> Message:
        """The message with a number. Raises LookupError."""
        if not number.isdigit() or not 1 <= int(number) <= len(self._numbered):
            raise LookupError(f"there is no message {number!r}; messages are named by number")
        return self._numbered[int(number) - 1]

    def refresh(self) -> None:
        """Write what is new."""
        for channel in list(self._discord.world.channels.values()):
            for message in list(channel.messages.values()):
                if message.type is not MessageType.THREAD_STARTER_MESSAGE:
                    self._show(channel, message)
        for printed in self._printed.values():
            if printed.message.deleted and not printed.gone:
                printed.gone = True
                self._line(f"  [{printed.number}] was deleted")
        for interaction in self._discord.interactions:
            self._show_form(interaction)
        for interaction in self._discord.missed_interactions:
            self._once(interaction, "  (the application did not respond)")

    def place(self, channel: Channel) -> str:
        """How a channel, thread or conversation is called."""
        if channel.type is ChannelType.DM:
            return "direct"
        return f"#{channel.home.name} / {channel.name}" if channel.is_thread else f"#{channel.name}"

    def _show(self, channel: Channel, message: Message) -> None:
        printed = self._printed.get(message.id)
        if printed is None:
            self._numbered.append(message)
            printed = self._printed[message.id] = _Printed(len(self._numbered), message)
        lines = list(self._lines(message))
        if lines == printed.lines:
            return
        self._head(channel, message, printed)
        for line in _news(printed.lines, lines):
            self._write(sanitize(f"{INDENT}{line}"))
        printed.lines = lines

    def _head(self, channel: Channel, message: Message, printed: _Printed) -> None:
        if self._last is message:
            return
        private = f" (only for {message.visible_to.name})" if message.visible_to else ""
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
        if interaction.modal is None or interaction.id in self._told:
            return
        self._once(interaction, f"--- {interaction.modal['title']} ---")
        for label in components.fields(interaction.modal):
            self._line(f"    {label} = ...")
        self._line("    /fill FIELD = TEXT, and /submit")

    def _once(self, interaction: Interaction, text: str) -> None:
        if interaction.id not in self._told:
            self._told.add(interaction.id)
            self._line(text)

    def _line(self, text: str) -> None:
        self._last = None
        self._write(sanitize(text))


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


def _news(before: list[str], now: list[str]) -> list[str]:
    """The lines to write: what was added at the end, or what was not there before."""
    if before and now[: len(before)] == before:
        return now[len(before) :]
    return [line for line in now if line not in before] or now
