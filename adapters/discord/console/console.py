"""The console of the simulated Discord: acting as people, line by line."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Callable
from pathlib import Path

from adapters.discord.console.screen import Screen
from adapters.discord.simulator import components
from adapters.discord.simulator.model import Channel, ChannelType, Interaction
from adapters.discord.testing.inputs import File, ImpossibleAction
from adapters.discord.testing.simulator import DiscordSimulator
from adapters.simulation import console as simulation

HELP = """\
Type a message to post it as the current person. @parley mentions the application.

  /as NAME             act as somebody else
  /in CHANNEL          go to a channel; /in dm is the conversation with the application
  /thread N, /thread   open the thread of message N; return to the channel
  /reply N TEXT        answer message N
  /click N BUTTON      press a button of message N; /select N CHOICE chooses from its list
  /fill FIELD = TEXT   fill in a field of the form; /submit sends it
  /menu N COMMAND      use a command from the menu of message N
  /edit N TEXT, /delete N, /react N EMOJI, /upload PATH
  /quit                quit
  //COMMAND TEXT       a slash command of the application; options as name:value"""

NAME = re.compile(r"@([\w-]+)")
OPTION = re.compile(r"(?:^|\s)(\w+):(\S+)")


class Console(simulation.Console):
    """Takes lines, and does what they say as one of the people."""

    HELP = HELP
    refusals = (*simulation.Console.refusals, ImpossibleAction)

    def __init__(self, discord: DiscordSimulator, write: Callable[[str], None]) -> None:
        super().__init__(write)
        self._discord = discord
        self._screen = Screen(discord, write)
        self._who = discord.person("alice")
        self._where = discord.channel("general")
        self._filled: dict[str, str] = {}

    @property
    def screen(self) -> Screen:
        """Messages and forms, as people see them."""
        return self._screen

    @property
    def prompt(self) -> str:
        """The current person and place."""
        return f"{self._who.name} {self._screen.place(self._where)}> "

    async def run_line(self, line: str) -> None:
        """Do what one line says, and say so where nobody hears it."""
        await super().run_line(line)
        if not self._discord.gateway.open_sessions:
            self._write("  (the application is not connected)")

    async def _post(self, text: str) -> None:
        await self._who.says(self._where, self._mentioning(text))

    async def _do_as(self, name: str) -> None:
        cleaned = simulation.person_name(name)
        direct = self._where.type is ChannelType.DM
        self._who = self._discord.person(cleaned)
        self._where = self._who.direct if direct else self._where

    async def _do_in(self, name: str) -> None:
        self._where = self._who.direct if name == "dm" else self._channel(name.removeprefix("#"))

    async def _do_thread(self, number: str) -> None:
        if not number:
            self._where = self._where.home
            return
        message = self._screen.message(number)
        if message.channel.is_thread:
            self._where = message.channel
        elif message.thread is not None:
            self._where = message.thread
        else:
            raise LookupError(f"message {number} has no thread")

    async def _do_reply(self, rest: str) -> None:
        number, _, text = rest.partition(" ")
        message = self._screen.message(number)
        await self._who.says(message.channel, self._mentioning(text), reply_to=message)

    async def _slash(self, line: str) -> None:
        name, _, text = line.strip().partition(" ")
        options: dict[str, str] = dict(OPTION.findall(text))
        if text and not options:
            options = {self._text_option(name): text.strip()}
        await self._who.slash(self._where, name, **options)

    def _text_option(self, name: str) -> str:
        for command in [each for listed in self._discord.commands.values() for each in listed]:
            if command["name"] == name:
                for option in command.get("options") or []:
                    return str(option["name"])
        raise LookupError(f"/{name} takes no text")

    async def _do_menu(self, rest: str) -> None:
        number, _, command = rest.partition(" ")
        await self._who.menu(self._screen.message(number), command)

    async def _do_click(self, rest: str) -> None:
        number, _, button = rest.partition(" ")
        await self._who.clicks(self._screen.message(number), button)

    async def _do_select(self, rest: str) -> None:
        number, _, choice = rest.partition(" ")
        message = self._screen.message(number)
        for each in components.walk(message.components):
            if each["type"] in components.SELECTS:
                several = choice.split(",") if each["max_values"] > 1 else [choice]
                chosen = [label.strip() for label in several]
                await self._who.selects(message, each["custom_id"], *chosen)
                return
        raise LookupError(f"message {number} has no list to choose from")

    async def _do_fill(self, rest: str) -> None:
        name, equals, text = rest.partition("=")
        known = components.field_ids(self._form().modal or {"components": []})
        if not equals or name.strip() not in known:
            raise ValueError(f"type /fill FIELD = TEXT, with one of: {', '.join(known)}")
        self._filled[known[name.strip()]] = text.strip()

    async def _do_submit(self, _: str) -> None:
        filled, self._filled = self._filled, {}
        await self._who.submits(self._form(), **filled)

    def _form(self) -> Interaction:
        for interaction in reversed(self._discord.interactions):
            if interaction.modal is not None and interaction.user is self._who.user:
                return interaction
        raise LookupError("there is no form")

    async def _do_edit(self, rest: str) -> None:
        number, _, text = rest.partition(" ")
        await self._who.edits(self._screen.message(number), self._mentioning(text))

    async def _do_delete(self, number: str) -> None:
        await self._who.deletes(self._screen.message(number))

    async def _do_react(self, rest: str) -> None:
        number, _, emoji = rest.partition(" ")
        await self._who.reacts(self._screen.message(number), emoji.strip())

    async def _do_upload(self, rest: str) -> None:
        await self._who.says(self._where, files=[_read(Path(rest))])

    def _channel(self, name: str) -> Channel:
        known = {each.name: each for each in self._discord.world.channels.values() if each.name}
        if name not in known:
            raise LookupError(f"there is no channel {name!r}; there are: {', '.join(known)}")
        return known[name]

    def _mentioning(self, text: str) -> str:
        """The text with each `@name`, in any case, as a mention."""
        users = {user.name.lower(): user for user in self._discord.world.users.values()}

        def mention(found: re.Match[str]) -> str:
            user = users.get(found[1].lower())
            return user.mention if user else found[0]

        return NAME.sub(mention, text)


def _read(path: Path) -> File:
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return path.name, path.expanduser().read_bytes(), kind
