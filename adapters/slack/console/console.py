"""The console of the simulated workspace: acting as people, line by line."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

from adapters.simulation import console as simulation
from adapters.slack.console.screen import Screen
from adapters.slack.simulator.state import Message
from adapters.slack.testing.simulator import SlackSimulator

HELP = """\
Type a message to post it as the current person. @parley mentions the app.

  /as NAME             act as somebody else
  /in CHANNEL          go to a channel; /in dm is the direct messages with the app
  /thread N, /thread   open the thread of message N; return to the channel
  /click N BUTTON      press a button of message N; the thumbs are Good answer, Bad answer
  /select N A, B       choose several options in the menu of message N, and send them
  /menu N SHORTCUT     use a shortcut of message N, such as Ask the team
  /fill FIELD = TEXT   fill in a field of the modal; then /submit or /close
  /stop                press Stop in the thread where you are
  /edit N TEXT, /delete N, /react N EMOJI, /upload PATH
  /quit                quit
  //command TEXT       a slash command of the app, such as //parley help"""


class Console(simulation.Console):
    """Takes lines, and does what they say as one of the people."""

    HELP = HELP
    UNKNOWN = "there is no such command; /help lists the commands"

    def __init__(self, slack: SlackSimulator, write: Callable[[str], None]) -> None:
        super().__init__(write)
        self._slack = slack
        self._screen = Screen(slack, write)
        self._who = slack.person("alice")
        self._where = "general"
        self._thread: Message | None = None
        self._filled: dict[str, str | list[str]] = {}

    @property
    def screen(self) -> Screen:
        """Messages and modals, as people see them."""
        return self._screen

    @property
    def prompt(self) -> str:
        """The current person and place."""
        place = "direct" if self._where == self._who.direct else f"#{self._where}"
        thread = f" in {self._screen.number(self._thread)}" if self._thread else ""
        return f"{self._who.name} {place}{thread}> "

    async def _post(self, text: str) -> None:
        await self._who.says(self._where, text, thread=self._thread or "")

    async def _slash(self, line: str) -> None:
        command, _, text = line.partition(" ")
        await self._who.commands(self._where, f"/{command}", text)

    async def _do_as(self, name: str) -> None:
        direct = self._where == self._who.direct
        self._who = self._slack.person(simulation.person_name(name))
        if direct:
            self._where, self._thread = self._who.direct, None

    async def _do_in(self, name: str) -> None:
        place = self._who.direct if name == "dm" else self._slack.channel(name).name
        self._where, self._thread = place, None

    async def _do_thread(self, number: str) -> None:
        self._thread = None
        if number:
            channel, message = self._slack.find(self._screen.message(number))
            self._where = channel.name or channel.id
            self._thread = channel.messages[message.root]

    async def _do_click(self, rest: str) -> None:
        number, _, button = rest.partition(" ")
        await self._who.clicks(self._screen.message(number), button)

    async def _do_select(self, rest: str) -> None:
        number, _, labels = rest.partition(" ")
        chosen = [each.strip() for each in labels.split(",")]
        await self._who.chooses(self._screen.message(number), *chosen, button="Send")

    async def _do_menu(self, rest: str) -> None:
        number, _, name = rest.partition(" ")
        shortcuts = self._slack.world.app.shortcuts
        if name not in shortcuts:
            raise LookupError(f"there is no {name!r}; there are {', '.join(shortcuts)}")
        await self._who.uses_shortcut(self._screen.message(number), shortcuts[name])

    async def _do_fill(self, rest: str) -> None:
        name, equals, text = rest.partition("=")
        if not equals:
            raise ValueError("type /fill FIELD = TEXT")
        self._filled[name.strip()] = text.strip()

    async def _do_submit(self, _: str) -> None:
        filled, self._filled = self._filled, {}
        await self._who.submits(filled)

    async def _do_close(self, _: str) -> None:
        await self._who.closes()

    async def _do_stop(self, _: str) -> None:
        if self._thread is None:
            raise LookupError("open a thread first: /thread N")
        await self._who.stops(self._where, self._thread)

    async def _do_edit(self, rest: str) -> None:
        number, _, text = rest.partition(" ")
        await self._who.edits(self._own(number), text)

    async def _do_delete(self, number: str) -> None:
        await self._who.deletes(self._own(number))

    async def _do_react(self, rest: str) -> None:
        number, _, name = rest.partition(" ")
        await self._who.reacts(self._screen.message(number), name.strip(": "))

    async def _do_upload(self, rest: str) -> None:
        name, data = _file(rest)
        await self._who.uploads(self._where, name, data, thread=self._thread or "")

    def _own(self, number: str) -> Message:
        message = self._screen.message(number)
        if message.user != self._who.id:
            raise LookupError(f"message {number} is not {self._who.name}'s")
        return message


def _file(written: str) -> tuple[str, bytes]:
    """The name and the bytes of a file whose path somebody typed."""
    path = Path(*shlex.split(written)).expanduser()
    return path.name, path.read_bytes()
