"""Commands' arguments: taken, or refused with the known names."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from adapters.terminal.errors import notify_errors

if TYPE_CHECKING:
    from textual.screen import Screen

    from adapters.terminal.commands import Command
    from adapters.terminal.conversation import Conversation
    from adapters.terminal.settings import Settings


class Choosable(Protocol):
    """The chat screen, as far as choices change it."""

    @property
    def conversation(self) -> Conversation | None:
        """The thread on screen; None while connecting."""
        ...

    def show_only(self, agent: str) -> None:
        """Show one agent alone; everything, without a name."""
        ...

    def give_back(self, text: str) -> None:
        """Write again what could not be done."""
        ...


class Choosing:
    """Takes names of teams, threads, agents and themes."""

    def __init__(self, screen: Screen[None], chat: Choosable, settings: Settings) -> None:
        self._screen = screen
        self._chat = chat
        self._settings = settings
        self._switching = asyncio.Lock()

    async def take(self, command: str, name: str) -> None:
        """Take a choice; what is none is a draft again."""
        done = False
        with notify_errors(self._screen):
            if command == "theme":
                self._take_theme(name)
            elif (conversation := self._chat.conversation) is not None:
                async with self._switching:
                    await self._take(conversation, command, name)
            else:
                self._chat.give_back(f"/{command} {name}")
            done = True
        if not done:
            self._chat.give_back(f"/{command} {name}")

    async def settled(self) -> None:
        """Wait until a chosen thread is open, for what is sent there."""
        async with self._switching:
            pass

    async def check_model(self, command: Command, name: str) -> None:
        """Raises NotFound for a model that the config lacks, in any capitals."""
        known = any(word.name == name for word in command.words)
        if name and not known and self._chat.conversation is not None:
            await self._chat.conversation.check_known("model", name, any_case=True)

    async def _take(self, conversation: Conversation, command: str, name: str) -> None:
        match command:
            case "new":
                await conversation.open_new(name)
            case "open":
                await self._open(conversation, name)
            case _:
                agent, known = name.removeprefix("@"), list(conversation.agents)
                _check("agent", agent, known)
                self._chat.show_only(agent)

    def _take_theme(self, name: str) -> None:
        _check("theme", name, list(self._screen.app.available_themes))
        self._settings.choose_theme(name)

    async def _open(self, conversation: Conversation, title: str) -> None:
        from adapters.terminal.screens.completion import listed_threads  # not at the start
        from gateway.base.suggest import did_you_mean
        from gateway.errors import NotFound

        threads = await listed_threads(conversation)
        if title not in threads:
            near = did_you_mean(title, threads)
            rest = near or "/sessions lists them all."
            raise NotFound(f"No thread has the title {title!r}; {rest}")
        conversation.open(threads[title])


def _check(kind: str, name: str, known: list[str]) -> None:
    """Raises NotFound, with the known names, for another one."""
    from gateway.base.suggest import no_such  # not at the start
    from gateway.errors import NotFound

    if name not in known:
        raise NotFound(no_such(kind, name, known))
