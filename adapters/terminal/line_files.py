"""Files of the line mode: the next message's, and the team's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.terminal.errors import describe_error
from adapters.terminal.mentions import named_files, names_any
from gateway.errors import GatewayError

if TYPE_CHECKING:
    from adapters.terminal.conversation import Conversation
    from gateway.client import Receipt, SentFile

    Send = Callable[[Conversation, str, Sequence[SentFile]], Awaitable[Receipt]]

YES = " yes"


class LineFiles:
    """Attaches files, asks who may get them, and hands over made ones."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._files: Sequence[SentFile] = ()
        """Those of the next message."""
        self._held = "", ""
        """A message, as typed and as sent, that waits for the person's yes."""
        self._asked = ""
        """A file that may run, and that the person was asked about last."""

    @property
    def asks(self) -> bool:
        """True while a message waits for the person's yes."""
        return any(self._held)

    async def send(self, conversation: Conversation, typed: str, text: str, send: Send) -> None:
        """Send a message, and files that it names as `typed`.

        One whose files others get waits for a yes.
        """
        held, self._held = self._held, ("", "")
        agreed = any(held) and typed.casefold() in ("y", "yes")
        typed, text = held if agreed else (typed, text)
        if not (self._files or names_any(typed)) or text.startswith(("/", "!")):
            await send(conversation, text, ())
            return
        from adapters.terminal.files import name_files, question  # not at the start

        named, troubles = await self._named(conversation, typed)
        files = [*self._files, *named]
        told = " ".join(filter(None, (*troubles, question(files, conversation.thread))))
        if told and not agreed:
            self._held = typed, text
            self._tell(f"{told} Type y to send your message{' with it' if files else ''}.")
            return
        receipt = await send(conversation, text, files)
        if receipt.outcome != "refused":
            if files:
                self._tell(f"Sent with {name_files(files)}.")
            self._files = ()

    async def _named(
        self, conversation: Conversation, text: str
    ) -> tuple[list[SentFile], list[str]]:
        """Files that a text names, and why others can't go."""
        from adapters.terminal.files import read_file  # not at the start

        if text.startswith("@") and not conversation.agents:
            await conversation.load_agents()
        found: list[SentFile] = []
        troubles: list[str] = []
        for path in await asyncio.to_thread(named_files, text, conversation.agents, Path.cwd()):
            try:
                found.append(await read_file(str(path), [*self._files, *found]))
            except GatewayError as error:
                troubles.append(describe_error(error))
        for fault in await conversation.file_faults(found) if found else ():
            self._tell(fault)
        return found, troubles

    async def run(self, conversation: Conversation, command: str, rest: str) -> None:
        """Attach a file, take files off, or deal with made ones.

        Raises GatewayError.
        """
        match command:
            case "attach":
                await self._attach(conversation, rest)
            case "detach":
                self._files = [each for each in self._files if rest and each.name != rest]
                self._tell(f"Your next message has {len(self._files) or 'no'} files.")
            case _:
                await self._show_made(conversation, rest)

    async def _attach(self, conversation: Conversation, path: str) -> None:
        from adapters.terminal.files import name_files, read_file  # not at the start

        file = await read_file(path, self._files)
        self._files = [*self._files, file]
        for fault in await conversation.file_faults([file]):
            self._tell(fault)
        self._tell(f"Your next message goes with {name_files(self._files)}.")

    async def _show_made(self, conversation: Conversation, words: str) -> None:
        from adapters.terminal import desktop, made_files  # not at the start

        asked, self._asked = self._asked, ""
        agreed = bool(asked) and words == f"{asked}{YES}"
        words = asked if agreed else words

        async def agrees(told: str) -> bool:
            if not agreed:
                self._asked = words
                self._tell(f"{told} Type “/files {words}{YES}” to open it.")
            return agreed

        told = await made_files.list_or_save(
            conversation, words, Path.cwd(), opener=desktop.find_opener(), agrees=agrees
        )
        for line in told.splitlines():
            self._tell(line)
