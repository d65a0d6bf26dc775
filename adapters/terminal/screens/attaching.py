"""Files of the next message: attached, named in the draft, asked about."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.terminal.errors import describe_error, notify_errors
from adapters.terminal.mentions import is_file, named_files, names_any, placed
from adapters.terminal.widgets.file_bar import FileBar
from gateway.render.sanitize import one_line, sanitize

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.screen import Screen

    from adapters.terminal.conversation import Conversation
    from adapters.terminal.key_guard import KeyClock
    from adapters.terminal.settings import Settings
    from adapters.terminal.widgets.composer import Composer
    from gateway.client import SentFile
    from gateway.picture import Picture

HELD_BACK = 0.5
"""Seconds in which a second Enter is not yet an answer."""


@dataclass(frozen=True, slots=True)
class Attached:
    """A file that was read, and what is wrong with it."""

    path: Path
    stamp: tuple[int, int]
    """Time of change, and size; an edited file is read again."""
    file: SentFile
    faults: tuple[str, ...] = ()


class Attaching:
    """The files of the next message, and the bar that shows them."""

    def __init__(
        self, screen: Screen[None], composer: Composer, clock: KeyClock, settings: Settings
    ) -> None:
        self.bar = FileBar()
        self._screen = screen
        self._composer = composer
        self._clock = clock
        self._settings = settings
        self._chosen: list[Attached] = []
        self._named: list[Attached] = []
        """Those that the draft names."""
        self._troubles: list[str] = []
        """Why files that the draft names can't go with it."""
        self._model: Picture | None = None
        self._conversation: Conversation | None = None
        self._asked: tuple[object, ...] = ()
        """The question that the person was asked last."""
        self._asked_at = 0.0
        self._told = ""
        """The question in the bar, or ""."""
        self._reading = asyncio.Lock()

    async def attach(self, name: str) -> bool:
        """Attach a file; False, with a notification, if that fails."""
        from adapters.terminal import files  # not at the start

        with notify_errors(self._screen):
            async with self._reading:
                held = [each.file for each in self._all]
                file = await files.read_file(name, held, self._settings.files_below)
                self._chosen.append(await self._looked_at(Path(file.name), (0, 0), file))
                self._draw()
            return True
        return False

    async def attach_image(self, terminal: Callable[[int], Awaitable[bytes | str | None]]) -> str:
        """Attach the clipboard's image; a sentence why there is none."""
        from adapters.terminal import clipboard, files  # not at the start

        if self._settings.in_browser:  # the programs would read the clipboard of this machine
            return clipboard.NO_PROGRAM
        with notify_errors(self._screen):
            found = await clipboard.read_image(terminal, files.MOST_BYTES)
            if isinstance(found, str):
                return found
            async with self._reading:
                held = [each.file for each in self._all]
                found = replace(found, name=f"image-{len(held) + 1}{Path(found.name).suffix}")
                files.check_room(found, held)
                self._chosen.append(await self._looked_at(Path(found.name), (0, 0), found))
                self._draw()
        return ""

    async def offer(self, path: str, agrees: Callable[[str, str, str], Awaitable[bool]]) -> bool:
        """Ask whether a pasted path's file is meant; attach it then."""
        place, fence = placed(path, self._settings.folder), self._settings.files_below
        if not await asyncio.to_thread(is_file, place, fence):
            return False
        told = f"{one_line(sanitize(path))} is a file. Attach it to your message?"
        keys = "y attaches it   n or esc leaves its path in the draft"
        return await agrees(told, "Attach the file", keys) and await self.attach(path)

    def detach(self, name: str = "") -> bool:
        """Take attached files off, or the one with this name."""
        kept = [each for each in self._chosen if name and each.file.name != name]
        if len(kept) == len(self._chosen):
            return False
        self._chosen, self._told = kept, ""
        self._draw()
        return True

    def take_back(self) -> bool:
        """Take the file that was attached last off; False without one."""
        if not self._chosen:
            return False
        self._chosen.pop()
        self._told = ""
        self._draw()
        return True

    def opened(self, conversation: Conversation) -> None:
        """Another thread is shown: its message has no files yet."""
        self._conversation = conversation
        if self._model is None and self._chosen:  # they were attached while connecting
            self._screen.run_worker(self._look_again, group="named files")
        elif self._model is not conversation.model:
            self._chosen, self._asked, self._told = [], (), ""
        self._model = conversation.model
        self._draw()

    def draft_changed(self) -> None:
        """Look for files that the draft names now."""
        text = self._composer.whole.strip()
        if self._told and text and text not in self._asked:
            self._told = ""
            self._draw()
        if self._named or self._troubles or names_any(self._composer.text):
            self._screen.run_worker(self._look, group="named files", exclusive=True)

    async def take(self, text: str, typed: str) -> list[SentFile] | None:
        """The files for a message; None if a yes is needed first.

        `text` is the draft, before a prompt takes its place. `typed` is the same without what was
        pasted: that names no file.
        """
        if self._conversation is None:
            return []
        if not self._chosen and not names_any(typed):
            return []
        from adapters.terminal import files  # not at the start

        async with self._reading:
            named, troubles = await self._read(typed) if names_any(typed) else ([], [])
        sent = [each.file for each in (*self._chosen, *named)]
        thread = self._conversation.thread
        told = " ".join(filter(None, (*troubles, files.question(sent, thread))))
        about = thread and thread.id, text, tuple((each.name, len(each.data)) for each in sent)
        now = self._clock.time()
        if told and (about != self._asked or now - self._asked_at < HELD_BACK):
            self._asked, self._asked_at, self._told = about, now, told
            self._named = named
            self._draw()
            return None
        self._asked, self._told, self._named, self._troubles = (), "", [], []
        return sent

    def sent(self) -> None:
        """The message has gone: the next one has no files yet."""
        self._chosen = []
        self._draw()

    @property
    def _all(self) -> list[Attached]:
        return [*self._chosen, *self._named]

    async def _look(self) -> None:
        with notify_errors(self._screen):
            async with self._reading:
                self._named, self._troubles = await self._read(self._composer.text)
        self._draw()

    async def _look_again(self) -> None:
        with notify_errors(self._screen):
            async with self._reading:
                self._chosen = [
                    await self._looked_at(each.path, each.stamp, each.file) for each in self._chosen
                ]
        self._draw()

    async def _read(self, text: str) -> tuple[list[Attached], list[str]]:
        """Files that a text names, and why others can't go."""
        from adapters.terminal import files  # not at the start
        from gateway.errors import GatewayError

        agents = self._conversation.agents if self._conversation else {}
        known = {(each.path, each.stamp): each for each in self._named}
        found: list[Attached] = []
        troubles: list[str] = []
        folder, fence = self._settings.folder, self._settings.files_below
        for path, stamp in await asyncio.to_thread(_stamped, text, agents, folder, fence):
            if (each := known.get((path, stamp))) is None:
                held = [other.file for other in (*self._chosen, *found)]
                try:
                    file = await files.read_file(str(path), held, fence)
                except GatewayError as error:
                    troubles.append(describe_error(error))
                    continue
                each = await self._looked_at(path, stamp, file)
            found.append(each)
        return found, troubles

    async def _looked_at(self, path: Path, stamp: tuple[int, int], file: SentFile) -> Attached:
        conversation = self._conversation
        faults = await conversation.file_faults([file]) if conversation else []
        return Attached(path, stamp, file, tuple(faults))

    def _draw(self) -> None:
        """Show the files; empty, without what that needs to be imported."""
        self._composer.holds_files = bool(self._chosen)
        if not self._all and not self._troubles:
            if self.bar.display:
                self.bar.show("")
            return
        from adapters.terminal import files  # not at the start

        self.bar.show(
            files.name_files([each.file for each in self._all]),
            to=files.who_gets(self._conversation.thread if self._conversation else None),
            faults=[*(fault for each in self._all for fault in each.faults), *self._troubles],
            asked=self._told,
        )


def _stamped(
    text: str, agents: dict[str, str], folder: Path, fence: Path | None
) -> list[tuple[Path, tuple[int, int]]]:
    found: list[tuple[Path, tuple[int, int]]] = []
    for path in named_files(text, agents, folder, fence):
        facts = path.stat()
        found.append((path, (facts.st_mtime_ns, facts.st_size)))
    return found
