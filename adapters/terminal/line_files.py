"""Files of the line mode: the next message's, and the team's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

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
        self._held = ""
        """A message that waits for the person's yes."""

    @property
    def asks(self) -> bool:
        """True while a message waits for the person's yes."""
        return bool(self._held)

    async def send(self, conversation: Conversation, text: str, send: Send) -> None:
        """Send a message; one whose files others get waits for a yes."""
        held, self._held = self._held, ""
        agreed = bool(held) and text.casefold() in ("y", "yes")
        text = held if agreed else text
        if not self._files or text.startswith(("/", "!")):
            await send(conversation, text, ())
            return
        from adapters.terminal.files import name_files, question  # not at the start

        told = question(self._files, conversation.thread)
        if told and not agreed:
            self._held = text
            self._tell(f"{told} Type y to send your message with it.")
            return
        receipt = await send(conversation, text, self._files)
        if receipt.outcome != "refused":
            self._tell(f"Sent with {name_files(self._files)}.")
            self._files = ()

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

        agreed = words.startswith("open ") and words.endswith(YES)
        words = words.removesuffix(YES) if agreed else words

        async def agrees(told: str) -> bool:
            if not agreed:
                self._tell(f"{told} Type “/files {words}{YES}” to open it.")
            return agreed

        told = await made_files.list_or_save(
            conversation, words, Path.cwd(), opener=desktop.find_opener(), agrees=agrees
        )
        for line in told.splitlines():
            self._tell(line)
